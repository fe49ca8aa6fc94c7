//! The HTTP of a model call of a stepped loop, over the engine's connections.

use std::sync::{Mutex, PoisonError};

use agent_loop::host::{Exchange as CoreExchange, ExchangeOptions, Exchanged, HostLoop, Spelling};
use agent_loop::{CancelToken, Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::raised;
use crate::future::{NativeFuture, Output};
use crate::{json, runtime};

/// The request of a `call_model`, to be sent once.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Exchange {
    core: Mutex<Option<CoreExchange>>,
    cancel: CancelToken,
}

impl Exchange {
    /// That of a call of this loop, with these options.
    pub(crate) fn of(run: &HostLoop, call: u32, options: &Bound<'_, PyAny>) -> PyResult<Exchange> {
        let (py, options) = (options.py(), read(options)?);
        let runtime = runtime::runtime().map_err(|error| raised(py, error))?;
        let core = run.exchange(call, &runtime, options).map_err(|error| raised(py, error))?;
        Ok(Exchange { core: Mutex::new(Some(core)), cancel: CancelToken::new() })
    }
}

fn read(options: &Bound<'_, PyAny>) -> PyResult<ExchangeOptions> {
    let given = json::from_py(options, "options")?.as_object().cloned().unwrap_or_default();
    ExchangeOptions::read(&given, Spelling::Snake).map_err(|error| raised(options.py(), error))
}

/// Raises the error of options with which there is no exchange.
#[pyfunction]
pub(crate) fn check_exchange(options: &Bound<'_, PyAny>) -> PyResult<()> {
    read(options).map(drop)
}

#[pymethods]
impl Exchange {
    /// Sends the request; the value is the response or the error.
    fn send(&self, py: Python<'_>) -> PyResult<NativeFuture> {
        let core = self.core.lock().unwrap_or_else(PoisonError::into_inner).take();
        let core = core.ok_or_else(|| raised(py, Error::new(ErrorKind::InvalidState, "this exchange was sent already")))?;
        let cancel = self.cancel.clone();
        Ok(NativeFuture::new(None, async move {
            let done = core.send(cancel).await;
            Ok(Output::Object(Box::new(move |py| Ok(to_py(py, &done)?.into_any().unbind()))))
        }))
    }

    /// Ends it: `send` then returns the response so far.
    fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// The end of an exchange, as a dict.
fn to_py<'py>(py: Python<'py>, done: &Exchanged) -> PyResult<Bound<'py, PyDict>> {
    let Exchanged { status, headers, body, is_complete, error, last_ms, end_ms } = done;
    let dict = PyDict::new(py);
    dict.set_item("status", status)?;
    dict.set_item("headers", json::to_dict(py, headers)?)?;
    dict.set_item("body", PyBytes::new(py, body))?;
    dict.set_item("is_complete", is_complete)?;
    dict.set_item("error", error.as_ref().map(|error| json::to_dict(py, error)).transpose()?)?;
    dict.set_item("last_ms", last_ms)?;
    dict.set_item("end_ms", end_ms)?;
    Ok(dict)
}
