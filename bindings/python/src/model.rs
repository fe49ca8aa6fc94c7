//! Models that are known; and a provider of one's own: a Python generator that answers requests piece by piece; an async one on the event loop of the run, a
//! plain one on a thread of its own.

use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::{Agent as CoreAgent, CancellationToken, ModelCall as CoreCall, ModelRequest as CoreRequest, ModelSpec};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{from_fields, raised};
use crate::host::{Host, Shared};
use crate::mailbox::{Job, Mailbox};
use crate::message::messages;
use crate::pending::{Output, Pending};
use crate::watch::Watch;
use crate::{json, runtime};

/// The models that are known, a dict each.
#[pyfunction]
pub(crate) fn models(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    json::to_dict(py, &agent_loop::models())
}

/// A model's name, or what is known of it in a dict.
pub(crate) fn spec(model: &Bound<'_, PyAny>) -> PyResult<ModelSpec> {
    ModelSpec::from_json(json::from_py(model, "model")?).map_err(|error| raised(model.py(), error))
}

/// Has a Python function answer the calls of every model of the agent. `blocking`: it is plain, and gets a thread.
pub(crate) fn set(agent: &CoreAgent, host: &Arc<Host>, function: Py<PyAny>, blocking: bool) {
    let function: Shared = Arc::new(function);
    let before = host.lock().provider.replace(Arc::clone(&function));
    drop(before);
    let host = Arc::downgrade(host);
    agent.set_provider(Some(Arc::new(move |core: CoreCall| {
        let Some(caller) = host.upgrade().and_then(|host| host.caller()) else {
            // Dropped, the call says itself that it has no answer.
            return;
        };
        let call = ModelCall::new(core, Arc::clone(&function), caller.vars);
        if !blocking {
            return caller.post.leave(Job::Model(call));
        }
        // Dropped with Python: if that is gone, the call says that it has no answer.
        drop(tokio::task::spawn_blocking(|| {
            runtime::attached(|py| {
                let answer = Arc::clone(&call.function);
                if let Err(error) = answer.call1(py, (call,)) {
                    error.write_unraisable(py, None);
                }
            })
        }));
    })));
}

/// A request that waits for its answer.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct ModelCall {
    /// Shared with waits for room.
    core: Mutex<Option<Arc<CoreCall>>>,
    cancel: CancellationToken,
    function: Shared,
    vars: Shared,
    watch: Watch,
}

impl ModelCall {
    fn new(core: CoreCall, function: Shared, vars: Shared) -> ModelCall {
        let cancel = core.cancel_token().clone();
        ModelCall { core: Mutex::new(Some(Arc::new(core))), cancel, function, vars, watch: Watch::default() }
    }

    fn core(&self) -> Option<Arc<CoreCall>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The call, to be ended. `None` when it has ended.
    fn take(&self) -> Option<Arc<CoreCall>> {
        self.watch.end();
        self.core.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl ModelCall {
    /// What answers the call: called with it.
    #[getter]
    fn function(&self, py: Python<'_>) -> Py<PyAny> {
        self.function.clone_ref(py)
    }

    /// The `contextvars.Context` of the run's caller.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Py<PyAny> {
        self.vars.clone_ref(py)
    }

    /// The request; none once it is answered.
    fn request(&self) -> Option<ModelRequest> {
        self.core().map(|core| ModelRequest(core.request().clone()))
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Gives a piece of the answer.
    fn push(&self, py: Python<'_>, piece: &Bound<'_, PyAny>) -> PyResult<()> {
        let piece = json::from_py(piece, "piece")?;
        match self.core() {
            Some(core) => core.push(&piece).map_err(|error| raised(py, error)),
            None => Ok(()),
        }
    }

    /// Waits for room for the next piece; false when the answer is no longer wanted.
    fn ready(&self) -> Pending {
        let core = self.core();
        Pending::new(None, async move {
            let ready = match core {
                Some(core) => core.ready().await,
                None => false,
            };
            Ok(Output::Flag(ready))
        })
    }

    /// The same for a thread that may block.
    fn ready_sync(&self, py: Python<'_>) -> bool {
        let core = self.core();
        py.detach(|| core.is_some_and(|core| core.ready_blocking()))
    }

    /// The answer is complete.
    fn finish(&self) {
        if let Some(core) = self.take() {
            core.finish();
        }
    }

    /// The answer failed; `error` is what an `AgentError` says in its `to_dict`.
    fn fail(&self, error: &Bound<'_, PyAny>) -> PyResult<()> {
        let error = from_fields(&json::from_py(error, "error")?);
        if let Some(core) = self.take() {
            core.fail(error);
        }
        Ok(())
    }

    /// Answers for a loop that runs no more.
    pub(crate) fn refuse(&self) {
        if let Some(core) = self.take() {
            core.fail(agent_loop::Error::new(agent_loop::ErrorKind::Provider, crate::mailbox::CLOSED));
        }
    }

    /// Has the mailbox get the number when the answer is no longer wanted; true when that is so already.
    fn watch(&self, mailbox: &Bound<'_, Mailbox>, number: u64) -> bool {
        self.watch.begin(&self.cancel, mailbox, number)
    }
}

/// What a provider is asked.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct ModelRequest(CoreRequest);

#[pymethods]
impl ModelRequest {
    #[getter]
    fn model(&self) -> &str {
        &self.0.request.model
    }

    #[getter]
    fn system_prompt(&self) -> &str {
        &self.0.request.system_prompt
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        messages(py, &self.0.request.messages)
    }

    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &*self.0.request.tools)
    }

    #[getter]
    fn thinking_level(&self) -> &'static str {
        self.0.request.thinking_level.as_str()
    }

    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0.options())
    }

    /// Never shown in `to_dict` and `repr`.
    #[getter]
    fn api_key(&self) -> Option<&str> {
        self.0.api_key.as_deref()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __repr__(&self) -> String {
        // Headers may have a key, and messages would fill the screen.
        let request = &self.0.request;
        format!("<ModelRequest to {}: {} messages, {} tools>", request.model, request.messages.len(), request.tools.len())
    }
}
