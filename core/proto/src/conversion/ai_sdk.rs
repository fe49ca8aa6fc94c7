//! `UIMessage`s of the AI SDK, versions 5 to 7: <https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message>.
//!
//! One of its messages has all that the model did until the user spoke again, in steps; here each step is an assistant message,
//! followed by the results of its calls. What only the browser shows is kept as opaque blocks and goes back as it came.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::format::Format;
use super::reading::{At, Given, Labels, Read, Reading, call_of_value, output_text, rest, signature, unknown_role};
use super::report::{Author, Exported, Imported};
use super::writing::{UNNAMED_FILE, Writing, each, output};
use crate::json_reader::from_value;
use crate::media::Media;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage, joined_text};
use crate::table::codes;

/// Where the SDK's packages keep the signature of a part, under their name: provider, field, and our protocol.
const SIGNATURES: [(&str, &str, &str); 4] = [
    ("anthropic", "signature", "anthropic"),
    ("anthropic", "redactedData", "anthropic"),
    ("google", "thoughtSignature", "gemini"),
    ("agent_loop", "signature", ""),
];

/// What the id of a message begins with that has none: its place follows.
pub(crate) const UNNAMED: &str = "message-";

pub(super) fn import(messages: &At<'_>, author: Option<&Author>) -> Read<Imported> {
    let mut reading = Reading::new(Format::AiSdk, author);
    for (index, message) in messages.items("an array of UI messages")?.enumerate() {
        reading.index = index;
        let map =
            message.object("a message such as {\"id\": \"1\", \"role\": \"user\", \"parts\": [{\"type\": \"text\", …}]}")?;
        let role = message.word("role")?;
        let parts = message.field("parts");
        if !parts.value.is_array() {
            return parts.expected("an array of parts, as the AI SDK has them from version 5 on");
        }
        for name in rest(map, &["id", "role", "parts", "metadata"]).keys() {
            reading.lose(codes::LOST_FIELD, format!("the field {name:?} of the message was left out"));
        }
        let id = Some(message.text("id")?.to_owned());
        let labels = Labels { id, metadata: map.get("metadata").filter(|metadata| !metadata.is_null()).cloned(), timestamp: 0 };
        match role {
            "system" => {
                let content = user_blocks(&mut reading, &parts)?;
                reading.system(&joined_text(&content));
            }
            "user" => {
                let content = user_blocks(&mut reading, &parts)?;
                reading.user(content, labels)?;
            }
            "assistant" => assistant(&mut reading, &parts, labels)?,
            _ => return Err(unknown_role(&message, "system, user, assistant")),
        }
    }
    Ok(reading.end())
}

fn user_blocks(reading: &mut Reading<'_>, parts: &At<'_>) -> Read<Vec<ContentBlock>> {
    let mut blocks = Vec::new();
    for part in parts.items("an array of parts")? {
        part.object("a part such as {\"type\": \"text\", \"text\": \"…\"}")?;
        match part.word("type")? {
            "text" => blocks.push(ContentBlock::text(part.text("text")?)),
            "file" if part.text("mediaType")?.starts_with("image/") => {
                blocks.extend(reading.image(part.text("url")?, part.text("mediaType")?));
            }
            "file" => {
                let (kind, name) = (part.text("mediaType")?, part.text("filename")?);
                blocks.extend(reading.file(part.text("url")?, kind, name));
            }
            kind => reading.lose_part(kind),
        }
    }
    Ok(blocks)
}

/// A step that is being read: what the model said, and the results of its calls.
#[derive(Default)]
struct Step<'v> {
    content: Vec<ContentBlock>,
    results: Vec<(At<'v>, bool)>,
    protocol: &'static str,
}

