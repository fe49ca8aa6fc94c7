//! The kinds of records by their words, whatever their fields are read from.

use serde::de::DeserializeOwned;

use super::record::JournalRecord;

/// What the fields of a record are read from.
pub(super) trait Fields {
    /// Why they cannot be read.
    type Error;

    /// The fields of a type.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Self::Error>;
}

macro_rules! kinds {
    ($($word:literal $kind:ident [$($field:literal),*],)+) => {
        /// The words of all kinds, with the names of their fields.
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
    "message" Message ["message", "queue"],
    "queued" Queued ["queue", "number", "message"],
    "queue_cleared" QueueCleared ["queue", "numbers"],
    "tool_start" ToolStart ["tool_call_id", "tool_name", "arguments", "idempotency_key"],
    "tool_answer" ToolAnswer ["tool_call_id", "result", "is_error"],
    "hook_decision" HookDecision ["hook", "tool_call_id", "answer"],
    "suspended" Suspended ["calls"],
    "decisions" Decisions ["decisions"],
    "run_end" RunEnd ["run_id", "outcome", "error", "usage", "turns"],
    "appended" Appended ["messages"],
    "replaced" Replaced ["messages"],
    "reset" Reset [],
    "info" Info ["title", "metadata"],
}
