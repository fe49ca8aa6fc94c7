//! What a browser gets of a subagent's events, if it is to get anything: what it writes, and which tools it calls.

use serde_json::{Value, json};

use super::options::UiOptions;
use crate::event::{Event, EventData, MessageUpdate};

/// The data of an event: the call that runs the subagent, the calls that lead to it, and what happens. What its tools take and
/// return stays on the server.
pub(super) fn subagent(tool_call_id: &str, path: &[String], event: &Event, options: &UiOptions) -> Option<Value> {
    if !options.subagents {
        return None;
    }
    let mut data = match &event.data {
        EventData::AgentStart => json!({ "type": "agent_start" }),
        EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => json!({ "type": "text_delta", "delta": delta }),
        EventData::MessageUpdate(MessageUpdate::ThinkingDelta { delta, .. }) if options.reasoning => {
            json!({ "type": "thinking_delta", "delta": delta })
        }
        EventData::ToolExecutionStart { tool_call_id, tool_name, .. } => {
            json!({ "type": "tool_execution_start", "id": &**tool_call_id, "toolName": &**tool_name })
        }
        EventData::ToolExecutionEnd { tool_call_id, tool_name, is_error, .. } => {
            json!({ "type": "tool_execution_end", "id": &**tool_call_id, "toolName": &**tool_name, "isError": is_error })
        }
        EventData::AgentEnd { outcome, .. } => json!({ "type": "agent_end", "outcome": outcome }),
        _ => return None,
    };
    if let Some(data) = data.as_object_mut() {
        data.insert("toolCallId".to_owned(), tool_call_id.into());
        data.insert("path".to_owned(), json!(path));
    }
    Some(data)
}
