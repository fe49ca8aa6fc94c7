//! Which chunks are refused, and with which words.

use serde_json::json;

use super::*;
use crate::error::ErrorKind;
use crate::usage::Cost;

fn wrong(chunk: Value) -> String {
    ChunkReader::new("own").read(&chunk).unwrap_err()
}

#[test]
fn a_field_that_would_be_lost_is_refused() {
    let call = |fields: Value| json!({ "tool_call": fields });
    for (chunk, text) in [
        (
            call(json!({ "id": "a", "name": "t", "args": { "n": 1 } })),
            "tool_call: unknown field \"args\"; known are id, name, arguments",
        ),
        (
            call(json!({ "id": "a", "name": "t", "argument": "{}" })),
            "tool_call: unknown field \"argument\"; did you mean \"arguments\"?",
        ),
        (
            json!({ "type": "text_delta", "contentIndex": 1, "delta": "x" }),
            "text_delta: unknown field \"contentIndex\"; did you mean \"content_index\"?",
        ),
        (
            json!({ "type": "thinking_delta", "text": "x", "delta": "" }),
            "thinking_delta: unknown field \"text\"; known are type, content_index, delta",
        ),
        (
            json!({ "type": "tool_call_start", "id": "a", "name": "t", "arguments": {} }),
            "tool_call_start: unknown field \"arguments\"; known are type, content_index, id, name",
        ),
        (
            json!({ "type": "text_start", "signature": "s" }),
            "text_start: unknown field \"signature\"; known are type, content_index",
        ),
        (
            json!({ "type": "thinking_end", "signatures": "s" }),
            "thinking_end: unknown field \"signatures\"; did you mean \"signature\"?",
        ),
        (json!({ "usage": { "inputs": 5 } }), "usage: unknown field \"inputs\"; did you mean \"input\"?"),
        (
            json!({ "error": { "kind": "server", "message": "x", "retriable": true } }),
            "error: unknown field \"retriable\"; did you mean \"retryable\"?",
        ),
        (json!({ "error": { "kind": "server", "message": 1 } }), "error: message: expected text, got 1"),
    ] {
        assert_eq!(wrong(chunk), text);
    }
}

#[test]
fn an_event_of_another_run_is_a_chunk() {
    let mut chunks = ChunkReader::new("own");
    let mut read = |mut event: Value| {
        for (field, value) in [("run_id", json!("run_1")), ("seq", json!(7)), ("turn", json!(1)), ("content_index", json!(0))] {
            event[field] = value;
        }
        chunks.read(&event).unwrap();
    };
    read(json!({ "type": "text_start" }));
    read(json!({ "type": "text_delta", "delta": "x" }));
    read(json!({ "type": "text_end", "block": { "type": "text", "text": "x" } }));
}

#[test]
fn the_names_of_fields_are_those_of_what_is_read() {
    let names = |value: Value| value.as_object().unwrap().keys().cloned().collect::<Vec<String>>();
    let usage = Usage { cost: Some(Cost::default()), ..Usage::default() };
    assert_eq!(names(json!(usage)), USAGE);
    let given = json!({ "kind": "server", "message": "", "provider": "p", "http_status": 500, "request_id": "r",
                        "retryable": true, "retry_after_ms": 1 });
    let error: Error = serde_json::from_value(given).unwrap();
    assert_eq!(error.kind(), ErrorKind::Server);
    assert_eq!(names(json!(error)), ERROR);
}

#[test]
fn found_a_misspelt_field_of_the_usage_at_the_end_is_refused() {
    let why = ChunkReader::new("p").read(&json!({ "end": { "usage": { "cacheRead": 1 } } })).unwrap_err();
    assert_eq!(why, "end: usage: unknown field \"cacheRead\"; did you mean \"cache_read\"?");
}
