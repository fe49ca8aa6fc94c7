//! Which field of an event an accessor returns.

use std::borrow::Cow;

use agent_loop::{AssistantMessage, ContentBlock, Error, EventData, Message, MessageUpdate, Outcome, ToolCall, Usage};
use serde_json::{Map, Value};

use crate::message::tool_result;

/// The text of every event but a delta.
pub(super) fn text_of(data: &EventData) -> Option<Cow<'_, str>> {
    match data {
        EventData::MessageUpdate(update) => match update {
            MessageUpdate::TextEnd { block, .. } | MessageUpdate::ThinkingEnd { block, .. } => block_text(block).map(Cow::from),
            MessageUpdate::TextStart { .. }
            | MessageUpdate::ThinkingStart { .. }
            | MessageUpdate::ToolCallStart { .. }
            | MessageUpdate::TextDelta { .. }
            | MessageUpdate::ThinkingDelta { .. }
            | MessageUpdate::ToolCallDelta { .. }
            | MessageUpdate::ToolCallEnd { .. } => None,
        },
        EventData::MessageStart { message } | EventData::MessageEnd { message } => Some(message.text().into()),
        EventData::TurnEnd { message, .. } => message.as_ref().map(|message| message.text().into()),
        EventData::ToolCallSuspended { reason, .. } => Some(reason.into()),
        EventData::ToolExecutionUpdate { partial_result, .. } => Some(partial_result.text().into()),
        EventData::ToolExecutionEnd { result, .. } => Some(result.text().into()),
        EventData::Retry { error, .. } => Some(error.message().into()),
        EventData::Diagnostic { message, .. } => Some(message.into()),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::ToolExecutionStart { .. }
        | EventData::SubagentEvent { .. }
        | EventData::AgentEnd { .. }
        | EventData::Raw { .. } => None,
    }
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text, .. } => Some(text),
        ContentBlock::Thinking { thinking, .. } => Some(thinking),
        ContentBlock::Image(_)
        | ContentBlock::Document(_)
        | ContentBlock::Audio(_)
        | ContentBlock::ToolCall(_)
        | ContentBlock::Opaque { .. } => None,
    }
}

