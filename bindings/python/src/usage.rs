//! Token usage and cost.

use pyo3::prelude::*;

use crate::json;

/// Tokens of one message, or the sum of a run. The counts are disjoint except that `reasoning` is part of `output`.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct Usage(pub(crate) agent_loop::Usage);

#[pymethods]
impl Usage {
    #[getter]
    fn input(&self) -> u64 {
        self.0.input
    }

    #[getter]
    fn output(&self) -> u64 {
        self.0.output
    }

    #[getter]
    fn cache_read(&self) -> u64 {
        self.0.cache_read
    }

    #[getter]
    fn cache_write(&self) -> u64 {
        self.0.cache_write
    }

    #[getter]
    fn reasoning(&self) -> u64 {
        self.0.reasoning
    }

    #[getter]
    fn total(&self) -> u64 {
        self.0.total
    }

    #[getter]
    fn cost(&self) -> Option<Cost> {
        self.0.cost.clone().map(Cost)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Usage>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "Usage", &self.0, &[])
    }
}

/// A price in US dollars.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct Cost(agent_loop::model::Cost);

#[pymethods]
impl Cost {
    #[getter]
    fn input(&self) -> f64 {
        self.0.input
    }

    #[getter]
    fn output(&self) -> f64 {
        self.0.output
    }

    #[getter]
    fn cache_read(&self) -> f64 {
        self.0.cache_read
    }

    #[getter]
    fn cache_write(&self) -> f64 {
        self.0.cache_write
    }

    #[getter]
    fn total(&self) -> f64 {
        self.0.total
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Cost>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "Cost", &self.0, &[])
    }
}
