//! A request's body.

use serde_json::{Map, Value, json};

use super::super::Target;
use super::super::prepare::result_text;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage};
use crate::model::ModelRequest;

/// Sent when neither the caller nor the model says how much may be written: the API demands a number.
const DEFAULT_MAX_TOKENS: u64 = 8192;

pub(super) fn body(request: &ModelRequest, target: Target<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), target.spec.id.clone().into());
    let max_tokens = request.options.max_tokens.or(target.spec.max_output_tokens).unwrap_or(DEFAULT_MAX_TOKENS);
    body.insert("max_tokens".into(), max_tokens.into());
    if !request.system_prompt.is_empty() {
        body.insert("system".into(), request.system_prompt.clone().into());
    }
    body.insert("messages".into(), messages(request, target).into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(
            |tool| json!({ "name": tool.name, "description": tool.description, "input_schema": object_schema(&tool.parameters) }),
        );
        body.insert("tools".into(), tools.collect::<Vec<_>>().into());
    }
    if let Some(temperature) = request.options.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    body.insert("stream".into(), true.into());
    body
}

/// The API takes only schemas that say `"type": "object"`.
fn object_schema(parameters: &Value) -> Value {
    let mut schema = json!({ "type": "object" });
    if let (Some(schema), Some(given)) = (schema.as_object_mut(), parameters.as_object()) {
        schema.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    schema
}

/// Results are blocks of a user message, all of a turn in one; neighbours of one role are one message.
fn messages(request: &ModelRequest, target: Target<'_>) -> Vec<Value> {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match &**message {
            Message::User(user) => ("user", user.content.iter().filter_map(user_block).collect()),
            Message::Assistant(assistant) => ("assistant", assistant_blocks(assistant, target)),
            Message::ToolResult(result) => ("user", vec![result_block(result)]),
            Message::Custom(_) => continue,
        };
        match out.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    out.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn user_block(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Image { data, mime_type } => {
            Some(json!({ "type": "image", "source": { "type": "base64", "media_type": mime_type, "data": data } }))
        }
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// Signed and opaque blocks go back only to the model that made them; to another, thinking is text.
fn assistant_blocks(message: &AssistantMessage, target: Target<'_>) -> Vec<Value> {
    let own = message.protocol == "anthropic" && message.provider == target.spec.provider && message.model == target.spec.id;
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text { text, .. } if text.trim().is_empty() => None,
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Thinking { signature: Some(data), redacted: true, .. } if own => {
            Some(json!({ "type": "redacted_thinking", "data": data }))
        }
        ContentBlock::Thinking { redacted: true, .. } => None,
        ContentBlock::Thinking { thinking, signature: Some(signature), .. } if own => {
            Some(json!({ "type": "thinking", "thinking": thinking, "signature": signature }))
        }
        ContentBlock::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
        ContentBlock::Thinking { thinking, .. } => Some(json!({ "type": "text", "text": thinking })),
        ContentBlock::ToolCall(call) => {
            Some(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }))
        }
        ContentBlock::Opaque { protocol, data } if own && protocol == "anthropic" => Some(data.clone()),
        ContentBlock::Opaque { .. } | ContentBlock::Image { .. } => None,
    };
    message.content.iter().filter_map(block).collect()
}

fn result_block(result: &ToolResultMessage) -> Value {
    let images = || result.content.iter().filter(|block| matches!(block, ContentBlock::Image { .. })).filter_map(user_block);
    let text = result_text(result);
    // The API wants text beside images.
    let text = if text.is_empty() { "see the image".to_owned() } else { text };
    let mut content = vec![json!({ "type": "text", "text": text })];
    content.extend(images());
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.tool_call_id, "content": content });
    if let (true, Some(block)) = (result.is_error, block.as_object_mut()) {
        block.insert("is_error".into(), true.into());
    }
    block
}
