//! A session's conversation between two runs.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::inbox::check_message;
use super::room::{Room, check_size, max_bytes_of};
use crate::error::{Error, ErrorKind};
use crate::json_error::read_value;
use crate::size;
use crate::suspension::SuspendedCall;

/// A session's conversation between two runs, or while calls wait for a decision. Its default is an empty one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredConversation {
    /// How many runs have begun: for their ids.
    pub runs: u32,
    /// The export of the conversation, in JSON; none before the first run.
    pub export: Option<Value>,
    /// The calls that wait for a decision.
    pub pending: Vec<SuspendedCall>,
}

impl StoredConversation {
    /// The conversation with this export.
    ///
    /// # Errors
    /// `invalid_argument` for what is no export.
    pub fn new(runs: u32, export: Value) -> Result<StoredConversation, Error> {
        let suspended = export.get("suspended").unwrap_or(&Value::Null);
        let pending = read_value(suspended).map_err(|unread| unread.at("export: suspended").invalid_argument())?;
        Ok(StoredConversation { runs, export: Some(export), pending })
    }

    /// The calls that wait are decided, and from here on their tools may run. So what ends the next run without a conversation to
    /// store leaves calls of unknown outcome, and not calls that wait, which would run again when they are decided again.
    pub fn begin_decided(&mut self) {
        self.pending.clear();
        if let Some(Value::Object(export)) = &mut self.export {
            export.insert("suspended".to_owned(), json!([]));
        }
    }

    /// Refuses what no run can begin with: a prompt that is no message, one that the conversation has no room for, and any prompt
    /// while calls wait. They do so when a handler begins only if the invocation that waited for them was killed, or has failed.
    ///
    /// # Errors
    /// `invalid_argument`, `limit` and `invalid_state`.
    pub fn check_prompt(&self, message: &Value, room: Room) -> Result<(), Error> {
        if !self.pending.is_empty() {
            let text = "calls wait for a decision, and the invocation that waited for it has ended; call resume";
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        check_message(message)?;
        room.check(size::of_json(message), 0)
    }

    /// The JSON to be stored.
    ///
    /// # Errors
    /// `limit` for more than `max_bytes`, or else [`MAX_CONVERSATION_BYTES`](super::MAX_CONVERSATION_BYTES): a server would
    /// refuse it, and try the run again for ever. The host then leaves what is stored as it is, and closes the inbox with all
    /// inputs that the run took in: a run that takes them in again would be too large again.
    pub fn to_json(&self, max_bytes: Option<usize>) -> Result<String, Error> {
        // All of its keys are texts.
        let text = serde_json::to_string(self).unwrap_or_default();
        let left = "it stays as it was before this run, whose prompt, steering and follow-ups are dropped";
        let advice = format!("{left}; begin a new session, with a summary of this one");
        check_size(text.len(), max_bytes_of(max_bytes), "", &advice)?;
        Ok(text)
    }
}
