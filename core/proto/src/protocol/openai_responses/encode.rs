//! A request's body.
//!
//! Items have the shape that the strictest of the compatible servers want (llama.cpp: `type` and a list of parts in what the
//! model said; vLLM: `annotations`, `status` and an image's `detail`). The system prompt is the first item, not `instructions`,
//! so that a quirk can say its role.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};
use crate::protocol::format::{GO_ON, Target};
use crate::protocol::{cache, schema};
use crate::quirks::{Quirks, SystemRole, ThinkingStyle};
use crate::request::{Request, ThinkingLevel, ToolChoice};

/// The smallest output limit that is taken, in tokens.
const LEAST_OUTPUT: u64 = 16;

/// The longest id of an item that is taken, in characters.
const LONGEST_ID: usize = 64;

pub(super) fn body(request: &Request, target: Target<'_>) -> Map<String, Value> {
    let quirks = target.quirks;
    let mut body = Map::new();
    body.insert("model".into(), target.spec.id.clone().into());
    body.insert("input".into(), input(request, quirks).into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let mut tool = json!({
                "type": "function", "name": tool.name, "description": tool.description, "parameters": schema::object(&tool.parameters),
            });
            set(&mut tool, "strict", quirks.strict);
            tool
        });
        body.insert("tools".into(), tools.collect::<Vec<_>>().into());
        if let Some(choice) = &request.options.tool_choice {
            body.insert("tool_choice".into(), tool_choice(choice));
        }
    }
    if let Some(max_tokens) = request.options.max_tokens {
        body.insert("max_output_tokens".into(), max_tokens.max(LEAST_OUTPUT).into());
    }
    if let (Some(temperature), true) = (request.options.temperature, quirks.temperature) {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(reasoning) = reasoning(request.thinking_level, quirks) {
        body.insert("reasoning".into(), reasoning);
    }
    // Also where no thinking is asked for: many of these models think all the same.
    if quirks.encrypted_reasoning {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    if quirks.store {
        body.insert("store".into(), false.into());
    }
    cache::write_key(&mut body, &request.options, target);
    body.insert("stream".into(), true.into());
    body
}

/// Sets a field that has a value.
fn set(object: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
        object.insert(name.to_owned(), value.into());
    }
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "name": name }),
    }
}

/// `reasoning.effort` is this API's only way; a quirk may name it in Chat's words.
fn reasoning(level: ThinkingLevel, quirks: &Quirks) -> Option<Value> {
    match (quirks.thinking, level) {
        (ThinkingStyle::Effort | ThinkingStyle::NestedEffort, ThinkingLevel::Off) => {
            quirks.thinking_off.then(|| json!({ "effort": "none" }))
        }
        (ThinkingStyle::Effort | ThinkingStyle::NestedEffort, level) => {
            Some(json!({ "effort": quirks.efforts.word(level)?, "summary": "auto" }))
        }
        _ => None,
    }
}

fn input(request: &Request, quirks: &Quirks) -> Vec<Value> {
    let mut items = Vec::new();
    let mut images = Vec::new();
    let mut sent = Sent { answered: answered(request), ids: HashSet::new() };
    for message in &request.messages {
        if !matches!(&**message, Message::ToolResult(_)) && !images.is_empty() {
            items.push(user_item(std::mem::take(&mut images)));
        }
        match &**message {
            Message::User(user) => items.push(user_item(user.content.iter().filter_map(part).collect())),
            Message::Assistant(assistant) => items.extend(assistant_items(assistant, &mut sent, quirks)),
            Message::ToolResult(result) => items.push(output_item(result, quirks, &mut images)),
            Message::Custom(_) => {}
        }
    }
    if !images.is_empty() {
        items.push(user_item(images));
    }
    // An empty input is refused.
    if items.is_empty() {
        items.push(user_item(vec![text_part(GO_ON)]));
    }
    let role = match quirks.system_role {
        SystemRole::System => "system",
        SystemRole::Developer => "developer",
    };
    let system =
        (!request.system_prompt.is_empty()).then(|| json!({ "type": "message", "role": role, "content": request.system_prompt }));
    system.into_iter().chain(items).collect()
}

fn user_item(parts: Vec<Value>) -> Value {
    json!({ "type": "message", "role": "user", "content": parts })
}

fn text_part(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn part(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text, .. } => Some(text_part(text)),
        ContentBlock::Image { data, mime_type } => {
            let url = format!("data:{mime_type};base64,{data}");
            Some(json!({ "type": "input_image", "image_url": url, "detail": "auto" }))
        }
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// A result is text, or a list of parts when it has images; where results may hold none, these wait in `images`.
fn output_item(result: &ToolResultMessage, quirks: &Quirks, images: &mut Vec<Value>) -> Value {
    let text = result.model_text();
    let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image { .. });
    let mut parts: Vec<Value> = result.content.iter().filter(is_image).filter_map(part).collect();
    let output: Value = if parts.is_empty() {
        text.into()
    } else if quirks.result_images {
        if !text.is_empty() {
            parts.insert(0, text_part(&text));
        }
        parts.into()
    } else {
        images.append(&mut parts);
        if text.is_empty() { "the image follows".into() } else { text.into() }
    };
    json!({ "type": "function_call_output", "call_id": result.tool_call_id, "output": output })
}

