//! A request's body.

use serde_json::{Map, Value, json};

use super::reasoning;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage, UserMessage};
use crate::protocol::format::{GO_ON, Target};
use crate::protocol::{cache, schema};
use crate::quirks::{MaxTokensField, Quirks, SystemRole, ThinkingStyle};
use crate::request::{Request, ThinkingLevel, ToolChoice, ToolDescription};

pub(super) fn body(request: &Request, target: Target<'_>) -> Map<String, Value> {
    let (options, quirks) = (&request.options, target.quirks);
    let mut body = Map::new();
    body.insert("model".into(), target.spec.id.clone().into());
    let mut messages = messages(request, quirks);
    cache::marker(options, target).iter().for_each(|marker| mark(&mut messages, marker));
    body.insert("messages".into(), messages.into());
    // Left out when empty: some servers refuse an empty list. Proxies of Anthropic want it if the history has calls.
    if !request.tools.is_empty() || (quirks.empty_tools && has_calls(request)) {
        body.insert("tools".into(), request.tools.iter().map(|t| tool(t, quirks)).collect());
    }
    if let Some(max_tokens) = options.max_tokens {
        // OpenAI's newer models take only the new name, compatible servers often only the old one.
        let field = match quirks.max_tokens_field {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(field.into(), max_tokens.into());
    }
    if !request.tools.is_empty() {
        if let Some(choice) = &options.tool_choice {
            body.insert("tool_choice".into(), tool_choice(choice));
        }
        if quirks.tool_stream {
            body.insert("tool_stream".into(), true.into());
        }
    }
    if !options.stop_sequences.is_empty() {
        body.insert("stop".into(), options.stop_sequences.clone().into());
    }
    if let Some((field, value)) = thinking(request.thinking_level, quirks) {
        body.insert(field.into(), value);
    }
    if quirks.reasoning_format {
        body.insert("reasoning_format".into(), "parsed".into());
    }
    cache::write_key(&mut body, options, target);
    if let (Some(temperature), true) = (options.temperature, quirks.temperature) {
        body.insert("temperature".into(), temperature.into());
    }
    if quirks.store {
        body.insert("store".into(), false.into());
    }
    body.insert("stream".into(), true.into());
    if quirks.stream_usage {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    body
}

/// What asks for thinking, or for none: one field, as two are refused. A server that thinks only on request gets no "off".
fn thinking(level: ThinkingLevel, quirks: &Quirks) -> Option<(&'static str, Value)> {
    let on = level != ThinkingLevel::Off;
    if !on && !quirks.thinking_off {
        return None;
    }
    let effort = || if on { quirks.efforts.word(level) } else { Some("none") };
    Some(match quirks.thinking {
        ThinkingStyle::None | ThinkingStyle::Budget | ThinkingStyle::Adaptive | ThinkingStyle::Level => return None,
        ThinkingStyle::Effort => ("reasoning_effort", effort()?.into()),
        ThinkingStyle::NestedEffort => ("reasoning", json!({ "effort": effort()? })),
        ThinkingStyle::NestedSwitch => ("reasoning", json!({ "enabled": on })),
        ThinkingStyle::Type => ("thinking", json!({ "type": if on { "enabled" } else { "disabled" } })),
        ThinkingStyle::EnableThinking => ("enable_thinking", on.into()),
        // Without the second, Qwen's templates drop the arguments of earlier calls.
        ThinkingStyle::Template => ("chat_template_kwargs", json!({ "enable_thinking": on, "preserve_thinking": true })),
        ThinkingStyle::PromptMode if on => ("prompt_mode", "reasoning".into()),
        ThinkingStyle::PromptMode => return None,
    })
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

fn tool(tool: &ToolDescription, quirks: &Quirks) -> Value {
    let parameters = schema::object(&tool.parameters);
    let mut function = json!({ "name": tool.name, "description": tool.description, "parameters": parameters });
    if let (Some(strict), Some(function)) = (quirks.strict, function.as_object_mut()) {
        function.insert("strict".into(), strict.into());
    }
    json!({ "type": "function", "function": function })
}

fn has_calls(request: &Request) -> bool {
    request.messages.iter().filter_map(|message| message.as_assistant()).any(|message| message.tool_calls().next().is_some())
}

/// Results are messages of their own right behind the call; images in them that they may not hold follow in a user message once
/// all results are said.
fn messages(request: &Request, quirks: &Quirks) -> Vec<Value> {
    let thinks = request.thinking_level != ThinkingLevel::Off && quirks.thinking != ThinkingStyle::None;
    let mut out = Vec::new();
    if !request.system_prompt.is_empty() {
        let role = match quirks.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        out.push(json!({ "role": role, "content": text_content(&request.system_prompt, quirks) }));
    }
    let mut images = Vec::new();
    for message in &request.messages {
        if !matches!(&**message, Message::ToolResult(_)) {
            follow(&mut out, std::mem::take(&mut images), quirks);
        }
        match &**message {
            Message::User(user) => add_user(&mut out, user_content(user, quirks), quirks),
            Message::Assistant(assistant) => {
                if let Some(message) = assistant_message(assistant, thinks, quirks) {
                    add_assistant(&mut out, message, quirks);
                }
            }
            Message::ToolResult(result) => out.push(result_message(result, &mut images, quirks)),
            Message::Custom(_) => {}
        }
    }
    follow(&mut out, images, quirks);
    // A conversation without a message is refused; by some servers also one that ends with the model's.
    let empty = out.len() == usize::from(!request.system_prompt.is_empty());
    if empty || (!quirks.any_order && out.last().is_some_and(|last| is_role(last, "assistant"))) {
        add_user(&mut out, text_content(GO_ON, quirks), quirks);
    }
    out
}

fn follow(out: &mut Vec<Value>, images: Vec<Value>, quirks: &Quirks) {
    if !images.is_empty() {
        add_user(out, images.into(), quirks);
    }
}

fn add_user(out: &mut Vec<Value>, content: Value, quirks: &Quirks) {
    if !quirks.any_order && out.last().is_some_and(|last| is_role(last, "tool")) {
        out.push(json!({ "role": "assistant", "content": "Understood." }));
    }
    out.push(json!({ "role": "user", "content": content }));
}

fn add_assistant(out: &mut Vec<Value>, message: Value, quirks: &Quirks) {
    if !quirks.any_order && out.last().is_none_or(|last| !is_role(last, "user") && !is_role(last, "tool")) {
        add_user(out, text_content(GO_ON, quirks), quirks);
    }
    out.push(message);
}

fn is_role(message: &Value, role: &str) -> bool {
    message.get("role").is_some_and(|given| given == role)
}

/// Plain text where parts are not needed for a marker: not every server takes parts, and some models copy the form.
fn text_content(text: &str, quirks: &Quirks) -> Value {
    if quirks.cache_markers { json!([{ "type": "text", "text": text }]) } else { text.into() }
}

fn user_content(user: &UserMessage, quirks: &Quirks) -> Value {
    if user.content.iter().any(|block| matches!(block, ContentBlock::Image { .. })) {
        return user.content.iter().filter_map(part).collect();
    }
    let texts = user.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    text_content(&texts.collect::<Vec<_>>().join("\n"), quirks)
}

fn part(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text, .. } if text.is_empty() => None,
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Image { data, mime_type } => {
            Some(json!({ "type": "image_url", "image_url": { "url": format!("data:{mime_type};base64,{data}") } }))
        }
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

fn result_message(result: &ToolResultMessage, images: &mut Vec<Value>, quirks: &Quirks) -> Value {
    let own: Vec<Value> = result.content.iter().filter(|b| matches!(b, ContentBlock::Image { .. })).filter_map(part).collect();
    let text = result.model_text();
    let content = if quirks.result_images && !own.is_empty() {
        result.content.iter().filter_map(part).collect()
    } else {
        images.extend(own);
        text_content(if text.is_empty() { "the image follows" } else { &text }, quirks)
    };
    let mut message = json!({ "role": "tool", "tool_call_id": result.tool_call_id });
    if let Some(message) = message.as_object_mut() {
        if quirks.result_names {
            message.insert("name".into(), result.tool_name.clone().into());
        }
        message.insert("content".into(), content);
    }
    message
}

/// Content is one string, null beside calls; a message with neither is left out.
fn assistant_message(message: &AssistantMessage, thinks: bool, quirks: &Quirks) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message
        .tool_calls()
        .map(|call| {
            let function = json!({ "name": call.name, "arguments": Value::Object(Map::clone(&call.arguments)).to_string() });
            let mut out = json!({ "id": call.id, "type": "function", "function": function });
            if let (Some(extra), Some(out)) = (reasoning::extra_content(call), out.as_object_mut()) {
                out.insert(reasoning::EXTRA_CONTENT.into(), extra);
            }
            out
        })
        .collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let content = match text.is_empty() {
        false => text_content(&text, quirks),
        true if quirks.null_content => Value::Null,
        true => "".into(),
    };
    let mut out = Map::new();
    out.insert("role".into(), "assistant".into());
    out.insert("content".into(), content);
    reasoning::write(&mut out, message, thinks, quirks);
    if !calls.is_empty() {
        out.insert("tool_calls".into(), calls.into());
    }
    Some(Value::Object(out))
}

/// Anthropic's markers, for a router that passes them on: on the system prompt, on the last text that was said to the model, and
/// on the last before its last answer, where the request before this one ended.
fn mark(messages: &mut [Value], marker: &Value) {
    let mut wanted = 2;
    let mut answered = true;
    for message in messages.iter_mut().rev() {
        if is_role(message, "assistant") {
            answered = true;
            continue;
        }
        let of_system = is_role(message, "system") || is_role(message, "developer");
        if !of_system && (wanted == 0 || !answered) {
            continue;
        }
        let parts = message.get_mut("content").and_then(Value::as_array_mut);
        let text = parts.and_then(|parts| parts.iter_mut().rev().find(|part| part.get("text").is_some()));
        if let Some(text) = text {
            cache::mark(text, marker);
            if !of_system {
                (wanted, answered) = (wanted - 1, false);
            }
        }
    }
}
