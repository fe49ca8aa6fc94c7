//! Reads and writes messages and results as JSON text.

use std::sync::Arc;

use agent_loop::host::{given_messages, read_history_of, read_json, shown};
use agent_loop::{Error, Message, Prompt};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use serde_json::{Map, Value};

use crate::{camel_case, error};

/// Reads JSON text from JavaScript. Unpaired surrogates, which `JSON.stringify` writes as escapes, become U+FFFD.
///
/// # Errors
/// `invalid_argument`: not JSON. `lib/` writes it, so only numbers out of range and the like can fail.
pub(crate) fn read(what: &str, text: &str) -> Result<Value, Error> {
    read_json(text).map_err(|e| Error::invalid_argument(format!("{what}: {}", e.message())))
}

/// Reads a JSON object, the argument `what`.
pub(crate) fn object(what: &str, text: &str) -> error::Result<Map<String, Value>> {
    match read(what, text).map_err(|e| error::thrown(&e))? {
        Value::Object(map) => Ok(map),
        other => Err(error::invalid_argument(format!("{what}: expected an object, got {}", shown(&other)))),
    }
}

/// Reads a prompt, the argument `what`.
///
/// # Errors
/// `invalid_argument`: the message names what was found instead, and where.
pub(crate) fn prompt(what: &str, text: &str) -> Result<Prompt, Error> {
    Prompt::from_json_of(what, read(what, text)?)
}

/// Reads a JSON array of messages.
///
/// # Errors
/// `invalid_argument`: the message names the invalid element and the reason, after `what`.
pub(crate) fn list(what: &str, text: &str) -> Result<Vec<Arc<Message>>, Error> {
    given_messages(read(what, text)?).map_err(|unread| unread.at(what).invalid_argument())
}

/// Reads a JSON array of messages of a stored history: what is not known in them is kept in their metadata.
///
/// # Errors
/// As [`list`].
pub(crate) fn history(what: &str, text: &str) -> Result<Vec<Arc<Message>>, Error> {
    Ok(read_history_of(what, read(what, text)?)?.into_iter().map(Arc::new).collect())
}

/// One message as JSON.
pub(crate) fn message(message: &Message) -> String {
    camel_case::to_json(message)
}

/// The type of a file by its first bytes or by the end of its name; empty if it is not recognised.
#[napi(catch_unwind)]
pub fn mime_type_of(name: String, bytes: Uint8Array) -> &'static str {
    agent_loop::message::mime_type_of(Some(&name), &bytes).unwrap_or_default()
}