fn assistant(reading: &mut Reading<'_>, parts: &At<'_>, labels: Labels) -> Read<()> {
    let mut labels = Some(labels);
    let mut step = Step::default();
    for part in parts.items("an array of parts")? {
        let map = part.object("a part such as {\"type\": \"text\", \"text\": \"…\"}")?;
        let kind = part.word("type")?;
        match kind {
            "step-start" => end_step(reading, &mut step, &mut labels)?,
            "text" | "reasoning" => {
                let (protocol, signed, redacted) = signed(&part.field("providerMetadata"), kind, part.text("text")?);
                if let Some(protocol) = protocol {
                    step.protocol = protocol;
                }
                let text = part.text("text")?.to_owned();
                step.content.push(match kind {
                    "text" => ContentBlock::Text { text, signature: signed },
                    _ => ContentBlock::Thinking { thinking: text, signature: signed, redacted },
                });
            }
            "steering-message" => {
                end_step(reading, &mut step, &mut labels)?;
                let content = user_blocks(reading, &part.field("parts"))?;
                reading.user(content, Labels { id: signature(part.text("id")?), ..Labels::default() })?;
            }
            // What the user has said meanwhile, as our stream has it (`ui::ai_sdk`).
            "data-user-message" => {
                end_step(reading, &mut step, &mut labels)?;
                let content = steering(&part.field("data").field("content"))?;
                reading.user(content, Labels { id: signature(part.text("id")?), ..Labels::default() })?;
            }
            // What the provider itself ran is no call of ours.
            _ if is_tool(kind) && map.get("providerExecuted") != Some(&json!(true)) => called(reading, &mut step, &part)?,
            _ => step.content.push(ContentBlock::Opaque { protocol: "ai_sdk".into(), data: part.value.clone() }),
        }
    }
    end_step(reading, &mut step, &mut labels)
}

/// Blocks as we have them.
fn steering(content: &At<'_>) -> Read<Vec<ContentBlock>> {
    from_value(content.value).map_err(|why| content.refused(why))
}

fn is_tool(kind: &str) -> bool {
    kind == "dynamic-tool" || kind.starts_with("tool-")
}

fn tool_name<'v>(part: &At<'v>) -> Read<&'v str> {
    match part.word("type")?.strip_prefix("tool-") {
        Some(name) => Ok(name),
        None => part.word("toolName"),
    }
}

/// The signature of a part, with the protocol that it is of, and whether the part is redacted thinking.
fn signed(metadata: &At<'_>, kind: &str, text: &str) -> (Option<&'static str>, Option<String>, bool) {
    for (provider, field, protocol) in SIGNATURES {
        if let Some(found) = metadata.field(provider).field(field).value.as_str() {
            return (Some(protocol).filter(|word| !word.is_empty()), signature(found), field == "redactedData");
        }
    }
    let openai = metadata.field("openai");
    let Some(id) = openai.field("itemId").value.as_str() else {
        return (None, None, false);
    };
    let known = match kind {
        "reasoning" => {
            let summary: Vec<Value> =
                if text.is_empty() { Vec::new() } else { vec![json!({ "type": "summary_text", "text": text })] };
            let encrypted = openai.field("reasoningEncryptedContent").value;
            json!({ "id": id, "type": "reasoning", "summary": summary, "encrypted_content": encrypted }).to_string()
        }
        "text" => json!({ "id": id }).to_string(),
        _ => id.to_owned(),
    };
    (Some("openai_responses"), Some(known), false)
}

