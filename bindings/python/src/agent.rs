//! The agent: its core, its host side, and the start of runs.

use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::{Agent as CoreAgent, ModelSpec, Prompt, Runtime, Scope, Spelling, ToolSet};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::Map;

use crate::error::raised;
use crate::host::{Caller, Host, Shared};
use crate::listener::{Subscription, listener};
use crate::mailbox::Mailbox;
use crate::message::{message, messages};
use crate::pending::{Output, Pending};
use crate::run::Run;
use crate::tool::HostTool;
use crate::{error, json, runtime};

/// Options that Python handles itself; they appear in the hint for an unknown name.
const OWN: &[&str] = &["tools"];

/// An agent without its Python conveniences.
#[pyclass(frozen, weakref, module = "agent_loop._native")]
pub(crate) struct Agent {
    core: CoreAgent,
    host: Arc<Host>,
    /// To go back to when a new one cannot be used.
    model: Mutex<ModelSpec>,
    /// Where its runs live; another one after a fork.
    runtime: Mutex<Option<Runtime>>,
}

impl Agent {
    /// The scope that code with these markers is inside of, if it is inside a callback of the active run.
    fn inside(&self, markers: &[u64]) -> Option<Scope> {
        (self.host.is_inside(markers) && self.core.is_streaming()).then(|| self.core.scope())
    }

    fn place(&self) -> Result<(), agent_loop::Error> {
        let runtime = runtime::runtime()?;
        let mut place = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if place.as_ref().is_none_or(Runtime::is_forked) {
            // Not each time: it makes the agent connect to its model anew.
            let _ = self.core.clone().runtime(place.insert(runtime));
        }
        Ok(())
    }
}

#[pymethods]
impl Agent {
    #[new]
    fn new(py: Python<'_>, model: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<Agent> {
        let spec = ModelSpec::from_json(json::from_py(model, "model")?).map_err(|error| raised(py, error))?;
        let core = CoreAgent::with_spec(spec.clone());
        let agent = Agent { core, host: Arc::default(), model: Mutex::new(spec), runtime: Mutex::default() };
        agent.set_options(py, options)?;
        agent.core.check().map_err(|error| raised(py, error))?;
        Ok(agent)
    }

    /// Sets options by name: all, or on an error none.
    fn set_options(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut named = Map::new();
        for (name, value) in options {
            let name: String = name.extract()?;
            let value = json::from_py(&value, &format!("option {name:?}"))?;
            named.insert(name, value);
        }
        self.core.set_options(&named, Spelling::Snake, OWN).map_err(|error| raised(py, error))
    }

    /// Replaces the model, if the new one can be used.
    fn set_model(&self, py: Python<'_>, model: &Bound<'_, PyAny>) -> PyResult<()> {
        let spec = ModelSpec::from_json(json::from_py(model, "model")?).map_err(|error| raised(py, error))?;
        let mut present = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        self.core.set_model(spec.clone());
        if let Err(error) = self.core.check() {
            self.core.set_model(present.clone());
            drop(present);
            return Err(raised(py, error));
        }
        *present = spec;
        Ok(())
    }

    /// Replaces all tools; each is an `agent_loop.Tool`.
    fn set_tools(&self, py: Python<'_>, tools: &Bound<'_, PyList>) -> PyResult<()> {
        let mut set = ToolSet::default();
        let mut held: Vec<Shared> = Vec::with_capacity(tools.len());
        for tool in tools {
            let shared: Shared = Arc::new(tool.clone().unbind());
            let core = HostTool::new(&tool, &shared, &self.host)?;
            set.add(Arc::new(core)).map_err(|error| raised(py, error))?;
            held.push(shared);
        }
        self.core.set_tools(set);
        let before = std::mem::replace(&mut self.host.lock().tools, held);
        drop(before);
        Ok(())
    }

    /// Starts a run. `vars` is the context its tools and listeners run in, in which `marker` marks them; `inside` are the
    /// markers of the code that asks.
    #[allow(clippy::too_many_arguments)] // what a run is asked with, where, and by whom
    fn start(
        &self,
        py: Python<'_>,
        prompt: &Bound<'_, PyAny>,
        quiet: bool,
        mailbox: &Bound<'_, Mailbox>,
        vars: Py<PyAny>,
        marker: u64,
        inside: Vec<u64>,
    ) -> PyResult<Run> {
        let prompt = Prompt::from_json(json::from_py(prompt, "prompt")?).map_err(|error| raised(py, error))?;
        self.place().map_err(|error| raised(py, error))?;
        let scope = self.inside(&inside);
        let caller = Caller { post: Arc::clone(mailbox.get().post()), vars: Arc::new(vars), marker };
        let start = || if quiet { self.core.start_quiet(prompt) } else { self.core.stream(prompt) };
        // Under the lock: the run's first tool may be called before we are through here.
        let mut host = self.host.lock();
        let started = match &scope {
            Some(scope) => scope.run(start),
            None => start(),
        };
        let before = if started.is_ok() { host.caller.replace(caller) } else { None };
        drop(host);
        drop(before);
        let core = started.map_err(|error| raised(py, error))?;
        Ok(Run::new(core, self.core.scope(), &self.host, marker))
    }

    fn abort(&self) {
        self.core.abort();
    }

    fn wait_for_idle(&self, inside: Vec<u64>) -> Pending {
        let core = self.core.clone();
        Pending::new(self.inside(&inside), async move { core.wait_for_idle().await.map(|()| Output::Nothing) })
    }

    fn subscribe(&self, function: Py<PyAny>) -> Subscription {
        let function: Shared = Arc::new(function);
        let subscription = self.core.add_listener(listener(&self.host, &function));
        let mut host = self.host.lock();
        host.next_listener += 1;
        let number = host.next_listener;
        host.listeners.insert(number, (subscription, function));
        Subscription::new(&self.host, number)
    }

    #[getter]
    fn system_prompt(&self) -> String {
        self.core.current_system_prompt()
    }

    #[getter]
    fn model(&self) -> String {
        self.core.model_name()
    }

    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let tools: Vec<Shared> = self.host.lock().tools.clone();
        PyTuple::new(py, tools.iter().map(|tool| tool.bind(py)))
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        messages(py, &self.core.messages())
    }

    #[getter]
    fn is_streaming(&self) -> bool {
        self.core.is_streaming()
    }

    #[getter]
    fn streaming_message<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.streaming_message().map(|core| message(py, &Arc::new(core))).transpose()
    }

    #[getter]
    fn pending_tool_calls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core.pending_tool_calls().iter().map(|id| &**id))
    }

    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.error().map(|core| error::object(py, &core)).transpose()
    }

    #[getter]
    fn listener_errors(&self) -> u64 {
        self.core.listener_errors()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.host.traverse(visit)
    }

    fn __clear__(&self) {
        self.core.set_tools(ToolSet::default());
        self.host.clear();
    }
}
