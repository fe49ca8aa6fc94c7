//! Something to wait for on an event loop: a future of the engine that the loop polls.

use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use agent_loop::{BoxFuture, Error, RunResult as CoreResult, Scope};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::raised;
use crate::mailbox::Mailbox;
use crate::run::RunResult;
use crate::{json, runtime};

/// What a wait comes to.
pub(crate) enum Output {
    Nothing,
    Flag(bool),
    Result(CoreResult),
    Json(Value),
}

/// A future of the engine.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Pending {
    future: Mutex<Option<BoxFuture<'static, Result<Output, Error>>>>,
    /// The agent inside whose callback the caller is.
    inside: Option<Scope>,
}

impl Pending {
    pub(crate) fn new(inside: Option<Scope>, future: impl Future<Output = Result<Output, Error>> + Send + 'static) -> Pending {
        Pending { future: Mutex::new(Some(Box::pin(future))), inside }
    }
}

#[pymethods]
impl Pending {
    /// The value in a tuple, once it is there. Until then None, and the mailbox will have the token when it is worth another
    /// try.
    fn poll<'py>(&self, py: Python<'py>, mailbox: &Bound<'py, Mailbox>, token: u64) -> PyResult<Option<(Bound<'py, PyAny>,)>> {
        let waker = mailbox.get().waker(token);
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
            Output::Result(result) => RunResult::new(result).into_bound_py_any(py)?,
        };
        Ok(Some((value,)))
    }
}
