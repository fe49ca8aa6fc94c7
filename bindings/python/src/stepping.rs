//! A loop that Python steps: the native half of `agent_loop.Loop`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_loop::host::{HostLoop, Spelling, workflow_step as core_step};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyList};
use serde_json::Map;

use crate::argument::{self, wrong_type};
use crate::error::{raised, unchanged};
use crate::exchange::Exchange;
use crate::json;
use crate::tool::millis;

/// A loop that Python steps.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Loop(Mutex<HostLoop>);

impl Loop {
    fn lock(&self) -> MutexGuard<'_, HostLoop> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Loop {
    #[new]
    fn new(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Loop> {
        let mut named = Map::new();
        for option in options.items() {
            let (json::Text(name), value) = option.extract::<(json::Text, Bound<'_, PyAny>)>()?;
            let value = json::from_py(&value, &format!("option {name:?}"))?;
            named.insert(name, value);
        }
        let made = HostLoop::new(named, Spelling::Snake).map_err(|error| raised(py, error))?;
        Ok(Loop(Mutex::new(made)))
    }

    #[staticmethod]
    fn load(text: &Bound<'_, PyAny>) -> PyResult<Loop> {
        let loaded = HostLoop::load(&argument::text(text, "text")?).map_err(|error| raised(text.py(), error))?;
        Ok(Loop(Mutex::new(loaded)))
    }

    fn poll<'py>(&self, now_ms: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let action = self.lock().poll(millis(now_ms, "now_ms")?);
        action.map(|action| json::to_dict(now_ms.py(), &action)).transpose()
    }

    fn handle(&self, input: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = json::from_py(input, "input")?;
        self.lock().handle(&value, Spelling::Snake).map_err(|error| raised(input.py(), error))
    }

    fn model_bytes(&self, call: &Bound<'_, PyAny>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let call = argument::count(call, "call")?;
        let bytes: PyBackedBytes = data.extract().map_err(|_| wrong_type(data, "data", "bytes"))?;
        self.lock().model_bytes(call, &bytes).map_err(|error| raised(data.py(), error))
    }

    fn open_actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let open = self.lock().open_actions();
        let open = open.iter().map(|action| json::to_dict(py, action)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, open)
    }

    /// The HTTP of a model call over the engine's connections.
    fn exchange(&self, call: u32, options: &Bound<'_, PyAny>) -> PyResult<Exchange> {
        Exchange::of(&self.lock(), call, options)
    }

    fn save(&self, py: Python<'_>) -> PyResult<String> {
        self.lock().save().map_err(|error| raised(py, error))
    }

    fn export(&self, py: Python<'_>) -> PyResult<String> {
        self.lock().export().map_err(|error| raised(py, error))
    }
}

/// An operation on what a session has on a workflow engine. Its errors keep the words of JSON: those who get them send it.
#[pyfunction]
#[pyo3(signature = (operation, given, state=None))]
pub(crate) fn workflow_step<'py>(
    operation: &str,
    given: &Bound<'py, PyAny>,
    state: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let state = state.map(|state| json::from_py(state, "state")).transpose()?.unwrap_or_default();
    let step = core_step(operation, json::from_py(given, "the argument")?, &state);
    json::to_dict(given.py(), &step.map_err(|error| unchanged(given.py(), &error))?)
}
