//! A tool of the loop's own: with the option `context`, a long result goes to the model cut, and the model may read on in it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::config::Config;
use super::run_state::RunState;
use crate::message::Message;
use crate::request::ToolDescription;
use crate::tool::ToolOutput;
use crate::transcript::{Constraints, READ_RESULT, part_of_result};

/// Whether the model has the tool: results are cut, there are tools that give some, and none of them has its name.
pub(super) fn is_offered(config: &Config) -> bool {
    let cuts = config.settings.context.as_ref().is_some_and(|policy| policy.max_result_tokens > 0);
    cuts && !config.tools.descriptions().is_empty() && config.tools.get(READ_RESULT).is_none()
}

/// The tools of a request, with this one behind them.
pub(super) fn with_tool(tools: &Arc<Vec<ToolDescription>>) -> Arc<Vec<ToolDescription>> {
    let about = "Reads on in the result of an earlier tool call of which bytes were left out.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "tool_call_id": { "type": "string", "description": "The call, as the mark in its result names it." },
            "offset": { "type": "integer", "minimum": 0, "description": "The byte to begin with." },
        },
        "required": ["tool_call_id", "offset"],
    });
    let tool = ToolDescription::new(READ_RESULT, about, parameters);
    Arc::new(tools.iter().cloned().chain([tool]).collect())
}

/// What a result may have for a model, as the settings are.
pub(super) fn constraints(config: &Config, of: &Constraints) -> Constraints {
    let settings = &config.settings;
    let max_result_tokens = settings.context.as_ref().map_or(0, |policy| policy.max_result_tokens);
    Constraints { max_result_bytes: settings.max_result_bytes, max_result_tokens, reads_on: is_offered(config), ..of.clone() }
}

/// Answers a call: the part of the result that it asks for, or what is wrong with it, for the model.
pub(super) fn read(run: &RunState, arguments: &Map<String, Value>) -> Result<ToolOutput, String> {
    let id = arguments.get("tool_call_id").and_then(Value::as_str).ok_or("/tool_call_id: expected the id of a call, a string")?;
    let offset = match arguments.get("offset") {
        None | Some(Value::Null) => Some(0),
        // As other tools take numbers.
        Some(offset) => offset.as_u64().or_else(|| offset.as_str().and_then(|text| text.parse().ok())),
    };
    let offset = offset.and_then(|offset| usize::try_from(offset).ok());
    let offset = offset.ok_or("/offset: expected a whole number of bytes, 0 or more")?;
    let of_call = |message: &&Arc<Message>| matches!(&***message, Message::ToolResult(result) if result.tool_call_id == id);
    // Ids may repeat in a conversation: the newest is meant.
    let result = run.transcript.all().iter().rev().find(of_call);
    let Some(Message::ToolResult(result)) = result.map(Arc::as_ref) else {
        return Err(format!("there is no result of a call {id:?}; give the tool_call_id that the mark in the result names"));
    };
    Ok(part_from(&result.model_text(), offset, &constraints(run.config(), &Constraints::new("", "", ""))))
}

fn part_from(text: &str, offset: usize, fit: &Constraints) -> ToolOutput {
    let (part, from, to) = part_of_result(text, offset, fit);
    let bytes = text.len();
    let text = match (part.is_empty(), to < bytes) {
        (true, _) => format!("[the result has {bytes} bytes; there is nothing from byte {offset} on]"),
        (false, true) => format!("{part}\n[bytes {from} to {to} of {bytes}; to read on, call {READ_RESULT} with offset {to}]"),
        (false, false) => format!("{part}\n[bytes {from} to {to} of {bytes}: the end]"),
    };
    ToolOutput::from_value(text.into()).0
}
