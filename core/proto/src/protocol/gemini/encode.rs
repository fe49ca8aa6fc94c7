//! A request's body.

use serde_json::{Map, Value, json};

use super::thinking::Thinking;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};
use crate::protocol::format::{GO_ON, Target};
use crate::protocol::schema;
use crate::quirks::CallIds;
use crate::request::{Request, ToolChoice};

/// What stands for a signature where the model demands one and there is none, for example after a change of models:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn body(request: &Request, target: Target<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("contents".into(), contents(request, target).into());
    if !request.system_prompt.is_empty() {
        body.insert("systemInstruction".into(), json!({ "parts": [{ "text": request.system_prompt }] }));
    }
    if !request.tools.is_empty() {
        // The older field, `parameters`, knows only a part of JSON Schema.
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name, "description": tool.description, "parametersJsonSchema": schema::object(&tool.parameters),
            })
        });
        body.insert("tools".into(), json!([{ "functionDeclarations": tools.collect::<Vec<_>>() }]));
        if let Some(choice) = &request.options.tool_choice {
            body.insert("toolConfig".into(), json!({ "functionCallingConfig": tool_choice(choice) }));
        }
    }
    let config = generation_config(request, target);
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    body
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    }
}

fn generation_config(request: &Request, target: Target<'_>) -> Map<String, Value> {
    let thinking = Thinking::of(request, target);
    let mut config = Map::new();
    if let (Some(temperature), true) = (request.options.temperature, target.quirks.temperature) {
        config.insert("temperature".into(), temperature.into());
    }
    if let Some(max_tokens) = thinking.max_tokens {
        config.insert("maxOutputTokens".into(), max_tokens.into());
    }
    if !request.options.stop_sequences.is_empty() {
        config.insert("stopSequences".into(), request.options.stop_sequences.clone().into());
    }
    if !thinking.config.is_empty() {
        config.insert("thinkingConfig".into(), Value::Object(thinking.config));
    }
    config
}

/// Neighbours of one role are one content; the first is the user's, so that calls follow what the user or a tool said. All
/// results of a turn stand in one content, in the order of the calls.
fn contents(request: &Request, target: Target<'_>) -> Vec<Value> {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut images = Vec::new();
    for message in &request.messages {
        if !matches!(&**message, Message::ToolResult(_)) && !images.is_empty() {
            out.push(("user", std::mem::take(&mut images)));
        }
        let (role, parts) = match &**message {
            Message::User(user) => ("user", user.content.iter().filter_map(user_part).collect()),
            Message::Assistant(assistant) => ("model", model_parts(assistant, target)),
            Message::ToolResult(result) => ("user", vec![result_part(result, target, &mut images)]),
            Message::Custom(_) => continue,
        };
        match out.last_mut() {
            _ if parts.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(parts),
            _ => out.push((role, parts)),
        }
    }
    if !images.is_empty() {
        out.push(("user", images));
    }
    if out.first().is_none_or(|(role, _)| *role != "user") {
        out.insert(0, ("user", vec![json!({ "text": GO_ON })]));
    }
    out.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect()
}

fn user_part(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text, .. } => Some(json!({ "text": text })),
        ContentBlock::Image { data, mime_type } => Some(json!({ "inlineData": { "mimeType": mime_type, "data": data } })),
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// Each block is a part of its own, with its signature in place: parts are not merged.
fn model_parts(message: &AssistantMessage, target: Target<'_>) -> Vec<Value> {
    // Of parallel calls only the first has a signature.
    let mut first_call = true;
    let part = |block: &ContentBlock| match block {
        ContentBlock::Text { text, signature } => Some(signed(json!({ "text": text }), signature.as_deref())),
        ContentBlock::Thinking { thinking, signature, .. } => {
            Some(signed(json!({ "text": thinking, "thought": true }), signature.as_deref()))
        }
        ContentBlock::ToolCall(call) => {
            let demanded = std::mem::take(&mut first_call) && target.quirks.signed_calls;
            let signature = call.signature.as_deref().filter(|signature| is_base64(signature));
            let part = json!({ "functionCall": call_part(call, target) });
            Some(signed(part, signature.or(demanded.then_some(NO_SIGNATURE))))
        }
        ContentBlock::Opaque { data, .. } => Some(data.clone()),
        ContentBlock::Image { .. } => None,
    };
    message.content.iter().filter_map(part).collect()
}

fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let (Some(part), Some(signature)) = (part.as_object_mut(), signature.filter(|signature| is_base64(signature))) {
        part.insert("thoughtSignature".into(), signature.into());
    }
    part
}

/// The API refuses the whole request for a signature that is not base64, of either alphabet.
fn is_base64(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_' | b'='))
}

fn call_part(call: &ToolCall, target: Target<'_>) -> Map<String, Value> {
    let mut part = identified(&call.id, target);
    part.insert("name".into(), call.name.clone().into());
    part.insert("args".into(), Value::Object(Map::clone(&call.arguments)));
    part
}

/// Ids pair a result with its call where the server takes them; elsewhere the order does.
fn identified(id: &str, target: Target<'_>) -> Map<String, Value> {
    let mut part = Map::new();
    if target.quirks.call_ids != CallIds::Omitted {
        part.insert("id".into(), id.into());
    }
    part
}

/// The response must be an object: <https://ai.google.dev/api/caching#FunctionResponse>. Images go into it, or, where the model
/// does not take them there, into `images`, a content behind all results.
fn result_part(result: &ToolResultMessage, target: Target<'_>, images: &mut Vec<Value>) -> Value {
    let pictures = result.content.iter().filter(|block| matches!(block, ContentBlock::Image { .. })).filter_map(user_part);
    let pictures: Vec<Value> = pictures.collect();
    let nested = target.quirks.result_images;
    let text = match result.model_text() {
        text if !text.is_empty() => text,
        _ if nested => "see the image".to_owned(),
        _ => "the image follows".to_owned(),
    };
    let mut part = identified(&result.tool_call_id, target);
    part.insert("name".into(), result.tool_name.clone().into());
    let field = if result.is_error { "error" } else { "output" };
    part.insert("response".into(), json!({ field: text }));
    if !nested {
        images.extend(pictures);
    } else if !pictures.is_empty() {
        part.insert("parts".into(), pictures.into());
    }
    json!({ "functionResponse": part })
}
