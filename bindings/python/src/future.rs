//! A future of the engine that a Python event loop polls.

use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use agent_loop::host::Scope;
use agent_loop::model::BoxFuture;
use agent_loop::{Error, RunResult as CoreResult};
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, PyClass};
use serde::Serialize;
use serde_json::Value;

use crate::error::raised;
use crate::job_queue::JobQueue;
use crate::run::RunResult;
use crate::{json, runtime};

/// The value of a future.
pub(crate) enum Output {
    Nothing,
    Flag(bool),
    Result(Box<CoreResult>),
    Json(Value),
    /// An object that Python gets, made when it is awaited.
    Object(MakeObject),
}

type MakeObject = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

impl Output {
    /// Data of ours, which can always be written as JSON.
    pub(crate) fn json(data: &impl Serialize) -> Output {
        Output::Json(serde_json::to_value(data).unwrap_or_default())
    }

    /// An object of one of our classes.
    pub(crate) fn object<T>(object: T) -> Output
    where
        T: PyClass + Into<PyClassInitializer<T>> + Send + 'static,
    {
        Output::Object(Box::new(move |py| Ok(Py::new(py, object)?.into_any())))
    }
}

/// A future of the engine.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct NativeFuture {
    future: Mutex<Option<BoxFuture<'static, Result<Output, Error>>>>,
    /// The agent whose callback the caller is inside of.
    inside: Option<Scope>,
}

impl NativeFuture {
    pub(crate) fn new(
        inside: Option<Scope>,
        future: impl Future<Output = Result<Output, Error>> + Send + 'static,
    ) -> NativeFuture {
        NativeFuture { future: Mutex::new(Some(Box::pin(future))), inside }
    }
}

#[pymethods]
impl NativeFuture {
    /// Drops the future: it is no longer awaited.
    fn close(&self) {
        let future = self.future.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(future);
    }

    /// The value in a tuple, once it is ready. Until then None; the queue then wakes `number` when it is to be polled again.
    fn poll<'py>(&self, py: Python<'py>, queue: &Bound<'py, JobQueue>, number: u64) -> PyResult<Option<(Bound<'py, PyAny>,)>> {
        let waker = queue.get().waker(number);
        // Out of its lock while polled: a waker may have to call Python.
        let taken = self.future.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut future) = taken else {
            return Ok(None);
        };
        let runtime = runtime::existing();
        let polled = {
            let _entered = runtime.as_ref().map(agent_loop::Runtime::enter);
            let mut poll = || future.as_mut().poll(&mut Context::from_waker(&waker));
            match &self.inside {
                Some(scope) => scope.run(poll),
                None => poll(),
            }
        };
        let output = match polled {
            Poll::Pending => {
                *self.future.lock().unwrap_or_else(PoisonError::into_inner) = Some(future);
                return Ok(None);
            }
            Poll::Ready(output) => output.map_err(|error| raised(py, error))?,
        };
        let value = match output {
            Output::Nothing => py.None().into_bound(py),
            Output::Flag(flag) => flag.into_bound_py_any(py)?,
            Output::Json(value) => json::to_py(py, &value)?,
            Output::Object(make) => make(py)?.into_bound(py),
            Output::Result(result) => RunResult::new(*result).into_bound_py_any(py)?,
        };
        Ok(Some((value,)))
    }
}
