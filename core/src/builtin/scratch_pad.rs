//! `scratch_pad`: notes that the model keeps. They are those of the conversation: the details of the tool's last result have
//! them, so that they survive what the option `context` leaves out of requests, and a session that goes on elsewhere.

use std::sync::Arc;

use agent_loop_proto::message::Message;
use serde_json::{Value, json};

use super::file_tool::schema;
use super::shared::{MadeTool, Shared};
use crate::tool::{ExecutionMode, FnTool, ToolContext};

/// The field of `details` that has the notes.
const NOTES: &str = "notes";

/// How many bytes the notes have at most.
const MAX_NOTES: usize = 30_000;

pub(super) fn make(_: &Arc<Shared>) -> MadeTool {
    let properties = json!({
        "action": { "type": "string", "enum": ["read", "write", "append", "clear"],
            "description": "write replaces all notes, append adds a line." },
        "text": { "type": "string", "description": "What to write or append." },
    });
    let description = "Keeps notes for you, which stay when earlier messages are left out: findings, decisions, what is still to \
        be done. Read them when you do not know what came before.";
    let parameters = schema(&properties, &["action"]);
    let tool =
        FnTool::new("scratch_pad", description, parameters, |arguments, context| async move { run(&arguments, &context) })?;
    // Those of one message go on from each other.
    Ok(Arc::new(tool.execution_mode(ExecutionMode::Sequential)))
}

fn run(arguments: &Value, context: &ToolContext) -> Result<Value, String> {
    let field = |name: &str| arguments.get(name).and_then(Value::as_str);
    let action = field("action").unwrap_or_default();
    let before = notes(context).ok_or("the notes are those of a conversation, and this call is of none")?;
    let text = || field("text").ok_or_else(|| format!("text: is required for the action {action:?}"));
    let notes = match action {
        "write" => text()?.to_owned(),
        "append" if before.is_empty() => text()?.to_owned(),
        "append" => format!("{before}\n{}", text()?),
        "clear" => String::new(),
        _ => before,
    };
    if notes.len() > MAX_NOTES {
        let bytes = notes.len();
        return Err(format!(
            "the notes would have {bytes} bytes, of at most {MAX_NOTES}: write shorter ones; they are as before"
        ));
    }
    let shown = match action {
        "read" if notes.is_empty() => "There are no notes.".to_owned(),
        "read" => notes.clone(),
        "clear" => "The notes are cleared.".to_owned(),
        _ => format!("Noted: {} bytes in all.", notes.len()),
    };
    Ok(json!({ "content": [{ "type": "text", "text": shown }], "details": { NOTES: notes } }))
}

/// The notes of the conversation so far; `None` outside of one.
fn notes(context: &ToolContext) -> Option<String> {
    let run = context.run()?;
    let machine = run.machine();
    let of_tool = machine.transcript().iter().rev().find_map(|message| match &**message {
        Message::ToolResult(result) if result.tool_name == *context.name() => result.details.get(NOTES)?.as_str(),
        _ => None,
    });
    Some(of_tool.map(str::to_owned).unwrap_or_default())
}
