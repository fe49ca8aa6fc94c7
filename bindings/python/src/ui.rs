//! Runs for a browser: the frames of their events, and the browser's requests.

use std::sync::{Mutex, PoisonError};

use agent_loop::host::Spelling;
use agent_loop::ui;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::agent::Agent;
use crate::error::raised;
use crate::event::Event;
use crate::message::{message, messages};
use crate::{conversion, json};

fn protocol_of(py: Python<'_>, protocol: &str) -> PyResult<ui::UiProtocol> {
    ui::UiProtocol::parse(protocol).map_err(|error| raised(py, error))
}

fn options_of(options: &Bound<'_, PyAny>) -> PyResult<ui::UiOptions> {
    let read = ui::UiOptions::from_json(json::from_py(options, "options")?, Spelling::Snake);
    read.map_err(|error| raised(options.py(), error))
}

/// The conversation of an agent as the AI SDK has it.
#[pyfunction]
#[pyo3(signature = (agent, options, until=None))]
pub(crate) fn ui_messages<'py>(agent: &Agent, options: &Bound<'py, PyAny>, until: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
    json::to_py(options.py(), &agent.core.to_ui_messages_until(until, &options_of(options)?))
}

/// What of the frames follows the one with this id.
#[pyfunction]
pub(crate) fn ui_frames_after<'a>(sent: &'a str, last_event_id: &str) -> Option<&'a str> {
    ui::frames_after(sent, last_event_id)
}

/// Writes the frames of one run.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct UiFrames {
    protocol: ui::UiProtocol,
    stream: Mutex<ui::UiFrames>,
}

impl UiFrames {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut ui::UiFrames) -> T) -> T {
        work(&mut self.stream.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl UiFrames {
    #[new]
    fn new(protocol: &str, options: &Bound<'_, PyAny>, request: Option<&UiRequest>) -> PyResult<UiFrames> {
        let py = options.py();
        let protocol = protocol_of(py, protocol)?;
        let options = options_of(options)?;
        let options = request.map_or(options.clone(), |request| options.of(&request.0));
        Ok(UiFrames { protocol, stream: Mutex::new(ui::UiFrames::new(protocol, options)) })
    }

    /// After how many milliseconds without anything to send a comment is sent.
    #[getter]
    fn keep_alive_ms(&self) -> Option<u64> {
        self.with(|stream| stream.keep_alive_ms())
    }

    /// The headers of the response.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let headers = PyDict::new(py);
        for (name, value) in self.protocol.headers() {
            headers.set_item(name, value)?;
        }
        Ok(headers)
    }

    /// The frames of an event.
    fn push(&self, event: &Event) -> String {
        let mut text = String::new();
        self.with(|stream| stream.push(event.core(), &mut text));
        text
    }
}

/// A browser's request.
#[pyclass(frozen, module = "agent_loop.ui")]
pub(crate) struct UiRequest(ui::UiRequest);

#[pymethods]
impl UiRequest {
    #[staticmethod]
    fn read(protocol: &str, body: &Bound<'_, PyAny>, options: &Bound<'_, PyAny>) -> PyResult<UiRequest> {
        let py = body.py();
        let protocol = protocol_of(py, protocol)?;
        let options = ui::UiRequestOptions::from_json(json::from_py(options, "options")?, Spelling::Snake);
        let options = options.map_err(|error| raised(py, error))?;
        let read = match body.extract::<String>() {
            Ok(text) => ui::UiRequest::read_text(protocol, &text),
            Err(_) => ui::UiRequest::read(protocol, &json::from_py(body, "body")?),
        };
        read.map(|read| UiRequest(read.with_options(options))).map_err(|error| raised(py, error))
    }

    #[getter]
    fn id(&self) -> Option<&str> {
        self.0.id.as_deref()
    }

    #[getter]
    fn run_id(&self) -> Option<&str> {
        self.0.run_id.as_deref()
    }

    #[getter]
    fn message_id(&self) -> Option<&str> {
        self.0.message_id.as_deref()
    }

    #[getter]
    fn is_regenerate(&self) -> bool {
        self.0.is_regenerate
    }

    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        messages(py, &self.0.history)
    }

    #[getter]
    fn prompt<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.prompt.as_ref().map(|prompt| message(py, prompt)).transpose()
    }

    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        conversion::losses(py, &self.0.losses)
    }

    /// What to begin with the agent: what to `replace` its messages with, the `prompt`, and what to `resume` with; and how many
    /// messages there are `before` the first answer.
    fn start<'py>(&self, py: Python<'py>, agent: &Agent) -> PyResult<Bound<'py, PyDict>> {
        let messages_now = agent.core.messages();
        let found = PyDict::new(py);
        let start = self.0.start(&messages_now, &agent.core.pending()).map_err(|error| raised(py, error))?;
        found.set_item("before", start.messages_before(messages_now.len()))?;
        match start {
            ui::UiStart::Prompt(prompt) => found.set_item("prompt", message(py, &prompt)?)?,
            ui::UiStart::Edit(kept, prompt) => {
                found.set_item("replace", messages(py, &kept)?)?;
                found.set_item("prompt", message(py, &prompt)?)?;
            }
            ui::UiStart::Regenerate(kept) => found.set_item("replace", messages(py, &kept)?)?,
            resume => found.update(json::to_py(py, &resume.to_json())?.cast::<pyo3::types::PyMapping>()?)?,
        }
        Ok(found)
    }

    fn __repr__(&self) -> String {
        format!("<UiRequest: {} messages before the prompt>", self.0.history.len())
    }
}
