//! Full results, what is meant as one, and what is not.

use serde_json::{Value, json};

use crate::media::Media;
use crate::message::ContentBlock;
use crate::tool::ToolOutput;

fn text() -> Value {
    json!([{ "type": "text", "text": "boom" }])
}

#[test]
fn a_full_result_in_both_spellings() {
    for (value, is_error, terminate) in [
        (json!({ "content": text() }), false, false),
        (json!({ "content": text(), "is_error": true }), true, false),
        (json!({ "content": text(), "isError": true }), true, false),
        (json!({ "content": text(), "is_error": null, "terminate": true, "details": { "a": 1 } }), false, true),
        (json!({ "content": [], "isError": true }), true, false),
        (json!({ "content": text(), "is_error": false, "isError": true }), true, false),
        (json!({ "content": text(), "context": "of a search" }), false, false),
        // As MCP servers write it.
        (json!({ "_meta": { "a": 1 }, "content": text(), "structuredContent": { "a": 1 }, "isError": true }), true, false),
        // A message of a model, for example.
        (json!({ "id": "msg_1", "role": "assistant", "content": text(), "usage": {} }), false, false),
    ] {
        let (output, failed) = ToolOutput::from_value(value.clone());
        assert_eq!((failed, output.terminate), (is_error, terminate), "{value}");
        assert_eq!(output.details, value.get("details").cloned().unwrap_or_default(), "{value}");
        let blocks = value["content"].as_array().unwrap().len();
        assert_eq!(output.content, vec![ContentBlock::text("boom"); blocks], "{value}");
    }
}

#[test]
fn an_image_of_an_mcp_server_is_one() {
    let (output, _) = ToolOutput::from_value(json!({ "content": [
        { "type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": { "priority": 1 } },
    ] }));
    let (data, mime_type) = ("aGk=".to_owned(), "image/png".to_owned());
    assert_eq!(output.content, [ContentBlock::Image(Media::data(data, mime_type))]);
    let (output, _) = ToolOutput::from_value(json!({ "content": [
        { "type": "document", "data": "aGk=", "mimeType": "text/plain", "name": "a.txt" },
        { "type": "audio", "url": "https://h/a.mp3" },
    ] }));
    let document = Media::data("aGk=", "text/plain").with_name("a.txt");
    assert_eq!(output.content, [ContentBlock::Document(document), ContentBlock::Audio(Media::url("https://h/a.mp3"))]);
}

/// JSON of somebody else goes to the model unharmed.
#[test]
fn plain_json_is_text() {
    for value in [
        json!({ "content": "The page.", "title": "A page" }),
        json!({ "content": "The page." }),
        json!({ "content": "The page.", "details": { "bytes": 8 } }),
        json!({ "content": [] , "total": 0 }),
        json!({ "content": ["one", "two"] }),
        json!({ "content": [{ "text": "one" }, { "text": "two" }] }),
        json!({ "content": [{ "type": "paragraph", "text": "one" }] }),
        json!({ "type": "doc", "content": [{ "type": "text", "marks": [] }] }),
        json!({ "content": [{ "type": "resource_link", "uri": "file:///a" }], "isError": false }),
        json!({ "content": [{ "type": "text", "text": "a" }, { "type": "resource", "resource": {} }], "isError": false }),
        json!({ "content": [{ "type": "text", "text": "a" }, { "type": "audio", "data": "" }], "structuredContent": {} }),
        json!({ "contents": [{ "uri": "file:///a", "text": "a" }] }),
        json!({ "error": "no such file" }),
        json!({ "error": true }),
        json!({ "error": { "code": 404 }, "content": null }),
        json!({ "isError": false }),
        json!({ "isError": false, "result": { "a": 1 } }),
        json!({ "is_error": false, "result": "done", "subtype": "success" }),
        json!({ "isError": true, "code": 5, "result": "done" }),
        json!({ "terminated": true }),
        json!({ "terminated": true, "pid": 7, "output": "log" }),
        json!({ "details": "of an order" }),
        json!({ "text": "a", "message": "b" }),
        json!({ "context": "of a search", "isError": false }),
        json!({}),
    ] {
        assert_eq!(ToolOutput::check(&value), Ok(()), "{value}");
        let (output, is_error) = ToolOutput::from_value(value.clone());
        assert_eq!((output.text(), is_error, output.terminate), (value.to_string(), false, false), "{value}");
    }
}

