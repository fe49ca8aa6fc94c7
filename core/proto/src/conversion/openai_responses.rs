//! The items of Responses: <https://platform.openai.com/docs/api-reference/responses/create>.
//!
//! What the model did between two inputs is one message here: its reasoning, texts, calls and what the server's own tools did.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::format::Format;
use super::reading::{At, Given, Labels, Read, Reading, call_of_text, signature, text_of, unknown_role};
use super::report::{Author, Exported, Imported};
use super::writing::{Writing, each, is_of, unsigned};
use crate::message::{AssistantMessage, ContentBlock, Message};
use crate::protocol::openai_responses as wire;
use crate::table::codes;
use crate::usage::StopReason;

/// What the model has said since the last input.
#[derive(Default)]
struct Open {
    content: Vec<ContentBlock>,
    labels: Labels,
    refused: bool,
}

pub(super) fn import(items: &At<'_>, author: Option<&Author>) -> Read<Imported> {
    let mut reading = Reading::new(Format::OpenaiResponses, author);
    let mut open = Open::default();
    for (index, item) in items.items("an array of items")?.enumerate() {
        let map = item.object("an item such as {\"role\": \"user\", \"content\": \"…\"}")?;
        let kind = item.text("type")?;
        let is_input = match kind {
            "" | "message" => item.text("role")? != "assistant",
            kind => kind == "function_call_output",
        };
        if is_input {
            close(&mut reading, &mut open)?;
        }
        reading.index = index;
        match kind {
            "" | "message" => message(&mut reading, &mut open, &item, map)?,
            "function_call_output" => {
                let content = parts(&mut reading, &item.field("output"))?;
                let labels = reading.labels(map, &["type", "call_id", "output"]);
                reading.result(Given { id: item.word("call_id")?, content, ..Given::default() }, labels)?;
            }
            "function_call" => {
                let (id, name) = (item.word("call_id")?, item.word("name")?);
                open.content.push(call_of_text(id, name, item.text("arguments")?, signature(item.text("id")?)));
                reading.known_fields(map, &["type", "call_id", "name", "arguments", "id", "status"]);
            }
            "reasoning" => open.content.push(ContentBlock::Thinking {
                thinking: wire::thinking_of(item.value),
                signature: Some(item.value.to_string()),
                redacted: false,
            }),
            "item_reference" => reading.lose(codes::LOST_PART, "a reference to an item that the server keeps was left out"),
            _ => open.content.push(ContentBlock::Opaque { protocol: "openai_responses".into(), data: item.value.clone() }),
        }
    }
    close(&mut reading, &mut open)?;
    Ok(reading.end())
}

fn close(reading: &mut Reading<'_>, open: &mut Open) -> Read<()> {
    let Open { content, labels, refused } = std::mem::take(open);
    if content.is_empty() {
        return Ok(());
    }
    reading.assistant(content, labels, |message| {
        if refused {
            message.stop_reason = Some(StopReason::Refusal);
        }
    })
}

fn message(reading: &mut Reading<'_>, open: &mut Open, item: &At<'_>, map: &Map<String, Value>) -> Read<()> {
    match item.word("role")? {
        "system" | "developer" => {
            let content = parts(reading, &item.content(&[])?)?;
            reading.system(&crate::message::joined_text(&content));
            Ok(())
        }
        "user" => {
            let content = parts(reading, &item.content(&[])?)?;
            let labels = reading.labels(map, &["type", "role", "content"]);
            reading.user(content, labels)
        }
        "assistant" => {
            let content = item.content(&[])?;
            let is_refusal = |part: &Value| part.get("type").is_some_and(|kind| kind == "refusal");
            open.refused |= content.value.as_array().is_some_and(|parts| parts.iter().any(is_refusal));
            let known = wire::text_signature(item.value);
            for mut block in parts(reading, &content)? {
                if let ContentBlock::Text { signature, .. } = &mut block {
                    signature.clone_from(&known);
                }
                open.content.push(block);
            }
            reading.known_fields(map, &["type", "role", "content", "id", "phase", "status"]);
            Ok(())
        }
        _ => Err(unknown_role(item, "system, developer, user, assistant")),
    }
}

