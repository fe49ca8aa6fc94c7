use serde_json::{Value, json};

use crate::delta::{BlockStart, Delta};
use crate::error::ErrorKind;
use crate::protocol::tests::fixture::Fixture;
use crate::request::{ModelOptions, Request, ThinkingLevel, ToolDescription};
use crate::usage::{StopReason, Usage};

fn fixture() -> Fixture {
    Fixture::new(json!({ "provider": "relay", "id": "anthropic/claude-x", "base_url": "http://h" }))
}

#[test]
fn the_whole_request() {
    let options: ModelOptions = serde_json::from_value(json!({ "temperature": 0.0 })).unwrap();
    let tool = ToolDescription { name: "t".into(), description: "d".into(), parameters: json!({ "type": "object" }).into() };
    let messages = serde_json::from_value(json!([{ "role": "user", "content": "hi" }])).unwrap();
    let body = fixture().encode(&Request {
        system_prompt: "Be brief.".into(),
        messages,
        tools: vec![tool].into(),
        options,
        thinking_level: ThinkingLevel::Low,
        ..Request::default()
    });
    let expected = json!({
        "model": { "provider": "anthropic", "id": "claude-x" },
        "context": {
            "system_prompt": "Be brief.",
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi" }], "timestamp": 0 }],
            "tools": [{ "name": "t", "description": "d", "parameters": { "type": "object" } }],
        },
        "options": { "temperature": 0.0, "thinking_level": "low" },
    });
    assert_eq!(body.to_string(), expected.to_string(), "byte for byte, keys in order");
}

/// A stream in the spelling that other languages' servers write.
fn camel(event: Value) -> Value {
    let text = event.to_string().replace("content_index", "contentIndex").replace("stop_reason", "stopReason");
    serde_json::from_str(&text.replace("tool_use", "toolUse")).unwrap()
}

#[test]
fn a_message_is_read_from_the_events_of_a_run_in_either_spelling() {
    let frames = [
        json!({ "type": "start" }),
        json!({ "type": "thinking_start", "content_index": 0 }),
        json!({ "type": "thinking_delta", "content_index": 0, "delta": "hm" }),
        json!({ "type": "thinking_end", "content_index": 0, "signature": "sig" }),
        json!({ "type": "text_start", "run_id": "r", "seq": 7, "turn": 1, "content_index": 1 }),
        json!({ "type": "text_delta", "content_index": 1, "delta": "yes" }),
        json!({ "type": "text_end", "content_index": 1, "block": { "type": "text", "text": "yes", "signature": "t" } }),
        json!({ "type": "tool_call_start", "content_index": 2, "id": "a", "name": "t" }),
        json!({ "type": "tool_call_delta", "content_index": 2, "delta": "{}" }),
        json!({ "type": "tool_call_end", "content_index": 2, "block": { "type": "tool_call", "id": "a", "name": "t" } }),
        json!({ "type": "something_new", "content_index": 3 }),
        json!({ "type": "done", "stop_reason": "tool_use", "usage": { "input": 3, "output": 5 } }),
        json!({ "type": "never read" }),
    ];
    let expected = vec![
        Delta::Start { key: 0, block: BlockStart::Thinking { redacted: false } },
        Delta::Append { key: 0, text: "hm".into() },
        Delta::Signature { key: 0, signature: "sig".into() },
        Delta::End { key: 0 },
        Delta::Start { key: 1, block: BlockStart::Text },
        Delta::Append { key: 1, text: "yes".into() },
        Delta::Signature { key: 1, signature: "t".into() },
        Delta::End { key: 1 },
        Delta::Start { key: 2, block: BlockStart::ToolCall { id: "a".into(), name: "t".into() } },
        Delta::Append { key: 2, text: "{}".into() },
        Delta::End { key: 2 },
        Delta::Usage(Box::new(Usage { input: 3, output: 5, ..Usage::default() })),
        Delta::Stop { reason: StopReason::ToolUse, raw: None },
    ];
    assert_eq!(fixture().decode(&frames), (expected.clone(), Ok(())));
    assert_eq!(fixture().decode(&frames.map(camel)), (expected, Ok(())));
}

#[test]
fn hidden_thinking_stays_hidden() {
    let frames = [
        json!({ "type": "thinking_start", "content_index": 0 }),
        json!({ "type": "thinking_end", "content_index": 0, "block": { "thinking": "", "signature": "data", "redacted": true } }),
        json!({ "type": "done", "stop_reason": "stop" }),
    ];
    let (deltas, _) = fixture().decode(&frames);
    let start = Delta::Start { key: 0, block: BlockStart::Thinking { redacted: true } };
    assert_eq!(deltas[..2], [start, Delta::Signature { key: 0, signature: "data".into() }]);
}

#[test]
fn how_a_stream_may_fail() {
    let error = |frames: &[Value]| fixture().decode(frames).1.unwrap_err();
    let given = json!({ "type": "error", "error": { "kind": "overloaded", "message": "busy", "retryable": true } });
    let given = error(&[given]);
    assert_eq!((given.kind(), given.is_retryable()), (ErrorKind::Overloaded, true));
    let plain = error(&[json!({ "type": "error", "reason": "error", "errorMessage": "no luck" })]);
    assert_eq!(plain.to_string(), "server: relay sent an error in its stream: no luck");
    assert_eq!(error(&[json!({ "type": "start" })]).kind(), ErrorKind::StreamTruncated);
    let odd = error(&[json!({ "type": "done", "stop_reason": "because" })]);
    assert_eq!(
        odd.to_string(),
        "protocol: relay's done event has the stop_reason \"because\"; expected stop, length, tool_use or refusal"
    );
    assert_eq!(error(&[json!("<html>")]).kind(), ErrorKind::Protocol);
}
