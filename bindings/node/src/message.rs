//! Messages and results as JSON text, in and out.

use std::sync::Arc;

use agent_loop::{Error, Message, Prompt, RunResult, read_json};
use serde_json::Value;

use crate::camel_case;

/// What JavaScript handed over as JSON text.
///
/// # Errors
/// `invalid_argument`: not JSON (the JavaScript half writes it, so this is for numbers out of range and the like). Halves of
/// characters, which `JSON.stringify` writes as escapes, become U+FFFD.
pub(crate) fn read(what: &str, text: &str) -> Result<Value, Error> {
    read_json(text).map_err(|e| Error::invalid_argument(format!("{what}: {}", e.message())))
}

/// What a run is to start with.
///
/// # Errors
/// `invalid_argument`: says what was found instead, and where.
pub(crate) fn prompt(text: &str) -> Result<Prompt, Error> {
    Prompt::from_json(read("prompt", text)?)
}

/// Messages of a JSON array.
///
/// # Errors
/// `invalid_argument`: says which is none, and why. `what` begins the message.
pub(crate) fn list(what: &str, text: &str) -> Result<Vec<Message>, Error> {
    let Value::Array(list) = read(what, text)? else {
        return Err(Error::invalid_argument(format!("{what}: expected an array of messages, got {text}")));
    };
    let message = |(i, value)| serde_json::from_value(value).map_err(|e| Error::invalid_argument(format!("{what}: [{i}]: {e}")));
    list.into_iter().enumerate().map(message).collect()
}

/// Messages as a JSON array.
pub(crate) fn messages(messages: &[Arc<Message>]) -> String {
    camel_case::to_json(messages)
}

/// One message as JSON.
pub(crate) fn message(message: &Message) -> String {
    camel_case::to_json(message)
}

/// A run's result as JSON.
pub(crate) fn result(result: &RunResult) -> String {
    camel_case::to_json(result)
}
