//! Tool calls that wait for a decision.

use agent_loop::suspension::{Decision, SuspendedCall as CoreCall};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::raised;
use crate::{construct, json};

/// A tool call that waits for a decision.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct SuspendedCall(pub(crate) CoreCall);

#[pymethods]
impl SuspendedCall {
    #[new]
    #[pyo3(signature = (*arguments, **named), text_signature = None)]
    fn new(arguments: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<SuspendedCall> {
        let (py, class) = (arguments.py(), "SuspendedCall");
        let mut fields = construct::fields(class, &["tool_call_id", "tool_name", "arguments", "reason"], arguments, named)?;
        let known = [
            ("tool_call_id", true),
            ("tool_name", true),
            ("arguments", true),
            ("reason", true),
            ("rule", false),
            ("idempotency_key", false),
        ];
        construct::check(py, class, &fields, &known)?;
        fields.entry("idempotency_key").or_insert_with(|| "".into());
        construct::data(py, class, fields.into()).map(SuspendedCall)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "suspended", &self.0)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn tool_call_id(&self) -> &str {
        &self.0.tool_call_id
    }

    #[getter]
    fn tool_name(&self) -> &str {
        &self.0.tool_name
    }

    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::map_to_py(py, &self.0.arguments)
    }

    #[getter]
    fn reason(&self) -> &str {
        &self.0.reason
    }

    #[getter]
    fn rule(&self) -> &str {
        &self.0.rule
    }

    #[getter]
    fn idempotency_key(&self) -> &str {
        &self.0.idempotency_key
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<SuspendedCall>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "SuspendedCall", &self.0, &[])
    }
}

/// A tuple of them.
pub(crate) fn suspended_calls<'py>(py: Python<'py>, calls: &[CoreCall]) -> PyResult<Bound<'py, PyTuple>> {
    let objects = calls.iter().map(|call| Bound::new(py, SuspendedCall(call.clone()))).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, objects)
}

/// What is decided about calls: a dict by their ids, or None.
pub(crate) fn decisions(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, Decision)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    Decision::all_from_json(json::from_py(given, "decisions")?).map_err(|error| raised(given.py(), error))
}

/// The reason of an `agent_loop.Suspension`; `None` for any other exception.
pub(crate) fn reason_of(exception: &Bound<'_, PyAny>) -> Option<String> {
    let class = exception.py().import("agent_loop.tool_context").and_then(|module| module.getattr("Suspension")).ok()?;
    if !exception.is_instance(&class).ok()? {
        return None;
    }
    exception.getattr("reason").and_then(|reason| reason.extract()).ok()
}
