//! What is recorded of runs for OpenTelemetry, on its way to `agent_loop.traces`: records wait here, and whoever comes first
//! takes them, the event loop of the run or a thread with one of its tools, whose span must be there before it is called.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::host::{Attribute, Attributes, Instrument, SCHEMA_URL, SCOPE, TraceFunction, TraceRecord};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

use crate::job_queue::{Job, Jobs};
use crate::runtime;

/// The records of a run and of its subagents that Python has not taken.
#[derive(Clone)]
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Traces {
    /// By which Python finds its own side, so that this needs no reference to it.
    #[pyo3(get)]
    number: u64,
    records: Arc<Mutex<Vec<TraceRecord>>>,
}

#[pymethods]
impl Traces {
    #[new]
    fn new(number: u64) -> Traces {
        Traces { number, records: Arc::default() }
    }

    /// The name of the scope of all spans and measurements.
    #[classattr]
    const SCOPE: &'static str = SCOPE;

    /// The semantic conventions that they follow.
    #[classattr]
    const SCHEMA_URL: &'static str = SCHEMA_URL;

    /// The instruments: names, units, descriptions and the bounds of their buckets.
    #[staticmethod]
    fn instruments() -> Vec<(&'static str, &'static str, &'static str, Vec<f64>)> {
        let row = |one: &Instrument| (one.name(), one.unit(), one.description(), one.bounds().to_vec());
        Instrument::ALL.iter().map(row).collect()
    }

    /// Takes the records, in order, as tuples. A span that begins: `(0, id, parent, is_client, name, time, attributes, link,
    /// remote)`, with a remote parent's `(trace_id, span_id, flags)`. One that ends: `(1, id, time, attributes, error,
    /// is_suspended)`, with an error's text. A measurement: `(2, name, value, attributes)`.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let records = std::mem::take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner));
        PyList::new(py, records.iter().map(|record| tuple(py, record)).collect::<PyResult<Vec<_>>>()?)
    }
}

impl Traces {
    /// Takes what is recorded of a run, for the event loop of this queue.
    pub(crate) fn function(&self, jobs: &Arc<Jobs>, has_logged: &Arc<AtomicBool>) -> TraceFunction {
        let (traces, jobs, has_logged) = (self.clone(), Arc::clone(jobs), Arc::clone(has_logged));
        Arc::new(move |records| {
            let mut waiting = traces.records.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = waiting.is_empty();
            waiting.extend(records);
            drop(waiting);
            has_logged.store(true, Ordering::Release);
            if is_first && jobs.try_push(Job::Traces(traces.clone())).is_err() {
                // The event loop is closed. At interpreter exit the records are dropped.
                runtime::attached(|py| {
                    let written =
                        py.import("agent_loop.traces").and_then(|module| module.call_method1("write", (traces.clone(),)));
                    if let Err(error) = written {
                        error.write_unraisable(py, None);
                    }
                });
            }
        })
    }
}

fn tuple<'py>(py: Python<'py>, record: &TraceRecord) -> PyResult<Bound<'py, PyTuple>> {
    let items = match record {
        TraceRecord::Start(start) => vec![
            0.into_bound_py_any(py)?,
            start.id.into_bound_py_any(py)?,
            start.parent.into_bound_py_any(py)?,
            start.is_client.into_bound_py_any(py)?,
            start.name.into_bound_py_any(py)?,
            start.time_ns.into_bound_py_any(py)?,
            attributes(py, &start.attributes)?,
            start.link.into_bound_py_any(py)?,
            start.remote.map(|remote| (remote.trace_id, remote.span_id, remote.flags)).into_bound_py_any(py)?,
        ],
        TraceRecord::End(end) => vec![
            1.into_bound_py_any(py)?,
            end.id.into_bound_py_any(py)?,
            end.time_ns.into_bound_py_any(py)?,
            attributes(py, &end.attributes)?,
            end.error.as_ref().map(|(_, text)| text).into_bound_py_any(py)?,
            end.is_suspended.into_bound_py_any(py)?,
        ],
        TraceRecord::Measured(measured) => vec![
            2.into_bound_py_any(py)?,
            measured.instrument.name().into_bound_py_any(py)?,
            measured.value.into_bound_py_any(py)?,
            attributes(py, &measured.attributes)?,
        ],
    };
    PyTuple::new(py, items)
}

fn attributes<'py>(py: Python<'py>, of: &Attributes) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(py);
    for (name, value) in of {
        let value = match value {
            Attribute::Text(text) => PyString::new(py, text).into_any(),
            Attribute::Whole(number) => number.into_bound_py_any(py)?,
            Attribute::Number(number) => number.into_bound_py_any(py)?,
            Attribute::Texts(texts) => texts.into_bound_py_any(py)?,
        };
        // The names are few, and the same ones again and again.
        named.set_item(PyString::intern(py, name), value)?;
    }
    Ok(named.into_any())
}

/// The value of the option `traces`: whether there are spans, and the tracer provider, where it is one.
pub(crate) fn option<'py>(value: Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Option<Py<PyAny>>)> {
    let py = value.py();
    if value.is_none() || value.is_exact_instance_of::<PyBool>() && !value.is_truthy()? {
        return Ok((value, None));
    }
    let provider = py.import("agent_loop.traces")?.call_method1("taken", (&value,))?;
    if provider.is_none() {
        return Ok((value, None));
    }
    Ok((PyBool::new(py, true).to_owned().into_any(), Some(provider.unbind())))
}
