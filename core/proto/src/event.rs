//! Events: everything a run emits, in order. Canonical JSON has `type`, `run_id`, `seq`, `turn`, then the fields
//! of the type in the order given here.

use crate::table::codes;
use std::borrow::Cow;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::message::{AssistantMessage, ContentBlock, Message, joined_text};
use crate::partial::Partial;
use crate::tool::ToolOutput;
use crate::usage::{Outcome, Usage};

/// One event of a run.
#[derive(Debug, Clone)]
pub struct Event {
    /// The run's id.
    pub run_id: Arc<str>,
    /// 0, 1, 2 … without gaps.
    pub seq: u64,
    /// 1-based; 0 in `agent_start`.
    pub turn: u32,
    /// What happened.
    pub data: EventData,
    /// The assistant's message at this event, for the events of its stream.
    pub(crate) partial: Option<Partial>,
}

/// What happened, by type. Large parts stand behind pointers: most events are deltas, and all are moved about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum EventData {
    /// The run begins.
    AgentStart,
    /// A turn begins.
    TurnStart,
    /// A message begins. An assistant's is empty, with `stop_reason` `None`.
    MessageStart {
        /// The message.
        message: Arc<Message>,
    },
    /// A piece of the assistant's message.
    MessageUpdate(MessageUpdate),
    /// A message is complete and in the transcript.
    MessageEnd {
        /// The message, whole.
        message: Arc<Message>,
    },
    /// The execution of a tool call begins.
    ToolExecutionStart {
        /// The call's id.
        tool_call_id: Arc<str>,
        /// The tool's name.
        tool_name: Arc<str>,
        /// The model's own arguments.
        arguments: Arc<Map<String, Value>>,
    },
    /// A tool reports its progress.
    ToolExecutionUpdate {
        /// The call's id.
        tool_call_id: Arc<str>,
        /// The tool's name.
        tool_name: Arc<str>,
        /// The model's own arguments.
        arguments: Arc<Map<String, Value>>,
        /// `{content, details}`.
        partial_result: Box<PartialResult>,
    },
    /// A tool call has its answer.
    ToolExecutionEnd {
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
    },
    /// A turn is over.
    TurnEnd {
        /// The turn's assistant message.
        message: Arc<Message>,
        /// The tool results, in the order of the calls.
        tool_results: Vec<Arc<Message>>,
    },
    /// The run is over; nothing follows.
    AgentEnd {
        /// The messages this run added, in transcript order.
        messages: Vec<Arc<Message>>,
        /// Why it ended.
        outcome: Outcome,
        /// There exactly when the outcome is `error` or `aborted`.
        error: Option<Error>,
        /// How many turns began.
        turns: u32,
        /// The run's sum.
        usage: Box<Usage>,
    },
    /// The model call is retried after a backoff.
    Retry {
        /// 1 for the first retry.
        attempt: u32,
        /// The backoff that begins now, in milliseconds.
        delay_ms: u64,
        /// Why.
        error: Error,
    },
    /// Something was repaired, dropped, late or odd.
    Diagnostic {
        /// A short word for programs: one of [`crate::table::codes::DIAGNOSTICS`], or a custom provider's.
        code: Cow<'static, str>,
        /// A sentence for a person to read.
        message: String,
        /// More, by code.
        data: Box<Value>,
    },
    /// One frame as the provider sent it (opt-in).
    Raw {
        /// The frame's JSON, or its text where it is not JSON.
        data: Box<Value>,
    },
}

