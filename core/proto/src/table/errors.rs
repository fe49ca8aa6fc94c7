//! The kinds of errors: a closed list, one row each.
//!
//! ```text
//! /// When it is used, in a sentence.
//! Variant = "word", status in C, Runtime or Usage, retryable or permanent, python "Class" also "built-in base", "since";
//! ```
//!
//! The class in Python and Node is the variant with `Error`; `python` names another one, where Python has that name already.

use serde::{Deserialize, Serialize};

macro_rules! error_kinds {
    ($(
        $(#[doc = $doc:literal])*
        $variant:ident = $word:literal, $status:literal, $origin:ident, $retry:ident,
        $(python $python:literal,)? $(also $base:literal,)? $since:literal;
    )+) => {
        /// The kind of an error: a closed list, the same in every language.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum ErrorKind { $($(#[doc = $doc])* #[serde(rename = $word)] $variant,)+ }

        impl ErrorKind {
            /// All kinds, in the order of the list.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant,)+];

            /// The canonical word, for example `rate_limited`.
            pub fn as_str(self) -> &'static str {
                match self { $(ErrorKind::$variant => $word,)+ }
            }

            /// Whether the same request may work when it is sent again.
            pub fn may_be_retried(self) -> bool {
                match self { $(ErrorKind::$variant => is_retryable!($retry),)+ }
            }
        }

        /// The rows of the table.
        pub const ERROR_KINDS: &[ErrorKindRow] = &[$(ErrorKindRow {
            variant: stringify!($variant),
            word: $word,
            doc: &[$($doc),*],
            status: $status,
            origin: Origin::$origin,
            is_retryable: is_retryable!($retry),
            python: concat!($("=", $python,)? ""),
            python_base: concat!($($base,)? ""),
            since: $since,
        },)+];
    };
}

macro_rules! is_retryable {
    (retryable) => {
        true
    };
    (permanent) => {
        false
    };
}

error_kinds! {
    /// No key, or the provider refused it (HTTP 401).
    Authentication = "authentication", -1, Runtime, permanent, "0.1.0";
    /// The key is valid but not allowed to do this (HTTP 403).
    Permission = "permission", -2, Runtime, permanent, python "PermissionDeniedError", "0.1.0";
    /// The model or address does not exist (HTTP 404), or the session; in C also a tool, an argument or a listener.
    NotFound = "not_found", -3, Runtime, permanent, "0.1.0";
    /// The provider rejects the request as malformed (HTTP 400, 409, 422, other 4xx).
    InvalidRequest = "invalid_request", -4, Runtime, permanent, "0.1.0";
    /// The conversation exceeds the model's context window (HTTP 413, some 400).
    ContextOverflow = "context_overflow", -5, Runtime, permanent, "0.1.0";
    /// Too many requests; the same request may succeed later (HTTP 429).
    RateLimited = "rate_limited", -6, Runtime, retryable, "0.1.0";
    /// The account's credit or quota is used up (HTTP 402, some 429).
    Quota = "quota", -7, Runtime, permanent, "0.1.0";
    /// The provider has no capacity now (HTTP 503, 529).
    Overloaded = "overloaded", -8, Runtime, retryable, "0.1.0";
    /// The provider failed (other HTTP 5xx).
    Server = "server", -9, Runtime, retryable, "0.1.0";
    /// A time limit passed, here or at a gateway (HTTP 408, 504, 524).
    Timeout = "timeout", -10, Runtime, retryable, python "AgentTimeoutError", also "TimeoutError", "0.1.0";
    /// No connection, or it broke before the response began.
    Connection = "connection", -11, Runtime, retryable, python "AgentConnectionError", also "ConnectionError", "0.1.0";
    /// The secure connection could not be set up.
    Tls = "tls", -12, Runtime, permanent, "0.1.0";
    /// The response ended before its protocol's closing event.
    StreamTruncated = "stream_truncated", -13, Runtime, retryable, "0.1.0";
    /// The response violates its protocol.
    Protocol = "protocol", -14, Runtime, permanent, "0.1.0";
    /// A custom provider failed or panicked.
    Provider = "provider", -15, Runtime, permanent, "0.1.0";
    /// A hook failed; the message names it. In middleware, the tool failed.
    Callback = "callback", -16, Runtime, permanent, "0.1.0";
    /// A size limit was exceeded.
    Limit = "limit", -17, Runtime, permanent, "0.1.0";
    /// An argument is wrong; the message names it.
    InvalidArgument = "invalid_argument", -18, Usage, permanent, also "ValueError", "0.1.0";
    /// The call is not possible in the present state, or in this callback.
    InvalidState = "invalid_state", -19, Usage, permanent, also "RuntimeError", "0.1.0";
    /// A run is active on this agent; or the session is open elsewhere, and the message names the holder.
    Busy = "busy", -20, Usage, permanent, also "RuntimeError", "0.1.0";
    /// The run was aborted.
    Aborted = "aborted", -21, Usage, permanent, "0.1.0";
    /// The operating system refused something, or the server of a store.
    Io = "io", -22, Usage, permanent, python "AgentIOError", also "OSError", "0.1.0";
    /// What is stored is not as it was written; the message names the place. What stands before it can be salvaged.
    Damaged = "damaged", -24, Usage, permanent, "0.1.0";
    /// What is stored is of a newer version of this library: update it.
    NewerVersion = "newer_version", -25, Usage, permanent, "0.1.0";
    /// A run that is replayed does something else than its recording; the message names the place, and both.
    Replay = "replay", -26, Runtime, permanent, "0.1.0";
    /// A panic was caught: a bug in this library. Panics of tools, hooks and providers count as their failures.
    Panic = "panic", -23, Usage, permanent, also "RuntimeError", "0.1.0";
}

/// Where an error of a kind appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In a run, which reports it.
    Runtime,
    /// In a call, which returns it.
    Usage,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct ErrorKindRow {
    /// The variant of [`ErrorKind`].
    pub variant: &'static str,
    /// The canonical word.
    pub word: &'static str,
    /// When it is used; the lines of its comment.
    pub doc: &'static [&'static str],
    /// Its status in C.
    pub status: i32,
    /// Where it appears.
    pub origin: Origin,
    /// Whether the same request may succeed later.
    pub is_retryable: bool,
    /// `=` and the name of its class in Python; empty if that is the variant with `Error`.
    pub python: &'static str,
    /// The built-in exception that its class in Python also is; empty for none.
    pub python_base: &'static str,
    /// The version in which it appeared.
    pub since: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_statuses_are_unique() {
        for (at, row) in ERROR_KINDS.iter().enumerate() {
            assert!(row.status < 0, "{}", row.word);
            assert!(!ERROR_KINDS.iter().skip(at + 1).any(|other| other.word == row.word || other.status == row.status));
        }
    }
}
