//! Runs and their results.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};

use agent_loop::host::{Scope, Spelling};
use agent_loop::{Completion, Context, Delivery, Outcome, Prompt, Run as CoreRun, RunResult as CoreResult};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};

use crate::cause::Causes;
use crate::event::event;
use crate::future::{NativeFuture, Output};
use crate::host::{Caller, Host};
use crate::job_queue::JobQueue;
use crate::message::{from_py, message, messages};
use crate::suspension::{SuspendedCall, suspended_calls};
use crate::ui::UiFrames;
use crate::usage::Usage;
use crate::{argument, construct, error, json, log};

/// The most events that one call converts. More would save nothing and use more memory.
const BATCH: usize = 256;

/// A run; dropping it while it is active aborts it.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Run {
    core: Arc<CoreRun>,
    scope: Scope,
    host: Weak<Host>,
    marker: u64,
    /// What its callbacks have raised.
    causes: Arc<Causes>,
    /// Whether it has a log record.
    has_logged: Arc<AtomicBool>,
}

impl Run {
    pub(crate) fn new(core: CoreRun, host: &Arc<Host>, caller: &Caller) -> Run {
        let scope = core.agent().scope();
        let (marker, causes, has_logged) = (caller.marker, Arc::clone(&caller.causes), Arc::clone(&caller.has_logged));
        Run { core: Arc::new(core), scope, host: Arc::downgrade(host), marker, causes, has_logged }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // An unfinished run is aborted and still needs its caller, to call its listeners.
        if let (Some(_), Some(host)) = (self.core.finished(), self.host.upgrade()) {
            host.forget(self.marker);
        }
        self.causes.close();
    }
}

#[pymethods]
impl Run {
    #[getter]
    fn id(&self) -> &str {
        self.core.id()
    }

    fn steer(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let delivery = self.core.steer(prompt(message, "message")?);
        delivery.map(Delivery::as_str).map_err(|error| error::raised(py, error))
    }

    fn follow_up(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let delivery = self.core.follow_up(prompt(message, "message")?);
        delivery.map(Delivery::as_str).map_err(|error| error::raised(py, error))
    }

    fn stop_after_turn(&self) {
        self.core.stop_after_turn();
    }

    fn abort(&self) {
        self.core.abort();
    }

    /// A response reads the events, also while another waits for the result.
    fn keep_events(&self) {
        self.core.keep_events();
    }

    /// The result, once the run is over.
    #[getter]
    fn finished(&self) -> Option<RunResult> {
        self.core.finished().cloned().map(RunResult::new)
    }

    /// The unread events, the last one first; None when the run is over and all events were read. When the list is empty, the
    /// queue wakes `number` when there are more.
    fn drain<'py>(&self, py: Python<'py>, queue: &Bound<'py, JobQueue>, number: u64) -> PyResult<Option<Bound<'py, PyList>>> {
        let waker = queue.get().waker(number);
        let Some(events) = self.core.drain(BATCH, Some(&waker)) else {
            return Ok(None);
        };
        let made = events.into_iter().rev().map(|core| event(py, core)).collect::<PyResult<Vec<_>>>()?;
        Ok(Some(PyList::new(py, made)?))
    }