fn called<'v>(reading: &mut Reading<'_>, step: &mut Step<'v>, part: &At<'v>) -> Read<()> {
    let (id, name, state) = (part.word("toolCallId")?, tool_name(part)?, part.text("state")?);
    if state == "input-streaming" {
        reading.lose(codes::UNFINISHED_CALL, format!("the call {id:?}, whose arguments are not complete, was left out"));
        return Ok(());
    }
    let (protocol, signed, _) = signed(&part.field("callProviderMetadata"), "call", "");
    if let Some(protocol) = protocol {
        step.protocol = protocol;
    }
    let input = part.either(["input", "rawInput"]);
    step.content.push(call_of_value(id, name, input.value, signed));
    match state {
        "output-available" if part.field("preliminary").value == &json!(true) => {
            reading.lose(codes::UNFINISHED_CALL, format!("the preliminary output of the call {id:?} was left out"));
        }
        "output-available" => step.results.push((part.clone(), false)),
        "output-error" | "output-denied" => step.results.push((part.clone(), true)),
        "input-available" => {}
        "approval-requested" | "approval-responded" => {
            reading.lose(codes::LOST_APPROVAL, format!("the approval of the call {id:?} was left out; the call has no result"));
        }
        _ => return Err(part.field("state").refused(format_args!("unknown state {state:?} of a tool"))),
    }
    Ok(())
}

fn end_step(reading: &mut Reading<'_>, step: &mut Step<'_>, labels: &mut Option<Labels>) -> Read<()> {
    let Step { content, results, protocol } = std::mem::take(step);
    if content.is_empty() {
        return Ok(());
    }
    reading.assistant(content, labels.take().unwrap_or_default(), |message| {
        if !protocol.is_empty() {
            protocol.clone_into(&mut message.protocol);
        }
    })?;
    for (part, is_error) in results {
        result(reading, &part, is_error)?;
    }
    Ok(())
}

fn result(reading: &mut Reading<'_>, part: &At<'_>, is_error: bool) -> Read<()> {
    const KNOWN: &[&str] = &["toolCallId", "toolName", "input", "rawInput", "callProviderMetadata", "output", "errorText"];
    let map = part.object("a part")?;
    // What else the part says goes back with it.
    let mut own = rest(map, KNOWN);
    own.retain(|name, value| match name.as_str() {
        "type" => value == "dynamic-tool",
        "state" => value == "output-denied",
        _ => true,
    });
    let output = part.field("output");
    let content = match (part.text("state")?, output.value) {
        ("output-denied", _) => {
            let why = part.field("approval").text("reason")?;
            vec![ContentBlock::text(if why.is_empty() { "the call was denied" } else { why })]
        }
        ("output-error", _) => vec![ContentBlock::text(part.text("errorText")?)],
        (_, Value::Null) => Vec::new(),
        (_, Value::String(text)) => vec![ContentBlock::text(text)],
        (_, value) => match blocks_of(value) {
            Some(blocks) => blocks,
            None => {
                own.insert("output".into(), value.clone());
                vec![ContentBlock::text(output_text(value))]
            }
        },
    };
    let labels = Labels { metadata: reading.kept(own), ..Labels::default() };
    let (id, name) = (part.word("toolCallId")?, tool_name(part)?);
    reading.result(Given { id, name, content, is_error, ..Given::default() }, labels)
}

/// An output in the shape of MCP that has only texts and files, as results are written.
fn blocks_of(output: &Value) -> Option<Vec<ContentBlock>> {
    let content = output.as_object().filter(|map| map.len() == 1)?.get("content")?.as_array()?;
    let text = |block: &Value, name: &str| Some(block.get(name)?.as_str()?.to_owned());
    let block = |block: &Value| match block.get("type")?.as_str()? {
        "text" => Some(ContentBlock::text(text(block, "text")?)),
        "image" => Some(ContentBlock::Image(Media::data(text(block, "data")?, text(block, "mimeType")?))),
        "audio" => Some(ContentBlock::Audio(Media::data(text(block, "data")?, text(block, "mimeType")?))),
        "resource" => {
            let resource = block.get("resource")?;
            let media = Media::data(text(resource, "blob")?, text(resource, "mimeType")?);
            let name = text(resource, "uri")?;
            Some(ContentBlock::Document(Media { name: Some(name).filter(|name| name != UNNAMED_FILE), ..media }))
        }
        _ => None,
    };
    content.iter().map(block).collect()
}

/// A UI message that is being written.
struct Open {
    head: Map<String, Value>,
    parts: Vec<Value>,
}

