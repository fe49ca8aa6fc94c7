//! A request's body.

use serde_json::{Map, Value, json};

use super::super::Target;
use crate::doctor::result_text;
use crate::message::{AssistantMessage, ContentBlock, Message, UserMessage};
use crate::model::{ModelRequest, ThinkingLevel, ToolChoice};
use crate::provider::quirks::MaxTokensField;

pub(super) fn body(request: &ModelRequest, target: Target<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), target.spec.id.clone().into());
    body.insert("messages".into(), messages(request, target).into());
    // Left out when empty: some servers refuse an empty list.
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters },
            })
        });
        body.insert("tools".into(), tools.collect::<Vec<_>>().into());
    }
    if let Some(max_tokens) = request.options.max_tokens {
        // OpenAI's newer models take only the new name, compatible servers often only the old one.
        let field = match target.quirks.max_tokens_field {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(field.into(), max_tokens.into());
    }
    if let Some(choice) = &request.options.tool_choice
        && !request.tools.is_empty()
    {
        body.insert("tool_choice".into(), tool_choice(choice));
    }
    if !request.options.stop_sequences.is_empty() {
        body.insert("stop".into(), request.options.stop_sequences.clone().into());
    }
    if request.thinking_level != ThinkingLevel::Off {
        body.insert("reasoning_effort".into(), request.thinking_level.as_str().into());
    }
    // Other servers refuse fields they do not know; 64 characters are what the API takes.
    if let (Some(id), true) = (&request.options.session_id, target.quirks.cache_key) {
        body.insert("prompt_cache_key".into(), id.chars().take(64).collect::<String>().into());
    }
    if let Some(temperature) = request.options.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({ "include_usage": true }));
    body
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

/// Results are messages of their own right behind the call; images in them follow in a user message once all results are said.
fn messages(request: &ModelRequest, target: Target<'_>) -> Vec<Value> {
    let mut out = Vec::new();
    if !request.system_prompt.is_empty() {
        out.push(json!({ "role": "system", "content": request.system_prompt }));
    }
    let mut images = Vec::new();
    for message in &request.messages {
        if !matches!(&**message, Message::ToolResult(_)) && !images.is_empty() {
            out.push(json!({ "role": "user", "content": std::mem::take(&mut images) }));
        }
        match &**message {
            Message::User(user) => out.push(json!({ "role": "user", "content": user_content(user) })),
            Message::Assistant(assistant) => out.extend(assistant_message(assistant, target)),
            Message::ToolResult(result) => {
                let text = result_text(result);
                let text = if text.is_empty() { "the image follows".to_owned() } else { text };
                out.push(json!({ "role": "tool", "tool_call_id": result.tool_call_id, "content": text }));
                images.extend(result.content.iter().filter(|b| matches!(b, ContentBlock::Image { .. })).filter_map(part));
            }
            Message::Custom(_) => {}
        }
    }
    if !images.is_empty() {
        out.push(json!({ "role": "user", "content": images }));
    }
    out
}

/// Plain text where it is plain text: not every server takes parts.
fn user_content(user: &UserMessage) -> Value {
    match user.content.as_slice() {
        [ContentBlock::Text { text, .. }] => text.clone().into(),
        blocks => blocks.iter().filter_map(part).collect::<Vec<_>>().into(),
    }
}

fn part(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Image { data, mime_type } => {
            Some(json!({ "type": "image_url", "image_url": { "url": format!("data:{mime_type};base64,{data}") } }))
        }
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// Content is one string, null beside calls. Another model's thinking is text; the model's own is not sent back.
fn assistant_message(message: &AssistantMessage, target: Target<'_>) -> Option<Value> {
    let own = message.provider == target.spec.provider && message.model == target.spec.id;
    let mut text = String::new();
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::Text { text: piece, .. } => text.push_str(piece),
            ContentBlock::Thinking { thinking, redacted: false, .. } if !own => text.push_str(thinking),
            ContentBlock::ToolCall(call) => {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                calls.push(json!({
                    "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments },
                }));
            }
            ContentBlock::Thinking { .. } | ContentBlock::Image { .. } | ContentBlock::Opaque { .. } => {}
        }
    }
    let content = if text.is_empty() { Value::Null } else { Value::String(text) };
    match (content.is_null(), calls.is_empty()) {
        (true, true) => None,
        (_, true) => Some(json!({ "role": "assistant", "content": content })),
        (_, false) => Some(json!({ "role": "assistant", "content": content, "tool_calls": calls })),
    }
}