#[test]
fn found_r1_what_is_meant_as_a_result_and_is_none() {
    const BLOCKS: &str = "expected an array of blocks such as [{\"type\": \"text\", \"text\": \"…\"}]";
    const ONLY: &str = "content[0]: a result has text, image, document and audio blocks only, not";
    for (value, why) in [
        (json!({ "content": text(), "is_error": "yes" }), r#"is_error: expected true or false, got "yes""#),
        (json!({ "content": text(), "isError": 1 }), "isError: expected true or false, got 1"),
        (json!({ "content": text(), "terminate": "true" }), r#"terminate: expected true or false, got "true""#),
        (json!({ "content": text(), "isErr": true }), r#"unknown field "isErr"; did you mean "isError"?"#),
        (json!({ "content": text(), "is_eror": true }), r#"unknown field "is_eror"; did you mean "is_error"?"#),
        (json!({ "content": text(), "IsError": true }), r#"unknown field "IsError"; did you mean "isError"?"#),
        (json!({ "content": text(), "error": true }), r#"unknown field "error"; did you mean "is_error"?"#),
        (json!({ "content": text(), "detail": 1 }), r#"unknown field "detail"; did you mean "details"?"#),
        (json!({ "contents": text(), "is_error": true }), r#"unknown field "contents"; did you mean "content"?"#),
        (json!({ "Content": text(), "terminate": true }), r#"did you mean "content"?"#),
        (json!({ "text": "boom", "is_error": true }), r#"unknown field "text"; did you mean "content"?"#),
        (json!({ "isError": true, "message": "boom" }), r#"unknown field "message"; did you mean "content"?"#),
        (json!({ "isError": true, "error": "E1", "message": "boom" }), r#"unknown field "error"; did you mean "content"?"#),
        (json!({ "content": "text", "terminate": true }), &format!("content: {BLOCKS}, got \"text\"")),
        (json!({ "content": "text", "is_error": false }), "content: expected an array of blocks"),
        (json!({ "content": { "type": "text", "text": "a" }, "isError": true }), "content: expected an array of blocks"),
        (json!({ "content": "text", "terminated": true }), r#"unknown field "terminated"; did you mean "terminate"?"#),
        (json!({ "is_error": true }), "content is missing; it is an array of blocks such as"),
        (json!({ "is_error": "yes" }), "content is missing"),
        (json!({ "isError": true, "details": {} }), "content is missing"),
        (json!({ "content": ["boom"], "is_error": true }), r#"content[0]: expected a block such as"#),
        (json!({ "content": [{ "typ": "text" }] }), r#"content[0]: unknown field "typ"; did you mean "type"?"#),
        (
            json!({ "content": [{ "text": "boom" }], "isError": true }),
            "content[0]: type is missing; a result has text, image, document and audio",
        ),
        (json!({ "content": [{ "type": "text" }] }), "content[0]: text block: text is missing"),
        (json!({ "content": [{ "type": "text", "text": 1 }] }), "content[0]: text block: text: expected text, got 1"),
        (json!({ "content": [{ "type": "image", "source": {} }] }), "content[0]: image block: data is missing"),
        (json!({ "content": [{ "type": "resource", "resource": {} }], "isError": true }), &format!("{ONLY} \"resource\"")),
        (
            json!({ "content": [{ "type": "text", "text": "a" }, { "type": "video", "data": "" }], "isError": true }),
            r#"content[1]: a result has text, image, document and audio blocks only, not "video""#,
        ),
        (json!({ "content": [{ "type": "audio", "data": "" }], "isError": true }), "content[0]: audio block: data is empty"),
        (json!({ "content": [{ "type": "thinking", "thinking": "" }], "isError": true }), &format!("{ONLY} \"thinking\"")),
    ] {
        let refused = ToolOutput::check(&value).expect_err(&value.to_string());
        let (output, is_error) = ToolOutput::from_value(value.clone());
        assert!(is_error && !output.terminate, "{value}");
        assert_eq!(output.text(), format!("the tool's result: {refused}"));
        assert!(refused.contains(why), "{value}: {refused}");
        assert!(refused.ends_with(" (return JSON that is no full result as text)"), "{refused}");
    }
}

/// By the general distance, for all short names.
#[test]
fn near_names_are_one_edit_apart() {
    let mut names = vec![String::new()];
    for length in 0..4 {
        let longest: Vec<String> = names.iter().filter(|name| name.chars().count() == length).cloned().collect();
        names.extend(longest.iter().flat_map(|name| ['a', 'b', 'é'].map(|c| format!("{name}{c}"))));
    }
    assert_eq!(names.len(), 1 + 3 + 9 + 27 + 81);
    for (name, field) in names.iter().flat_map(|name| names.iter().map(move |field| (name, field))) {
        assert_eq!(super::is_near(name, field), strsim::damerau_levenshtein(name, field) <= 1, "{name} {field}");
    }
}
