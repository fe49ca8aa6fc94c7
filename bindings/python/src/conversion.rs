//! Transcripts of other programs: in and out.

use agent_loop::transcript::{self, Format};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::block::match_args;
use crate::error::raised;
use crate::message::{messages as to_py, stored_from_py};
use crate::{json, model};

/// Something that a conversion did not carry over.
#[pyclass(frozen, module = "agent_loop.transcript")]
pub(crate) struct Loss(transcript::Loss);

#[pymethods]
impl Loss {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        match_args(py, &["code", "message"])
    }

    #[getter]
    fn index(&self) -> usize {
        self.0.index
    }

    #[getter]
    fn code(&self) -> &'static str {
        self.0.code
    }

    #[getter]
    fn message(&self) -> &str {
        &self.0.message
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Loss>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "Loss", &self.0, &[])
    }
}

pub(crate) fn losses<'py>(py: Python<'py>, losses: &[transcript::Loss]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, losses.iter().cloned().map(Loss))
}

/// The messages that were read of another program's.
#[pyclass(frozen, module = "agent_loop.transcript")]
pub(crate) struct Imported(transcript::Imported);

#[pymethods]
impl Imported {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        match_args(py, &["messages", "system_prompt", "losses"])
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        to_py(py, &self.0.messages)
    }

    #[getter]
    fn system_prompt(&self) -> &str {
        &self.0.system_prompt
    }

    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        losses(py, &self.0.losses)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Imported>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self) -> String {
        // The messages are long.
        format!("<Imported: {} messages, {} losses>", self.0.messages.len(), self.0.losses.len())
    }
}

/// Messages as another program has them.
#[pyclass(frozen, module = "agent_loop.transcript")]
pub(crate) struct Exported(transcript::Exported);

#[pymethods]
impl Exported {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        match_args(py, &["messages", "losses"])
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, &self.0.messages)
    }

    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        losses(py, &self.0.losses)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Exported>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self) -> String {
        let count = self.0.messages.as_array().map_or(0, Vec::len);
        format!("<Exported: {count} messages, {} losses>", self.0.losses.len())
    }
}

fn format_of(py: Python<'_>, format: &str) -> PyResult<Format> {
    Format::parse(format).map_err(|error| raised(py, error))
}

/// Reads messages of another program: a list of dicts, or its text (of pi, the lines of a session's file). `model`, given as for
/// `Agent`, is who wrote what the model said, where the messages do not say it.
/// Raises `InvalidArgumentError` for what is no list of such messages, with a JSON pointer to what is wrong.
#[pyfunction]
#[pyo3(signature = (format, messages, *, model = None))]
pub(crate) fn import_messages(format: &str, messages: &Bound<'_, PyAny>, model: Option<&Bound<'_, PyAny>>) -> PyResult<Imported> {
    let py = messages.py();
    let model = model.map(model::spec).transpose()?;
    let read = transcript::import(format_of(py, format)?, json::from_py(messages, "messages")?, model.as_ref());
    read.map(Imported).map_err(|error| raised(py, error))
}

/// Writes messages for another program. The system prompt becomes the first message where the format has a place for it.
/// Raises `InvalidArgumentError` for an unknown format or a wrong message.
#[pyfunction]
#[pyo3(signature = (format, messages, *, system_prompt = ""))]
pub(crate) fn export_messages(format: &str, messages: &Bound<'_, PyAny>, system_prompt: &str) -> PyResult<Exported> {
    let format = format_of(messages.py(), format)?;
    Ok(Exported(transcript::export(format, &stored_from_py(messages, "messages")?, system_prompt)))
}
