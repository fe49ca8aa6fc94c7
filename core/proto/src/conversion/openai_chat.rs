//! The `messages` of Chat Completions: <https://platform.openai.com/docs/api-reference/chat/create>.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::format::Format;
use super::reading::{At, Given, Read, Reading, call_of_text, rest, text_of, unknown_role};
use super::report::{Author, Exported, Imported};
use super::writing::{Writing, each, is_of, refused, unsigned};
use crate::media::Media;
use crate::message::{AssistantMessage, ContentBlock, Message};
use crate::protocol::openai_chat as wire;
use crate::table::codes;
use crate::usage::StopReason;

const ROLES: &str = "system, developer, user, assistant, tool, function";
/// Where servers put a model's thinking; the first that has any counts.
const THINKING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

pub(super) fn import(messages: &At<'_>, author: Option<&Author>) -> Read<Imported> {
    let mut reading = Reading::new(Format::OpenaiChat, author);
    for (index, message) in messages.items("an array of messages")?.enumerate() {
        reading.index = index;
        read(&mut reading, &message)?;
    }
    Ok(reading.end())
}

fn read(reading: &mut Reading<'_>, message: &At<'_>) -> Read<()> {
    let map = message.object("a message such as {\"role\": \"user\", \"content\": \"…\"}")?;
    let role = message.word("role")?;
    match role {
        "system" | "developer" => {
            let text = texts(reading, &message.content(&[])?)?;
            reading.system(&text);
            Ok(())
        }
        "user" => {
            let content = parts(reading, &message.content(&[])?)?;
            let labels = reading.labels(map, &["role", "content"]);
            reading.user(content, labels)
        }
        "assistant" => assistant(reading, message, map),
        "tool" | "function" => {
            let content = parts(reading, &message.field("content"))?;
            let id = message.text("tool_call_id")?;
            let name = message.text("name")?;
            let labels = reading.labels(map, &["role", "content", "tool_call_id", "name"]);
            reading.result(Given { id, name, content, ..Given::default() }, labels)
        }
        _ => Err(unknown_role(message, ROLES)),
    }
}

fn texts(reading: &mut Reading<'_>, content: &At<'_>) -> Read<String> {
    Ok(crate::message::joined_text(&parts(reading, content)?))
}

/// Content: a text, or a list of parts.
fn parts(reading: &mut Reading<'_>, content: &At<'_>) -> Read<Vec<ContentBlock>> {
    if let Value::String(text) = content.value {
        return Ok(text_of(text));
    }
    let mut blocks = Vec::new();
    for part in content.items("text or an array of parts")? {
        let map = part.object("a part such as {\"type\": \"text\", \"text\": \"…\"}")?;
        match part.word("type")? {
            "text" => {
                reading.known_fields(map, &["type", "text"]);
                blocks.push(ContentBlock::text(part.text("text")?));
            }
            // Which detail is looked at does not matter here.
            "image_url" => blocks.extend(reading.image(part.field("image_url").text("url")?, "")),
            "file" if !part.field("file").field("file_data").is_null() => {
                let file = part.field("file");
                let (data, name) = (file.text("file_data")?, file.text("filename")?);
                blocks.extend(reading.file(data, "", name));
            }
            "input_audio" if !part.field("input_audio").field("data").is_null() => {
                let audio = part.field("input_audio");
                let format = match audio.text("format")? {
                    "mp3" => "mpeg",
                    format => format,
                };
                blocks.push(ContentBlock::Audio(Media::data(audio.word("data")?, format!("audio/{format}"))));
            }
            "refusal" => blocks.push(ContentBlock::text(part.text("refusal")?)),
            // Mistral's.
            "thinking" => {
                let thinking = match part.field("thinking").value {
                    Value::String(text) => text.clone(),
                    pieces => pieces.as_array().into_iter().flatten().filter_map(|piece| piece.get("text")?.as_str()).collect(),
                };
                blocks.push(ContentBlock::Thinking { thinking, signature: Some("content".into()), redacted: false });
            }
            kind => reading.lose_part(kind),
        }
    }
    Ok(blocks)
}

