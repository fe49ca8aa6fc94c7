//! The `messages` of Anthropic's API, and the message objects that it answers with: <https://docs.claude.com/en/api/messages>.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::format::Format;
use super::reading::{At, Given, Read, Reading, call_of_value, signature, text_of, unknown_role};
use super::report::{Author, Exported, Imported};
use super::writing::{Writing, each, is_of, unsigned};
use crate::media::Media;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage};
use crate::protocol::anthropic as wire;
use crate::protocol::stop_words;
use crate::table::codes;
use crate::usage::{Usage, count_at};

pub(super) fn import(messages: &At<'_>, author: Option<&Author>) -> Read<Imported> {
    let mut reading = Reading::new(Format::Anthropic, author);
    for (index, message) in messages.items("an array of messages")?.enumerate() {
        reading.index = index;
        let map = message.object("a message such as {\"role\": \"user\", \"content\": \"…\"}")?;
        match message.word("role")? {
            "user" => user(&mut reading, &message, map)?,
            "assistant" => assistant(&mut reading, &message, map)?,
            "system" => {
                let content = blocks(&mut reading, &message.content(&[])?)?;
                reading.system(&crate::message::joined_text(&content));
            }
            _ => return Err(unknown_role(&message, "user, assistant")),
        }
    }
    Ok(reading.end())
}

/// Results of tools stand among the blocks of a user message; here they are messages.
fn user(reading: &mut Reading<'_>, message: &At<'_>, map: &Map<String, Value>) -> Read<()> {
    let content = message.content(&[])?;
    let mut labels = Some(reading.labels(map, &["role", "content"]));
    let mut said = Vec::new();
    let results = |block: &Value| block.get("type").is_some_and(|kind| kind == "tool_result");
    let is_list = content.value.is_array();
    for block in content.items("text or an array of blocks").into_iter().flatten().filter(|_| is_list) {
        if !results(block.value) {
            read_block(reading, &block, &mut said)?;
            continue;
        }
        if !said.is_empty() {
            reading.user(std::mem::take(&mut said), labels.take().unwrap_or_default())?;
        }
        let map = block.object("a block")?;
        reading.known_fields(map, &["type", "tool_use_id", "content", "is_error"]);
        let content = blocks(reading, &block.field("content"))?;
        let is_error = block.field("is_error").value == &Value::Bool(true);
        let given = Given { id: block.word("tool_use_id")?, content, is_error, ..Given::default() };
        reading.result(given, labels.take().unwrap_or_default())?;
    }
    if !is_list {
        said = blocks(reading, &content)?;
    }
    // A message without content is kept.
    match labels {
        None if said.is_empty() => Ok(()),
        labels => reading.user(said, labels.unwrap_or_default()),
    }
}

/// Content of a user or a tool.
fn blocks(reading: &mut Reading<'_>, content: &At<'_>) -> Read<Vec<ContentBlock>> {
    if let Value::String(text) = content.value {
        return Ok(text_of(text));
    }
    let mut blocks = Vec::new();
    for block in content.items("text or an array of blocks")? {
        read_block(reading, &block, &mut blocks)?;
    }
    Ok(blocks)
}

fn read_block(reading: &mut Reading<'_>, block: &At<'_>, out: &mut Vec<ContentBlock>) -> Read<()> {
    let map = block.object("a block such as {\"type\": \"text\", \"text\": \"…\"}")?;
    match block.word("type")? {
        "text" => {
            reading.known_fields(map, &["type", "text"]);
            out.push(ContentBlock::text(block.text("text")?));
        }
        "image" => {
            let source = block.field("source");
            match source.text("type")? {
                "base64" => {
                    let media = Media::data(source.word("data")?, source.word("media_type")?);
                    out.push(ContentBlock::Image(media));
                }
                "url" => out.extend(reading.image(source.text("url")?, "")),
                _ => reading.lose_part("file"),
            }
        }
        "document" => {
            reading.known_fields(map, &["type", "source", "title"]);
            let (source, name) = (block.field("source"), signature(block.text("title")?));
            let media = match source.text("type")? {
                "base64" => Media::data(source.word("data")?, source.word("media_type")?),
                "text" => Media::bytes(source.word("data")?.as_bytes(), source.text("media_type")?),
                "url" => {
                    let name = name.as_deref().unwrap_or_default();
                    out.extend(reading.file(source.text("url")?, "application/pdf", name));
                    return Ok(());
                }
                _ => {
                    reading.lose_part("file");
                    return Ok(());
                }
            };
            out.push(ContentBlock::Document(Media { name, ..media }));
        }
        kind => reading.lose_part(kind),
    }
    Ok(())
}

