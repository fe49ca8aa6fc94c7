//! For tests of applications: checks that events are such as a run emits, and names the recordings of tests.

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::raised;
use crate::event::Event;
use crate::json;

/// Checks the events of one run: `Event`s, or dicts as their `to_dict` gives them.
#[pyfunction]
pub(crate) fn check_events(py: Python<'_>, events: &Bound<'_, PyList>) -> PyResult<()> {
    let read = |(i, event): (usize, Bound<'_, PyAny>)| match event.cast::<Event>() {
        Ok(event) => json::to_value(event.get().core()),
        Err(_) => json::from_py(&event, &format!("events[{i}]")),
    };
    let events = events.iter().enumerate().map(read).collect::<PyResult<Vec<_>>>()?;
    agent_loop::testing::check_events(&events).map_err(|error| raised(py, error))
}

/// The name of the file with the recording of a test.
#[pyfunction]
pub(crate) fn test_file_name(module: json::Text, test: json::Text) -> String {
    agent_loop::host::test_file_name(&module.0, &test.0)
}
