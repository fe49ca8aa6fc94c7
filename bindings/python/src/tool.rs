//! Tools: Python functions that a model can call, and their calls.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use agent_loop::{HookContext, PendingCall, PreparedArguments, Spelling, Tool, ToolContext, ToolSpec as CoreSpec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::{Map, Value};

use crate::block::blocks;
use crate::cancel_watch::CancelWatch;
use crate::error::raised;
use crate::future::{NativeFuture, Output};
use crate::hook::HookFunction;
use crate::hook_input::HookInput;
use crate::host::{AGENT_GONE, Host, Shared};
use crate::job_queue::{CLOSED, Job, JobQueue};
use crate::{error, json, runtime};

/// A tool's name, description and parameters, checked when it is made.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct ToolSpec(Arc<CoreSpec>);

#[pymethods]
impl ToolSpec {
    #[new]
    fn new(py: Python<'_>, fields: &Bound<'_, PyDict>) -> PyResult<ToolSpec> {
        let fields = json::from_py(fields, "tool")?;
        let spec = CoreSpec::from_json_spelled(fields, Spelling::Snake, &["execute", "prepare_arguments"]);
        spec.map(|spec| ToolSpec(Arc::new(spec))).map_err(|error| raised(py, error))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn label(&self) -> &str {
        &self.0.label
    }

    #[getter]
    fn description(&self) -> &str {
        &self.0.description
    }

    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, &self.0.parameters)
    }

    #[getter]
    fn execution_mode(&self) -> Option<&'static str> {
        self.0.execution_mode.map(|mode| match mode {
            agent_loop::ExecutionMode::Parallel => "parallel",
            agent_loop::ExecutionMode::Sequential => "sequential",
        })
    }

    #[getter]
    fn timeout_ms(&self) -> u64 {
        self.0.timeout_ms
    }
}

/// The engine's side of a tool.
pub(crate) struct HostTool {
    spec: Arc<CoreSpec>,
    tool: Shared,
    /// Whether it is a plain function, which is called on a thread of its own.
    blocking: bool,
    /// Whether it has a `prepare_arguments` function, called before the arguments are checked.
    prepares: bool,
    host: Weak<Host>,
}

impl HostTool {
    /// From an `agent_loop.Tool`.
    pub(crate) fn new(tool: &Bound<'_, PyAny>, shared: &Shared, host: &Arc<Host>) -> PyResult<HostTool> {
        let spec = tool.getattr("spec")?.cast::<ToolSpec>()?.get().0.clone();
        let blocking = !tool.getattr("is_async")?.is_truthy()?;
        let prepares = !tool.getattr("prepare_arguments")?.is_none();
        Ok(HostTool { spec, tool: Arc::clone(shared), blocking, prepares, host: Arc::downgrade(host) })
    }
}

impl Tool for HostTool {
    fn spec(&self) -> &CoreSpec {
        &self.spec
    }

    fn prepare_arguments(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<PreparedArguments> {
        if !self.prepares {
            return None;
        }
        // Held is the tool, which the garbage collector can see, not its function.
        let prepare = HookFunction { host: self.host.clone(), function: Arc::clone(&self.tool), method: Some("_prepare") };
        let (arguments, context) = (arguments.clone(), context.clone());
        Some(Box::pin(async move {
            match prepare.call_json(HookInput::Value(Value::Object(arguments)), context).await? {
                Value::Object(arguments) => Ok(arguments),
                other => Err(format!("expected a dict of arguments, got {other}")),
            }
        }))
    }

    fn start(&self, call: PendingCall) {
        let Some(caller) = self.host.upgrade().and_then(|host| host.caller()) else {
            return call.fail(AGENT_GONE);
        };
        let job = ToolJob::new(call, Arc::clone(&self.tool), caller.vars);
        if !self.blocking {
            return caller.jobs.send(Job::Tool(job));
        }
        // At interpreter exit the job is dropped, which fails the call.
        let _ = runtime::attached(|py| {
            if let Err(error) = self.tool.call_method1(py, "_answer_in_thread", (job,)) {
                error.write_unraisable(py, None);
            }
        });
    }

    fn may_block(&self) -> bool {
        self.blocking
    }
}

/// A tool call to be answered.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct ToolJob {
    pending: Mutex<Option<PendingCall>>,
    context: ToolContext,
    tool: Shared,
    vars: Shared,
    watch: CancelWatch,
}

