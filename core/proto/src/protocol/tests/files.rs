//! Files in the requests of the four formats, as the services' documentation has them.

use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::request::ModelOptions;

/// The part that stands for a file in a message of a user behind a text.
fn part(spec: Value, file: Value) -> Value {
    let body = body(spec, json!([{ "role": "user", "content": [{ "type": "text", "text": "?" }, file] }]));
    let lists = ["/messages/0/content/1", "/input/0/content/1", "/contents/0/parts/1"];
    lists.into_iter().find_map(|path| body.pointer(path)).cloned().unwrap_or(body)
}

fn body(spec: Value, messages: Value) -> Value {
    Fixture::new(spec).body(messages, ModelOptions::default(), Vec::new())
}

fn claude() -> Value {
    json!({ "provider": "anthropic", "id": "claude-sonnet-4-5" })
}

fn responses() -> Value {
    json!({ "provider": "openai", "id": "gpt-5" })
}

fn chat() -> Value {
    json!({ "provider": "openai", "id": "gpt-audio", "protocol": "openai_chat" })
}

fn gemini() -> Value {
    json!({ "provider": "google", "id": "gemini-3-pro-preview" })
}

/// Anthropic's marker of what is cached stands on the last block.
fn unmarked(mut part: Value) -> Value {
    part.as_object_mut().unwrap().shift_remove("cache_control");
    part
}

#[test]
fn an_image_at_an_address() {
    let image = json!({ "type": "image", "url": "https://h/cat.png" });
    let source = json!({ "type": "url", "url": "https://h/cat.png" });
    assert_eq!(unmarked(part(claude(), image.clone())), json!({ "type": "image", "source": source }));
    let expected = json!({ "type": "input_image", "image_url": "https://h/cat.png", "detail": "auto" });
    assert_eq!(part(responses(), image.clone()), expected);
    assert_eq!(part(chat(), image.clone()), json!({ "type": "image_url", "image_url": { "url": "https://h/cat.png" } }));
    let file = json!({ "mimeType": "image/png", "fileUri": "https://h/cat.png" });
    assert_eq!(part(gemini(), image), json!({ "fileData": file }));
    let untyped = json!({ "type": "image", "url": "https://h/cat" });
    assert_eq!(part(gemini(), untyped), json!({ "fileData": { "fileUri": "https://h/cat" } }));
}

#[test]
fn a_document() {
    let pdf = json!({ "type": "document", "data": "JVBERi0=", "mime_type": "application/pdf", "name": "a.pdf" });
    let source = json!({ "type": "base64", "media_type": "application/pdf", "data": "JVBERi0=" });
    let expected = json!({ "type": "document", "source": source, "title": "a.pdf" });
    assert_eq!(unmarked(part(claude(), pdf.clone())), expected);
    let url = "data:application/pdf;base64,JVBERi0=";
    assert_eq!(part(responses(), pdf.clone()), json!({ "type": "input_file", "filename": "a.pdf", "file_data": url }));
    assert_eq!(part(chat(), pdf.clone()), json!({ "type": "file", "file": { "filename": "a.pdf", "file_data": url } }));
    assert_eq!(part(gemini(), pdf), json!({ "inlineData": { "mimeType": "application/pdf", "data": "JVBERi0=" } }));
    let unnamed = json!({ "type": "document", "data": "JVBERi0=", "mime_type": "application/pdf" });
    assert_eq!(part(chat(), unnamed)["file"]["filename"], "document.pdf");
}

#[test]
fn a_document_at_an_address() {
    let pdf = json!({ "type": "document", "url": "https://h/a.pdf", "name": "a.pdf" });
    let source = json!({ "type": "url", "url": "https://h/a.pdf" });
    let expected = json!({ "type": "document", "source": source, "title": "a.pdf" });
    assert_eq!(unmarked(part(claude(), pdf.clone())), expected);
    assert_eq!(part(responses(), pdf.clone()), json!({ "type": "input_file", "file_url": "https://h/a.pdf" }));
    let file = json!({ "mimeType": "application/pdf", "fileUri": "https://h/a.pdf" });
    assert_eq!(part(gemini(), pdf.clone()), json!({ "fileData": file }));
    let router = json!({ "provider": "openrouter", "id": "openai/gpt-5" });
    let expected = json!({ "type": "file", "file": { "filename": "a.pdf", "file_data": "https://h/a.pdf" } });
    assert_eq!(part(router, pdf.clone()), expected);
    let line =
        "(a document was here: \"a.pdf\", application/pdf, https://h/a.pdf; this model reads documents only by their data)";
    let content = body(chat(), json!([{ "role": "user", "content": [pdf] }]))["messages"][0]["content"].clone();
    assert_eq!(content, line, "OpenAI's Chat takes no address");
}

