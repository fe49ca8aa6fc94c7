//! A model's own thinking on its way back: in the field it came in, as its signature says, or in the server's.

use serde_json::{Map, Value, json};

use crate::message::{AssistantMessage, ContentBlock, ToolCall};
use crate::quirks::{Quirks, ReasoningField};

impl ReasoningField {
    /// The field of a text that does not say where it came from. OpenRouter takes a text beside its list.
    fn of_text(self) -> &'static str {
        match self {
            ReasoningField::ReasoningContent => "reasoning_content",
            ReasoningField::Reasoning | ReasoningField::ReasoningDetails => "reasoning",
            ReasoningField::ReasoningText => "reasoning_text",
            ReasoningField::Content => "content",
        }
    }
}

/// Adds to an assistant's message what of its thinking goes back.
pub(super) fn write(out: &mut Map<String, Value>, message: &AssistantMessage, thinks: bool, quirks: &Quirks) {
    let Some(by_default) = quirks.reasoning_field else {
        return;
    };
    // Of a server that demands its field, or that refuses others, what a signature says of another server does not count.
    let one_field = quirks.reasoning_required || by_default == ReasoningField::Content;
    let mut details: Vec<Value> = Vec::new();
    let mut texts: Vec<(&str, String)> = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::Thinking { thinking, signature, .. } => {
                let field = match signature.as_deref().filter(|_| !one_field) {
                    Some(name @ ("reasoning_content" | "reasoning" | "reasoning_text" | "content")) => name,
                    Some(list) if list.starts_with('[') => {
                        details.extend(listed(list));
                        continue;
                    }
                    _ => by_default.of_text(),
                };
                match texts.iter_mut().find(|(known, _)| *known == field) {
                    _ if thinking.is_empty() => {}
                    Some((_, text)) => text.push_str(thinking),
                    None => texts.push((field, thinking.clone())),
                }
            }
            ContentBlock::ToolCall(call) if !one_field => details.extend(call.signature.as_deref().into_iter().flat_map(listed)),
            ContentBlock::Text { .. } | ContentBlock::ToolCall(_) | ContentBlock::Image { .. } | ContentBlock::Opaque { .. } => {}
        }
    }
    if texts.is_empty() && details.is_empty() && thinks && quirks.reasoning_required && by_default != ReasoningField::Content {
        texts.push((by_default.of_text(), String::new()));
    }
    for (field, text) in texts {
        if field == "content" {
            thinking_part(out, &text);
        } else {
            out.insert(field.to_owned(), text.into());
        }
    }
    if !details.is_empty() {
        out.insert("reasoning_details".into(), details.into());
    }
}

/// What Google's servers put beside a call, with its thought signature, as it came.
pub(super) fn extra_content(call: &ToolCall) -> Option<Value> {
    let signature = call.signature.as_deref().filter(|signature| signature.starts_with('{'))?;
    serde_json::from_str::<Value>(signature).ok()?.get_mut(EXTRA_CONTENT).map(Value::take)
}

pub(super) const EXTRA_CONTENT: &str = "extra_content";

/// OpenRouter's items as they came: a list of them, or one.
fn listed(signature: &str) -> Vec<Value> {
    match serde_json::from_str(signature) {
        Ok(Value::Array(items)) => items,
        Ok(item @ Value::Object(_)) if item.get(EXTRA_CONTENT).is_none() => vec![item],
        _ => Vec::new(),
    }
}

/// Mistral: thinking is a part of the content, <https://docs.mistral.ai/capabilities/reasoning>.
fn thinking_part(out: &mut Map<String, Value>, text: &str) {
    let mut parts = vec![json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] })];
    match out.get("content") {
        Some(Value::String(said)) if !said.is_empty() => parts.push(json!({ "type": "text", "text": said })),
        Some(Value::Array(said)) => parts.extend(said.iter().cloned()),
        _ => {}
    }
    out.insert("content".into(), parts.into());
}
