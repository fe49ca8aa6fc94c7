//! The known models, and custom providers: Python generators that yield an answer in chunks, async ones on the event loop of the
//! run, plain ones on a thread of their own.

use std::sync::Arc;

use agent_loop::host::{Blocking, HostCall, hand_over};
use agent_loop::model::ModelRequest as CoreRequest;
use agent_loop::{Agent as CoreAgent, ModelSpec};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::call::Target;
use crate::error::raised;
use crate::host::{Host, Shared};
use crate::json;
use crate::message::messages;

/// The known models, by provider and id, each a dict that `Agent` takes as its model. For any thread.
///
/// The fields are `provider`, `id`, `label`, `context_window` and `max_output_tokens` (tokens), `input`, `thinking`, and where
/// known `cost` (US dollars per million tokens: `input`, `output`, `cache_read`, `cache_write`, and `tiers` where long prompts
/// cost more) and `quirks`. What a model's name or dict leaves out is taken from here. A model that is not listed works too,
/// with an unknown cost.
#[pyfunction]
pub(crate) fn models(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    json::to_dict(py, &agent_loop::models())
}

/// A model from its name or a dict.
pub(crate) fn spec(model: &Bound<'_, PyAny>) -> PyResult<ModelSpec> {
    ModelSpec::from_json(json::from_py(model, "model")?).map_err(|error| raised(model.py(), error))
}

/// A function that answers model calls, and whether it is plain and gets a thread.
pub(crate) type Provider = (Py<PyAny>, bool);

/// Has a Python function answer the calls of the models of a provider, or without a name those of the agent's model; `None`
/// removes it. The function comes with whether it is plain and gets a thread.
pub(crate) fn set_provider(
    agent: &CoreAgent,
    host: &Arc<Host>,
    name: Option<&str>,
    function: Option<Provider>,
) -> Result<(), agent_loop::Error> {
    share_provider(agent, host, name, function.map(|(function, blocking)| (Arc::new(function), blocking)))
}

/// The same of one that agents share.
pub(crate) fn share_provider(
    agent: &CoreAgent,
    host: &Arc<Host>,
    name: Option<&str>,
    function: Option<(Shared, bool)>,
) -> Result<(), agent_loop::Error> {
    let host_function = function.as_ref().map(|(function, blocking)| {
        let function =
            Target { object: Arc::clone(function), method: None, blocking: *blocking, cancels_task: false }.function(host);
        if !blocking {
            return function;
        }
        let in_thread: agent_loop::host::HostFunction = Arc::new(move |call| {
            let function = Arc::clone(&function);
            hand_over(
                Blocking::Other,
                call,
                move |call| function(call),
                |call: HostCall, error| {
                    // Nothing has answered it.
                    let _ = call.fail(format!("the provider could not be called: {}", error.message()));
                },
            );
        });
        in_thread
    });
    agent.set_host_provider(name, host_function)?;
    let name = name.unwrap_or_default();
    let before = match function {
        Some(function) => host.lock().providers.insert(name.to_owned(), function),
        None => host.lock().providers.remove(name),
    };
    drop(before);
    Ok(())
}

/// The request to a custom provider.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct ModelRequest(pub(crate) CoreRequest);

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
