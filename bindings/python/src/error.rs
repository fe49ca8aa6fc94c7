//! Core errors as Python exceptions. The classes are written in Python (`errors.py`): the stable ABI cannot give built-in
//! exceptions fields.

use agent_loop::ErrorKind;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// The class for a kind, in `agent_loop.errors`.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
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
    }
}

/// An exception that says what the error says; not raised.
pub(crate) fn object<'py>(py: Python<'py>, error: &agent_loop::Error) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("agent_loop.errors")?.getattr(class_name(error.kind()))?.cast_into::<PyType>()?;
    let fields = PyDict::new(py);
    fields.set_item("provider", error.provider())?;
    fields.set_item("http_status", error.http_status())?;
    fields.set_item("request_id", error.request_id())?;
    fields.set_item("retryable", error.retryable())?;
    fields.set_item("retry_after_ms", error.retry_after_ms())?;
    class.call((error.message(),), Some(&fields))
}

/// The error of a call, to be raised.
#[allow(clippy::needless_pass_by_value)] // so that it fits `map_err`
pub(crate) fn raised(py: Python<'_>, error: agent_loop::Error) -> PyErr {
    match object(py, &error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(broken) => broken,
    }
}