fn assistant(reading: &mut Reading<'_>, message: &At<'_>, map: &Map<String, Value>) -> Read<()> {
    const KNOWN: &[&str] = &["role", "content", "id", "type", "model", "stop_reason", "usage"];
    let content = message.content(&[])?;
    let mut blocks = Vec::new();
    if let Value::String(text) = content.value {
        blocks = text_of(text);
    } else {
        for block in content.items("text or an array of blocks")? {
            let map = block.object("a block such as {\"type\": \"text\", \"text\": \"…\"}")?;
            let thinking = |text: &str, signed: &str, redacted| ContentBlock::Thinking {
                thinking: text.to_owned(),
                signature: signature(signed),
                redacted,
            };
            blocks.push(match block.word("type")? {
                "text" => {
                    reading.known_fields(map, &["type", "text"]);
                    ContentBlock::text(block.text("text")?)
                }
                "thinking" => thinking(block.text("thinking")?, block.text("signature")?, false),
                "redacted_thinking" => thinking("", block.text("data")?, true),
                "tool_use" => {
                    reading.known_fields(map, &["type", "id", "name", "input", "caller"]);
                    call_of_value(block.word("id")?, block.word("name")?, block.field("input").value, None)
                }
                _ => ContentBlock::Opaque { protocol: "anthropic".into(), data: block.value.clone() },
            });
        }
    }
    let labels = reading.labels(map, KNOWN);
    let (id, model, stop) = (message.text("id")?, message.text("model")?, message.text("stop_reason")?);
    reading.assistant(blocks, labels, |said| {
        said.response_id = signature(id);
        if !model.is_empty() {
            (said.provider, said.model) = ("anthropic".into(), model.to_owned());
        }
        if let Some(reason) = stop_words::known(stop) {
            (said.stop_reason, said.raw_stop_reason) = (Some(reason), signature(stop));
        }
        said.usage = usage(message.field("usage").value);
    })
}

fn usage(given: &Value) -> Usage {
    let count = |name: &str| count_at(given, name).unwrap_or_default();
    Usage {
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        ..Usage::new(count("input_tokens"), count("output_tokens"))
    }
    .totalled()
}

pub(super) fn export(messages: &[Arc<Message>], system: &str) -> Exported {
    let mut writing = Writing::new(Format::Anthropic);
    if !system.is_empty() {
        writing.lose(codes::SYSTEM_LEFT_OUT, "the system prompt is no message here: give it as \"system\"");
    }
    // Neighbours of one role are one message: all results of a turn, and what the user says to them.
    let mut open: Option<(&str, Vec<Value>, Map<String, Value>)> = None;
    for (index, message) in each(messages) {
        writing.begin(index, message);
        let (role, blocks) = match message {
            Message::User(user) => ("user", content(&mut writing, &user.content)),
            Message::Assistant(assistant) => ("assistant", write_assistant(&mut writing, assistant)),
            Message::ToolResult(result) => ("user", vec![write_result(&mut writing, result)]),
            Message::Custom(_) => continue,
        };
        if blocks.is_empty() {
            writing.empty();
            continue;
        }
        let own = writing.own_metadata(message);
        match &mut open {
            // Each answer stands for itself; what has fields of its own begins a message, too.
            Some((last, all, fields)) if role == "user" && *last == role && (own.is_empty() || fields.is_empty()) => {
                all.extend(blocks);
                fields.extend(own);
            }
            _ => push(&mut writing, open.replace((role, blocks, own))),
        }
    }
    push(&mut writing, open);
    writing.end()
}

fn push(writing: &mut Writing, message: Option<(&str, Vec<Value>, Map<String, Value>)>) {
    writing.out.extend(message.map(|(role, content, own)| {
        let mut map = Map::from_iter([("role".to_owned(), json!(role)), ("content".to_owned(), Value::Array(content))]);
        map.extend(own);
        Value::Object(map)
    }));
}

fn content(writing: &mut Writing, blocks: &[ContentBlock]) -> Vec<Value> {
    let mut written = Vec::new();
    for block in blocks {
        if let ContentBlock::Document(media) = block
            && media.text().is_some()
            && media.kind() != "text/plain"
        {
            writing.lose(codes::LOST_FIELD, "the type of a document was left out: the API knows only plain text");
        }
        match wire::user_json(block) {
            Some(block) => written.push(block),
            None => writing.lose_block(block),
        }
    }
    written
}

fn write_assistant(writing: &mut Writing, message: &AssistantMessage) -> Vec<Value> {
    let own = is_of(message, "anthropic");
    let mut written = Vec::new();
    for block in &message.content {
        let is_held = match block {
            // Without its signature it is refused.
            ContentBlock::Thinking { signature, .. } => own && signature.is_some(),
            ContentBlock::Opaque { protocol, .. } => protocol == "anthropic",
            _ => true,
        };
        match Some(unsigned(block, own)).filter(|_| is_held).and_then(|block| wire::assistant_json(&block)) {
            Some(block) => written.push(block),
            None => writing.lose_block(block),
        }
        if let ContentBlock::ToolCall(call) = block {
            writing.lose_raw(call);
        }
    }
    written
}

fn write_result(writing: &mut Writing, result: &ToolResultMessage) -> Value {
    let content = content(writing, &result.content);
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.tool_call_id, "content": content });
    if let (true, Some(block)) = (result.is_error, block.as_object_mut()) {
        block.insert("is_error".into(), json!(true));
    }
    block
}
