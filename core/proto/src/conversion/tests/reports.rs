//! What is not carried over is reported, with the index of the message.

use std::sync::Arc;

use serde_json::{Value, json};

use super::codes;
use crate::conversion::{Author, Format, Imported, export, import};
use crate::message_reader::read_history;

const URL: &str = "https://example.com/cat.mp4";
const NO_URL: &str = "cat.png";

/// What reading this reports, behind a first message.
fn reported(format: Format, message: &Value) -> Vec<(usize, &'static str)> {
    let first = match format {
        Format::Gemini => json!({ "role": "user", "parts": [{ "text": "hi" }] }),
        Format::AiSdk => json!({ "role": "user", "parts": [{ "type": "text", "text": "hi" }] }),
        _ => json!({ "role": "user", "content": "hi" }),
    };
    let Imported { losses, .. } = import(format, &json!([first, message]), None).unwrap();
    losses.iter().map(|loss| (loss.index, loss.code)).collect()
}

#[test]
fn of_what_is_read() {
    let user = |part: Value| json!({ "role": "user", "content": [part] });
    let said = |part: Value| json!({ "role": "assistant", "content": [part] });
    let ui = |role: &str, part: Value| json!({ "id": "1", "role": role, "parts": [part] });
    let tool = |state: &str| json!({ "type": "tool-t", "toolCallId": "1", "state": state, "input": {} });
    for (format, message, code) in [
        (Format::OpenaiChat, user(json!({ "type": "image_url", "image_url": { "url": NO_URL } })), "image_url"),
        (Format::OpenaiChat, user(json!({ "type": "input_audio", "input_audio": {} })), "file"),
        (Format::OpenaiChat, user(json!({ "type": "file", "file": { "file_id": "f" } })), "file"),
        (Format::OpenaiChat, user(json!({ "type": "file", "file": { "file_data": NO_URL } })), "file"),
        (Format::OpenaiChat, user(json!({ "type": "hologram" })), "part"),
        (Format::OpenaiChat, json!({ "role": "developer", "content": "Be brief." }), "system_moved"),
        (Format::OpenaiChat, json!({ "role": "assistant", "content": "x", "annotations": [{}] }), "citations"),
        (Format::OpenaiChat, json!({ "role": "assistant", "content": "x", "audio": { "id": "a" } }), "file"),
        (Format::OpenaiResponses, user(json!({ "type": "input_image", "image_url": NO_URL })), "image_url"),
        (Format::OpenaiResponses, user(json!({ "type": "input_file", "file_id": "f" })), "file"),
        (Format::OpenaiResponses, said(json!({ "type": "output_text", "text": "x", "annotations": [{}] })), "citations"),
        (Format::OpenaiResponses, json!({ "type": "item_reference", "id": "rs_1" }), "part"),
        (Format::Anthropic, user(json!({ "type": "image", "source": { "type": "url", "url": NO_URL } })), "image_url"),
        (Format::Anthropic, user(json!({ "type": "document", "source": {} })), "file"),
        (Format::Anthropic, user(json!({ "type": "document", "source": { "type": "file", "file_id": "f" } })), "file"),
        (Format::Anthropic, said(json!({ "type": "text", "text": "x", "citations": [{}] })), "citations"),
        (
            Format::Gemini,
            json!({ "role": "user", "parts": [{ "fileData": { "fileUri": URL, "mimeType": "video/mp4" } }] }),
            "file",
        ),
        (Format::Gemini, json!({ "role": "user", "parts": [{ "inlineData": { "mimeType": "video/mp4", "data": "" } }] }), "file"),
        (Format::AiSdk, ui("user", json!({ "type": "file", "mediaType": "image/png", "url": NO_URL })), "image_url"),
        (Format::AiSdk, ui("user", json!({ "type": "file", "mediaType": "video/mp4", "url": URL })), "file"),
        (Format::AiSdk, ui("assistant", tool("input-streaming")), "unfinished_call"),
        (Format::AiSdk, ui("assistant", tool("approval-requested")), "approval"),
    ] {
        assert_eq!(reported(format, &message), [(1, code)], "{message}");
    }
    // What says nothing is not reported: where caches begin, and fields that are null or empty.
    let quiet = user(json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" }, "citations": null }));
    assert_eq!(reported(Format::Anthropic, &quiet), []);
    let twice = json!({ "id": "1", "role": "user", "parts": [] });
    let read = import(Format::AiSdk, &json!([twice, twice]), None).unwrap();
    assert_eq!((codes(&read.losses), read.messages[1].id()), (vec![(1, "id")], None));
}

/// What a format cannot hold of files.
#[test]
fn of_files_that_are_written() {
    let messages = json!([
        { "role": "user", "content": [
            { "type": "image", "url": "https://h/a.png" },
            { "type": "document", "url": "https://h/a.pdf", "mime_type": "application/pdf", "name": "a.pdf" },
            { "type": "document", "data": "YQ==", "mime_type": "text/csv", "name": "a.csv" },
            { "type": "audio", "data": "aGk=", "mime_type": "audio/wav" },
            { "type": "audio", "url": "https://h/a.mp3" },
        ] },
        { "role": "assistant", "content": [
            { "type": "tool_call", "id": "1", "name": "t", "arguments": {} },
        ] },
        { "role": "tool_result", "tool_call_id": "1", "tool_name": "t", "content": [
            { "type": "document", "data": "aGk=", "mime_type": "application/pdf" },
            { "type": "image", "url": "https://h/a.png" },
        ] },
    ]);
    let messages: Vec<_> = read_history(messages).unwrap().into_iter().map(Arc::new).collect();
    for (format, expected) in [
        (Format::OpenaiChat, "0 file, 2 image_moved"),
        (Format::OpenaiResponses, "0 field, 0 file, 0 file"),
        (Format::Anthropic, "0 field, 0 file, 0 file"),
        (Format::Gemini, "0 field, 0 field"),
        (Format::AiSdk, "2 image_url"),
        (Format::Pi, "0 image_url, 0 file, 0 file, 0 file, 0 file, 1 stop_reason, 2 file, 2 image_url"),
    ] {
        let written = export(format, &messages, "");
        let losses: Vec<String> = written.losses.iter().map(|loss| format!("{} {}", loss.index, loss.code)).collect();
        assert_eq!(losses.join(", "), expected, "{} {:#}", format.as_str(), written.messages);
    }
}

/// A message of each kind with what few formats can hold.
fn rich() -> Vec<Arc<crate::message::Message>> {
    let messages = json!([
        { "role": "user", "content": "hi", "id": "m", "metadata": { "k": 1 } },
        { "role": "note", "by": "me" },
        {
            "role": "assistant", "protocol": "other", "stop_reason": "aborted",
            "error": { "kind": "aborted", "message": "stop" }, "content": [
            { "type": "thinking", "thinking": "hm", "signature": "s" },
            { "type": "text", "text": "x" },
            { "type": "opaque", "protocol": "other", "data": {} },
            { "type": "tool_call", "id": "1", "name": "t", "raw_arguments": "{", "signature": "s" },
        ] },
        { "role": "tool_result", "tool_call_id": "1", "tool_name": "t", "is_error": true, "details": { "d": 1 }, "content": [
            { "type": "image", "data": "aGk=", "mime_type": "image/png" },
        ] },
        { "role": "tool_result", "tool_call_id": "9", "tool_name": "t", "content": "" },
    ]);
    read_history(messages).unwrap().into_iter().map(Arc::new).collect()
}

#[test]
fn of_what_is_written() {
    for (format, expected) in [
        (Format::OpenaiChat, "0 metadata, 1 custom_message, 2 error, 2 thinking, 2 opaque, 3 details, 3 is_error, 3 image_moved"),
        (Format::OpenaiResponses, "0 metadata, 1 custom_message, 2 error, 2 thinking, 2 opaque, 3 details, 3 is_error"),
        (
            Format::Anthropic,
            "0 system_prompt, 0 metadata, 1 custom_message, 2 error, 2 thinking, 2 opaque, 2 raw_arguments, 3 details",
        ),
        (
            Format::Gemini,
            "0 system_prompt, 0 metadata, 1 custom_message, 2 error, 2 thinking, 2 opaque, 2 raw_arguments, 3 details",
        ),
        (Format::AiSdk, "1 custom_message, 2 error, 2 opaque, 3 details, 3 part, 4 stray_result"),
        (Format::Pi, "0 system_prompt, 0 metadata, 2 opaque, 2 raw_arguments"),
    ] {
        let written = export(format, &rich(), "Be brief.");
        let losses: Vec<String> = written.losses.iter().map(|loss| format!("{} {}", loss.index, loss.code)).collect();
        assert_eq!(losses.join(", "), expected, "{} {:#}", format.as_str(), written.messages);
    }
    // Images of results stand behind all results.
    let written = export(Format::OpenaiChat, &rich(), "").messages;
    let roles: Vec<&str> = written.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user"]);
}

#[test]
fn who_wrote_it_counts_where_the_messages_do_not_say_it() {
    let author = Author { provider: "p".into(), protocol: "custom".into(), model: "m".into() };
    let of = |format, message: Value| {
        let read = import(format, &json!([message]), Some(&author)).unwrap();
        let message = read.messages[0].as_assistant().unwrap().clone();
        [message.provider, message.protocol, message.model]
    };
    let said = json!({ "role": "assistant", "content": "x" });
    assert_eq!(of(Format::Anthropic, said.clone()), ["p", "anthropic", "m"]);
    assert_eq!(of(Format::Pi, said), ["p", "custom", "m"]);
    let known =
        json!({ "role": "assistant", "content": "x", "api": "google-vertex", "provider": "google-vertex", "model": "gemini" });
    assert_eq!(of(Format::Pi, known), ["google-vertex", "gemini", "gemini"]);
    let said = json!({ "role": "assistant", "content": "x", "model": "claude" });
    assert_eq!(of(Format::Anthropic, said), ["anthropic", "anthropic", "claude"]);
}
