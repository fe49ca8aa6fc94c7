//! Token usage and cost.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::{argument, construct, json};

/// Tokens of one message, or the sum of a run. The counts are disjoint except that `reasoning` is part of `output`.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct Usage(pub(crate) agent_loop::Usage);

#[pymethods]
impl Usage {
    /// `total` is the sum of the four counts unless it is given.
    #[new]
    #[pyo3(
        signature = (*, input=None, output=None, cache_read=None, cache_write=None, reasoning=None, total=None, cost=None),
        text_signature = "(*, input=0, output=0, cache_read=0, cache_write=0, reasoning=0, total=None, cost=None)"
    )]
    fn new(
        input: Option<&Bound<'_, PyAny>>,
        output: Option<&Bound<'_, PyAny>>,
        cache_read: Option<&Bound<'_, PyAny>>,
        cache_write: Option<&Bound<'_, PyAny>>,
        reasoning: Option<&Bound<'_, PyAny>>,
        total: Option<&Bound<'_, PyAny>>,
        cost: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Usage> {
        let count = |name: &str, value: Option<&Bound<'_, PyAny>>| {
            value.map(|value| argument::count(value, &format!("Usage: {name}"))).transpose()
        };
        let input = count("input", input)?.unwrap_or(0);
        let output = count("output", output)?.unwrap_or(0);
        let cache_read = count("cache_read", cache_read)?.unwrap_or(0);
        let cache_write = count("cache_write", cache_write)?.unwrap_or(0);
        let reasoning = count("reasoning", reasoning)?.unwrap_or(0);
        let sum = || [output, cache_read, cache_write].into_iter().fold(input, u64::saturating_add);
        let total = count("total", total)?.unwrap_or_else(sum);
        let cost = cost.map(|cost| match cost.cast::<Cost>() {
            Ok(cost) => Ok(cost.get().0.clone()),
            Err(_) => Err(argument::wrong_type(cost, "Usage: cost", "a Cost")),
        });
        let cost = cost.transpose()?;
        Ok(Usage(agent_loop::Usage { input, output, cache_read, cache_write, reasoning, total, cost }))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "usage", &self.0)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

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
pub(crate) struct Cost(pub(crate) agent_loop::model::Cost);

#[pymethods]
impl Cost {
    /// `total` is the sum unless it is given.
    #[new]
    #[pyo3(
        signature = (*, input=None, output=None, cache_read=None, cache_write=None, total=None),
        text_signature = "(*, input=0.0, output=0.0, cache_read=0.0, cache_write=0.0, total=None)"
    )]
    fn new(
        input: Option<&Bound<'_, PyAny>>,
        output: Option<&Bound<'_, PyAny>>,
        cache_read: Option<&Bound<'_, PyAny>>,
        cache_write: Option<&Bound<'_, PyAny>>,
        total: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Cost> {
        let number = |name: &str, value: Option<&Bound<'_, PyAny>>| {
            value.map(|value| argument::number(value, &format!("Cost: {name}"))).transpose()
        };
        let input = number("input", input)?.unwrap_or(0.0);
        let output = number("output", output)?.unwrap_or(0.0);
        let cache_read = number("cache_read", cache_read)?.unwrap_or(0.0);
        let cache_write = number("cache_write", cache_write)?.unwrap_or(0.0);
        let total = number("total", total)?.unwrap_or(input + output + cache_read + cache_write);
        Ok(Cost(agent_loop::model::Cost { input, output, cache_read, cache_write, total }))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "cost", &self.0)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

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
