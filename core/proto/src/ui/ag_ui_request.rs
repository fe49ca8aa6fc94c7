//! The requests of AG-UI: `RunAgentInput`. Its messages are much like those of OpenAI's Chat Completions, and are read as such.
//! `resume` answers interrupts; the output of a tool that the browser has run is a message with the role `tool`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::request::{UiRequest, failed, text};
use crate::conversion::{Format, import};
use crate::error::Error;
use crate::json_error::shown;
use crate::message::Message;
use crate::suspension::Decision;

pub(super) fn read(body: &Map<String, Value>) -> Result<UiRequest, Error> {
    let Some(messages) = body.get("messages").and_then(Value::as_array) else {
        return Err(Error::invalid_argument("the request: /messages: expected an array of messages"));
    };
    let chat: Vec<Value> = messages.iter().filter_map(as_chat).collect();
    let imported = import(Format::OpenaiChat, &Value::Array(chat), None)?;
    let mut request = UiRequest {
        id: text(body, "threadId")?,
        run_id: text(body, "runId")?,
        history: imported.messages,
        losses: imported.losses,
        ..UiRequest::default()
    };
    let resumed = match body.get("resume") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(_) => return Err(Error::invalid_argument("the request: /resume: expected an array")),
    };
    let outputs = messages.iter().rev().map_while(output);
    request.answers = outputs.collect();
    for (at, entry) in resumed.iter().enumerate() {
        let why = |why: String| Error::invalid_argument(format!("the request: /resume/{at}: {why}"));
        request.answers.push(decision(entry).map_err(why)?);
    }
    if request.answers.is_empty() {
        request.take_prompt();
        // Such a client cuts its own messages, and sends the last one that stays again.
        request.is_edit = true;
        let last = messages.iter().rev().find(|message| message.get("role").is_some_and(|role| role == "user"));
        if let (Some(prompt), Some(id)) = (&mut request.prompt, last.and_then(|last| last.get("id")?.as_str()))
            && let Message::User(user) = Arc::make_mut(prompt)
        {
            user.id = Some(id.to_owned());
        }
    }
    Ok(request)
}

/// A message as Chat Completions has it. The browser's own kinds are none, nor is a system prompt, which is the server's.
fn as_chat(message: &Value) -> Option<Value> {
    let mut map = message.as_object()?.clone();
    match map.get("role")?.as_str()? {
        "system" | "developer" | "reasoning" | "activity" => return None,
        _ => {}
    }
    for (theirs, chat) in [("toolCalls", "tool_calls"), ("toolCallId", "tool_call_id")] {
        if let Some(value) = map.shift_remove(theirs) {
            map.insert(chat.to_owned(), value);
        }
    }
    for name in ["id", "subagentRunId", "encryptedValue", "metadata", "error"] {
        map.shift_remove(name);
    }
    if let Some(Value::Array(parts)) = map.get_mut("content") {
        parts.iter_mut().for_each(as_chat_part);
    }
    Some(Value::Object(map))
}

fn as_chat_part(part: &mut Value) {
    let source = |name: &str| part.get("source")?.get(name)?.as_str();
    let kind = part.get("type").and_then(Value::as_str);
    if let (Some("image" | "audio" | "document"), Some(value)) = (kind, source("value")) {
        let url = match (source("type"), source("mimeType")) {
            (Some("data"), Some(mime_type)) => format!("data:{mime_type};base64,{value}"),
            _ => value.to_owned(),
        };
        *part = match kind {
            Some("image") => json!({ "type": "image_url", "image_url": { "url": url } }),
            // The type of the data says which it is.
            _ => json!({ "type": "file", "file": { "file_data": url } }),
        };
    }
}

/// What a tool in the browser has returned, at the end of the messages.
fn output(message: &Value) -> Option<(String, Decision)> {
    let text = |name: &str| Some(message.get(name)?.as_str()?.to_owned());
    let id = text("role").filter(|role| role == "tool").and_then(|_| text("toolCallId"))?;
    let result = match text("error") {
        Some(error) => failed(&error),
        None => message.get("content").cloned().unwrap_or_default(),
    };
    Some((id, Decision::result(result)))
}

/// The answer to an interrupt, whose id is that of its call.
fn decision(entry: &Value) -> Result<(String, Decision), String> {
    const PAYLOAD: &str = r#"{"approved": true}, perhaps with "editedArgs", or {"approved": false}, perhaps with "reason""#;
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let id = text("interruptId").ok_or("interruptId is missing")?.to_owned();
    if text("status") == Some("cancelled") {
        return Ok((id, Decision::denied()));
    }
    let payload = entry.get("payload").unwrap_or(&Value::Null);
    let approved = payload.get("approved").unwrap_or(payload).as_bool();
    let decision = match (approved, payload.get("editedArgs"), payload.get("reason").and_then(Value::as_str)) {
        (Some(true), None | Some(Value::Null), _) => Decision::Approve,
        (Some(true), Some(Value::Object(arguments)), _) => Decision::Arguments { arguments: arguments.clone() },
        (Some(true), Some(other), _) => return Err(format!("payload: editedArgs: expected an object, got {}", shown(other))),
        (Some(false), _, Some(reason)) if !reason.trim().is_empty() => Decision::deny(reason),
        (Some(false), ..) => Decision::denied(),
        (None, ..) => return Err(format!("payload: expected {PAYLOAD}, got {}", shown(payload))),
    };
    Ok((id, decision))
}
