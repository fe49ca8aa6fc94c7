//! The kinds of records by their words, whatever their fields are read from.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::record::JournalRecord;
use crate::json_reader::from_value;

/// What the fields of a record are read from.
pub(super) trait Fields {
    /// Why they cannot be read.
    type Error;

    /// The fields of a type.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Self::Error>;
}

impl Fields for &Value {
    type Error = serde_json::Error;

    fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        from_value(self)
    }
}

/// As derived for a type with a tag, but read as all other types are: `json_reader`.
impl<'de> Deserialize<'de> for JournalRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JournalRecord, D::Error> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let value = Value::deserialize(deserializer)?;
        let Kind { kind } = from_value(&value).map_err(D::Error::custom)?;
        let read = record_of(&kind, &&value).ok_or_else(|| D::Error::custom(format!("the kind {kind:?} is not known")))?;
        read.map_err(D::Error::custom)
    }
}

macro_rules! kinds {
    ($($word:literal $kind:ident [$($field:literal),*],)+) => {
        /// The words of all kinds, with the names of their fields.
        #[cfg(feature = "journal")]
        pub(super) const KINDS: &[(&str, &[&str])] = &[$(($word, &[$($field),*])),+];

        /// The record of a kind; `None` for a word that is not known.
        pub(super) fn record_of<F: Fields>(kind: &str, fields: &F) -> Option<Result<JournalRecord, F::Error>> {
            Some(match kind {
                $($word => fields.read().map(JournalRecord::$kind),)+
                _ => return None,
            })
        }
    };
}

kinds! {
    "session" Session ["version", "id", "created_ms", "forked_from"],
    "run_start" RunStart ["run_id", "of"],
    "message" Message ["message", "queue", "first_token_at", "retries"],
    "queued" Queued ["queue", "number", "message"],
    "queue_cleared" QueueCleared ["queue", "numbers"],
    "tool_start" ToolStart ["tool_call_id", "tool_name", "arguments", "idempotency_key"],
    "tool_answer" ToolAnswer ["tool_call_id", "result", "is_error"],
    "hook_decision" HookDecision ["hook", "tool_call_id", "answer"],
    "suspended" Suspended ["calls"],
    "decisions" Decisions ["decisions"],
    "remembered" Remembered ["allow", "deny"],
    "run_end" RunEnd ["run_id", "outcome", "error", "usage", "turns", "output"],
    "appended" Appended ["messages"],
    "replaced" Replaced ["messages"],
    "reset" Reset [],
    "info" Info ["title", "metadata"],
}
