//! Statuses and error handles.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use agent_loop::{Error, ErrorKind};

use crate::guard;
use crate::handle::take_back;
use crate::text::{Text, borrowed};

/// The result of a call.
pub type agent_status_t = i32;

/// It worked.
pub const AGENT_OK: agent_status_t = 0;
/// The run is over and all its events have been read, or there is nothing to run.
pub const AGENT_DONE: agent_status_t = 1;
/// Nothing happened within the time limit.
pub const AGENT_PENDING: agent_status_t = 2;
/// No run is active: the message waits for the next one.
pub const AGENT_QUEUED: agent_status_t = 3;
// <generated: constants>
/// No key, or the provider refused it (HTTP 401).
pub const AGENT_AUTHENTICATION: agent_status_t = -1;
/// The key is valid but not allowed to do this (HTTP 403).
pub const AGENT_PERMISSION: agent_status_t = -2;
/// The model or address does not exist (HTTP 404), or the session; in C also a tool, an argument or a listener.
pub const AGENT_NOT_FOUND: agent_status_t = -3;
/// The provider rejects the request as malformed (HTTP 400, 409, 422, other 4xx).
pub const AGENT_INVALID_REQUEST: agent_status_t = -4;
/// The conversation exceeds the model's context window (HTTP 413, some 400).
pub const AGENT_CONTEXT_OVERFLOW: agent_status_t = -5;
/// Too many requests; the same request may succeed later (HTTP 429).
pub const AGENT_RATE_LIMITED: agent_status_t = -6;
/// The account's credit or quota is used up (HTTP 402, some 429).
pub const AGENT_QUOTA: agent_status_t = -7;
/// The provider has no capacity now (HTTP 503, 529).
pub const AGENT_OVERLOADED: agent_status_t = -8;
/// The provider failed (other HTTP 5xx).
pub const AGENT_SERVER: agent_status_t = -9;
/// A time limit passed, here or at a gateway (HTTP 408, 504, 524).
pub const AGENT_TIMEOUT: agent_status_t = -10;
/// No connection, or it broke before the response began.
pub const AGENT_CONNECTION: agent_status_t = -11;
/// The secure connection could not be set up.
pub const AGENT_TLS: agent_status_t = -12;
/// The response ended before its protocol's closing event.
pub const AGENT_STREAM_TRUNCATED: agent_status_t = -13;
/// The response violates its protocol.
pub const AGENT_PROTOCOL: agent_status_t = -14;
/// A custom provider failed or panicked.
pub const AGENT_PROVIDER: agent_status_t = -15;
/// A hook failed; the message names it. In middleware, the tool failed.
pub const AGENT_CALLBACK: agent_status_t = -16;
/// A size limit was exceeded.
pub const AGENT_LIMIT: agent_status_t = -17;
/// An argument is wrong; the message names it.
pub const AGENT_INVALID_ARGUMENT: agent_status_t = -18;
/// The call is not possible in the present state, or in this callback.
pub const AGENT_INVALID_STATE: agent_status_t = -19;
/// A run is active on this agent; or the session is open elsewhere, and the message names the holder.
pub const AGENT_BUSY: agent_status_t = -20;
/// The run was aborted.
pub const AGENT_ABORTED: agent_status_t = -21;
/// The operating system refused something, or the server of a store.
pub const AGENT_IO: agent_status_t = -22;
/// What is stored is not as it was written; the message names the place. What stands before it can be salvaged.
pub const AGENT_DAMAGED: agent_status_t = -24;
/// What is stored is of a newer version of this library: update it.
pub const AGENT_NEWER_VERSION: agent_status_t = -25;
/// A run that is replayed does something else than its recording; the message names the place, and both.
pub const AGENT_REPLAY: agent_status_t = -26;
/// A panic was caught: a bug in this library. Panics of tools, hooks and providers count as their failures.
pub const AGENT_PANIC: agent_status_t = -23;
// </generated>

/// The status of an error's kind.
pub(crate) fn status_of(kind: ErrorKind) -> agent_status_t {
    match kind {
        // <generated: statuses>
        ErrorKind::Authentication => AGENT_AUTHENTICATION,
        ErrorKind::Permission => AGENT_PERMISSION,
        ErrorKind::NotFound => AGENT_NOT_FOUND,
        ErrorKind::InvalidRequest => AGENT_INVALID_REQUEST,
        ErrorKind::ContextOverflow => AGENT_CONTEXT_OVERFLOW,
        ErrorKind::RateLimited => AGENT_RATE_LIMITED,
        ErrorKind::Quota => AGENT_QUOTA,
        ErrorKind::Overloaded => AGENT_OVERLOADED,
        ErrorKind::Server => AGENT_SERVER,
        ErrorKind::Timeout => AGENT_TIMEOUT,
        ErrorKind::Connection => AGENT_CONNECTION,
        ErrorKind::Tls => AGENT_TLS,
        ErrorKind::StreamTruncated => AGENT_STREAM_TRUNCATED,
        ErrorKind::Protocol => AGENT_PROTOCOL,
        ErrorKind::Provider => AGENT_PROVIDER,
        ErrorKind::Callback => AGENT_CALLBACK,
        ErrorKind::Limit => AGENT_LIMIT,
        ErrorKind::InvalidArgument => AGENT_INVALID_ARGUMENT,
        ErrorKind::InvalidState => AGENT_INVALID_STATE,
        ErrorKind::Busy => AGENT_BUSY,
        ErrorKind::Aborted => AGENT_ABORTED,
        ErrorKind::Io => AGENT_IO,
        ErrorKind::Damaged => AGENT_DAMAGED,
        ErrorKind::NewerVersion => AGENT_NEWER_VERSION,
        ErrorKind::Replay => AGENT_REPLAY,
        ErrorKind::Panic => AGENT_PANIC,
        // </generated>
    }
}

