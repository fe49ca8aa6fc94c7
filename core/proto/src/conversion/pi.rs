//! A session of pi's coding agent: the entries of its file, each a line of JSON.
//! <https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/session-format.md>
//!
//! Entries are a tree; the messages from its root to the last entry are the conversation. Messages of pi's own roles become
//! custom messages of the same roles.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::format::Format;
use super::reading::{At, Given, Labels, Read, Reading, call_of_value, rest, signature, text_of};
use super::report::{Author, Exported, Imported};
use super::writing::{Writing, each};
use crate::error::{Error, ErrorKind};
use crate::hash::fnv1a;
use crate::media::Media;
use crate::message::{AssistantMessage, ContentBlock, Message};
use crate::table::codes;
use crate::usage::{Cost, StopReason, Usage};

/// pi's word for an API, and ours; of several the first is written.
const APIS: &[(&str, &str)] = &[
    ("anthropic-messages", "anthropic"),
    ("openai-completions", "openai_chat"),
    ("openai-responses", "openai_responses"),
    ("azure-openai-responses", "openai_responses"),
    ("openai-codex-responses", "openai_responses"),
    ("google-generative-ai", "gemini"),
    ("google-vertex", "gemini"),
];

const STOPS: &[(&str, StopReason)] = &[
    ("stop", StopReason::Stop),
    ("length", StopReason::Length),
    ("toolUse", StopReason::ToolUse),
    ("error", StopReason::Error),
    ("aborted", StopReason::Aborted),
];

pub(super) fn import(entries: &At<'_>, author: Option<&Author>) -> Read<Imported> {
    let mut reading = Reading::new(Format::Pi, author);
    let all: Vec<At<'_>> = entries.items("an array of entries, or their lines")?.collect();
    let branch = branch(&all);
    for (index, entry) in all.iter().enumerate() {
        reading.index = index;
        let map = entry.object("an entry such as {\"type\": \"message\", \"message\": {…}}")?;
        let kind = entry.text("type")?;
        let id = entry.field("id").value.as_str();
        if kind != "session" && id.is_some_and(|id| branch.as_ref().is_some_and(|branch| !branch.contains(id))) {
            reading.lose(codes::OTHER_BRANCH, format!("an entry of another branch ({kind}) was left out"));
            continue;
        }
        match kind {
            "session" => {}
            "message" => message(&mut reading, &entry.field("message"), id)?,
            // Messages alone, as pi's agent has them.
            "" if map.contains_key("role") => message(&mut reading, entry, None)?,
            "custom_message" => custom(&mut reading, map, "custom")?,
            "branch_summary" => custom(&mut reading, map, "branchSummary")?,
            "compaction" => custom(&mut reading, map, "compactionSummary")?,
            "" => return Err(entry.refused("type is missing")),
            kind => reading.lose(codes::LOST_ENTRY, format!("an entry of the type {kind:?} was left out")),
        }
    }
    Ok(reading.end())
}

