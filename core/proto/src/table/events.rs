//! The events of a run, one row each: `Variant = "word", value in C, "since" { fields }`, preceded by what it means. The fields
//! are in the order of the JSON; one with `@optional` is left out where it is `None`.
//!
//! `events_of!(block, callback prefix)` calls a macro with the rows of a block, preceded by the prefix: `update` has the parts
//! of an assistant's message, `other` all other events.

/// The rows of a block, given to a macro.
#[macro_export]
macro_rules! events_of {
    (update, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// A text block begins.
            TextStart = "text_start", 4, "0.1.0" {}
            /// More text of a text block.
            TextDelta = "text_delta", 5, "0.1.0" {
                /// The piece.
                delta: String,
            }
            /// A text block is complete.
            TextEnd = "text_end", 6, "0.1.0" {
                /// The block, whole.
                block: Box<ContentBlock>,
            }
            /// A thinking block begins.
            ThinkingStart = "thinking_start", 7, "0.1.0" {}
            /// More text of a thinking block.
            ThinkingDelta = "thinking_delta", 8, "0.1.0" {
                /// The piece.
                delta: String,
            }
            /// A thinking block is complete.
            ThinkingEnd = "thinking_end", 9, "0.1.0" {
                /// The block, whole.
                block: Box<ContentBlock>,
            }
            /// A tool call of the model begins.
            ToolCallStart = "tool_call_start", 10, "0.1.0" {
                /// The call's id.
                id: String,
                /// The tool's name.
                name: String,
            }
            /// More of a tool call's arguments.
            ToolCallDelta = "tool_call_delta", 11, "0.1.0" {
                /// A piece of the arguments' text.
                delta: String,
            }
            /// A tool call of the model is complete.
            ToolCallEnd = "tool_call_end", 12, "0.1.0" {
                /// The block, whole.
                block: Box<ContentBlock>,
            }
        }
    };
    (other, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// The run begins.
            AgentStart = "agent_start", 1, "0.1.0";
            /// A turn begins.
            TurnStart = "turn_start", 2, "0.1.0";
            /// A message begins. An assistant's is empty, with `stop_reason` `None`.
            MessageStart = "message_start", 3, "0.1.0" {
                /// The message.
                message: Arc<Message>,
            };
            /// A message is complete and in the transcript.
            MessageEnd = "message_end", 13, "0.1.0" {
                /// The message, whole.
                message: Arc<Message>,
            };
            /// The execution of a tool call begins.
            ToolExecutionStart = "tool_execution_start", 14, "0.1.0" {
                /// The call's id.
                tool_call_id: Arc<str>,
                /// The tool's name.
                tool_name: Arc<str>,
                /// The model's own arguments.
                arguments: Arc<Map<String, Value>>,
            };
            /// A tool reports its progress.
            ToolExecutionUpdate = "tool_execution_update", 15, "0.1.0" {
                /// The call's id.
                tool_call_id: Arc<str>,
                /// The tool's name.
                tool_name: Arc<str>,
                /// The model's own arguments.
                arguments: Arc<Map<String, Value>>,
                /// `{content, details}`.
                partial_result: Box<PartialResult>,
            };
            /// A tool call has its result.
            ToolExecutionEnd = "tool_execution_end", 16, "0.1.0" {
                /// The call's id.
                tool_call_id: Arc<str>,
                /// The tool's name.
                tool_name: Arc<str>,
                /// `{content, details, terminate}`.
                result: Box<ToolOutput>,
                /// Whether the call failed.
                is_error: bool,
                /// From the start event on, in milliseconds.
                duration_ms: u64,
            };
            /// A turn is over.
            TurnEnd = "turn_end", 17, "0.1.0" {
                /// The turn's assistant message.
                message: Arc<Message>,
                /// The tool results, in the order of the calls.
                tool_results: Vec<Arc<Message>>,
            };
            /// The run is over; no event follows.
            AgentEnd = "agent_end", 18, "0.1.0" {
                /// The messages this run added, in transcript order.
                messages: Vec<Arc<Message>>,
                /// Why it ended.
                outcome: Outcome,
                /// There exactly when the outcome is `error` or `aborted`.
                @optional error: Option<Error>,
                /// How many turns began.
                turns: u32,
                /// The run's sum.
                usage: Box<Usage>,
            };
            /// The model call is retried after a backoff.
            Retry = "retry", 19, "0.1.0" {
                /// 1 for the first retry.
                attempt: u32,
                /// The backoff that begins now, in milliseconds.
                delay_ms: u64,
                /// Why.
                error: Error,
            };
            /// Something was repaired, dropped, late or unusual.
            Diagnostic = "diagnostic", 20, "0.1.0" {
                /// A short word for programs: one of [`crate::table::codes::DIAGNOSTICS`], or a custom provider's.
                code: Cow<'static, str>,
                /// A sentence for a person to read.
                message: String,
                /// More, by code.
                data: Box<Value>,
            };
            /// One frame as the provider sent it; with the option `raw_events`.
            Raw = "raw", 21, "0.1.0" {
                /// The frame's JSON, or its text where it is not JSON.
                data: Box<Value>,
            };
        }
    };
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct EventRow {
    /// The variant, which is also the class in Python; of `MessageUpdate` where `is_update` is true, else of `EventData`.
    pub variant: &'static str,
    /// The canonical word.
    pub word: &'static str,
    /// What it means; the lines of its comment.
    pub doc: &'static [&'static str],
    /// Its value in C.
    pub value: i32,
    /// Whether it is part of an assistant's message. Such an event has a `content_index` before its fields.
    pub is_update: bool,
    /// Whether the variant has fields.
    pub has_fields: bool,
    /// The names of its fields that are always there, in order.
    pub fields: &'static [&'static str],
    /// The version in which it appeared.
    pub since: &'static str,
}

macro_rules! update_rows {
    ($(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal
        { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty,)* }
    )+) => {
        const UPDATES: &[EventRow] = &[$(EventRow {
            variant: stringify!($variant), word: $word, doc: &[$($doc),*], value: $value, is_update: true, has_fields: true,
            fields: &["content_index", $(stringify!($field)),*], since: $since,
        },)+];
    };
}

macro_rules! other_rows {
    ($(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal
        $({ $($(#[doc = $field_doc:literal])* $(@$optional:ident)? $field:ident: $type:ty,)* })?;
    )+) => {
        const OTHERS: &[EventRow] = &[$(EventRow {
            variant: stringify!($variant), word: $word, doc: &[$($doc),*], value: $value, is_update: false,
            has_fields: other_rows!(@has_fields $({ $($field)* })?),
            fields: other_rows!(@always [] $($($(@$optional)? $field)*)?), since: $since,
        },)+];
    };
    (@has_fields) => { false };
    (@has_fields { $($field:ident)* }) => { true };
    (@always [$($done:expr),*]) => { &[$($done),*] };
    (@always [$($done:expr),*] @optional $field:ident $($rest:tt)*) => { other_rows!(@always [$($done),*] $($rest)*) };
    (@always [$($done:expr),*] $field:ident $($rest:tt)*) => {
        other_rows!(@always [$($done,)* stringify!($field)] $($rest)*)
    };
}

events_of!(update, update_rows);
events_of!(other, other_rows);

/// All events, by their value in C.
pub fn all() -> Vec<&'static EventRow> {
    let mut rows: Vec<_> = UPDATES.iter().chain(OTHERS).collect();
    rows.sort_by_key(|row| row.value);
    rows
}

/// The event of that word.
pub fn find(word: &str) -> Option<&'static EventRow> {
    UPDATES.iter().chain(OTHERS).find(|row| row.word == word)
}