/// What of the whole conversation the items of one message depend on.
struct Sent<'a> {
    /// The `call_id`s that outputs among the opaque items answer.
    answered: HashSet<&'a str>,
    /// The ids of the items so far.
    ids: HashSet<String>,
}

impl Sent<'_> {
    /// Whether the item's id, if it has one, was not sent before.
    fn is_new(&mut self, item: &Value) -> bool {
        item.get("id").and_then(Value::as_str).is_none_or(|id| self.ids.insert(id.to_owned()))
    }
}

/// What the model said, as the items it came in.
///
/// The API checks how items hang together: reasoning must be followed by the item it led to, and an item that is named by its id
/// must have its reasoning before it. So reasoning that has lost its follower is left out, and behind reasoning that was left
/// out, items go without their ids. Two items of one id are refused, too: where a part of the conversation stands there twice,
/// only its first items have theirs.
fn assistant_items(message: &AssistantMessage, sent: &mut Sent<'_>, quirks: &Quirks) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    let mut named = true;
    let mut follower_lost = false;
    for block in &message.content {
        let item = match block {
            ContentBlock::Text { text, signature } => Some(message_item(text, signature.as_deref().filter(|_| named), sent)),
            ContentBlock::ToolCall(call) => Some(call_item(call, named, sent)),
            ContentBlock::Opaque { data, .. } => {
                Some(data.clone()).filter(|data| !waits(data, &sent.answered) && sent.is_new(data))
            }
            ContentBlock::Thinking { signature, .. } => {
                match signature.as_deref().and_then(|item| reasoning_item(item, quirks)).filter(|item| sent.is_new(item)) {
                    Some(item) => {
                        if follower_lost {
                            drop_reasoning(&mut items);
                        }
                        Some(item)
                    }
                    None => {
                        named = false;
                        continue;
                    }
                }
            }
            ContentBlock::Image { .. } => None,
        };
        follower_lost = item.is_none();
        items.extend(item);
    }
    drop_reasoning(&mut items);
    items
}

fn drop_reasoning(items: &mut Vec<Value>) {
    while items.last().is_some_and(|item| kind(item) == "reasoning") {
        items.pop();
    }
}

/// The item as it came, if the server can make anything of it: what it remembers by the id alone, it has not stored. Servers of
/// open models give the reasoning itself.
fn reasoning_item(item: &str, quirks: &Quirks) -> Option<Value> {
    let item: Value = serde_json::from_str(item).ok()?;
    let encrypted = item.get("encrypted_content").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let open = item.get("content").and_then(Value::as_array).is_some_and(|parts| !parts.is_empty());
    (open || encrypted && quirks.encrypted_reasoning).then_some(item)
}

/// `signature` is the item's id and phase in JSON.
fn message_item(text: &str, signature: Option<&str>, sent: &mut Sent<'_>) -> Value {
    let known: Value = signature.and_then(|known| serde_json::from_str(known).ok()).unwrap_or_default();
    let mut item = json!({
        "type": "message", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    });
    let id = known.get("id").and_then(Value::as_str).filter(|id| is_item_id(id, "msg_") && sent.ids.insert((*id).to_owned()));
    set(&mut item, "id", id);
    set(&mut item, "phase", known.get("phase").and_then(Value::as_str));
    item
}

/// A call has two ids: the one that its result names, and the item's own, which is its signature.
fn call_item(call: &ToolCall, named: bool, sent: &mut Sent<'_>) -> Value {
    let arguments = Value::Object(Map::clone(&call.arguments)).to_string();
    let mut item = json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments });
    let id = call.signature.as_deref().filter(|id| named && is_item_id(id, "fc_") && sent.ids.insert((*id).to_owned()));
    set(&mut item, "id", id);
    item
}

/// Compatible servers make up ids that OpenAI refuses, and that some of them refuse themselves.
fn is_item_id(id: &str, prefix: &str) -> bool {
    id.starts_with(prefix) && id.len() <= LONGEST_ID && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// See [`Sent::answered`].
fn answered(request: &Request) -> HashSet<&str> {
    let assistants = request.messages.iter().filter_map(|message| message.as_assistant());
    let outputs = assistants.flat_map(|message| &message.content).filter_map(|block| match block {
        ContentBlock::Opaque { data, .. } if kind(data).ends_with("_output") => data.get("call_id").and_then(Value::as_str),
        _ => None,
    });
    outputs.collect()
}

/// Whether an opaque item is a call that the client was to run (a custom tool, a shell) and has no output: the API refuses the
/// whole request for it. Calls that the server runs have no `call_id`, or an output of the server's.
fn waits(data: &Value, answered: &HashSet<&str>) -> bool {
    let call_id = data.get("call_id").and_then(Value::as_str);
    kind(data).ends_with("_call") && call_id.is_some_and(|id| !answered.contains(id))
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}