/// The ids from the last entry to the root; `None` where entries have none (version 1).
fn branch(entries: &[At<'_>]) -> Option<HashSet<String>> {
    let id = |entry: &At<'_>, name: &str| Some(entry.value.get(name)?.as_str()?.to_owned());
    let is_entry = |entry: &&At<'_>| entry.value.get("type").is_some_and(|kind| kind != "session");
    let tree = || entries.iter().filter(is_entry);
    let parents: HashMap<String, Option<String>> =
        tree().filter_map(|entry| Some((id(entry, "id")?, id(entry, "parentId")))).collect();
    let mut next = tree().next_back().and_then(|entry| id(entry, "id"))?;
    let mut branch = HashSet::new();
    while branch.insert(next.clone()) {
        match parents.get(&next).cloned().flatten() {
            Some(parent) => next = parent,
            None => break,
        }
    }
    Some(branch)
}

/// An entry that stands for a message which pi makes of it.
fn custom(reading: &mut Reading<'_>, entry: &Map<String, Value>, role: &str) -> Read<()> {
    let mut map = Map::from_iter([("role".to_owned(), json!(role))]);
    map.extend(rest(entry, &["type"]));
    as_custom(reading, map)
}

fn as_custom(reading: &mut Reading<'_>, map: Map<String, Value>) -> Read<()> {
    let role = map.get("role").and_then(Value::as_str).unwrap_or_default();
    let text = format!("a message of pi's role {role:?} became a custom message, which no model reads by itself");
    reading.lose(codes::CUSTOM_MESSAGE, text);
    reading.custom(map)
}

fn message(reading: &mut Reading<'_>, message: &At<'_>, id: Option<&str>) -> Read<()> {
    let map = message.object("a message")?;
    let labels = |reading: &Reading<'_>, known: &[&str]| {
        let timestamp = map.get("timestamp").and_then(Value::as_u64).unwrap_or_default();
        Labels { id: id.map(str::to_owned), timestamp, ..reading.labels(map, known) }
    };
    match message.word("role")? {
        "user" => {
            let content = blocks(reading, &message.content(&[])?, "", None)?;
            let labels = labels(reading, &["role", "content", "timestamp"]);
            reading.user(content, labels)
        }
        "toolResult" => {
            let content = blocks(reading, &message.field("content"), "", None)?;
            const KNOWN: &[&str] = &["role", "content", "timestamp", "toolCallId", "toolName", "details", "isError"];
            let labels = labels(reading, KNOWN);
            // Of Responses, an id has the item's behind it.
            let (id, _) = split_id(message.word("toolCallId")?);
            let (details, is_error) = (message.field("details").value.clone(), message.field("isError").value == &json!(true));
            reading.result(Given { id, name: message.text("toolName")?, content, details, is_error }, labels)
        }
        "assistant" => {
            const KNOWN: &[&str] = &[
                "role",
                "content",
                "timestamp",
                "api",
                "provider",
                "model",
                "responseModel",
                "responseId",
                "usage",
                "stopReason",
                "errorMessage",
            ];
            let (api, provider, model) = (message.text("api")?, message.text("provider")?, message.text("model")?);
            let protocol = APIS.iter().find(|(theirs, _)| *theirs == api).map_or(api, |(_, ours)| ours);
            let content = blocks(reading, &message.content(&[])?, protocol, Some(()))?;
            let labels = labels(reading, KNOWN);
            let (stop, failure) = (message.text("stopReason")?, message.text("errorMessage")?);
            let ids = (signature(message.text("responseId")?), signature(message.text("responseModel")?));
            let usage = usage(message.field("usage").value);
            reading.assistant(content, labels, |said| {
                for (field, given) in [(&mut said.protocol, protocol), (&mut said.provider, provider), (&mut said.model, model)] {
                    if !given.is_empty() {
                        given.clone_into(field);
                    }
                }
                (said.response_id, said.response_model) = ids;
                said.usage = usage;
                let known = STOPS.iter().find(|(theirs, _)| *theirs == stop).map(|(_, ours)| *ours);
                said.stop_reason = known.or(said.stop_reason);
                let why = if failure.is_empty() { "pi does not say why" } else { failure };
                let kind = match known {
                    Some(StopReason::Error) => Some(ErrorKind::Provider),
                    Some(StopReason::Aborted) => Some(ErrorKind::Aborted),
                    _ => None,
                };
                said.error = kind.map(|kind| Error::new(kind, why));
            })
        }
        "system" | "tool" | "developer" => Err(message.field("role").refused("these are no messages of pi's")),
        _ => {
            let mut map = map.clone();
            map.extend(id.map(|id| ("id".to_owned(), json!(id))));
            as_custom(reading, map)
        }
    }
}

fn split_id(id: &str) -> (&str, &str) {
    id.split_once('|').unwrap_or((id, ""))
}

/// Blocks of a message; `of_model` for those that only a model's may have.
fn blocks(reading: &mut Reading<'_>, content: &At<'_>, protocol: &str, of_model: Option<()>) -> Read<Vec<ContentBlock>> {
    if let Value::String(text) = content.value {
        return Ok(text_of(text));
    }
    let mut blocks = Vec::new();
    for block in content.items("text or an array of blocks")? {
        block.object("a block such as {\"type\": \"text\", \"text\": \"…\"}")?;
        match (block.word("type")?, of_model) {
            ("text", _) => {
                // Of Responses, it is the item's id, alone or in JSON with a version.
                let given = block.text("textSignature")?;
                let known = match given.parse::<Value>() {
                    _ if given.is_empty() || protocol != "openai_responses" => signature(given),
                    Ok(Value::Object(mut map)) => {
                        map.shift_remove("v");
                        Some(Value::Object(map).to_string())
                    }
                    _ => Some(json!({ "id": given }).to_string()),
                };
                blocks.push(ContentBlock::Text { text: block.text("text")?.to_owned(), signature: known });
            }
            ("image", None) => {
                blocks.push(ContentBlock::Image(Media::data(block.word("data")?, block.word("mimeType")?)));
            }
            ("thinking", Some(())) => blocks.push(ContentBlock::Thinking {
                thinking: block.text("thinking")?.to_owned(),
                signature: signature(block.text("thinkingSignature")?),
                redacted: block.field("redacted").value == &json!(true),
            }),
            ("toolCall", Some(())) => {
                let (id, item) = split_id(block.word("id")?);
                let signed = signature(block.text("thoughtSignature")?).or(signature(item));
                blocks.push(call_of_value(id, block.word("name")?, block.field("arguments").value, signed));
            }
            (kind, _) => reading.lose_part(kind),
        }
    }
    Ok(blocks)
}

