//! Errors on their way to JavaScript: as the canonical JSON in a thrown error's message, from which `lib/errors.ts` makes its
//! classes (native code cannot make those).

use std::collections::HashMap;

use agent_loop::{Error, ErrorKind};
use napi_derive::napi;

use crate::camel_case;

/// What a native function gives.
pub(crate) type Result<T> = std::result::Result<T, napi::Error>;

/// The error as it is thrown.
pub(crate) fn thrown(error: &Error) -> napi::Error {
    napi::Error::from_reason(camel_case::to_json(error))
}

/// A mistake in an argument, as it is thrown.
pub(crate) fn invalid_argument(message: impl Into<String>) -> napi::Error {
    thrown(&Error::invalid_argument(message))
}

/// The class of each kind of error, for the test that holds `lib/errors.ts` to it.
#[napi(catch_unwind)]
pub fn error_classes() -> HashMap<String, String> {
    ErrorKind::ALL.iter().map(|kind| (kind.as_str().to_owned(), class(*kind).to_owned())).collect()
}

fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Authentication => "AuthenticationError",
        ErrorKind::Permission => "PermissionError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::InvalidRequest => "InvalidRequestError",
        ErrorKind::ContextOverflow => "ContextOverflowError",
        ErrorKind::RateLimited => "RateLimitedError",
        ErrorKind::Quota => "QuotaError",
        ErrorKind::Overloaded => "OverloadedError",
        ErrorKind::Server => "ServerError",
        ErrorKind::Timeout => "TimeoutError",
        ErrorKind::Connection => "ConnectionError",
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
        ErrorKind::Io => "IoError",
        ErrorKind::Panic => "PanicError",
    }
}
