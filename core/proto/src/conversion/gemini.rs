//! The `contents` of Gemini: <https://ai.google.dev/api/caching#Content>. Fields are read in the spelling of the JSON and in that
//! of the Python package (`function_call`), and written in the first.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::format::Format;
use super::reading::{At, Given, Labels, Read, Reading, call_of_value, output_text, signature, unknown_role};
use super::report::{Author, Exported, Imported};
use super::writing::{Writing, each, is_of, unsigned};
use crate::media::Media;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage};
use crate::protocol::gemini as wire;
use crate::table::codes;

const CALL: [&str; 2] = ["functionCall", "function_call"];
const RESPONSE: [&str; 2] = ["functionResponse", "function_response"];
const DATA: [&str; 2] = ["inlineData", "inline_data"];
const FILE: [&str; 2] = ["fileData", "file_data"];
const SIGNATURE: [&str; 2] = ["thoughtSignature", "thought_signature"];
const FILE_URI: [&str; 2] = ["fileUri", "file_uri"];
const NAME: [&str; 2] = ["displayName", "display_name"];
const MIME_TYPE: [&str; 2] = ["mimeType", "mime_type"];

pub(super) fn import(contents: &At<'_>, author: Option<&Author>) -> Read<Imported> {
    let mut reading = Reading::new(Format::Gemini, author);
    for (index, content) in contents.items("an array of contents")?.enumerate() {
        reading.index = index;
        let map = content.object("a content such as {\"role\": \"user\", \"parts\": [{\"text\": \"…\"}]}")?;
        let parts = content.field("parts");
        match content.text("role")? {
            // What has no role is the user's, as the API takes it; results come in contents of other roles, too.
            "" | "user" | "function" | "tool" => user(&mut reading, &parts, map)?,
            "model" => model(&mut reading, &parts, map)?,
            "system" => {
                let texts: Vec<&str> = parts.items("an array of parts")?.map(|part| part.text("text")).collect::<Read<_>>()?;
                reading.system(&texts.concat());
            }
            _ => return Err(unknown_role(&content, "user, model")),
        }
    }
    Ok(reading.end())
}

fn user(reading: &mut Reading<'_>, parts: &At<'_>, map: &Map<String, Value>) -> Read<()> {
    let mut labels = Some(reading.labels(map, &["role", "parts"]));
    let mut said = Vec::new();
    for part in parts.items("an array of parts")? {
        let response = part.either(RESPONSE);
        if response.is_null() {
            read_part(reading, &part, &mut said)?;
            continue;
        }
        if !said.is_empty() {
            reading.user(std::mem::take(&mut said), labels.take().unwrap_or_default())?;
        }
        result(reading, &response, labels.take().unwrap_or_default())?;
    }
    match labels {
        None if said.is_empty() => Ok(()),
        labels => reading.user(said, labels.unwrap_or_default()),
    }
}

/// A response is an object: `{output}` or `{error}`, as we write it, or anything else, which is put aside and goes back.
fn result(reading: &mut Reading<'_>, response: &At<'_>, mut labels: Labels) -> Read<()> {
    let answer = response.field("response");
    let map = answer.value.as_object().filter(|map| map.len() == 1);
    let only = |name: &str| map.and_then(|map| map.get(name));
    let is_error = only("error").is_some();
    let plain = only("output").or(only("error"));
    let text = output_text(plain.or(only("result")).unwrap_or(answer.value));
    if !plain.is_some_and(Value::is_string) && !answer.is_null() {
        let mut own = Map::from_iter([("response".to_owned(), answer.value.clone())]);
        if let Some(before) = labels.metadata.as_ref().and_then(|metadata| metadata.get("gemini")?.as_object()) {
            own.extend(before.clone());
        }
        labels.metadata = reading.kept(own);
    }
    let mut content = if text.is_empty() || answer.is_null() { Vec::new() } else { vec![ContentBlock::text(text)] };
    for part in response.field("parts").items("an array of parts")? {
        read_part(reading, &part, &mut content)?;
    }
    let (id, name) = (response.text("id")?, response.text("name")?);
    reading.result(Given { id, name, content, is_error, ..Given::default() }, labels)
}

fn read_part(reading: &mut Reading<'_>, part: &At<'_>, out: &mut Vec<ContentBlock>) -> Read<()> {
    let map = part.object("a part such as {\"text\": \"…\"}")?;
    let (data, file) = (part.either(DATA), part.either(FILE));
    if !part.field("text").is_null() {
        out.push(ContentBlock::text(part.text("text")?));
    } else if !data.is_null() {
        let mime_type = data.either(MIME_TYPE).value.as_str().unwrap_or_default();
        if mime_type.is_empty() || mime_type.starts_with("video/") {
            reading.lose(codes::LOST_FILE, format!("data of the type {mime_type:?} was left out"));
        } else {
            // The Python package writes the other alphabet.
            let bytes = data.word("data")?.replace('-', "+").replace('_', "/");
            let name = data.either(NAME).value.as_str().map(str::to_owned);
            out.push(ContentBlock::file(Media { name, ..Media::data(bytes, mime_type) }));
        }
    } else if !file.is_null() {
        let (uri, kind) = (file.either(FILE_URI).value.as_str(), file.either(MIME_TYPE).value.as_str());
        let name = file.either(NAME).value.as_str().unwrap_or_default();
        out.extend(reading.file(uri.unwrap_or_default(), kind.unwrap_or_default(), name));
    } else {
        let kind = map.keys().next().map_or("unknown", String::as_str);
        reading.lose_part(kind);
    }
    Ok(())
}