fn assistant(reading: &mut Reading<'_>, message: &At<'_>, map: &Map<String, Value>) -> Read<()> {
    const IN_ITS_PLACE: &[&str] = &[
        "refusal",
        "tool_calls",
        "function_call",
        "reasoning_content",
        "reasoning",
        "reasoning_text",
        "reasoning_details",
        "images",
        "audio",
        "annotations",
    ];
    let mut content = thinking(message)?;
    content.extend(parts(reading, &message.content(IN_ITS_PLACE)?)?);
    let refusal = message.text("refusal")?;
    if !refusal.is_empty() {
        content.push(ContentBlock::text(refusal));
    }
    let images = message.field("images");
    content.extend(images.value.as_array().into_iter().flatten().map(opaque));
    for (field, code) in [("audio", codes::LOST_FILE), ("annotations", codes::LOST_CITATIONS)] {
        if !rest(map, &[]).get(field).is_none_or(Value::is_null) {
            reading.lose(code, format!("the field {field:?} was left out"));
        }
    }
    for (i, call) in message.field("tool_calls").items("an array of calls")?.enumerate() {
        let map = call.object("a call")?;
        content.push(called(reading, &call, map, i)?);
    }
    let old = message.field("function_call");
    if !old.is_null() {
        let id = format!("call_{}_0", reading.count());
        content.push(call_of_text(&id, old.word("name")?, old.text("arguments")?, None));
    }
    let labels = reading.labels(map, &[&["role", "content"], IN_ITS_PLACE].concat());
    reading.assistant(content, labels, |message| {
        if !refusal.is_empty() {
            message.stop_reason = Some(StopReason::Refusal);
        }
    })
}

fn opaque(image: &Value) -> ContentBlock {
    ContentBlock::Opaque { protocol: "openai_chat".into(), data: image.clone() }
}

/// Thinking beside the content, with the name of its field as its signature, as a model's answer is read.
fn thinking(message: &At<'_>) -> Read<Vec<ContentBlock>> {
    let details: Vec<&Value> = message.field("reasoning_details").value.as_array().into_iter().flatten().collect();
    let text = |item: &&Value| ["text", "summary"].into_iter().find_map(|name| Some(item.get(name)?.as_str()?.to_owned()));
    let (mut thinking, mut signature) = (String::new(), String::new());
    for field in THINKING {
        let text = message.text(field)?;
        if !text.is_empty() {
            (thinking, signature) = (text.to_owned(), field.to_owned());
            break;
        }
    }
    if !details.is_empty() {
        signature = Value::Array(details.iter().map(|item| (*item).clone()).collect()).to_string();
        if thinking.is_empty() {
            thinking = details.iter().filter_map(text).collect();
        }
    }
    let block = ContentBlock::Thinking { thinking, signature: Some(signature.clone()), redacted: false };
    Ok(if signature.is_empty() { Vec::new() } else { vec![block] })
}

fn called(reading: &mut Reading<'_>, call: &At<'_>, map: &Map<String, Value>, place: usize) -> Read<ContentBlock> {
    let made = format!("call_{}_{place}", reading.count());
    let id = match call.text("id")? {
        "" => made.as_str(),
        id => id,
    };
    let custom = call.field("custom");
    if !custom.is_null() {
        reading.lose(codes::LOST_PART, format!("the call {id:?} of a custom tool became a function's, with its input as text"));
        return Ok(call_of_text(id, custom.word("name")?, custom.text("input")?, None));
    }
    reading.known_fields(map, &["id", "type", "function", "index", "extra_content"]);
    let function = call.field("function");
    let extra = map.get("extra_content").filter(|extra| extra.is_object());
    let signature = extra.map(|extra| json!({ "extra_content": extra }).to_string());
    let arguments = function.field("arguments");
    let text = match arguments.value {
        Value::Object(_) => arguments.value.to_string(),
        _ => function.text("arguments")?.to_owned(),
    };
    Ok(call_of_text(id, function.word("name")?, &text, signature))
}

