//! The codes of `diagnostic` events and of transcript repairs, one row each: `CODE = "word", data "its fields", "since";`,
//! preceded by what it reports.

macro_rules! codes {
    (
        $(#[doc = $about:literal])+
        $list:ident { $($(#[doc = $doc:literal])* $code:ident = $word:literal, data $data:literal, $since:literal;)+ }
    ) => {
        $($(#[doc = $doc])* pub const $code: &str = $word;)+

        $(#[doc = $about])+
        pub const $list: &[CodeRow] = &[$(CodeRow { word: $word, doc: &[$($doc),*], data: $data, since: $since },)+];
    };
}

codes! {
    /// The codes of `diagnostic` events. A custom provider may emit codes of its own.
    DIAGNOSTICS {
        /// The transcript was repaired for the model.
        TRANSCRIPT_REPAIRED = "transcript_repaired", data "`repairs`: see [transcript repair](transcript.md#codes)", "0.1.0";
        /// The model does not take an option, or not this value.
        OPTION_IGNORED = "option_ignored", data "`option`: its name", "0.1.0";
        /// A fallback model is called after a failure.
        FALLBACK = "fallback", data "`from`, `to`, `error`", "0.1.0";
        /// An update came after the result and was dropped.
        LATE_UPDATE = "late_update", data "`tool_call_id`, `tool_name`", "0.1.0";
        /// Updates that waited were replaced by newer ones.
        UPDATES_REPLACED = "updates_replaced", data "`tool_call_id`, `tool_name`, `count`", "0.1.0";
        /// A call without an id, or with a repeated id, got a new one.
        TOOL_CALL_ID = "tool_call_id", data "`content_index`, `given`, the new `id`", "0.1.0";
        /// A call with a misspelt name of a tool got the right one.
        TOOL_NAME_CORRECTED = "tool_name_corrected", data "`given`, `tool_name`", "0.1.0";
        /// An observer hook failed.
        HOOK_ERROR = "hook_error", data "`hook`, `error`", "0.1.0";
        /// A listener failed.
        LISTENER_ERROR = "listener_error", data "`event`, `error`", "0.1.0";
        /// A listener did not return in time; it gets none until it does.
        LISTENER_LEFT = "listener_left", data "`listener`, `event`, `limit`, `limit_ms`", "0.1.0";
        /// A listener that was left has returned.
        LISTENER_BACK = "listener_back", data "`listener`, `missed`", "0.1.0";
        /// Stands for an event that no JavaScript string can hold (Node).
        EVENT_LEFT_OUT = "event_left_out", data "`type`, `characters`", "0.1.0";
        /// The connection broke after the complete answer.
        BROKEN_END = "broken_end", data "", "0.1.0";
        /// Bytes that are not UTF-8 became U+FFFD.
        INVALID_UTF8 = "invalid_utf8", data "", "0.1.0";
        /// The provider did not stream: its answer came whole.
        UNSTREAMED = "unstreamed", data "", "0.1.0";
        /// The answer ended with an unknown reason, or without one.
        UNKNOWN_STOP_REASON = "unknown_stop_reason", data "`raw_stop_reason`, `stop_reason`", "0.1.0";
        /// A block of an unknown type is kept and sent back unchanged.
        OPAQUE_BLOCK = "opaque_block", data "`type`", "0.1.0";
        /// The answer names sources.
        CITATIONS = "citations", data "`citations`, or the sources as Gemini sends them", "0.1.0";
        /// Half a record was removed from the end of a session's journal.
        JOURNAL_TORN = "journal_torn", data "`session`, `bytes`", "0.1.0";
        /// The provider explains why it refused.
        REFUSAL = "refusal", data "`explanation`", "0.1.0";
    }
}

codes! {
    /// The codes of transcript repairs.
    REPAIRS {
        /// An assistant message that failed or was aborted was left out.
        FAILED_MESSAGE = "failed_message", data "", "0.1.0";
        /// An empty message was left out.
        EMPTY_MESSAGE = "empty_message", data "", "0.1.0";
        /// An empty block was left out.
        EMPTY_BLOCK = "empty_block", data "", "0.1.0";
        /// A call without a result got an error result.
        MISSING_RESULT = "missing_result", data "", "0.1.0";
        /// A result without a call was left out.
        STRAY_RESULT = "stray_result", data "", "0.1.0";
        /// A call's id was replaced, in the call and in its result.
        CALL_ID = "call_id", data "", "0.1.0";
        /// A tool's name was replaced, in the call and in its result.
        CALL_NAME = "call_name", data "", "0.1.0";
        /// Thinking of another model became text.
        THINKING_TO_TEXT = "thinking_to_text", data "", "0.1.0";
        /// Thinking that the model cannot be given was left out.
        THINKING_DROPPED = "thinking_dropped", data "", "0.1.0";
        /// A block that only another vendor understands was left out.
        OPAQUE_DROPPED = "opaque_dropped", data "", "0.1.0";
        /// An image became a line of text, for a model that reads none.
        IMAGE_REPLACED = "image_replaced", data "", "0.1.0";
        /// An image was left out.
        IMAGE_DROPPED = "image_dropped", data "", "0.1.0";
        /// A block that is not allowed in a message of that role was left out.
        MISPLACED_BLOCK = "misplaced_block", data "", "0.1.0";
        /// A message with a role of another format (`system`, `developer`, `tool`, `function`, `model`) was left out.
        FOREIGN_ROLE = "foreign_role", data "", "0.1.0";
        /// A message was left out whose custom role is nearly one of the three that models read.
        SIMILAR_ROLE = "similar_role", data "", "0.1.0";
        /// A stored message has fields that are not known; they are in its `metadata.unknown`.
        UNKNOWN_FIELD = "unknown_field", data "", "0.1.0";
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct CodeRow {
    /// The canonical word.
    pub word: &'static str,
    /// What it reports; the lines of its comment.
    pub doc: &'static [&'static str],
    /// The fields of a diagnostic's `data`, in Markdown.
    pub data: &'static str,
    /// The version in which it appeared.
    pub since: &'static str,
}
