//! The content of messages in the JSON of the conventions: only for those who ask for it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::attributes::finish_reason;
use crate::media::{Media, MediaSource};
use crate::message::{AssistantMessage, ContentBlock, Message};

/// Messages that a model reads.
pub(super) fn input(messages: &[Arc<Message>]) -> String {
    let read = messages.iter().filter_map(|message| match &**message {
        Message::User(user) => Some(json!({ "role": "user", "parts": parts(&user.content) })),
        Message::Assistant(answer) => Some(json!({ "role": "assistant", "parts": parts(&answer.content) })),
        Message::ToolResult(result) => {
            let part = json!({ "type": "tool_call_response", "id": result.tool_call_id, "response": response(&result.content) });
            Some(json!({ "role": "tool", "parts": [part] }))
        }
        Message::Custom(_) => None,
    });
    Value::Array(read.collect()).to_string()
}

/// A model's answer.
pub(super) fn output(answer: &AssistantMessage) -> String {
    let parts = parts(&answer.content);
    json!([{ "role": "assistant", "parts": parts, "finish_reason": finish_reason(answer).unwrap_or_default() }]).to_string()
}

/// A system prompt.
pub(super) fn instructions(text: &str) -> String {
    json!([{ "type": "text", "content": text }]).to_string()
}

/// The result of a tool.
pub(super) fn response(content: &[ContentBlock]) -> Value {
    match content {
        [ContentBlock::Text { text, .. }] => text.as_str().into(),
        content => parts(content).into(),
    }
}

fn parts(content: &[ContentBlock]) -> Vec<Value> {
    let part = |block: &ContentBlock| match block {
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "content": text })),
        ContentBlock::Thinking { thinking, .. } => Some(json!({ "type": "reasoning", "content": thinking })),
        ContentBlock::Image(media) => Some(file("image", media)),
        ContentBlock::Document(media) => Some(file("document", media)),
        ContentBlock::Audio(media) => Some(file("audio", media)),
        ContentBlock::ToolCall(call) => {
            Some(json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": &*call.arguments }))
        }
        ContentBlock::Opaque { .. } => None,
    };
    content.iter().filter_map(part).collect()
}

fn file(modality: &str, media: &Media) -> Value {
    let mime_type = Some(media.mime_type.as_str()).filter(|mime_type| !mime_type.is_empty());
    match &media.source {
        MediaSource::Data(base64) => json!({ "type": "blob", "modality": modality, "mime_type": mime_type, "content": base64 }),
        MediaSource::Url(url) => json!({ "type": "uri", "modality": modality, "mime_type": mime_type, "uri": url }),
    }
}
