use std::sync::Arc;

use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::model::{BlockStart, Delta, ModelOptions, ModelRequest, ThinkingLevel, ToolDescription};
use crate::protocol::trial::Trial;
use crate::usage::{StopReason, Usage};

fn encoded(messages: Value, options: ModelOptions, tools: Vec<ToolDescription>) -> Value {
    let messages: Vec<Arc<crate::message::Message>> = serde_json::from_value(messages).unwrap();
    let trial = Trial::new(json!("anthropic/m"));
    let messages = trial.fitted(&messages);
    let system_prompt = "Be brief.".into();
    trial.encode(&ModelRequest { system_prompt, messages, tools: Arc::new(tools), options, ..ModelRequest::default() })
}

fn messages(messages: Value) -> Value {
    encoded(messages, ModelOptions::default(), Vec::new())["messages"].clone()
}

/// All deltas of a stream, and how it ended.
fn decoded(frames: &[Value]) -> (Vec<Delta>, Result<(), Error>) {
    Trial::new(json!("anthropic/m")).decode(frames)
}

#[test]
fn the_whole_request() {
    let tool = ToolDescription { name: "t".into(), description: "d".into(), parameters: json!({ "properties": {} }) };
    let options = ModelOptions { temperature: Some(0.0), max_tokens: Some(9), ..ModelOptions::default() };
    let body = encoded(json!([{ "role": "user", "content": "hi" }]), options, vec![tool]);
    let expected = json!({
        "model": "m", "max_tokens": 9, "system": "Be brief.",
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }],
        "tools": [{ "name": "t", "description": "d", "input_schema": { "type": "object", "properties": {} } }],
        "temperature": 0.0, "stream": true,
    });
    assert_eq!(body.to_string(), expected.to_string(), "byte for byte, keys in order");
}

/// What a body says of thinking and of the options beside it.
fn with_options(spec: Value, level: ThinkingLevel, options: Value) -> Value {
    let tool = ToolDescription { name: "t".into(), description: String::new(), parameters: json!({}) };
    let request = ModelRequest {
        thinking_level: level,
        options: serde_json::from_value(options).unwrap(),
        tools: Arc::new(vec![tool]),
        ..ModelRequest::default()
    };
    let mut body = Trial::new(spec).encode(&request);
    for field in ["model", "messages", "tools", "stream"] {
        body.as_object_mut().unwrap().remove(field);
    }
    body
}

#[test]
fn thinking_has_a_budget_and_leaves_room_for_the_answer() {
    let plain = || json!("anthropic/m");
    let body =
        with_options(plain(), ThinkingLevel::Low, json!({ "temperature": 1, "max_tokens": 1000, "stop_sequences": ["END"] }));
    let thinking = json!({ "type": "enabled", "budget_tokens": 2048 });
    assert_eq!(body, json!({ "max_tokens": 3072, "stop_sequences": ["END"], "thinking": thinking }), "raised; no temperature");
    let body = with_options(plain(), ThinkingLevel::Medium, json!({ "thinking_budgets": { "medium": 4000 } }));
    assert_eq!(body, json!({ "max_tokens": 8192, "thinking": { "type": "enabled", "budget_tokens": 4000 } }));
    let small = json!({ "provider": "anthropic", "id": "m", "max_output_tokens": 4096 });
    let body = with_options(small, ThinkingLevel::High, json!({}));
    assert_eq!(body, json!({ "max_tokens": 4096, "thinking": { "type": "enabled", "budget_tokens": 3072 } }), "the model's most");
    let adaptive = json!({ "provider": "anthropic", "id": "m", "thinking": { "type": "adaptive" } });
    let body = with_options(adaptive, ThinkingLevel::Xhigh, json!({}));
    assert_eq!(body, json!({ "max_tokens": 8192, "thinking": { "type": "adaptive" }, "output_config": { "effort": "max" } }));
}

#[test]
fn tool_choices() {
    let choice =
        |level, choice: Value| with_options(json!("anthropic/m"), level, json!({ "tool_choice": choice }))["tool_choice"].clone();
    let off = ThinkingLevel::Off;
    assert_eq!(choice(off, json!("auto")), json!({ "type": "auto" }));
    assert_eq!(choice(off, json!("none")), json!({ "type": "none" }));
    assert_eq!(choice(off, json!("required")), json!({ "type": "any" }));
    assert_eq!(choice(off, json!({ "tool": "t" })), json!({ "type": "tool", "name": "t" }));
    assert_eq!(
        choice(ThinkingLevel::Low, json!("required")),
        json!({ "type": "auto" }),
        "a tool cannot be forced beside thinking"
    );
}

#[test]
fn results_of_a_turn_are_one_user_message_with_what_follows() {
    let sent = messages(json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [
            { "type": "tool_call", "id": "a", "name": "t", "arguments": { "x": 1 } }, { "type": "tool_call", "id": "b", "name": "t" },
        ] },
        { "role": "tool_result", "tool_call_id": "b", "content": "B", "is_error": true },
        { "role": "tool_result", "tool_call_id": "a", "content": [{ "type": "image", "data": "QQ==", "mime_type": "image/png" }] },
        { "role": "user", "content": "and?" },
    ]));
    let expected = json!([
        { "role": "user", "content": [{ "type": "text", "text": "go" }] },
        { "role": "assistant", "content": [
            { "type": "tool_use", "id": "a", "name": "t", "input": { "x": 1 } }, { "type": "tool_use", "id": "b", "name": "t", "input": {} },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "a", "content": [
                { "type": "text", "text": "see the image" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "QQ==" } },
            ] },
            { "type": "tool_result", "tool_use_id": "b", "content": [{ "type": "text", "text": "B" }], "is_error": true },
            { "type": "text", "text": "and?" },
        ] },
    ]);
    assert_eq!(sent, expected);
}