fn call_of_block(block: &ContentBlock) -> Option<&ToolCall> {
    match block {
        ContentBlock::ToolCall(call) => Some(call),
        ContentBlock::Text { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Image(_)
        | ContentBlock::Document(_)
        | ContentBlock::Audio(_)
        | ContentBlock::Opaque { .. } => None,
    }
}

fn call_of(update: &MessageUpdate) -> Option<&ToolCall> {
    match update {
        MessageUpdate::ToolCallEnd { block, .. } => call_of_block(block),
        MessageUpdate::TextStart { .. }
        | MessageUpdate::ThinkingStart { .. }
        | MessageUpdate::ToolCallStart { .. }
        | MessageUpdate::TextDelta { .. }
        | MessageUpdate::ThinkingDelta { .. }
        | MessageUpdate::ToolCallDelta { .. }
        | MessageUpdate::TextEnd { .. }
        | MessageUpdate::ThinkingEnd { .. } => None,
    }
}

/// The assistant message that has ended.
pub(super) fn answer_of(data: &EventData) -> Option<&AssistantMessage> {
    match data {
        EventData::MessageEnd { message } => message.as_assistant(),
        EventData::TurnEnd { message, .. } => message.as_ref()?.as_assistant(),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageStart { .. }
        | EventData::MessageUpdate(_)
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::ToolExecutionEnd { .. }
        | EventData::AgentEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}

/// The tokens of a message that has ended, or of the run.
pub(super) fn usage_of(data: &EventData) -> Option<&Usage> {
    match data {
        EventData::AgentEnd { usage, .. } => Some(usage),
        EventData::MessageEnd { .. } | EventData::TurnEnd { .. } => answer_of(data).map(|message| &message.usage),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageStart { .. }
        | EventData::MessageUpdate(_)
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::ToolExecutionEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}

/// The message that begins or ends.
pub(super) fn message_of(data: &EventData) -> Option<&Message> {
    match data {
        EventData::MessageStart { message } | EventData::MessageEnd { message } => Some(message),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageUpdate(_)
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::ToolExecutionEnd { .. }
        | EventData::TurnEnd { .. }
        | EventData::AgentEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}

/// The message that begins or ends, and the answer at a turn's end.
pub(super) fn message_or_answer_of(data: &EventData) -> Option<&Message> {
    match data {
        EventData::TurnEnd { message, .. } => message.as_deref(),
        EventData::MessageStart { .. }
        | EventData::MessageEnd { .. }
        | EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageUpdate(_)
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::ToolExecutionEnd { .. }
        | EventData::AgentEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => message_of(data),
    }
}

/// Which block of the message an event is about.
pub(super) fn content_index_of(data: &EventData) -> Option<u32> {
    match data {
        EventData::MessageUpdate(update) => Some(update.content_index()),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageStart { .. }
        | EventData::MessageEnd { .. }
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::ToolExecutionEnd { .. }
        | EventData::TurnEnd { .. }
        | EventData::AgentEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}

/// How long a tool took, or how long the backoff before a retry is.
pub(super) fn duration_ms_of(data: &EventData) -> Option<u64> {
    match data {
        EventData::ToolExecutionEnd { duration_ms, .. } => Some(*duration_ms),
        EventData::Retry { delay_ms, .. } => Some(*delay_ms),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageStart { .. }
        | EventData::MessageUpdate(_)
        | EventData::MessageEnd { .. }
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::TurnEnd { .. }
        | EventData::AgentEnd { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}

/// Why the run ended.
pub(super) fn outcome_of(data: &EventData) -> Option<Outcome> {
    match data {
        EventData::AgentEnd { outcome, .. } => Some(*outcome),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageStart { .. }
        | EventData::MessageUpdate(_)
        | EventData::MessageEnd { .. }
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::ToolExecutionEnd { .. }
        | EventData::TurnEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}

/// Id and name of the tool call that an event is about.
pub(super) fn call_and_tool(data: &EventData) -> Option<(&str, &str)> {
    match data {
        EventData::MessageUpdate(MessageUpdate::ToolCallStart { id, name, .. }) => Some((id, name)),
        EventData::MessageUpdate(update) => call_of(update).map(|call| (&*call.id, &*call.name)),
        EventData::ToolExecutionStart { tool_call_id, tool_name, .. }
        | EventData::ToolExecutionUpdate { tool_call_id, tool_name, .. }
        | EventData::ToolCallSuspended { tool_call_id, tool_name, .. }
        | EventData::SubagentEvent { tool_call_id, tool_name, .. }
        | EventData::ToolExecutionEnd { tool_call_id, tool_name, .. } => Some((tool_call_id, tool_name)),
        EventData::MessageStart { message } | EventData::MessageEnd { message } => {
            tool_result(message).map(|result| (&*result.tool_call_id, &*result.tool_name))
        }
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::TurnEnd { .. }
        | EventData::AgentEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::Raw { .. } => None,
    }
}

pub(super) fn arguments_of(data: &EventData) -> Option<&Map<String, Value>> {
    match data {
        EventData::MessageUpdate(update) => call_of(update).map(|call| &*call.arguments),
        EventData::ToolExecutionStart { arguments, .. }
        | EventData::ToolExecutionUpdate { arguments, .. }
        | EventData::ToolCallSuspended { arguments, .. } => Some(arguments),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageStart { .. }
        | EventData::MessageEnd { .. }
        | EventData::ToolExecutionEnd { .. }
        | EventData::TurnEnd { .. }
        | EventData::AgentEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}

pub(super) fn error_of(data: &EventData) -> Option<&Error> {
    match data {
        EventData::AgentEnd { error, .. } => error.as_ref(),
        EventData::Retry { error, .. } => Some(error),
        EventData::MessageEnd { .. } | EventData::TurnEnd { .. } => answer_of(data)?.error.as_ref(),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageStart { .. }
        | EventData::MessageUpdate(_)
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::ToolExecutionEnd { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}

pub(super) fn is_error(data: &EventData) -> Option<bool> {
    match data {
        EventData::ToolExecutionEnd { is_error, .. } => Some(*is_error),
        EventData::MessageStart { message } | EventData::MessageEnd { message } => {
            tool_result(message).map(|result| result.is_error)
        }
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::MessageUpdate(_)
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::ToolCallSuspended { .. }
        | EventData::TurnEnd { .. }
        | EventData::AgentEnd { .. }
        | EventData::Retry { .. }
        | EventData::Diagnostic { .. }
        | EventData::SubagentEvent { .. }
        | EventData::Raw { .. } => None,
    }
}
