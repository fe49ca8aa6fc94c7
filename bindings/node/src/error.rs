//! Errors for JavaScript: thrown with JSON as the message, from which `lib/errors.ts` creates its error classes (native code
//! cannot).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Weak};

use agent_loop::host::{self, Spelling};
use agent_loop::{Error, ErrorKind};
use napi_derive::napi;

use crate::bridge::Link;
use crate::camel_case;

/// The result of a native function.
pub(crate) type Result<T> = std::result::Result<T, napi::Error>;

/// Names of several words that the texts of errors may have, in canonical spelling: options, fields, and methods.
static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let fields = host::message_fields().chain(host::model_fields());
    let of_events = host::table::events::all().into_iter().flat_map(|event| event.fields).map(|field| field.name);
    let of_steps = host::table::steps::inputs().iter().flat_map(|input| input.fields).map(|field| field.name);
    let of_network = ["ca_file", "no_proxy", "client_certificate", "client_key"];
    let of_mcp = ["timeout_ms", "connect_timeout_ms"];
    let of_agents = ["follow_up", "wait_for_idle", "append_message", "append_messages", "replace_messages", "clear_messages"];
    let others =
        host::table::options::names().chain(of_events).chain(of_network).chain(of_mcp).chain(of_agents).chain(["run_id"]);
    fields.chain(of_steps).chain(others).filter(|name| name.contains('_')).collect()
});

/// Converts an error for throwing. An error in a call has names in JavaScript's spelling; the failure of a run has the same text
/// in every language.
pub(crate) fn thrown(error: &Error) -> napi::Error {
    napi::Error::from_reason(json(error))
}

/// The same of an error whose text has names that stay as they are: those in the journal, or in a tool's arguments.
pub(crate) fn verbatim(error: &Error) -> napi::Error {
    napi::Error::from_reason(camel_case::to_json(error))
}

/// An error in a call as JSON.
pub(crate) fn json(error: &Error) -> String {
    match error.kind() {
        ErrorKind::InvalidArgument | ErrorKind::InvalidState | ErrorKind::Busy => {
            let spelled = error.clone().reworded(|text| Spelling::Camel.respell(text, &NAMES));
            camel_case::to_json(&spelled)
        }
        _ => camel_case::to_json(error),
    }
}

/// Creates an `invalid_argument` error for throwing.
pub(crate) fn invalid_argument(message: impl Into<String>) -> napi::Error {
    thrown(&Error::invalid_argument(message))
}

/// The source of an error that a value has led to which JavaScript has thrown. The value itself cannot leave its thread: it has a
/// number in a table of its run, `lib/causes.ts`.
#[derive(Debug)]
pub(crate) struct Thrown {
    link: Weak<Link>,
    agent: u32,
    cause: u32,
    text: String,
}

impl Thrown {
    pub(crate) fn new(link: &Arc<Link>, agent: u32, cause: u32, text: &str) -> Thrown {
        Thrown { link: Arc::downgrade(link), agent, cause, text: text.to_owned() }
    }
}

impl Drop for Thrown {
    fn drop(&mut self) {
        if let Some(link) = self.link.upgrade() {
            link.forget_cause(self.agent, self.cause);
        }
    }
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Thrown {}

/// The number of the value that has led to an error.
pub(crate) fn cause(error: &Error) -> Option<u32> {
    std::error::Error::source(error)?.downcast_ref::<Thrown>().map(|thrown| thrown.cause)
}

/// The class of each kind of error, for the test that compares `lib/errors.ts` with it.
#[napi(catch_unwind)]
pub fn error_classes() -> HashMap<String, String> {
    ErrorKind::ALL.iter().map(|kind| (kind.as_str().to_owned(), class(*kind).to_owned())).collect()
}

fn class(kind: ErrorKind) -> &'static str {
    match kind {
        // <generated: classes>
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
        ErrorKind::Damaged => "DamagedError",
        ErrorKind::NewerVersion => "NewerVersionError",
        ErrorKind::Replay => "ReplayError",
        ErrorKind::Panic => "PanicError",
        // </generated>
    }
}