/// A cost of nothing is one that is not known.
fn usage(given: &Value) -> Usage {
    let count = |name: &str| given.get(name).and_then(Value::as_u64).unwrap_or_default();
    let price = |name: &str| given.get("cost").and_then(|cost| cost.get(name)?.as_f64()).unwrap_or_default();
    let cost = Cost {
        input: price("input"),
        output: price("output"),
        cache_read: price("cacheRead"),
        cache_write: price("cacheWrite"),
        total: price("total"),
    };
    Usage {
        input: count("input"),
        output: count("output"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
        cost: Some(cost).filter(|cost| cost.total > 0.0),
        ..Usage::default()
    }
    .totalled()
}

pub(super) fn export(messages: &[Arc<Message>], system: &str) -> Exported {
    let mut writing = Writing::new(Format::Pi);
    if !system.is_empty() {
        writing.lose(codes::SYSTEM_LEFT_OUT, "a session of pi has no system prompt: pi makes it anew");
    }
    let began = each(messages).map(|(_, message)| timestamp(message)).find(|time| *time > 0).unwrap_or_default();
    let text = serde_json::to_string(messages).unwrap_or_default();
    let (first, second) = (fnv1a(text.as_bytes()), fnv1a(&text.as_bytes().iter().rev().copied().collect::<Vec<u8>>()));
    let id = format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        first >> 32,
        first >> 16 & 0xffff,
        first & 0xfff,
        second >> 48 & 0xfff,
        second & 0xffff_ffff_ffff
    );
    writing.out.push(json!({ "type": "session", "version": 3, "id": id, "timestamp": iso_time(began), "cwd": "" }));
    let mut parent = Value::Null;
    let mut items = HashMap::new();
    for (index, message) in each(messages) {
        writing.begin(index, message);
        let written = match message {
            Message::User(user) => json!({ "role": "user", "content": write_blocks(&mut writing, &user.content) }),
            Message::Assistant(assistant) => write_assistant(&mut writing, assistant, &mut items),
            Message::ToolResult(result) => json!({
                "role": "toolResult",
                "toolCallId": items.get(&result.tool_call_id).unwrap_or(&result.tool_call_id),
                "toolName": result.tool_name,
                "content": write_blocks(&mut writing, &result.content),
                "details": result.details,
                "isError": result.is_error,
            }),
            Message::Custom(map) => Value::Object(map.clone()),
        };
        let mut written = writing.with_own(written, message);
        let own = usize::from(!writing.own_metadata(message).is_empty());
        if message.metadata().is_some_and(|metadata| metadata.as_object().is_none_or(|map| map.len() > own)) {
            writing.lose(codes::LOST_METADATA, "the message's metadata were left out");
        }
        if let (Some(map), time @ 1..) = (written.as_object_mut(), timestamp(message)) {
            map.insert("timestamp".into(), json!(time));
        }
        let id = message.id().map_or_else(|| format!("{:08x}", index + 1), str::to_owned);
        let time = iso_time(timestamp(message).max(began));
        writing.out.push(json!({ "type": "message", "id": id, "parentId": parent, "timestamp": time, "message": written }));
        parent = json!(id);
    }
    writing.end()
}

fn timestamp(message: &Message) -> u64 {
    match message {
        Message::User(message) => message.timestamp,
        Message::Assistant(message) => message.timestamp,
        Message::ToolResult(message) => message.timestamp,
        Message::Custom(map) => map.get("timestamp").and_then(Value::as_u64).unwrap_or_default(),
    }
}