    /// As `drain`, but the frames that these events are for a browser.
    fn drain_ui(&self, py: Python<'_>, queue: &Bound<'_, JobQueue>, number: u64, frames: &UiFrames) -> Option<String> {
        let waker = queue.get().waker(number);
        py.detach(|| frames.with(|stream| self.core.drain_ui(BATCH, Some(&waker), stream)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.causes.traverse(&visit)
    }

    fn __clear__(&self) {
        self.causes.close();
    }

    /// The result, once the agent is idle. `inside` are the numbers of the runs that the caller is inside of.
    fn outcome(&self, inside: Vec<u64>) -> NativeFuture {
        let inside = inside.contains(&self.marker) && self.core.finished().is_none();
        let (run, has_logged) = (Arc::clone(&self.core), Arc::clone(&self.has_logged));
        NativeFuture::new(inside.then(|| self.scope.clone()), async move {
            let ended = run.ended().await;
            log::after_records(&has_logged).await;
            ended.map(|result| Output::Result(Box::new(result)))
        })
    }
}

/// Text, a message, messages, or content blocks.
pub(crate) fn prompt(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Prompt> {
    Prompt::from_json_of(what, json::from_py(value, what)?).map_err(|error| error::raised(value.py(), error))
}

/// The result of a run.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct RunResult {
    core: CoreResult,
    /// Makes the value of the answer's type from its JSON.
    reader: Option<Py<PyAny>>,
    /// The answer, once it was asked for.
    output: OnceLock<Py<PyAny>>,
}

impl RunResult {
    pub(crate) fn new(core: CoreResult) -> RunResult {
        RunResult { core, reader: None, output: OnceLock::new() }
    }
}

#[pymethods]
impl RunResult {
    /// A result of messages, for tests. Unless given, `usage` is the sum of the messages' and `turns` the number of answers.
    #[new]
    #[pyo3(
        signature = (
            *, outcome=None, messages=None, usage=None, turns=None, error=None, pending=None, undelivered=None, output=None
        ),
        text_signature = "(*, outcome='completed', messages=None, usage=None, turns=None, error=None, pending=None, \
                          undelivered=None, output=None)"
    )]
    #[allow(clippy::too_many_arguments)] // They are the fields, given by their names.
    fn py_new(
        py: Python<'_>,
        outcome: Option<&Bound<'_, PyAny>>,
        messages: Option<&Bound<'_, PyAny>>,
        usage: Option<&Bound<'_, PyAny>>,
        turns: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        pending: Option<Vec<PyRef<'_, SuspendedCall>>>,
        undelivered: Option<&Bound<'_, PyAny>>,
        output: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RunResult> {
        let wrong =
            |value: &Bound<'_, PyAny>, name: &str, class: &str| argument::wrong_type(value, &format!("RunResult: {name}"), class);
        let outcome = match outcome {
            Some(outcome) => construct::data(py, "RunResult: outcome", argument::text(outcome, "RunResult: outcome")?.into())?,
            None => Outcome::Completed,
        };
        let usage = usage.map(|usage| usage.cast::<Usage>().map_err(|_| wrong(usage, "usage", "a Usage"))).transpose()?;
        let turns = turns.map(|turns| argument::count(turns, "RunResult: turns")).transpose()?;
        if let Some(error) = error
            && !error.is_instance(&error::base(py)?)?
        {
            return Err(wrong(error, "error", "an AgentError"));
        }
        let undelivered = undelivered
            .map(|undelivered| undelivered.cast::<Undelivered>().map_err(|_| wrong(undelivered, "undelivered", "an Undelivered")))
            .transpose()?;
        let messages = messages.map(|messages| from_py(messages, "RunResult: messages")).transpose()?.unwrap_or_default();
        let error = error.map(|error| json::from_py(&error.call_method0("to_dict")?, "RunResult: error")).transpose()?;
        let answers = || messages.iter().filter_map(|message| message.as_assistant());
        let sum = || agent_loop::Usage::sum(answers().map(|answer| &answer.usage));
        let usage = usage.map_or_else(sum, |usage| usage.get().0.clone());
        let turns = turns.unwrap_or_else(|| u32::try_from(answers().count()).unwrap_or(u32::MAX));
        let mut core = CoreResult::new(outcome, messages, usage, turns, error.as_ref().map(error::from_fields));
        core.pending = pending.into_iter().flatten().map(|call| call.0.clone()).collect();
        core.output = output.map(|output| json::from_py(output, "RunResult: output")).transpose()?;
        core.undelivered = undelivered.map(|undelivered| undelivered.get().0.clone());
        Ok(RunResult::new(core))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "result", &self.core)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn outcome(&self) -> &'static str {
        self.core.outcome.as_str()
    }

