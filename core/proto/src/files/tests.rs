use serde_json::{Value, json};

use super::*;
use crate::message::Message;

fn block(value: Value) -> Result<ContentBlock, String> {
    ContentBlock::given(value).map_err(|unread| unread.at("b").invalid_argument().message().to_owned())
}

#[test]
fn files_are_read_and_written() {
    for given in [
        json!({ "type": "image", "data": "aGk=", "mime_type": "image/png" }),
        json!({ "type": "image", "data": "", "mime_type": "" }),
        json!({ "type": "image", "url": "https://h/cat.png" }),
        json!({ "type": "image", "url": "gs://bucket/cat", "mime_type": "image/png" }),
        json!({ "type": "document", "data": "aGk=", "mime_type": "text/plain" }),
        json!({ "type": "document", "data": "aGk=", "mime_type": "text/plain", "name": "notes.txt" }),
        json!({ "type": "document", "url": "https://h/a.pdf", "mime_type": "application/pdf", "name": "a.pdf" }),
        json!({ "type": "audio", "data": "aGk=", "mime_type": "audio/wav" }),
        json!({ "type": "audio", "url": "https://h/a.mp3" }),
    ] {
        let read = block(given.clone()).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), given.to_string());
        let stored: ContentBlock = serde_json::from_value(given).unwrap();
        assert_eq!(stored, read);
    }
}

#[test]
fn an_address_of_data_is_data() {
    for given in [
        json!({ "type": "image", "url": "data:image/png;base64,aGk=" }),
        json!({ "type": "image", "data": "data:image/png;base64,aGk=" }),
        json!({ "type": "image", "data": "data:image/jpeg;base64,aGk=", "mime_type": "image/png" }),
    ] {
        assert_eq!(block(given).unwrap(), ContentBlock::Image(Media::data("aGk=", "image/png")));
    }
}

#[test]
fn wrong_files_are_refused_with_their_place() {
    for (given, why) in [
        (json!({ "type": "image", "mime_type": "image/png" }), "image block: data is missing; a file has \"data\" (base64) or"),
        (json!({ "type": "image", "data": "aGk=" }), "image block: mime_type is missing"),
        (json!({ "type": "image", "data": "a", "url": "https://h/a", "mime_type": "" }), "image block: it has both data and url"),
        (json!({ "type": "image", "url": "" }), "image block: url is empty"),
        (json!({ "type": "image", "url": "cat.png" }), "image block: url: expected an address such as \"https://…\", got \"cat"),
        (json!({ "type": "image", "url": "data:text/plain,hi" }), "image block: url: a data: URL must be base64"),
        (json!({ "type": "image", "data": "data:text/plain,hi" }), "image block: data: a data: URL must be base64"),
        (json!({ "type": "image", "url": "file:///a.png" }), "image block: url: no provider can read \"file:///a.png\", a file"),
        (json!({ "type": "image", "url": 5 }), "image block: url: expected text, got 5"),
        (json!({ "type": "document", "data": "", "mime_type": "text/plain" }), "document block: data is empty"),
        (json!({ "type": "audio", "data": "", "mime_type": "audio/wav" }), "audio block: data is empty"),
        (
            json!({ "type": "audio", "data": "aGk=", "mime_type": "audio/wav", "name": "a" }),
            "audio block: unknown field \"name\"",
        ),
        (json!({ "type": "document", "source": {} }), "document block: unknown field \"source\"; a file is \"data\" (base64)"),
    ] {
        let message = block(given.clone()).unwrap_err();
        assert!(message.starts_with(&format!("b: {why}")), "{given}: {message}");
    }
}

#[test]
fn a_stored_block_with_a_name_that_it_cannot_have_is_read() {
    let given =
        json!({ "role": "user", "content": [{ "type": "audio", "data": "aGk=", "mime_type": "audio/wav", "name": "a" }] });
    let message: Message = serde_json::from_value(given).unwrap();
    assert_eq!(message.metadata(), Some(&json!({ "unknown": { "content[0]": { "name": "a" } } })));
}

#[test]
fn bytes_become_the_block_of_their_type() {
    let kind = |bytes: &[u8], name: Option<&str>| {
        let made = json!(ContentBlock::from_bytes(bytes, None, name).unwrap());
        format!("{} {}", made["type"].as_str().unwrap(), made["mime_type"].as_str().unwrap())
    };
    assert_eq!(kind(b"\x89PNG\r\n\x1a\n", None), "image image/png");
    assert_eq!(kind(b"\x89PNG\r\n\x1a\n", Some("a.txt")), "image image/png", "the bytes are surer");
    assert_eq!(kind(b"RIFF\0\0\0\0WAVEfmt ", None), "audio audio/wav");
    assert_eq!(kind(b"RIFF\0\0\0\0WEBPVP8 ", None), "image image/webp");
    assert_eq!(kind(b"ID3\x04", None), "audio audio/mpeg");
    assert_eq!(kind(b"%PDF-1.4", None), "document application/pdf");
    assert_eq!(kind(b"a,b", Some("dir.d/Table.CSV")), "document text/csv");
    let unknown = ContentBlock::from_bytes(b"?", None, Some("a.xyz")).unwrap_err();
    assert_eq!(unknown.message(), "the type of the file \"a.xyz\" is not recognised; give its mime_type");
    assert_eq!(ContentBlock::from_bytes(b"", None, None).unwrap_err().message(), "the file is empty");
    let given = ContentBlock::from_bytes(b"?", Some("audio/x-odd"), None).unwrap();
    assert_eq!(given, ContentBlock::Audio(Media::data("Pw==", "audio/x-odd")));
}

#[test]
fn the_type_of_an_address_is_that_of_its_path() {
    let kind = |url: &str| Media::url(url).kind().to_owned();
    assert_eq!(kind("https://h.pdf"), "");
    assert_eq!(kind("https://h/a.pdf?x=b.png#c.gif"), "application/pdf");
    assert_eq!(kind("https://h/a"), "");
    assert_eq!(Media::url("https://h/a.pdf").with_mime_type("image/jpg").kind(), "image/jpeg");
}

#[test]
fn a_document_of_text_is_text() {
    let text =
        |data: &str, kind: &str| ContentBlock::Document(Media::data(data, kind).with_name("n")).as_text().map(Cow::into_owned);
    assert_eq!(text("aGk=", "text/plain; charset=utf-8").as_deref(), Some("[document: n]\nhi"));
    assert_eq!(text("aGk=", "application/json").as_deref(), Some("[document: n]\nhi"));
    assert_eq!(text("aGk=", "application/pdf"), None);
    assert_eq!(text("/w==", "text/plain"), None, "no UTF-8");
    assert_eq!(text("!", "text/plain"), None);
    let long = Media::data("aGk=", "application/pdf").with_name("ä".repeat(300));
    assert_eq!(long.file_name().chars().count(), 200);
    assert_eq!(Media::data("aGk=", "application/pdf").file_name(), "document.pdf");
}
