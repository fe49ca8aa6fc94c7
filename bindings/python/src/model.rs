//! The known models, and custom providers: Python generators that yield an answer in chunks, async ones on the event loop of the
//! run, plain ones on a thread of their own.

use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::{Agent as CoreAgent, CancellationToken, ModelCall as CoreCall, ModelRequest as CoreRequest, ModelSpec};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::cancel_watch::CancelWatch;
use crate::error::{from_fields, raised};
use crate::future::{NativeFuture, Output};
use crate::host::{Host, Shared};
use crate::job_queue::{Job, JobQueue};
use crate::message::messages;
use crate::{json, runtime};

/// The known models, by provider and id, each a dict that `Agent` takes as its model. For any thread.
///
/// The fields are `provider`, `id`, `label`, `context_window` and `max_output_tokens` (tokens), `input`, `thinking`, and where
/// known `cost` (US dollars per million tokens: `input`, `output`, `cache_read`, `cache_write`) and `quirks`. What a model's
/// name or dict leaves out is taken from here. A model that is not listed works too, with an unknown cost.
#[pyfunction]
pub(crate) fn models(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    json::to_dict(py, &agent_loop::models())
}

/// A model from its name or a dict.
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
            // Dropping the call fails it.
            return;
        };
        let job = ModelJob::new(core, Arc::clone(&function), caller.vars);
        if !blocking {
            return caller.jobs.send(Job::Model(job));
        }
        // At interpreter exit the job is dropped, which fails the call.
        drop(tokio::task::spawn_blocking(|| {
            runtime::attached(|py| {
                let answer = Arc::clone(&job.function);
                if let Err(error) = answer.call1(py, (job,)) {
                    error.write_unraisable(py, None);
                }
            })
        }));
    })));
}

/// A model call to be answered by a custom provider.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct ModelJob {
    /// Shared with the futures of `ready`.
    core: Mutex<Option<Arc<CoreCall>>>,
    cancel: CancellationToken,
    function: Shared,
    vars: Shared,
    watch: CancelWatch,
}

impl ModelJob {
    fn new(core: CoreCall, function: Shared, vars: Shared) -> ModelJob {
        let cancel = core.cancel_token().clone();
        ModelJob { core: Mutex::new(Some(Arc::new(core))), cancel, function, vars, watch: CancelWatch::default() }
    }

    fn core(&self) -> Option<Arc<CoreCall>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the call, to end it; `None` when it has ended.
    fn take(&self) -> Option<Arc<CoreCall>> {
        self.watch.end();
        self.core.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl ModelJob {
    /// The function that answers the call: it is called with this job.
    #[getter]
    fn function(&self, py: Python<'_>) -> Py<PyAny> {
        self.function.clone_ref(py)
    }

    /// The `contextvars.Context` of the run's caller.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Py<PyAny> {
        self.vars.clone_ref(py)
    }

    /// The request; None once the call is answered.
    fn request(&self) -> Option<ModelRequest> {
        self.core().map(|core| ModelRequest(core.request().clone()))
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Adds a chunk to the answer.
    fn push(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let chunk = json::from_py(chunk, "piece")?;
        match self.core() {
            Some(core) => core.push(&chunk).map_err(|error| raised(py, error)),
            None => Ok(()),
        }
    }

    /// Ready when the run can take the next chunk; false when the call was cancelled.
    fn ready(&self) -> NativeFuture {
        let core = self.core();
        NativeFuture::new(None, async move {
            let ready = match core {
                Some(core) => core.ready().await,
                None => false,
            };
            Ok(Output::Flag(ready))
        })
    }

    /// Same as `ready`, for a thread that may block.
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

    /// Fails the call; `error` is an `AgentError` as its `to_dict` returns it.
    fn fail(&self, error: &Bound<'_, PyAny>) -> PyResult<()> {
        let error = from_fields(&json::from_py(error, "error")?);
        if let Some(core) = self.take() {
            core.fail(error);
        }
        Ok(())
    }

    /// Fails the call: its event loop no longer runs.
    pub(crate) fn refuse(&self) {
        if let Some(core) = self.take() {
            core.fail(agent_loop::Error::new(agent_loop::ErrorKind::Provider, crate::job_queue::CLOSED));
        }
    }

    /// Wakes the number in the queue when the call is cancelled; returns true when it already is.
    fn watch(&self, queue: &Bound<'_, JobQueue>, number: u64) -> bool {
        self.watch.begin(&self.cancel, queue, number)
    }
}

/// The request to a custom provider.
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

    /// Left out of `to_dict` and `repr`.
    #[getter]
    fn api_key(&self) -> Option<&str> {
        self.0.api_key.as_deref()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __repr__(&self) -> String {
        // Headers may contain a key, and messages are long.
        let request = &self.0.request;
        format!("<ModelRequest to {}: {} messages, {} tools>", request.model, request.messages.len(), request.tools.len())
    }
}