    #[getter]
    fn text(&self) -> &str {
        &self.core.text
    }

    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.message.as_ref().map(|core| message(py, core)).transpose()
    }

    #[getter]
    fn stop_reason(&self) -> Option<&'static str> {
        self.core.stop_reason.map(agent_loop::StopReason::as_str)
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        messages(py, &self.core.messages)
    }

    #[getter]
    fn usage(&self) -> Usage {
        Usage(self.core.usage.clone())
    }

    #[getter]
    fn turns(&self) -> u32 {
        self.core.turns
    }

    /// The answer: a value of the type that the run was asked for.
    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(output) = &self.core.output else { return Ok(None) };
        if let Some(value) = self.output.get() {
            return Ok(Some(value.bind(py).clone()));
        }
        let value = json::to_py(py, output)?;
        let value = match &self.reader {
            None => value,
            Some(reader) => reader.bind(py).call1((value,))?,
        };
        Ok(Some(self.output.get_or_init(|| value.unbind()).bind(py).clone()))
    }

    /// The same, whose answer this function makes from its JSON.
    fn _read_by(&self, reader: Py<PyAny>) -> RunResult {
        RunResult { reader: Some(reader), ..RunResult::new(self.core.clone()) }
    }

    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, _of: &Bound<'_, PyAny>) -> Py<PyType> {
        cls.clone().unbind()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.reader)?;
        self.output.get().map_or(Ok(()), |value| visit.call(value))
    }

    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.error.as_ref().map(|core| error::object(py, core)).transpose()
    }

    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        suspended_calls(py, &self.core.pending)
    }

    #[getter]
    fn undelivered(&self) -> Option<Undelivered> {
        self.core.undelivered.clone().map(Undelivered)
    }

    fn to_tool_result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, &self.core.to_tool_result())
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.core)
    }

    fn to_json(&self) -> PyResult<String> {
        json::to_text(&self.core)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<RunResult>().is_ok_and(|other| other.get().core == self.core)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        // The messages are long.
        json::repr(py, "RunResult", &self.core, &["message", "messages"])
    }
}

/// Queued messages that a stateless run did not append.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct Undelivered(pub(crate) agent_loop::Undelivered);

#[pymethods]
impl Undelivered {
    #[new]
    #[pyo3(signature = (*, steering=None, follow_up=None))]
    fn new(steering: Option<&Bound<'_, PyAny>>, follow_up: Option<&Bound<'_, PyAny>>) -> PyResult<Undelivered> {
        let read = |list: Option<&Bound<'_, PyAny>>, what| list.map(|list| from_py(list, what)).transpose();
        Ok(Undelivered(agent_loop::Undelivered {
            steering: read(steering, "Undelivered: steering")?.unwrap_or_default(),
            follow_up: read(follow_up, "Undelivered: follow_up")?.unwrap_or_default(),
        }))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "undelivered", &self.0)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn steering<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        messages(py, &self.0.steering)
    }

    #[getter]
    fn follow_up<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        messages(py, &self.0.follow_up)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Undelivered>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "Undelivered", &self.0, &[])
    }
}

/// Refuses options that one model call has no use for.
#[pyfunction]
pub(crate) fn check_call_options(py: Python<'_>, names: Vec<json::Text>) -> PyResult<()> {
    let names = names.iter().map(|name| &*name.0);
    Completion::check_options(names, Spelling::Snake).map_err(|error| error::raised(py, error))
}

/// Refuses a field that the context of a stateless run does not have.
#[pyfunction]
pub(crate) fn check_context_fields(py: Python<'_>, names: Vec<json::Text>) -> PyResult<()> {
    let names = names.iter().map(|name| &*name.0);
    Context::check_fields(names, Spelling::Snake).map_err(|error| error::raised(py, error))
}