/// A piece of the assistant's message. `content_index` counts the blocks in the order they started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum MessageUpdate {
    /// A text block begins.
    TextStart {
        /// Which block.
        content_index: u32,
    },
    /// More text.
    TextDelta {
        /// Which block.
        content_index: u32,
        /// The piece.
        delta: String,
    },
    /// A text block is complete.
    TextEnd {
        /// Which block.
        content_index: u32,
        /// The block, whole.
        block: Box<ContentBlock>,
    },
    /// A thinking block begins.
    ThinkingStart {
        /// Which block.
        content_index: u32,
    },
    /// More thinking.
    ThinkingDelta {
        /// Which block.
        content_index: u32,
        /// The piece.
        delta: String,
    },
    /// A thinking block is complete.
    ThinkingEnd {
        /// Which block.
        content_index: u32,
        /// The block, whole.
        block: Box<ContentBlock>,
    },
    /// A tool call begins.
    ToolCallStart {
        /// Which block.
        content_index: u32,
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments.
    ToolCallDelta {
        /// Which block.
        content_index: u32,
        /// A piece of the arguments' text.
        delta: String,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// Which block.
        content_index: u32,
        /// The block, whole.
        block: Box<ContentBlock>,
    },
}

/// What a tool says before its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialResult {
    /// `text` and `image` blocks.
    pub content: Vec<ContentBlock>,
    /// Anything for the application.
    pub details: Value,
}

impl PartialResult {
    /// All text, joined with nothing between the blocks.
    pub fn text(&self) -> String {
        joined_text(&self.content)
    }
}

impl Event {
    /// An event of a run; `partial` is the assistant's message at this event, for the events of its stream.
    #[doc(hidden)]
    pub fn new(run_id: Arc<str>, seq: u64, turn: u32, data: EventData, partial: Option<Partial>) -> Event {
        Event { run_id, seq, turn, data, partial }
    }

    /// The type's word, for example `text_delta`.
    pub fn kind(&self) -> &'static str {
        self.data.kind()
    }

    /// The assistant's message as it stood after this event; `None` for events that are not part of its stream.
    pub fn partial(&self) -> Option<AssistantMessage> {
        match &self.data {
            EventData::MessageEnd { message } => message.as_assistant().cloned(),
            _ => self.partial.as_ref().map(Partial::message),
        }
    }

    /// The handle behind [`Event::partial`], for hosts that keep one for a whole message.
    pub fn partial_handle(&self) -> Option<&Partial> {
        self.partial.as_ref()
    }

    /// The event in canonical JSON, on one line.
    pub fn to_json(&self) -> String {
        // Nothing in an event can fail to serialise: all map keys are strings.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl EventData {
    /// The type's word, for example `text_delta`.
    pub fn kind(&self) -> &'static str {
        match self {
            EventData::AgentStart => "agent_start",
            EventData::TurnStart => "turn_start",
            EventData::MessageStart { .. } => "message_start",
            EventData::MessageUpdate(update) => update.kind(),
            EventData::MessageEnd { .. } => "message_end",
            EventData::ToolExecutionStart { .. } => "tool_execution_start",
            EventData::ToolExecutionUpdate { .. } => "tool_execution_update",
            EventData::ToolExecutionEnd { .. } => "tool_execution_end",
            EventData::TurnEnd { .. } => "turn_end",
            EventData::AgentEnd { .. } => "agent_end",
            EventData::Retry { .. } => "retry",
            EventData::Diagnostic { .. } => "diagnostic",
            EventData::Raw { .. } => "raw",
        }
    }
}