/// Content or an output: a text, or a list of parts.
fn parts(reading: &mut Reading<'_>, content: &At<'_>) -> Read<Vec<ContentBlock>> {
    if let Value::String(text) = content.value {
        return Ok(text_of(text));
    }
    let mut blocks = Vec::new();
    for part in content.items("text or an array of parts")? {
        let map = part.object("a part such as {\"type\": \"input_text\", \"text\": \"…\"}")?;
        match part.word("type")? {
            "input_text" | "output_text" | "text" => {
                reading.known_fields(map, &["type", "text", "logprobs"]);
                blocks.push(ContentBlock::text(part.text("text")?));
            }
            "refusal" => blocks.push(ContentBlock::text(part.text("refusal")?)),
            "input_image" if part.field("image_url").is_null() => reading.lose_part("file"),
            "input_image" => blocks.extend(reading.image(part.text("image_url")?, "")),
            "input_file" if !part.either(["file_data", "file_url"]).is_null() => {
                let url = part.either(["file_data", "file_url"]);
                let Value::String(url) = url.value else { return url.expected("text") };
                blocks.extend(reading.file(url, "", part.text("filename")?));
            }
            kind => reading.lose_part(kind),
        }
    }
    Ok(blocks)
}

pub(super) fn export(messages: &[Arc<Message>], system: &str) -> Exported {
    let mut writing = Writing::new(Format::OpenaiResponses);
    if !system.is_empty() {
        writing.out.push(json!({ "type": "message", "role": "system", "content": system }));
    }
    for (index, message) in each(messages) {
        writing.begin(index, message);
        match message {
            Message::User(user) => {
                let content = content(&mut writing, &user.content);
                if content.is_empty() {
                    writing.empty();
                } else {
                    let item = json!({ "type": "message", "role": "user", "content": content });
                    writing.out.push(writing.with_own(item, message));
                }
            }
            Message::Assistant(assistant) => write_assistant(&mut writing, assistant),
            Message::ToolResult(result) => {
                writing.lose_is_error(result);
                let output = match result.content.as_slice() {
                    [] => json!(""),
                    [ContentBlock::Text { text, .. }] => json!(text),
                    blocks => Value::Array(content(&mut writing, blocks)),
                };
                let item = json!({ "type": "function_call_output", "call_id": result.tool_call_id, "output": output });
                writing.out.push(writing.with_own(item, message));
            }
            Message::Custom(_) => {}
        }
    }
    writing.end()
}

fn content(writing: &mut Writing, blocks: &[ContentBlock]) -> Vec<Value> {
    let mut parts = Vec::new();
    for block in blocks {
        if block.as_media().is_some_and(|media| media.name.is_some() && media.as_url().is_some()) {
            writing.lose(codes::LOST_FIELD, "the name of a document at an address was left out");
        }
        match wire::part_json(block) {
            Some(part) => parts.push(part),
            None => writing.lose_block(block),
        }
    }
    parts
}

fn write_assistant(writing: &mut Writing, message: &AssistantMessage) {
    let own = is_of(message, "openai_responses");
    for block in &message.content {
        let is_held = match block {
            ContentBlock::Thinking { .. } => own,
            ContentBlock::Opaque { protocol, .. } => protocol == "openai_responses",
            _ => !block.is_media(),
        };
        let Some(mut item) = Some(unsigned(block, own)).filter(|_| is_held).and_then(|block| wire::item_json(&block)) else {
            writing.lose_block(block);
            continue;
        };
        if let ContentBlock::ToolCall(call) = block
            && let (Some(raw), Some(arguments)) = (&call.raw_arguments, item.get_mut("arguments"))
        {
            *arguments = json!(raw);
        }
        // OpenAI's types have no item of a message without an id.
        let has_id = item.get("id").is_some();
        if let (ContentBlock::Text { text, .. }, false, Some(map)) = (block, has_id, item.as_object_mut()) {
            map.shift_remove("status");
            map.insert("content".into(), json!(text));
        }
        if !joined(writing.out.last_mut(), &mut item) {
            writing.out.push(item);
        }
    }
}

/// Texts of one item are parts of it again.
fn joined(last: Option<&mut Value>, item: &mut Value) -> bool {
    let Some(last) =
        last.filter(|last| item.get("content").is_some() && item.get("id").is_some() && last.get("id") == item.get("id"))
    else {
        return false;
    };
    match (last.get_mut("content"), item.get_mut("content")) {
        (Some(Value::Array(parts)), Some(Value::Array(more))) => {
            parts.append(more);
            true
        }
        _ => false,
    }
}