fn model(reading: &mut Reading<'_>, parts: &At<'_>, map: &Map<String, Value>) -> Read<()> {
    let mut blocks = Vec::new();
    for (place, part) in parts.items("an array of parts")?.enumerate() {
        part.object("a part such as {\"text\": \"…\"}")?;
        let signature = part.either(SIGNATURE).value.as_str().and_then(signature);
        let call = part.either(CALL);
        blocks.push(if !call.is_null() {
            // Ids pair results and calls here; older models have none.
            let made = format!("call_{}_{place}", reading.count());
            let id = match call.text("id")? {
                "" => made.as_str(),
                id => id,
            };
            call_of_value(id, call.word("name")?, call.field("args").value, signature)
        } else if !part.field("text").is_null() {
            let text = part.text("text")?.to_owned();
            match part.field("thought").value {
                Value::Bool(true) => ContentBlock::Thinking { thinking: text, signature, redacted: false },
                _ => ContentBlock::Text { text, signature },
            }
        } else {
            ContentBlock::Opaque { protocol: "gemini".into(), data: part.value.clone() }
        });
    }
    let labels = reading.labels(map, &["role", "parts"]);
    reading.assistant(blocks, labels, |_| {})
}

pub(super) fn export(messages: &[Arc<Message>], system: &str) -> Exported {
    let mut writing = Writing::new(Format::Gemini);
    if !system.is_empty() {
        writing.lose(codes::SYSTEM_LEFT_OUT, "the system prompt is no content here: give it as \"systemInstruction\"");
    }
    let mut after_result = false;
    for (index, message) in each(messages) {
        writing.begin(index, message);
        let is_result = matches!(message, Message::ToolResult(_));
        let (role, parts) = match message {
            Message::User(user) => ("user", user_parts(&mut writing, &user.content)),
            Message::Assistant(assistant) => ("model", model_parts(&mut writing, assistant)),
            Message::ToolResult(result) => ("user", vec![write_result(&mut writing, message, result)]),
            Message::Custom(_) => continue,
        };
        if parts.is_empty() {
            writing.empty();
            continue;
        }
        let open = writing.out.last_mut().and_then(|last| last.get_mut("parts")?.as_array_mut());
        // All results of a turn stand in one content.
        match open.filter(|_| is_result && after_result) {
            Some(open) => open.extend(parts),
            None => {
                let mut content = writing.with_own(json!({ "role": role, "parts": parts }), message);
                content.as_object_mut().into_iter().for_each(|map| drop(map.shift_remove("response")));
                writing.out.push(content);
            }
        }
        after_result = is_result;
    }
    writing.end()
}

fn user_parts(writing: &mut Writing, blocks: &[ContentBlock]) -> Vec<Value> {
    let mut parts = Vec::new();
    for block in blocks {
        if block.as_media().is_some_and(|media| media.name.is_some()) {
            writing.lose(codes::LOST_FIELD, "the name of a document was left out");
        }
        match wire::user_json(block) {
            Some(part) => parts.push(part),
            None => writing.lose_block(block),
        }
    }
    parts
}

fn model_parts(writing: &mut Writing, message: &AssistantMessage) -> Vec<Value> {
    let own = is_of(message, "gemini");
    let mut parts = Vec::new();
    for block in &message.content {
        let is_held = match block {
            ContentBlock::Thinking { .. } => own,
            ContentBlock::Opaque { protocol, .. } => protocol == "gemini",
            _ => true,
        };
        match Some(unsigned(block, own)).filter(|_| is_held).and_then(|block| wire::model_json(&block)) {
            Some(part) => parts.push(part),
            None => writing.lose_block(block),
        }
        if let ContentBlock::ToolCall(call) = block {
            writing.lose_raw(call);
        }
    }
    parts
}

fn write_result(writing: &mut Writing, message: &Message, result: &ToolResultMessage) -> Value {
    let (files, texts): (Vec<_>, Vec<_>) = result.content.iter().cloned().partition(ContentBlock::is_media);
    let text = texts.iter().filter_map(|block| match block {
        ContentBlock::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let text = text.collect::<Vec<_>>().join("\n");
    let response = match writing.own_metadata(message).shift_remove("response") {
        Some(given) => given,
        None if result.is_error => json!({ "error": text }),
        None => json!({ "output": text }),
    };
    let mut written = json!({ "id": result.tool_call_id, "name": result.tool_name, "response": response });
    let files = user_parts(writing, &files);
    if let (false, Some(written)) = (files.is_empty(), written.as_object_mut()) {
        written.insert("parts".into(), Value::Array(files));
    }
    json!({ "functionResponse": written })
}
