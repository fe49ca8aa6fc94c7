//! The kinds of events by number and by word.

use std::ffi::CStr;

use agent_loop::{EventData, MessageUpdate};

// <generated: constants>
/// The run begins.
pub const AGENT_EVENT_AGENT_START: i32 = 1;
/// A turn begins.
pub const AGENT_EVENT_TURN_START: i32 = 2;
/// A message begins. An assistant message is empty then, and has no stop reason yet.
pub const AGENT_EVENT_MESSAGE_START: i32 = 3;
/// A text block begins.
pub const AGENT_EVENT_TEXT_START: i32 = 4;
/// More text of a text block.
pub const AGENT_EVENT_TEXT_DELTA: i32 = 5;
/// A text block is complete.
pub const AGENT_EVENT_TEXT_END: i32 = 6;
/// A thinking block begins.
pub const AGENT_EVENT_THINKING_START: i32 = 7;
/// More text of a thinking block.
pub const AGENT_EVENT_THINKING_DELTA: i32 = 8;
/// A thinking block is complete.
pub const AGENT_EVENT_THINKING_END: i32 = 9;
/// A tool call of the model begins.
pub const AGENT_EVENT_TOOL_CALL_START: i32 = 10;
/// More of a tool call's arguments.
pub const AGENT_EVENT_TOOL_CALL_DELTA: i32 = 11;
/// A tool call of the model is complete.
pub const AGENT_EVENT_TOOL_CALL_END: i32 = 12;
/// A message is complete and in the transcript.
pub const AGENT_EVENT_MESSAGE_END: i32 = 13;
/// The execution of a tool call begins.
pub const AGENT_EVENT_TOOL_EXECUTION_START: i32 = 14;
/// A tool reports its progress.
pub const AGENT_EVENT_TOOL_EXECUTION_UPDATE: i32 = 15;
/// A tool call has its result.
pub const AGENT_EVENT_TOOL_EXECUTION_END: i32 = 16;
/// A turn is over.
pub const AGENT_EVENT_TURN_END: i32 = 17;
/// The run is over; no event follows.
pub const AGENT_EVENT_AGENT_END: i32 = 18;
/// The model call is retried after a backoff.
pub const AGENT_EVENT_RETRY: i32 = 19;
/// Something was repaired, dropped, late or unusual.
pub const AGENT_EVENT_DIAGNOSTIC: i32 = 20;
/// One frame as the provider sent it; with the option `raw_events`.
pub const AGENT_EVENT_RAW: i32 = 21;
/// A tool call waits for a decision, in place of its end: the run ends with the outcome `suspended`.
pub const AGENT_EVENT_TOOL_CALL_SUSPENDED: i32 = 22;
/// A subagent, an agent that a tool call runs, has emitted an event: between the start and the end of the call.
pub const AGENT_EVENT_SUBAGENT_EVENT: i32 = 23;
// </generated>

pub(super) fn kind(data: &EventData) -> i32 {
    match data {
        // <generated: kinds>
        EventData::AgentStart => AGENT_EVENT_AGENT_START,
        EventData::TurnStart => AGENT_EVENT_TURN_START,
        EventData::MessageStart { .. } => AGENT_EVENT_MESSAGE_START,
        EventData::MessageUpdate(MessageUpdate::TextStart { .. }) => AGENT_EVENT_TEXT_START,
        EventData::MessageUpdate(MessageUpdate::TextDelta { .. }) => AGENT_EVENT_TEXT_DELTA,
        EventData::MessageUpdate(MessageUpdate::TextEnd { .. }) => AGENT_EVENT_TEXT_END,
        EventData::MessageUpdate(MessageUpdate::ThinkingStart { .. }) => AGENT_EVENT_THINKING_START,
        EventData::MessageUpdate(MessageUpdate::ThinkingDelta { .. }) => AGENT_EVENT_THINKING_DELTA,
        EventData::MessageUpdate(MessageUpdate::ThinkingEnd { .. }) => AGENT_EVENT_THINKING_END,
        EventData::MessageUpdate(MessageUpdate::ToolCallStart { .. }) => AGENT_EVENT_TOOL_CALL_START,
        EventData::MessageUpdate(MessageUpdate::ToolCallDelta { .. }) => AGENT_EVENT_TOOL_CALL_DELTA,
        EventData::MessageUpdate(MessageUpdate::ToolCallEnd { .. }) => AGENT_EVENT_TOOL_CALL_END,
        EventData::MessageEnd { .. } => AGENT_EVENT_MESSAGE_END,
        EventData::ToolExecutionStart { .. } => AGENT_EVENT_TOOL_EXECUTION_START,
        EventData::ToolExecutionUpdate { .. } => AGENT_EVENT_TOOL_EXECUTION_UPDATE,
        EventData::ToolExecutionEnd { .. } => AGENT_EVENT_TOOL_EXECUTION_END,
        EventData::TurnEnd { .. } => AGENT_EVENT_TURN_END,
        EventData::AgentEnd { .. } => AGENT_EVENT_AGENT_END,
        EventData::Retry { .. } => AGENT_EVENT_RETRY,
        EventData::Diagnostic { .. } => AGENT_EVENT_DIAGNOSTIC,
        EventData::Raw { .. } => AGENT_EVENT_RAW,
        EventData::ToolCallSuspended { .. } => AGENT_EVENT_TOOL_CALL_SUSPENDED,
        EventData::SubagentEvent { .. } => AGENT_EVENT_SUBAGENT_EVENT,
        // </generated>
    }
}

pub(super) fn word(kind: i32) -> Option<&'static CStr> {
    Some(match kind {
        // <generated: words>
        AGENT_EVENT_AGENT_START => c"agent_start",
        AGENT_EVENT_TURN_START => c"turn_start",
        AGENT_EVENT_MESSAGE_START => c"message_start",
        AGENT_EVENT_TEXT_START => c"text_start",
        AGENT_EVENT_TEXT_DELTA => c"text_delta",
        AGENT_EVENT_TEXT_END => c"text_end",
        AGENT_EVENT_THINKING_START => c"thinking_start",
        AGENT_EVENT_THINKING_DELTA => c"thinking_delta",
        AGENT_EVENT_THINKING_END => c"thinking_end",
        AGENT_EVENT_TOOL_CALL_START => c"tool_call_start",
        AGENT_EVENT_TOOL_CALL_DELTA => c"tool_call_delta",
        AGENT_EVENT_TOOL_CALL_END => c"tool_call_end",
        AGENT_EVENT_MESSAGE_END => c"message_end",
        AGENT_EVENT_TOOL_EXECUTION_START => c"tool_execution_start",
        AGENT_EVENT_TOOL_EXECUTION_UPDATE => c"tool_execution_update",
        AGENT_EVENT_TOOL_EXECUTION_END => c"tool_execution_end",
        AGENT_EVENT_TURN_END => c"turn_end",
        AGENT_EVENT_AGENT_END => c"agent_end",
        AGENT_EVENT_RETRY => c"retry",
        AGENT_EVENT_DIAGNOSTIC => c"diagnostic",
        AGENT_EVENT_RAW => c"raw",
        AGENT_EVENT_TOOL_CALL_SUSPENDED => c"tool_call_suspended",
        AGENT_EVENT_SUBAGENT_EVENT => c"subagent_event",
        // </generated>
        _ => return None,
    })
}
