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
        ErrorKind::Damaged => "DamagedError",
        ErrorKind::NewerVersion => "NewerVersionError",
        ErrorKind::Replay => "ReplayError",
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

/// The error of a call, to be raised. What is wrong with an argument is said in the words of Python.
pub(crate) fn raised(py: Python<'_>, error: agent_loop::Error) -> PyErr {
    if error.kind() == ErrorKind::InvalidArgument {
        return unchanged(py, &Error::invalid_argument(in_python(error.message())).with_source_of(&error));
    }
    unchanged(py, &error)
}

/// The error of a call, to be raised, in its own words: it becomes a part of a run, whose events are the same in every language.
pub(crate) fn unchanged(py: Python<'_>, error: &agent_loop::Error) -> PyErr {
    match object(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(broken) => broken,
    }
}

/// What JSON calls so, and Python otherwise.
const WORDS: &[(&str, &str)] = &[
    ("expected an object", "expected a dict"),
    ("or an object", "or a dict"),
    ("got an object", "got a dict"),
    ("an object with", "a dict with"),
    ("expected an array", "expected a list"),
    ("or an array", "or a list"),
    ("got an array", "got a list"),
    ("got null", "got None"),
    ("null or", "None or"),
    ("null for", "None for"),
    ("or null", "or None"),
    ("true or false", "True or False"),
    ("got true", "got True"),
    ("got false", "got False"),
];

/// A text with Python's words for those of JSON. What is in quotes is kept: it is somebody's own.
fn in_python(text: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let (mut outside, mut rest) = (true, text);
    while !rest.is_empty() {
        let end = end_of_part(rest);
        let (part, after) = rest.split_at(end);
        let replaced = |part: &str| WORDS.iter().fold(part.to_owned(), |text, (json, python)| in_words(&text, json, python));
        parts.push(if outside { replaced(part) } else { part.to_owned() });
        outside = !outside;
        rest = after;
    }
    parts.concat()
}

/// Where a part in quotes, or one outside of them, ends: at the next quote that is not escaped, which begins or ends the former.
fn end_of_part(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return at + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// Replaces words where no letter follows them.
fn in_words(text: &str, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_word = !part.starts_with(|next: char| next.is_alphanumeric());
        replaced.push_str(if is_word { to } else { from });
        replaced.push_str(part);
    }
    replaced
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