/// The kind of a failure that C reports. `name` is the argument's, for the error.
#[cfg(feature = "store")]
pub(crate) fn kind_of(status: agent_status_t, name: &str) -> Result<ErrorKind, Error> {
    let found = ErrorKind::ALL.iter().copied().find(|kind| status_of(*kind) == status);
    let wrong = || format!("{name}: {status} is no failure; use one such as AGENT_IO ({AGENT_IO}) or AGENT_BUSY ({AGENT_BUSY})");
    found.ok_or_else(|| Error::invalid_argument(wrong()))
}

fn word(status: agent_status_t) -> Option<&'static CStr> {
    Some(match status {
        AGENT_OK => c"ok",
        AGENT_DONE => c"done",
        AGENT_PENDING => c"pending",
        AGENT_QUEUED => c"queued",
        // <generated: words>
        AGENT_AUTHENTICATION => c"authentication",
        AGENT_PERMISSION => c"permission",
        AGENT_NOT_FOUND => c"not_found",
        AGENT_INVALID_REQUEST => c"invalid_request",
        AGENT_CONTEXT_OVERFLOW => c"context_overflow",
        AGENT_RATE_LIMITED => c"rate_limited",
        AGENT_QUOTA => c"quota",
        AGENT_OVERLOADED => c"overloaded",
        AGENT_SERVER => c"server",
        AGENT_TIMEOUT => c"timeout",
        AGENT_CONNECTION => c"connection",
        AGENT_TLS => c"tls",
        AGENT_STREAM_TRUNCATED => c"stream_truncated",
        AGENT_PROTOCOL => c"protocol",
        AGENT_PROVIDER => c"provider",
        AGENT_CALLBACK => c"callback",
        AGENT_LIMIT => c"limit",
        AGENT_INVALID_ARGUMENT => c"invalid_argument",
        AGENT_INVALID_STATE => c"invalid_state",
        AGENT_BUSY => c"busy",
        AGENT_ABORTED => c"aborted",
        AGENT_IO => c"io",
        AGENT_DAMAGED => c"damaged",
        AGENT_NEWER_VERSION => c"newer_version",
        AGENT_REPLAY => c"replay",
        AGENT_PANIC => c"panic",
        // </generated>
        _ => return None,
    })
}

/// Why a call failed.
pub struct agent_error_t {
    error: Error,
    message: OnceLock<Text>,
    json: OnceLock<Text>,
}

impl agent_error_t {
    pub(crate) fn new(error: Error) -> agent_error_t {
        agent_error_t { error, message: OnceLock::new(), json: OnceLock::new() }
    }

    #[cfg(feature = "plugins")]
    pub(crate) fn error(&self) -> &Error {
        &self.error
    }
}

/// The status as a word, NULL for a number that is none.
#[cfg_attr(exports, unsafe(no_mangle))]
pub extern "C" fn agent_status_name(status: agent_status_t) -> *const c_char {
    word(status).map_or(std::ptr::null(), CStr::as_ptr)
}

/// The kind of failure.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_error_status(error: *const agent_error_t) -> agent_status_t {
    // SAFETY: an error or NULL.
    guard::read(AGENT_OK, || Some(status_of(unsafe { error.as_ref() }?.error.kind())))
}

/// The message for users: what failed, where, and what to do.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_error_message(error: *const agent_error_t, length: *mut usize) -> *const c_char {
    // SAFETY: an error or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let error = error.as_ref()?;
            Some(error.message.get_or_init(|| Text::new(error.error.message())))
        })
    }
}

/// The error as JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_error_json(error: *const agent_error_t, length: *mut usize) -> *const c_char {
    // SAFETY: an error or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let error = error.as_ref()?;
            Some(error.json.get_or_init(|| Text::json(&error.error)))
        })
    }
}

/// Releases an error.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_error_free(error: *mut agent_error_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(error) }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_status_and_its_own_word() {
        let mut statuses: Vec<_> = ErrorKind::ALL.iter().map(|kind| status_of(*kind)).collect();
        // A kind may be declared among its like; no number is left out.
        statuses.sort_unstable_by(|one, other| other.cmp(one));
        let expected: Vec<_> = (1..).map(|n: agent_status_t| -n).take(ErrorKind::ALL.len()).collect();
        assert_eq!(statuses, expected);
        for kind in ErrorKind::ALL {
            assert_eq!(word(status_of(*kind)).and_then(|word| word.to_str().ok()), Some(kind.as_str()));
        }
        assert_eq!(word(-1000), None);
    }
}