#[test]
fn signed_blocks_go_back_only_to_the_model_that_made_them() {
    let content = json!([
        { "type": "thinking", "thinking": "hm", "signature": "sig" },
        { "type": "thinking", "thinking": "", "signature": "empty" },
        { "type": "thinking", "thinking": "", "signature": "data", "redacted": true },
        { "type": "opaque", "protocol": "anthropic", "data": { "type": "server_tool_use", "id": "s" } },
        { "type": "text", "text": "so" },
    ]);
    let said = |provider: &str| {
        let message =
            json!({ "role": "assistant", "content": content, "provider": provider, "protocol": "anthropic", "model": "m" });
        messages(json!([{ "role": "user", "content": "go" }, message]))[1]["content"].clone()
    };
    let own = json!([
        { "type": "thinking", "thinking": "hm", "signature": "sig" },
        { "type": "thinking", "thinking": "", "signature": "empty" },
        { "type": "redacted_thinking", "data": "data" },
        { "type": "server_tool_use", "id": "s" },
        { "type": "text", "text": "so" },
    ]);
    assert_eq!(said("anthropic"), own);
    assert_eq!(said("elsewhere"), json!([{ "type": "text", "text": "hm" }, { "type": "text", "text": "so" }]));
}

#[test]
fn a_whole_message_may_stand_in_message_start() {
    let (deltas, end) = decoded(&[
        json!({ "type": "message_start", "message": {
            "id": "m1", "stop_reason": "tool_use", "usage": { "input_tokens": 3 },
            "content": [{ "type": "text", "text": "hi" }, { "type": "tool_use", "id": "t1", "name": "t", "input": { "a": 1 } }],
        } }),
        json!({ "type": "message_stop" }),
    ]);
    assert!(end.is_ok());
    let expected = [
        Delta::ResponseId("m1".into()),
        Delta::Usage(Box::new(Usage { input: 3, ..Usage::default() })),
        Delta::Start { key: 0, block: BlockStart::Text },
        Delta::Append { key: 0, text: "hi".into() },
        Delta::End { key: 0 },
        Delta::Start { key: 1, block: BlockStart::ToolCall { id: "t1".into(), name: "t".into() } },
        Delta::Append { key: 1, text: "{\"a\":1}".into() },
        Delta::End { key: 1 },
        Delta::Stop { reason: StopReason::ToolUse, raw: Some("tool_use".into()) },
    ];
    assert_eq!(deltas, expected);
}

#[test]
fn a_late_zero_does_not_overwrite_the_usage() {
    let (deltas, _) = decoded(&[
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 30, "cache_read_input_tokens": 5, "output_tokens": 1 } } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "input_tokens": 0, "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ]);
    let last = deltas.iter().rev().find_map(|delta| match delta {
        Delta::Usage(usage) => Some(usage.clone()),
        _ => None,
    });
    assert_eq!(*last.unwrap(), Usage { input: 30, cache_read: 5, output: 9, ..Usage::default() });
}

#[test]
fn blocks_of_unknown_kinds_are_kept_with_their_input() {
    let (deltas, _) = decoded(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "server_tool_use", "id": "s", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{\"q\":" } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "1}" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!("[DONE]"),
        json!({ "type": "from_the_future" }),
    ]);
    let data = json!({ "type": "server_tool_use", "id": "s", "input": { "q": 1 } });
    let opaque = BlockStart::Opaque { protocol: "anthropic".into(), data: Box::new(data) };
    assert_eq!(deltas[0], Delta::Start { key: 0, block: opaque });
    assert!(matches!(&deltas[1], Delta::Diagnostic { code, .. } if code == "opaque_block"));
    assert_eq!(deltas[2..], [Delta::End { key: 0 }]);
}

#[test]
fn stop_reasons() {
    for (raw, reason) in [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("pause_turn", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("tool_use", StopReason::ToolUse),
        ("refusal", StopReason::Refusal),
        ("from_the_future", StopReason::Stop),
    ] {
        let (deltas, _) =
            decoded(&[json!({ "type": "message_delta", "delta": { "stop_reason": raw } }), json!({ "type": "message_stop" })]);
        assert_eq!(deltas.last(), Some(&Delta::Stop { reason, raw: Some(raw.into()) }));
    }
}

#[test]
fn how_a_stream_may_fail() {
    let (_, end) = decoded(&[json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } })]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::RateLimited);
    let (_, end) = decoded(&[json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } })]);
    let error = end.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StreamTruncated);
    assert_eq!(error.message(), "anthropic's answer ended in the middle: the connection closed before message_stop");
    let (_, end) = decoded(&[json!("{\"type\":")]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::Protocol);
}