pub(super) fn export(messages: &[Arc<Message>], system: &str) -> Exported {
    let mut writing = Writing::new(Format::AiSdk);
    let mut all: Vec<Open> = Vec::new();
    if !system.is_empty() {
        all.push(Open { head: head("system", "system", None), parts: vec![json!({ "type": "text", "text": system })] });
    }
    // Where the calls stand that have no result.
    let mut calls: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut goes_on = false;
    for (index, message) in each(messages) {
        writing.begin(index, message);
        let id = message.id().map_or_else(|| format!("{UNNAMED}{index}"), str::to_owned);
        match message {
            Message::User(user) => {
                let parts: Vec<Value> = user.content.iter().filter_map(|block| user_part(&mut writing, block)).collect();
                all.push(Open { head: head(&id, "user", message.metadata()), parts });
                goes_on = false;
            }
            Message::Assistant(assistant) => {
                writing.lose_error(assistant);
                // What has a name or data of its own is a message of its own.
                if !goes_on || message.id().is_some() || message.metadata().is_some() {
                    all.push(Open { head: head(&id, "assistant", message.metadata()), parts: Vec::new() });
                }
                goes_on = true;
                let at = all.len().saturating_sub(1);
                let Some(open) = all.last_mut() else { continue };
                open.parts.push(json!({ "type": "step-start" }));
                for block in &assistant.content {
                    if let ContentBlock::ToolCall(call) = block {
                        calls.insert(&call.id, (at, open.parts.len()));
                    }
                    open.parts.extend(part(&mut writing, assistant, block));
                }
            }
            Message::ToolResult(result) => {
                let place = calls.remove(result.tool_call_id.as_str());
                match place.and_then(|(at, place)| all.get_mut(at)?.parts.get_mut(place)) {
                    Some(Value::Object(part)) => answer(&mut writing, message, result, part),
                    _ => writing.lose(codes::LOST_RESULT, "a result without a call was left out"),
                }
            }
            Message::Custom(_) => writing.lose_custom(message),
        }
    }
    for Open { mut head, parts } in all {
        head.insert("parts".into(), Value::Array(parts));
        writing.out.push(Value::Object(head));
    }
    writing.end()
}

fn head(id: &str, role: &str, metadata: Option<&Value>) -> Map<String, Value> {
    let mut head = Map::from_iter([("id".to_owned(), json!(id)), ("role".to_owned(), json!(role))]);
    head.extend(metadata.map(|metadata| ("metadata".to_owned(), metadata.clone())));
    head
}

fn user_part(writing: &mut Writing, block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Image(media) | ContentBlock::Document(media) | ContentBlock::Audio(media) => {
            let unknown = || if matches!(block, ContentBlock::Image(_)) { "image/*" } else { "application/octet-stream" };
            let kind = Some(media.kind()).filter(|kind| !kind.is_empty()).unwrap_or_else(unknown);
            let mut part = json!({ "type": "file", "mediaType": kind, "url": media.to_url() });
            if let (Some(name), Some(part)) = (&media.name, part.as_object_mut()) {
                part.insert("filename".into(), json!(name));
            }
            Some(part)
        }
        _ => {
            writing.lose_block(block);
            None
        }
    }
}

fn part(writing: &mut Writing, message: &AssistantMessage, block: &ContentBlock) -> Option<Value> {
    let mut part = match block {
        ContentBlock::Text { text, .. } => json!({ "type": "text", "text": text, "state": "done" }),
        ContentBlock::Thinking { thinking, .. } => json!({ "type": "reasoning", "text": thinking, "state": "done" }),
        ContentBlock::ToolCall(call) => {
            let input = call.raw_arguments.as_ref().map_or_else(|| json!(*call.arguments), |raw| json!(raw));
            let kind = format!("tool-{}", call.name);
            json!({ "type": kind, "toolCallId": call.id, "state": "input-available", "input": input })
        }
        ContentBlock::Opaque { protocol, data } if protocol == "ai_sdk" => return Some(data.clone()),
        ContentBlock::Opaque { .. } | ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => {
            writing.lose_block(block);
            return None;
        }
    };
    if let (Some(metadata), Some(map)) = (ui_metadata(&message.protocol, block), part.as_object_mut()) {
        let name = if matches!(block, ContentBlock::ToolCall(_)) { "callProviderMetadata" } else { "providerMetadata" };
        map.insert(name.into(), metadata);
    }
    Some(part)
}

