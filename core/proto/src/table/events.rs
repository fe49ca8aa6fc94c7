//! The events of a run, one row each, preceded by what it means:
//!
//! ```text
//! Variant = "word", value in C, "since" [fields that a positional pattern of Python matches] {
//!     /// What it is.
//!     name: Type as Precise = "since",
//! };
//! ```
//!
//! The fields are in the order of the JSON; one with `@optional` is left out where it is `None`. `as` names the exact type of
//! the field in Python and Node. A field that came later than its event has a `since` of its own.
//!
//! `events_of!(block, callback prefix)` calls a macro with the rows of a block, preceded by the prefix: `update` has the parts
//! of an assistant's message, which have no `;`, `other` all other events.

use super::fields::{FieldRow, field_row};

/// The rows of a block, given to a macro.
#[macro_export]
macro_rules! events_of {
    (update, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// A text block begins.
            TextStart = "text_start", 4, "0.1.0" [content_index] {}
            /// More text of a text block.
            TextDelta = "text_delta", 5, "0.1.0" [delta] {
                /// The added text.
                delta: String,
            }
            /// A text block is complete.
            TextEnd = "text_end", 6, "0.1.0" [block] {
                /// The complete block.
                block: Box<ContentBlock> as TextBlock,
            }
            /// A thinking block begins.
            ThinkingStart = "thinking_start", 7, "0.1.0" [content_index] {}
            /// More text of a thinking block.
            ThinkingDelta = "thinking_delta", 8, "0.1.0" [delta] {
                /// The added text.
                delta: String,
            }
            /// A thinking block is complete.
            ThinkingEnd = "thinking_end", 9, "0.1.0" [block] {
                /// The complete block.
                block: Box<ContentBlock> as ThinkingBlock,
            }
            /// A tool call of the model begins.
            ToolCallStart = "tool_call_start", 10, "0.1.0" [id, name] {
                /// The call's id.
                id: String,
                /// The tool's name.
                name: String,
            }
            /// More of a tool call's arguments.
            ToolCallDelta = "tool_call_delta", 11, "0.1.0" [delta] {
                /// The next part of the arguments' JSON text.
                delta: String,
            }
            /// A tool call of the model is complete.
            ToolCallEnd = "tool_call_end", 12, "0.1.0" [block] {
                /// The complete block.
                block: Box<ContentBlock> as ToolCall,
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
            /// A message begins. An assistant message is empty then, and has no stop reason yet.
            MessageStart = "message_start", 3, "0.1.0" [message] {
                /// The message.
                message: Arc<Message>,
            };
            /// A message is complete and in the transcript.
            MessageEnd = "message_end", 13, "0.1.0" [message] {
                /// The complete message.
                message: Arc<Message>,
            };
            /// The execution of a tool call begins.
            ToolExecutionStart = "tool_execution_start", 14, "0.1.0" [tool_name, arguments] {
                /// The call's id.
                tool_call_id: Arc<str>,
                /// The tool's name.
                tool_name: Arc<str>,
                /// The arguments as the model gave them, before validation.
                arguments: Arc<Map<String, Value>>,
            };
            /// A tool reports its progress.
            ToolExecutionUpdate = "tool_execution_update", 15, "0.1.0" [tool_name, partial_result] {
                /// The call's id.
                tool_call_id: Arc<str>,
                /// The tool's name.
                tool_name: Arc<str>,
                /// The arguments as the model gave them, before validation.
                arguments: Arc<Map<String, Value>>,
                /// The progress that was reported.
                partial_result: Box<PartialResult>,
            };
            /// A tool call has its result.
            ToolExecutionEnd = "tool_execution_end", 16, "0.1.0" [tool_name, result, is_error] {
                /// The call's id.
                tool_call_id: Arc<str>,
                /// The tool's name.
                tool_name: Arc<str>,
                /// The result.
                result: Box<ToolOutput>,
                /// Whether the call failed.
                is_error: bool,
                /// The time since the start event, in milliseconds.
                duration_ms: u64,
            };
            /// A tool call waits for a decision, in place of its end: the run ends with the outcome `suspended`.
            ToolCallSuspended = "tool_call_suspended", 22, "0.1.0" [tool_name, arguments, reason] {
                /// The call's id.
                tool_call_id: Arc<str>,
                /// The tool's name.
                tool_name: Arc<str>,
                /// The arguments with which the call runs if it is approved.
                arguments: Arc<Map<String, Value>>,
                /// Why it waits, for the person who decides.
                reason: String,
            };
            /// A subagent, an agent that a tool call runs, has emitted an event: between the start and the end of the call.
            SubagentEvent = "subagent_event", 23, "0.1.0" [path, event] {
                /// The call's id.
                tool_call_id: Arc<str>,
                /// The tool's name.
                tool_name: Arc<str>,
                /// The ids of the calls that lead to the subagent, the one of this run first.
                path: Vec<String>,
                /// The subagent's event, with the `run_id`, `seq` and `turn` of its own run.
                event: Arc<Event>,
            };
            /// A turn is over.
            TurnEnd = "turn_end", 17, "0.1.0" [message, tool_results] {
                /// The turn's assistant message; null in the first turn of a run that went on with calls of an earlier one, and
                /// in a last turn for whose model call nothing was left of the budget.
                message: Option<Arc<Message>> as MaybeAssistantMessage,
                /// The tool results, in the order of the calls.
                tool_results: Vec<Arc<Message>> as ToolResults,
            };
            /// The run is over; no event follows.
            AgentEnd = "agent_end", 18, "0.1.0" [outcome] {
                /// The messages this run added, in transcript order.
                messages: Vec<Arc<Message>>,
                /// Why the run ended.
                outcome: Outcome,
                /// The error; present exactly when the outcome is `error` or `aborted`.
                @optional error: Option<Error>,
                /// How many turns began.
                turns: u32,
                /// The sum over the model calls of the run, with what failed attempts have reported.
                usage: Box<Usage>,
                /// The typed final answer; present if the option `output` asked for one and the run has it.
                @optional output: Option<Box<Value>>,
                /// The calls that wait for a decision; present exactly when the outcome is `suspended`.
                @optional pending: Option<Box<[SuspendedCall]>>,
                /// How many steering and follow-up messages wait for another run.
                queued: u32,
            };
            /// The model call is retried after a backoff.
            Retry = "retry", 19, "0.1.0" [attempt, delay_ms, error] {
                /// 1 for the first retry.
                attempt: u32,
                /// The backoff that begins now, in milliseconds.
                delay_ms: u64,
                /// The error of the failed attempt.
                error: Error,
            };
            /// Something was repaired, dropped, late or unusual.
            Diagnostic = "diagnostic", 20, "0.1.0" [code, message] {
                /// A short word for programs: one of the codes of diagnostics, or a custom provider's.
                code: Cow<'static, str> as DiagnosticCode,
                /// A sentence for a person to read.
                message: String,
                /// More; which fields depends on the code.
                data: Box<Value>,
            };
            /// One frame as the provider sent it; with the option `raw_events`.
            Raw = "raw", 21, "0.1.0" [data] {
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
    /// Its fields, in order.
    pub fields: &'static [FieldRow],
    /// The names of the fields that a positional pattern of Python matches.
    pub positional: &'static [&'static str],
    /// The version in which it appeared.
    pub since: &'static str,
}

macro_rules! update_rows {
    ($(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal [$($positional:ident),*]
        { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty $(as $exact:ident)? $(= $field_since:literal)?,)* }
    )+) => {
        const UPDATES: &[EventRow] = &[$(EventRow {
            variant: stringify!($variant),
            word: $word,
            doc: &[$($doc),*],
            value: $value,
            is_update: true,
            fields: &[
                FieldRow {
                    name: "content_index",
                    doc: &["The index of the block, in the order in which the blocks started."],
                    rust: "u32",
                    exact: "",
                    is_optional: false,
                    since: $since,
                },
                $(field_row!([] $($field_doc)* ; $field, $type, [$($exact)?], [$($field_since,)? $since]),)*
            ],
            positional: &[$(stringify!($positional)),*],
            since: $since,
        },)+];
    };
}

macro_rules! other_rows {
    ($(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal
        $([$($positional:ident),*] {
            $($(#[doc = $field_doc:literal])* $(@$optional:ident)? $field:ident: $type:ty $(as $exact:ident)?
            $(= $field_since:literal)?,)*
        })?;
    )+) => {
        const OTHERS: &[EventRow] = &[$(EventRow {
            variant: stringify!($variant),
            word: $word,
            doc: &[$($doc),*],
            value: $value,
            is_update: false,
            fields: &[$($(
                field_row!([$($optional)?] $($field_doc)* ; $field, $type, [$($exact)?], [$($field_since,)? $since]),
            )*)?],
            positional: &[$($(stringify!($positional)),*)?],
            since: $since,
        },)+];
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