fn write_assistant(writing: &mut Writing, message: &AssistantMessage, items: &mut HashMap<String, String>) -> Value {
    let api = APIS.iter().find(|(_, ours)| *ours == message.protocol).map_or(message.protocol.as_str(), |(theirs, _)| theirs);
    let is_responses = message.protocol == "openai_responses";
    let mut content = write_blocks(writing, &message.content);
    for block in content.iter_mut().filter(|_| is_responses) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, item, signed) = (text("id"), text("thoughtSignature"), text("textSignature"));
        let Some(map) = block.as_object_mut() else { continue };
        if !item.is_empty() {
            map.shift_remove("thoughtSignature");
            map.insert("id".into(), json!(format!("{id}|{item}")));
            items.insert(id.clone(), format!("{id}|{item}"));
        }
        if let Ok(Value::Object(known)) = signed.parse() {
            let mut versioned = Map::from_iter([("v".to_owned(), json!(1))]);
            versioned.extend(known);
            map.insert("textSignature".into(), json!(Value::Object(versioned).to_string()));
        }
    }
    let Usage { input, output, cache_read, cache_write, total, cost, .. } = &message.usage;
    let cost = cost.clone().unwrap_or_default();
    let stop = message.stop_reason.and_then(|reason| STOPS.iter().find(|(_, ours)| *ours == reason));
    if stop.is_none() {
        writing.lose(codes::LOST_STOP_REASON, "pi has no word for why the message ended; it says \"stop\"");
    }
    let price = |dollars: f64| serde_json::Number::from_f64(dollars).map_or(json!(0), Value::Number);
    let mut written = json!({
        "role": "assistant",
        "content": content,
        "api": api,
        "provider": message.provider,
        "model": message.model,
        "usage": {
            "input": input, "output": output, "cacheRead": cache_read, "cacheWrite": cache_write, "totalTokens": total,
            "cost": {
                "input": price(cost.input), "output": price(cost.output), "cacheRead": price(cost.cache_read),
                "cacheWrite": price(cost.cache_write), "total": price(cost.total),
            },
        },
        "stopReason": stop.map_or("stop", |(theirs, _)| theirs),
    });
    let failure = message.error.as_ref().map(|error| error.message().to_owned());
    let beside = [
        ("errorMessage", failure),
        ("responseId", message.response_id.clone()),
        ("responseModel", message.response_model.clone()),
    ];
    if let Some(map) = written.as_object_mut() {
        map.extend(beside.into_iter().filter_map(|(name, text)| Some((name.to_owned(), json!(text?)))));
    }
    written
}

fn write_blocks(writing: &mut Writing, blocks: &[ContentBlock]) -> Vec<Value> {
    let mut written = Vec::new();
    for block in blocks {
        let (mut value, signed) = match block {
            ContentBlock::Text { text, signature } => (json!({ "type": "text", "text": text }), ("textSignature", signature)),
            ContentBlock::Thinking { thinking, signature, redacted } => {
                let mut value = json!({ "type": "thinking", "thinking": thinking });
                if let (true, Some(map)) = (redacted, value.as_object_mut()) {
                    map.insert("redacted".into(), json!(true));
                }
                (value, ("thinkingSignature", signature))
            }
            ContentBlock::Image(media) => match media.as_data() {
                Some((data, mime_type)) => (json!({ "type": "image", "data": data, "mimeType": mime_type }), ("", &None)),
                None => {
                    writing.lose_addresses(std::slice::from_ref(block));
                    continue;
                }
            },
            ContentBlock::ToolCall(call) => {
                writing.lose_raw(call);
                let value = json!({ "type": "toolCall", "id": call.id, "name": call.name, "arguments": *call.arguments });
                (value, ("thoughtSignature", &call.signature))
            }
            ContentBlock::Opaque { .. } | ContentBlock::Document(_) | ContentBlock::Audio(_) => {
                writing.lose_block(block);
                continue;
            }
        };
        if let ((name, Some(signature)), Some(map)) = (signed, value.as_object_mut()) {
            map.insert(name.into(), json!(signature));
        }
        written.push(value);
    }
    written
}

/// A time in milliseconds since the epoch as pi writes it: `2024-12-03T14:00:00.000Z`.
fn iso_time(ms: u64) -> String {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    // Howard Hinnant's civil_from_days: years begin in March, in cycles of 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second, ms) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}