/// The metadata of a block that has a signature.
pub(crate) fn ui_metadata(protocol: &str, block: &ContentBlock) -> Option<Value> {
    let (signature, redacted) = match block {
        ContentBlock::Text { signature, .. } => (signature.as_deref()?, false),
        ContentBlock::Thinking { signature, redacted, .. } => (signature.as_deref()?, *redacted),
        ContentBlock::ToolCall(call) => (call.signature.as_deref()?, false),
        _ => return None,
    };
    Some(metadata_of(protocol, block, signature, redacted))
}

/// A tool's output as a page reads it: JSON that a tool has returned is JSON again.
pub(crate) fn ui_output(content: &[ContentBlock]) -> Value {
    if let [ContentBlock::Text { text, .. }] = content
        && text.starts_with(['{', '['])
        && let Ok(value) = text.parse::<Value>()
        // As tools' values are written. Any other text stays one, so that it is the same when it comes back.
        && value.to_string().as_str() == text
        // It would be read as blocks.
        && blocks_of(&value).is_none()
    {
        return value;
    }
    output(content)
}

/// A signature where the SDK's own packages look for it; one that they do not know stands under our name.
fn metadata_of(protocol: &str, block: &ContentBlock, signature: &str, redacted: bool) -> Value {
    match protocol {
        "anthropic" if redacted => json!({ "anthropic": { "redactedData": signature } }),
        "anthropic" => json!({ "anthropic": { "signature": signature } }),
        "gemini" => json!({ "google": { "thoughtSignature": signature } }),
        "openai_responses" => match (block, signature.parse::<Value>()) {
            (ContentBlock::Thinking { .. }, Ok(item)) => {
                json!({ "openai": { "itemId": item.get("id"), "reasoningEncryptedContent": item.get("encrypted_content") } })
            }
            (ContentBlock::Text { .. }, Ok(known)) => json!({ "openai": { "itemId": known.get("id") } }),
            _ => json!({ "openai": { "itemId": signature } }),
        },
        _ => json!({ "agent_loop": { "signature": signature } }),
    }
}

/// Adds a result to the part of its call.
fn answer(writing: &mut Writing, message: &Message, result: &ToolResultMessage, part: &mut Map<String, Value>) {
    writing.lose_details(result);
    let mut own = writing.own_metadata(message);
    let others = message
        .metadata()
        .is_some_and(|metadata| metadata.as_object().is_none_or(|map| map.len() > usize::from(!own.is_empty())));
    if others {
        writing.lose(codes::LOST_METADATA, "the result's metadata were left out: it is no message here");
    }
    let given = own.shift_remove("output");
    if own.get("type").is_some() {
        let name = part.get("type").and_then(Value::as_str).and_then(|kind| kind.strip_prefix("tool-")).unwrap_or_default();
        part.insert("toolName".into(), json!(name.to_owned()));
    }
    if !result.is_error {
        writing.lose_addresses(&result.content);
        part.insert("state".into(), json!("output-available"));
        part.insert("output".into(), given.unwrap_or_else(|| ui_output(&result.content)));
    } else if own.get("state").is_none() {
        if result.content.iter().any(ContentBlock::is_media) {
            writing.lose(codes::LOST_PART, "files of an error were left out");
        }
        part.insert("state".into(), json!("output-error"));
        part.insert("errorText".into(), json!(joined_text(&result.content)));
    }
    part.extend(own);
}