impl ToolJob {
    fn new(pending: PendingCall, tool: Shared, vars: Shared) -> ToolJob {
        let context = pending.context().clone();
        ToolJob { pending: Mutex::new(Some(pending)), context, tool, vars, watch: CancelWatch::default() }
    }

    /// Takes the call, to answer it, and stops watching for its cancellation.
    fn take(&self) -> Option<PendingCall> {
        self.watch.end();
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl ToolJob {
    /// The `agent_loop.Tool`.
    #[getter]
    fn tool(&self, py: Python<'_>) -> Py<PyAny> {
        self.tool.clone_ref(py)
    }

    /// The `contextvars.Context` of the run's caller.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Py<PyAny> {
        self.vars.clone_ref(py)
    }

    #[getter]
    fn context(&self) -> CallContext {
        CallContext(self.context.clone())
    }

    /// The validated arguments; empty once the call is answered.
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let arguments = match &*self.pending.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(pending) => pending.arguments().clone(),
            None => Map::new(),
        };
        json::map_to_py(py, &arguments)
    }

    /// Answers the call; a value that is not JSON becomes an error result.
    fn respond(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let answer = json::from_py(value, "the answer");
        let Some(pending) = self.take() else {
            return Ok(());
        };
        match answer {
            Ok(answer) => pending.respond(answer),
            Err(error) => pending.fail(error::text(py, &error)?),
        }
        Ok(())
    }

    /// Fails the call.
    fn fail(&self, message: json::Text) {
        if let Some(pending) = self.take() {
            pending.fail(message.0);
        }
    }

    /// Fails the call: its event loop no longer runs.
    pub(crate) fn refuse(&self) {
        self.fail(json::Text(CLOSED.to_owned()));
    }

    /// Wakes the number in the queue when the run no longer needs the answer; returns true when it already does not.
    fn watch(&self, queue: &Bound<'_, JobQueue>, number: u64) -> bool {
        self.watch.begin(self.context.over_token(), queue, number)
    }
}

/// The native side of a `ToolContext`.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct CallContext(pub(crate) ToolContext);

#[pymethods]
impl CallContext {
    #[getter]
    fn id(&self) -> &str {
        self.0.id()
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    fn update(&self, partial: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.update(json::from_py(partial, "the update")?);
        Ok(())
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn wait_cancelled(&self) -> NativeFuture {
        let cancelled = self.0.cancel_token().clone().cancelled_owned();
        NativeFuture::new(None, async move {
            cancelled.await;
            Ok(Output::Nothing)
        })
    }

    fn sleep(&self, ms: f64) -> PyResult<NativeFuture> {
        let (context, ms) = (self.0.clone(), millis(ms)?);
        Ok(NativeFuture::new(None, async move { Ok(Output::Flag(context.sleep(ms).await)) }))
    }

    fn sleep_sync(&self, py: Python<'_>, ms: f64) -> PyResult<bool> {
        let ms = millis(ms)?;
        Ok(py.detach(|| self.0.sleep_blocking(ms)))
    }
}

pub(crate) fn millis(ms: f64) -> PyResult<u64> {
    if ms.is_nan() || ms < 0.0 {
        return Err(PyValueError::new_err(format!("ms: expected milliseconds, got {ms}")));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // not negative; a value that is too large becomes the maximum
    Ok(ms.ceil() as u64)
}

/// A tool's result as events carry it.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct ToolOutput(pub(crate) agent_loop::ToolOutput);

#[pymethods]
impl ToolOutput {
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        blocks(py, &self.0.content)
    }

    #[getter]
    fn details<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, &self.0.details)
    }

    #[getter]
    fn terminate(&self) -> bool {
        self.0.terminate
    }

    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<ToolOutput>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "ToolOutput", &self.0, &[])
    }
}

/// A tool's progress update, before its result.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct PartialResult(pub(crate) agent_loop::PartialResult);

#[pymethods]
impl PartialResult {
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        blocks(py, &self.0.content)
    }

    #[getter]
    fn details<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, &self.0.details)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PartialResult>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "PartialResult", &self.0, &[])
    }
}