#[test]
fn a_text() {
    let text = json!({ "type": "document", "data": "YSxi", "mime_type": "text/csv", "name": "a.csv" });
    let source = json!({ "type": "text", "media_type": "text/plain", "data": "a,b" });
    let expected = json!({ "type": "document", "source": source, "title": "a.csv" });
    assert_eq!(unmarked(part(claude(), text.clone())), expected);
    assert_eq!(part(responses(), text.clone()), json!({ "type": "input_text", "text": "[document: a.csv]\na,b" }));
    assert_eq!(part(gemini(), text.clone()), json!({ "text": "[document: a.csv]\na,b" }));
    let said = json!([{ "role": "user", "content": [{ "type": "text", "text": "?" }, text.clone()] }]);
    let plain = body(chat(), said)["messages"][0]["content"].clone();
    assert_eq!(plain, "?\n[document: a.csv]\na,b", "not every server takes parts");
    let other =
        json!({ "provider": "p", "id": "m", "protocol": "anthropic", "base_url": "http://h", "quirks": { "documents": "no" } });
    assert_eq!(unmarked(part(other, text)), json!({ "type": "text", "text": "[document: a.csv]\na,b" }));
}

#[test]
fn audio() {
    let audio = |kind: &str| json!({ "type": "audio", "data": "QQ==", "mime_type": kind });
    let wav = json!({ "type": "input_audio", "input_audio": { "data": "QQ==", "format": "wav" } });
    assert_eq!(part(chat(), audio("audio/x-wav")), wav);
    assert_eq!(part(chat(), audio("audio/mp3"))["input_audio"]["format"], "mp3");
    let inline = json!({ "inlineData": { "mimeType": "audio/wav", "data": "QQ==" } });
    assert_eq!(part(gemini(), audio("audio/wav")), inline);
    let none = json!({ "type": "text", "text": "(audio was here: audio/wav; this model hears no audio)" });
    assert_eq!(unmarked(part(claude(), audio("audio/wav"))), none);
    assert_eq!(part(responses(), audio("audio/wav"))["text"], none["text"]);
}

#[test]
fn in_results() {
    let call =
        json!({ "role": "assistant", "content": [{ "type": "tool_call", "id": "abcdefghi", "name": "t", "arguments": {} }] });
    let result = json!({ "role": "tool_result", "tool_call_id": "abcdefghi", "tool_name": "t", "content": [
        { "type": "document", "data": "JVBERi0=", "mime_type": "application/pdf" },
        { "type": "audio", "data": "QQ==", "mime_type": "audio/wav" },
    ] });
    let of = |spec: Value| body(spec, json!([{ "role": "user", "content": "?" }, call, result]));
    let claude = of(claude());
    let content = &claude["messages"][2]["content"][0]["content"];
    assert_eq!(content[0]["text"], "(audio was here: audio/wav; this model hears no audio)");
    assert_eq!(content[1]["type"], "document");
    let output = of(responses())["input"][2]["output"].clone();
    assert_eq!(output[1]["type"], "input_file");
    let gemini = of(gemini());
    let parts = &gemini["contents"][2]["parts"];
    assert_eq!(parts[0]["functionResponse"]["parts"][0]["inlineData"]["mimeType"], "application/pdf");
    assert_eq!(parts[0]["functionResponse"]["response"]["output"], "see the file");
    let behind = &gemini["contents"][3]["parts"][0];
    assert_eq!(behind["inlineData"]["mimeType"], "audio/wav", "none is taken in a response");
    let chat = of(chat());
    assert_eq!(chat["messages"][2]["content"], "the file follows");
    let kinds: Vec<&Value> = chat["messages"][3]["content"].as_array().unwrap().iter().map(|part| &part["type"]).collect();
    assert_eq!(kinds, ["file", "input_audio"]);
}
