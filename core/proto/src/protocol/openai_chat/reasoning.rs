//! A model's own thinking on its way back: in the field it came in, as its signature says, or in the server's.

use serde_json::Value;

use crate::message::{AssistantMessage, ContentBlock, ToolCall};
use crate::protocol::incremental::Style;
use crate::protocol::json::Object;
use crate::quirks::ReasoningField;

impl ReasoningField {
    /// The field of a text that does not say where it came from. OpenRouter takes a text beside its list.
    fn of_text(self) -> &'static str {
        match self {
            ReasoningField::ReasoningContent | ReasoningField::AsReceived => "reasoning_content",
            ReasoningField::Reasoning | ReasoningField::ReasoningDetails => "reasoning",
            ReasoningField::ReasoningText => "reasoning_text",
            ReasoningField::Content => "content",
        }
    }
}

/// What of an assistant's thinking goes back.
pub(super) struct Reasoning {
    /// As a part of the content.
    pub(super) content: Option<String>,
    /// Each in a field.
    texts: Vec<(&'static str, String)>,
    /// OpenRouter's list.
    details: Vec<Value>,
}

impl Reasoning {
    pub(super) fn of(message: &AssistantMessage, style: Style) -> Reasoning {
        let mut found = Reasoning { content: None, texts: Vec::new(), details: Vec::new() };
        let quirks = &style.quirks;
        let Some(by_default) = quirks.reasoning_field else {
            return found;
        };
        // Of a server that demands its field, or that refuses others, what a signature says of another server does not count.
        let one_field = quirks.reasoning_required || by_default == ReasoningField::Content;
        // DeepSeek's rule, which servers of its models have, too: the thinking that led to calls must come back with them.
        let as_received = by_default == ReasoningField::AsReceived;
        if as_received && !quirks.reasoning_required && message.tool_calls().next().is_none() {
            return found;
        }
        for block in &message.content {
            match block {
                ContentBlock::Thinking { thinking, signature, .. } => {
                    let field = match signature.as_deref().filter(|_| !one_field) {
                        Some("reasoning_content") => "reasoning_content",
                        Some("reasoning") => "reasoning",
                        Some("reasoning_text") => "reasoning_text",
                        Some("content") => "content",
                        Some(list) if list.starts_with('[') => {
                            found.details.extend(listed(list));
                            continue;
                        }
                        _ if as_received && !one_field => continue,
                        _ => by_default.of_text(),
                    };
                    found.add(field, thinking);
                }
                ContentBlock::ToolCall(call) if !one_field => {
                    found.details.extend(call.signature.as_deref().into_iter().flat_map(listed));
                }
                ContentBlock::Text { .. }
                | ContentBlock::ToolCall(_)
                | ContentBlock::Image(_)
                | ContentBlock::Document(_)
                | ContentBlock::Audio(_)
                | ContentBlock::Opaque { .. } => {}
            }
        }
        let nothing = found.content.is_none() && found.texts.is_empty() && found.details.is_empty();
        if nothing && style.thinks && by_default != ReasoningField::Content {
            found.texts.push((by_default.of_text(), String::new()));
        }
        found
    }

    fn add(&mut self, field: &'static str, thinking: &str) {
        if thinking.is_empty() {
            return;
        }
        if field == "content" {
            self.content.get_or_insert_default().push_str(thinking);
            return;
        }
        match self.texts.iter_mut().find(|(known, _)| *known == field) {
            Some((_, text)) => text.push_str(thinking),
            None => self.texts.push((field, thinking.to_owned())),
        }
    }

    /// Adds the fields beside the content.
    pub(super) fn write(&self, message: &mut Object<'_>) {
        for (field, text) in &self.texts {
            message.field(field, text);
        }
        if !self.details.is_empty() {
            message.field("reasoning_details", &self.details);
        }
    }
}

/// What Google's servers put beside a call, with its thought signature, as it came.
pub(super) fn extra_content(call: &ToolCall) -> Option<Value> {
    let signature = call.signature.as_deref().filter(|signature| signature.starts_with('{'))?;
    signature.parse::<Value>().ok()?.get_mut(EXTRA_CONTENT).map(Value::take)
}

const EXTRA_CONTENT: &str = "extra_content";

/// OpenRouter's items as they came: a list of them, or one.
fn listed(signature: &str) -> Vec<Value> {
    match signature.parse() {
        Ok(Value::Array(items)) => items,
        Ok(item @ Value::Object(_)) if item.get(EXTRA_CONTENT).is_none() => vec![item],
        _ => Vec::new(),
    }
}
