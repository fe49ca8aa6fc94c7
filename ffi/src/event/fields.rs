//! Which field of an event an accessor returns.

use std::borrow::Cow;

use agent_loop::{AssistantMessage, ContentBlock, Error, EventData, Message, MessageUpdate, ToolCall, Usage};
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
        EventData::MessageStart { message } | EventData::MessageEnd { message } | EventData::TurnEnd { message, .. } => {
            Some(message.text().into())
        }
        EventData::ToolExecutionUpdate { partial_result, .. } => Some(partial_result.text().into()),
        EventData::ToolExecutionEnd { result, .. } => Some(result.text().into()),
        EventData::Retry { error, .. } => Some(error.message().into()),
        EventData::Diagnostic { message, .. } => Some(message.into()),
        EventData::AgentStart
        | EventData::TurnStart
        | EventData::ToolExecutionStart { .. }
        | EventData::AgentEnd { .. }
        | EventData::Raw { .. } => None,
    }
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text, .. } => Some(text),
        ContentBlock::Thinking { thinking, .. } => Some(thinking),
        ContentBlock::Image { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

fn call_of(data: &EventData) -> Option<&ToolCall> {
    match data {
        EventData::MessageUpdate(MessageUpdate::ToolCallEnd { block, .. }) => match &**block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        },
        _ => None,
    }
}

/// The assistant message that has ended.
pub(super) fn answer_of(data: &EventData) -> Option<&AssistantMessage> {
    match data {
        EventData::MessageEnd { message } | EventData::TurnEnd { message, .. } => message.as_assistant(),
        _ => None,
    }
}

/// The tokens of a message that has ended, or of the run.
pub(super) fn usage_of(data: &EventData) -> Option<&Usage> {
    match data {
        EventData::AgentEnd { usage, .. } => Some(usage),
        _ => answer_of(data).map(|message| &message.usage),
    }
}

/// The message that begins or ends.
pub(super) fn message_of(data: &EventData) -> Option<&Message> {
    match data {
        EventData::MessageStart { message } | EventData::MessageEnd { message } => Some(message),
        _ => None,
    }
}

/// Id and name of the tool call that an event is about.
pub(super) fn call_and_tool(data: &EventData) -> Option<(&str, &str)> {
    match data {
        EventData::MessageUpdate(MessageUpdate::ToolCallStart { id, name, .. }) => Some((id, name)),
        EventData::ToolExecutionStart { tool_call_id, tool_name, .. }
        | EventData::ToolExecutionUpdate { tool_call_id, tool_name, .. }
        | EventData::ToolExecutionEnd { tool_call_id, tool_name, .. } => Some((tool_call_id, tool_name)),
        _ => call_of(data).map(|call| (&*call.id, &*call.name)).or_else(|| {
            let result = tool_result(message_of(data)?)?;
            Some((&*result.tool_call_id, &*result.tool_name))
        }),
    }
}

pub(super) fn arguments_of(data: &EventData) -> Option<&Map<String, Value>> {
    match data {
        EventData::ToolExecutionStart { arguments, .. } | EventData::ToolExecutionUpdate { arguments, .. } => Some(arguments),
        _ => call_of(data).map(|call| &*call.arguments),
    }
}

pub(super) fn error_of(data: &EventData) -> Option<&Error> {
    match data {
        EventData::AgentEnd { error, .. } => error.as_ref(),
        EventData::Retry { error, .. } => Some(error),
        EventData::MessageEnd { message } | EventData::TurnEnd { message, .. } => message.as_assistant()?.error.as_ref(),
        _ => None,
    }
}

pub(super) fn is_error(data: &EventData) -> Option<bool> {
    match data {
        EventData::ToolExecutionEnd { is_error, .. } => Some(*is_error),
        _ => tool_result(message_of(data)?).map(|result| result.is_error),
    }
}
