//! How large a session's conversation may get.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};

/// What a stored conversation may have, in bytes of JSON, if nothing else is said. A server of Restate takes messages of 32 MiB;
/// the rest is for what it adds to a value, and for a run's result, which has its messages and the last one twice.
pub const MAX_CONVERSATION_BYTES: usize = 30 << 20;

/// The room that a session has for further messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// What its stored conversation has, in bytes of JSON.
    pub stored_bytes: usize,
    /// What it may have; by default [`MAX_CONVERSATION_BYTES`].
    pub max_bytes: Option<usize>,
}

impl Room {
    /// Refuses a message with which the conversation would be too large, beside what waits.
    pub(super) fn check(self, message_bytes: usize, waiting_bytes: usize) -> Result<(), Error> {
        let bytes = self.stored_bytes + waiting_bytes + message_bytes;
        let with = if waiting_bytes == 0 { " with this message" } else { " with what waits and this message" };
        let advice = "send a shorter one, or begin a new session, with a summary of this one";
        check_size(bytes, max_bytes_of(self.max_bytes), with, advice)
    }
}

pub(super) fn max_bytes_of(given: Option<usize>) -> usize {
    given.unwrap_or(MAX_CONVERSATION_BYTES)
}

pub(super) fn check_size(bytes: usize, max: usize, with: &str, advice: &str) -> Result<(), Error> {
    if bytes <= max {
        return Ok(());
    }
    let text = format!("the conversation would have {bytes} bytes{with}, and max_conversation_bytes is {max}: {advice}");
    Err(Error::new(ErrorKind::Limit, text))
}
