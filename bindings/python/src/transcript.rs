//! Transcript repair: makes a transcript valid for a model.

use std::sync::Arc;

use agent_loop::Message as CoreMessage;
use agent_loop::host::read_json;
use agent_loop::transcript::{self, Constraints};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::block::match_args;
use crate::error::raised;
use crate::message::{messages as to_py, stored_from_py};
use crate::{argument, json, model};

/// One change that a transcript needs.
#[pyclass(frozen, module = "agent_loop.transcript")]
pub(crate) struct Repair(transcript::Repair);

#[pymethods]
impl Repair {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        match_args(py, &["code", "text"])
    }

    #[getter]
    fn code(&self) -> &'static str {
        self.0.code
    }

    #[getter]
    fn message_index(&self) -> usize {
        self.0.message_index
    }

    #[getter]
    fn content_index(&self) -> Option<usize> {
        self.0.content_index
    }

    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Repair>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "Repair", &self.0, &[])
    }
}

/// A repaired transcript and its changes.
#[pyclass(frozen, module = "agent_loop.transcript")]
pub(crate) struct Repaired(transcript::Repaired);

#[pymethods]
impl Repaired {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        match_args(py, &["messages", "repairs"])
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        to_py(py, &self.0.messages)
    }

    #[getter]
    fn repairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.repairs.iter().cloned().map(Repair))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Repaired>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self) -> String {
        // The messages are long.
        format!("<Repaired: {} messages, {} repairs>", self.0.messages.len(), self.0.repairs.len())
    }
}

/// Makes a transcript valid for a model, which is given as for `Agent`. For any thread; the arguments are not changed.
///
/// Failed messages are left out, with the results of their calls. Each call gets one result, directly after its message. Call
/// ids, thinking, signatures and images become what the model accepts. Messages of custom roles are left out without a `Repair`.
/// Raises `InvalidArgumentError` for a wrong message or model, TypeError for what is not a list or not JSON.
#[pyfunction]
pub(crate) fn repair(messages: &Bound<'_, PyAny>, model: &Bound<'_, PyAny>) -> PyResult<Repaired> {
    let (transcript, fit) = read(messages, model)?;
    Ok(Repaired(transcript::repair(&transcript, &fit)))
}

/// The changes that `repair` would make; empty when the transcript is valid. Raises what `repair` does.
#[pyfunction]
pub(crate) fn check(messages: &Bound<'_, PyAny>, model: &Bound<'_, PyAny>) -> PyResult<Vec<Repair>> {
    let (transcript, fit) = read(messages, model)?;
    Ok(transcript::check(&transcript, &fit).into_iter().map(Repair).collect())
}

/// How many tokens the messages have for a model, about: by their characters, and 1,500 for an image. Raises what `repair` does.
#[pyfunction]
pub(crate) fn estimate_tokens(messages: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(transcript::estimate_tokens(&stored_from_py(messages, "messages")?))
}

/// The last `count` messages, or fewer: they begin with a user's message, so that no result is cut from its call. If the last
/// one is farther back, all from there on; without any, all. They are the same objects. For `transform_context`.
/// Raises what `repair` does.
#[pyfunction]
pub(crate) fn recent<'py>(messages: &Bound<'py, PyAny>, count: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let count = argument::count(count, "count")?;
    let transcript = stored_from_py(messages, "messages")?;
    let roles: Vec<_> = transcript.iter().map(|message| message.role()).collect();
    let messages = PyList::new(messages.py(), messages.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
    Ok(messages.get_slice(transcript::recent_start(&roles, count), roles.len()))
}

/// Reads a stored history: a list of messages as dicts, or its JSON text. Fields that no message has are moved to
/// `metadata["unknown"]`, and so is an `id` that is no text or is there twice; `check` and each run report these messages
/// (`unknown_field`). Raises `InvalidArgumentError` for what is not a list of messages, and says where; TypeError for what is not
/// JSON.
#[pyfunction]
pub(crate) fn read_history<'py>(history: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = history.py();
    let value = match history.cast::<PyString>() {
        Ok(text) => read_json(text.to_str()?)
            .map_err(|e| raised(py, agent_loop::Error::invalid_argument(format!("history: {}", e.message()))))?,
        Err(_) => json::from_py(history, "history")?,
    };
    let messages = transcript::read_history(value).map_err(|error| raised(py, error))?;
    Ok(to_py(py, &messages.into_iter().map(Arc::new).collect::<Vec<_>>())?.to_list())
}

fn read(messages: &Bound<'_, PyAny>, model: &Bound<'_, PyAny>) -> PyResult<(Vec<Arc<CoreMessage>>, Constraints)> {
    let transcript = stored_from_py(messages, "messages")?;
    let fit = transcript::constraints(&model::spec(model)?).map_err(|error| raised(model.py(), error))?;
    Ok((transcript, fit))
}