impl MessageUpdate {
    /// The type's word, for example `text_delta`.
    pub fn kind(&self) -> &'static str {
        match self {
            MessageUpdate::TextStart { .. } => "text_start",
            MessageUpdate::TextDelta { .. } => "text_delta",
            MessageUpdate::TextEnd { .. } => "text_end",
            MessageUpdate::ThinkingStart { .. } => "thinking_start",
            MessageUpdate::ThinkingDelta { .. } => "thinking_delta",
            MessageUpdate::ThinkingEnd { .. } => "thinking_end",
            MessageUpdate::ToolCallStart { .. } => "tool_call_start",
            MessageUpdate::ToolCallDelta { .. } => "tool_call_delta",
            MessageUpdate::ToolCallEnd { .. } => "tool_call_end",
        }
    }

    /// Which block of the message.
    pub fn content_index(&self) -> u32 {
        match self {
            MessageUpdate::TextStart { content_index }
            | MessageUpdate::TextDelta { content_index, .. }
            | MessageUpdate::TextEnd { content_index, .. }
            | MessageUpdate::ThinkingStart { content_index }
            | MessageUpdate::ThinkingDelta { content_index, .. }
            | MessageUpdate::ThinkingEnd { content_index, .. }
            | MessageUpdate::ToolCallStart { content_index, .. }
            | MessageUpdate::ToolCallDelta { content_index, .. }
            | MessageUpdate::ToolCallEnd { content_index, .. } => *content_index,
        }
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A struct, not a map: a binding may spell the names of fields its language's way, and leaves the keys of maps alone.
        // The number of fields is a hint; there are four or more.
        let mut fields = serializer.serialize_struct("Event", 4)?;
        fields.serialize_field("type", self.kind())?;
        fields.serialize_field("run_id", &*self.run_id)?;
        fields.serialize_field("seq", &self.seq)?;
        fields.serialize_field("turn", &self.turn)?;
        match &self.data {
            EventData::AgentStart | EventData::TurnStart => {}
            EventData::MessageStart { message } | EventData::MessageEnd { message } => {
                fields.serialize_field("message", message)?;
            }
            EventData::MessageUpdate(update) => {
                fields.serialize_field("content_index", &update.content_index())?;
                match update {
                    MessageUpdate::TextStart { .. } | MessageUpdate::ThinkingStart { .. } => {}
                    MessageUpdate::ToolCallStart { id, name, .. } => {
                        fields.serialize_field("id", id)?;
                        fields.serialize_field("name", name)?;
                    }
                    MessageUpdate::TextDelta { delta, .. }
                    | MessageUpdate::ThinkingDelta { delta, .. }
                    | MessageUpdate::ToolCallDelta { delta, .. } => fields.serialize_field("delta", delta)?,
                    MessageUpdate::TextEnd { block, .. }
                    | MessageUpdate::ThinkingEnd { block, .. }
                    | MessageUpdate::ToolCallEnd { block, .. } => fields.serialize_field("block", block)?,
                }
            }
            EventData::ToolExecutionStart { tool_call_id, tool_name, arguments } => {
                fields.serialize_field("tool_call_id", &**tool_call_id)?;
                fields.serialize_field("tool_name", &**tool_name)?;
                fields.serialize_field("arguments", arguments)?;
            }
            EventData::ToolExecutionUpdate { tool_call_id, tool_name, arguments, partial_result } => {
                fields.serialize_field("tool_call_id", &**tool_call_id)?;
                fields.serialize_field("tool_name", &**tool_name)?;
                fields.serialize_field("arguments", arguments)?;
                fields.serialize_field("partial_result", partial_result)?;
            }
            EventData::ToolExecutionEnd { tool_call_id, tool_name, result, is_error, duration_ms } => {
                fields.serialize_field("tool_call_id", &**tool_call_id)?;
                fields.serialize_field("tool_name", &**tool_name)?;
                fields.serialize_field("result", result)?;
                fields.serialize_field("is_error", is_error)?;
                fields.serialize_field("duration_ms", duration_ms)?;
            }
            EventData::TurnEnd { message, tool_results } => {
                fields.serialize_field("message", message)?;
                fields.serialize_field("tool_results", tool_results)?;
            }
            EventData::AgentEnd { messages, outcome, error, turns, usage } => {
                fields.serialize_field("messages", messages)?;
                fields.serialize_field("outcome", outcome)?;
                if let Some(error) = error {
                    fields.serialize_field("error", error)?;
                }
                fields.serialize_field("turns", turns)?;
                fields.serialize_field("usage", usage)?;
            }
            EventData::Retry { attempt, delay_ms, error } => {
                fields.serialize_field("attempt", attempt)?;
                fields.serialize_field("delay_ms", delay_ms)?;
                fields.serialize_field("error", error)?;
            }
            EventData::Diagnostic { code, message, data } => {
                fields.serialize_field("code", code)?;
                fields.serialize_field("message", message)?;
                fields.serialize_field("data", data)?;
            }
            EventData::Raw { data } => fields.serialize_field("data", data)?,
        }
        fields.end()
    }
}
