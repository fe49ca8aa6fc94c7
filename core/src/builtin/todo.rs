//! `todo`: the model's list of steps. It gives the whole list each time, so that the transcript has it and nothing else need be
//! kept.

use std::sync::Arc;

use serde_json::{Value, json};

use super::shared::{MadeTool, Shared};
use crate::tool::FnTool;

const STATES: &[(&str, &str)] = &[("pending", "[ ]"), ("in_progress", "[>]"), ("completed", "[x]")];

pub(super) fn make(_: &Arc<Shared>) -> MadeTool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "description": "The whole list, in order: it replaces the one before.",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": { "type": "string", "description": "The step, in a few words." },
                        "state": { "type": "string", "enum": STATES.iter().map(|(state, _)| *state).collect::<Vec<_>>() },
                    },
                    "required": ["text", "state"],
                },
            },
        },
        "required": ["items"],
    });
    let description = "Keeps a list of steps for work that takes several of them. Give the whole list each time: when you plan, \
        when you begin a step, and when it is done. At most one step is in_progress.";
    let tool = FnTool::new("todo", description, parameters, |arguments, _| async move {
        let items = arguments.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok::<_, String>(json!({ "content": [{ "type": "text", "text": shown(&items) }], "details": { "items": items } }))
    })?;
    Ok(Arc::new(tool))
}

fn shown(items: &[Value]) -> String {
    if items.is_empty() {
        return "The list is empty.".to_owned();
    }
    let text = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mark = |state: &str| STATES.iter().find(|(known, _)| *known == state).map_or("[ ]", |(_, mark)| mark);
    items.iter().map(|item| format!("{} {}", mark(&text(item, "state")), text(item, "text"))).collect::<Vec<_>>().join("\n")
}
