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
        /// Messages are left out of requests, for the option `context`.
        CONTEXT_TRIMMED = "context_trimmed", data "`left_out`, `of_all`, `of_request`, `limit`", "0.1.0";
        /// A request is over the limit of `context`, and nothing more can be left out.
        CONTEXT_EXCEEDED = "context_exceeded", data "`of_request`, `limit`", "0.1.0";
        /// A summary that the option `context` asks for was not written.
        SUMMARY_FAILED = "summary_failed", data "`error`", "0.1.0";
        /// A model call waits for its turn, for the option `limiter`.
        LIMITER_WAIT = "limiter_wait", data "`reason`, `ahead`", "0.1.0";
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
        /// Another agent goes on with the conversation.
        HANDOFF = "handoff", data "`tool_call_id`, `tool_name`, `model`", "0.1.0";
        /// The run ends, as this limit is used up.
        BUDGET = "budget", data "`option`, `limit`, `used` (null: a cost is not known)", "0.1.0";
        /// The model has made the same call 3, 6, 12 … times in a row.
        REPEATED_CALL = "repeated_call", data "`tool_call_id`, `tool_name`, `count`", "0.1.0";
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
        /// Another file, or an image at an address, became a line of text, for a model that does not take it.
        FILE_REPLACED = "file_replaced", data "", "0.1.0";
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

codes! {
    /// The codes of what a conversion of a transcript does not carry over.
    LOSSES {
        /// An image at an address was left out: it is none, or only data can stand there.
        LOST_IMAGE_URL = "image_url", data "", "0.1.0";
        /// A file, a document, audio or a video was left out.
        LOST_FILE = "file", data "", "0.1.0";
        /// A part or block that has no place there was left out, or became another one.
        LOST_PART = "part", data "", "0.1.0";
        /// A field of a message, part or block was left out.
        LOST_FIELD = "field", data "", "0.1.0";
        /// The sources that a text names were left out.
        LOST_CITATIONS = "citations", data "", "0.1.0";
        /// Instructions from the middle of the conversation moved into the system prompt.
        SYSTEM_MOVED = "system_moved", data "", "0.1.0";
        /// The system prompt was left out: a list of that format has no place for it.
        SYSTEM_LEFT_OUT = "system_prompt", data "", "0.1.0";
        /// A call or an output that was not complete was left out.
        UNFINISHED_CALL = "unfinished_call", data "", "0.1.0";
        /// That a call waits for an approval, or has it, was left out.
        LOST_APPROVAL = "approval", data "", "0.1.0";
        /// An entry of another branch of the session was left out.
        OTHER_BRANCH = "branch", data "", "0.1.0";
        /// An entry of the session that is no message was left out.
        LOST_ENTRY = "entry", data "", "0.1.0";
        /// Thinking was left out.
        LOST_THINKING = "thinking", data "", "0.1.0";
        /// A block that only another vendor understands was left out.
        LOST_OPAQUE = "opaque", data "", "0.1.0";
        /// The arguments of a call that are no JSON object were left out.
        LOST_ARGUMENTS = "raw_arguments", data "", "0.1.0";
        /// Images and other files of a result moved into a user message behind the results.
        IMAGE_MOVED = "image_moved", data "", "0.1.0";
        /// That a result is an error was left out.
        LOST_IS_ERROR = "is_error", data "", "0.1.0";
        /// The details of a result were left out.
        LOST_DETAILS = "details", data "", "0.1.0";
        /// The metadata of a message were left out.
        LOST_METADATA = "metadata", data "", "0.1.0";
        /// The id of a message was left out: another one has it.
        LOST_ID = "id", data "", "0.1.0";
        /// A custom message was left out; of one that is read, no model reads it by itself.
        CUSTOM_MESSAGE = "custom_message", data "", "0.1.0";
        /// That a message failed or was aborted was left out; what it says stands there.
        LOST_ERROR = "error", data "", "0.1.0";
        /// Why a message ended was left out.
        LOST_STOP_REASON = "stop_reason", data "", "0.1.0";
        /// An empty text or message was left out.
        LOST_EMPTY = "empty", data "", "0.1.0";
        /// A result without a call was left out.
        LOST_RESULT = "stray_result", data "", "0.1.0";
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