pub(super) fn export(messages: &[Arc<Message>], system: &str) -> Exported {
    let mut writing = Writing::new(Format::OpenaiChat);
    if !system.is_empty() {
        writing.out.push(json!({ "role": "system", "content": system }));
    }
    for (index, message) in each(messages) {
        if !matches!(message, Message::ToolResult(_)) {
            add_files(&mut writing);
        }
        writing.begin(index, message);
        let written = match message {
            Message::User(user) => {
                let content = content(&mut writing, user.content.iter());
                (!content.is_null()).then(|| json!({ "role": "user", "content": content }))
            }
            Message::Assistant(assistant) => write_assistant(&mut writing, assistant),
            Message::ToolResult(result) => {
                writing.lose_is_error(result);
                let blocks = writing.move_files(result);
                let content = content(&mut writing, blocks.into_iter());
                let content = if content.is_null() { json!("") } else { content };
                Some(json!({ "role": "tool", "tool_call_id": result.tool_call_id, "content": content }))
            }
            Message::Custom(_) => continue,
        };
        match written {
            Some(written) => writing.out.push(writing.with_own(written, message)),
            None => writing.empty(),
        }
    }
    add_files(&mut writing);
    writing.end()
}

fn add_files(writing: &mut Writing) {
    let files = std::mem::take(&mut writing.files);
    if !files.is_empty() {
        let content: Vec<Value> = files.iter().filter_map(wire::part_json).collect();
        writing.out.push(json!({ "role": "user", "content": content }));
    }
}

/// One text as it is, all else as a list of parts; null for nothing.
fn content<'m>(writing: &mut Writing, blocks: impl Iterator<Item = &'m ContentBlock>) -> Value {
    let mut parts = Vec::new();
    for block in blocks {
        match wire::part_json(block) {
            Some(part) => parts.push(part),
            None => writing.lose_block(block),
        }
    }
    let is_text = parts.len() == 1 && parts.iter().all(|part| part.get("text").is_some());
    match parts.pop() {
        None => Value::Null,
        Some(mut part) if is_text => part.get_mut("text").map(Value::take).unwrap_or_default(),
        Some(part) => {
            parts.push(part);
            Value::Array(parts)
        }
    }
}

fn write_assistant(writing: &mut Writing, message: &AssistantMessage) -> Option<Value> {
    let own = is_of(message, "openai_chat");
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    let mut beside = AssistantMessage::new(Vec::new());
    for block in &message.content {
        match block {
            ContentBlock::Text { .. } => texts.push(block),
            ContentBlock::ToolCall(call) => {
                let ContentBlock::ToolCall(given) = unsigned(block, own) else { continue };
                let mut written = wire::call_json(&given);
                if let (Some(raw), Some(arguments)) = (&call.raw_arguments, written.pointer_mut("/function/arguments")) {
                    *arguments = json!(raw);
                }
                calls.push(written);
                beside.content.push(ContentBlock::ToolCall(given));
            }
            // What names no field of this format came from another one.
            ContentBlock::Thinking { signature: Some(signature), .. }
                if own && (signature == "content" || THINKING.contains(&signature.as_str()) || signature.starts_with('[')) =>
            {
                beside.content.push(block.clone());
            }
            ContentBlock::Opaque { data, .. } if own && data.get("image_url").is_some() => beside.content.push(block.clone()),
            _ => writing.lose_block(block),
        }
    }
    let text = content(writing, texts.into_iter());
    let fields = wire::beside_json(&beside);
    if text.is_null() && calls.is_empty() && fields.is_empty() {
        return None;
    }
    let mut written = Map::from_iter([("role".to_owned(), json!("assistant"))]);
    match text {
        text @ Value::String(_) if refused(message) => {
            written.extend([("content".to_owned(), Value::Null), ("refusal".to_owned(), text)]);
        }
        text => drop(written.insert("content".into(), text)),
    }
    for (name, value) in fields {
        match (name.as_str(), written.get_mut("content")) {
            // Mistral's thinking is a part of the content, before the text.
            ("content", Some(said)) => {
                let text = match said.take() {
                    Value::String(text) => vec![json!({ "type": "text", "text": text })],
                    Value::Array(parts) => parts,
                    _ => Vec::new(),
                };
                let thinking = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": value }] });
                *said = Value::Array(std::iter::once(thinking).chain(text).collect());
            }
            _ => drop(written.insert(name, value)),
        }
    }
    if !calls.is_empty() {
        written.insert("tool_calls".into(), Value::Array(calls));
    }
    Some(Value::Object(written))
}
