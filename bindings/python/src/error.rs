//! Core errors as Python exceptions. The classes are written in Python (`errors.py`): the stable ABI cannot give built-in
//! exceptions fields.

use agent_loop::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cause;

/// The class for a kind, in `agent_loop.errors`.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        // <generated: classes>
        ErrorKind::Authentication => "AuthenticationError",
        ErrorKind::Permission => "PermissionDeniedError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::InvalidRequest => "InvalidRequestError",
        ErrorKind::ContextOverflow => "ContextOverflowError",
        ErrorKind::RateLimited => "RateLimitedError",
        ErrorKind::Quota => "QuotaError",
        ErrorKind::Overloaded => "OverloadedError",
        ErrorKind::Server => "ServerError",
        ErrorKind::Timeout => "AgentTimeoutError",
        ErrorKind::Connection => "AgentConnectionError",
        ErrorKind::Tls => "TlsError",
        ErrorKind::StreamTruncated => "StreamTruncatedError",
        ErrorKind::Protocol => "ProtocolError",
        ErrorKind::Provider => "ProviderError",
        ErrorKind::Callback => "CallbackError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::InvalidArgument => "InvalidArgumentError",
        ErrorKind::InvalidState => "InvalidStateError",
        ErrorKind::Busy => "BusyError",
        ErrorKind::Aborted => "AbortedError",
        ErrorKind::Io => "AgentIOError",
        ErrorKind::Panic => "PanicError",
        // </generated>
    }
}

/// The class of all of them.
pub(crate) fn base(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("agent_loop.errors")?.getattr("AgentError")
}

/// The exception for an error, with the one that it comes from; not raised.
pub(crate) fn object<'py>(py: Python<'py>, error: &agent_loop::Error) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("agent_loop.errors")?.getattr(class_name(error.kind()))?.cast_into::<PyType>()?;
    let fields = PyDict::new(py);
    fields.set_item("provider", error.provider())?;
    fields.set_item("http_status", error.http_status())?;
    fields.set_item("request_id", error.request_id())?;
    fields.set_item("retryable", error.is_retryable())?;
    fields.set_item("retry_after_ms", error.retry_after_ms())?;
    let exception = class.call((error.message(),), Some(&fields))?;
    if let Some(cause) = cause::exception(py, error) {
        exception.setattr("__cause__", cause)?;
    }
    Ok(exception)
}

/// The error of a call, to be raised.
#[allow(clippy::needless_pass_by_value)] // so that it fits `map_err`
pub(crate) fn raised(py: Python<'_>, error: agent_loop::Error) -> PyErr {
    match object(py, &error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(broken) => broken,
    }
}

/// An exception in one line: `Type: message`, whatever its own code does.
pub(crate) fn text(py: Python<'_>, error: &PyErr) -> String {
    let line = || py.import("agent_loop.errors")?.call_method1("one_line", (error.value(py),))?.extract::<String>();
    line().unwrap_or_else(|_| "an exception that cannot be read".to_owned())
}

/// The error of an exception's `to_dict`; of kind `provider` when its kind is not one of ours.
pub(crate) fn from_fields(fields: &Value) -> Error {
    Error::deserialize(fields).unwrap_or_else(|_| {
        let text = fields.get("message").and_then(Value::as_str).unwrap_or_default();
        Error::new(ErrorKind::Provider, text)
    })
}

/// Whether errors of this kind are retryable by default; false for an unknown kind.
#[pyfunction]
pub(crate) fn is_retryable(kind: &str) -> bool {
    Error::deserialize(json!({ "kind": kind, "message": "" })).is_ok_and(|error| error.is_retryable())
}
