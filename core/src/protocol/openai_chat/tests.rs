use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::model::{BlockStart, Delta, ModelOptions, ModelRequest, ThinkingLevel, ToolDescription};
use crate::protocol::trial::Trial;
use crate::usage::{StopReason, Usage};

fn trial() -> Trial {
    Trial::new(json!({ "provider": "openai", "id": "m", "protocol": "openai_chat" }))
}

fn encoded(messages: Value, options: ModelOptions, tools: Vec<ToolDescription>, own_address: bool) -> Value {
    let base_url = if own_address { "https://api.openai.com" } else { "http://h" };
    let spec = json!({ "provider": "openai", "id": "m", "protocol": "openai_chat", "base_url": base_url });
    Trial::new(spec).body(messages, options, tools)
}

fn messages(messages: Value) -> Value {
    trial().body(messages, ModelOptions::default(), Vec::new())["messages"].clone()
}

fn decoded(chunks: &[Value]) -> (Vec<Delta>, Result<(), Error>) {
    trial().decode(chunks)
}

/// A chunk of choice 0.
fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

/// The calls a stream makes: id, name, arguments' text.
fn calls(chunks: &[Value]) -> Vec<(String, String, String)> {
    let mut calls: Vec<(u32, String, String, String)> = Vec::new();
    for delta in decoded(chunks).0 {
        match delta {
            Delta::Start { key, block: BlockStart::ToolCall { id, name } } => calls.push((key, id, name, String::new())),
            Delta::Append { key, text } => {
                if let Some(call) = calls.iter_mut().find(|call| call.0 == key) {
                    call.3.push_str(&text);
                }
            }
            _ => {}
        }
    }
    calls.into_iter().map(|(_, id, name, arguments)| (id, name, arguments)).collect()
}

fn call(index: Value, id: &str, name: &str, arguments: &str) -> Value {
    json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

#[test]
fn the_whole_request() {
    let tool = ToolDescription { name: "t".into(), description: "d".into(), parameters: json!({ "type": "object" }) };
    let options = ModelOptions { temperature: Some(0.5), max_tokens: Some(9), ..ModelOptions::default() };
    let body = encoded(json!([{ "role": "user", "content": "hi" }]), options, vec![tool], true);
    let expected = json!({
        "model": "m", "messages": [{ "role": "user", "content": "hi" }],
        "tools": [{ "type": "function", "function": { "name": "t", "description": "d", "parameters": { "type": "object" } } }],
        "max_completion_tokens": 9, "temperature": 0.5, "stream": true, "stream_options": { "include_usage": true },
    });
    assert_eq!(body.to_string(), expected.to_string(), "byte for byte, keys in order");
    let options = ModelOptions { max_tokens: Some(9), ..ModelOptions::default() };
    assert_eq!(encoded(json!([]), options, Vec::new(), false)["max_tokens"], 9, "another server knows the older name");
}

#[test]
fn options_are_passed_on() {
    let options = json!({ "stop_sequences": ["END"], "tool_choice": { "tool": "t" }, "session_id": "s".repeat(70) });
    let options: ModelOptions = serde_json::from_value(options).unwrap();
    let tool = || ToolDescription { name: "t".into(), description: String::new(), parameters: json!({}) };
    let own = encoded(json!([]), options.clone(), vec![tool()], true);
    assert_eq!(own["stop"], json!(["END"]));
    assert_eq!(own["tool_choice"], json!({ "type": "function", "function": { "name": "t" } }));
    assert_eq!(own["prompt_cache_key"], json!("s".repeat(64)), "as many characters as the API takes");
    let other = encoded(json!([]), options.clone(), vec![tool()], false);
    assert_eq!(other.get("prompt_cache_key"), None, "other servers refuse what they do not know");
    assert_eq!(encoded(json!([]), options, Vec::new(), true).get("tool_choice"), None, "nothing to choose from");
    let request = ModelRequest { thinking_level: ThinkingLevel::High, ..ModelRequest::default() };
    let body = Trial::of_protocol("openai_chat").encode(&request);
    assert_eq!(body["reasoning_effort"], json!("high"));
}

#[test]
fn results_follow_their_calls_and_images_follow_all_results() {
    let sent = messages(json!([
        { "role": "assistant", "provider": "openai", "protocol": "openai_chat", "model": "m", "content": [
            { "type": "thinking", "thinking": "kept back" },
            { "type": "tool_call", "id": "a", "name": "t", "arguments": { "x": 1 } }, { "type": "tool_call", "id": "b", "name": "t" },
        ] },
        { "role": "tool_result", "tool_call_id": "a", "content": [{ "type": "image", "data": "QQ==", "mime_type": "image/png" }] },
        { "role": "tool_result", "tool_call_id": "b", "content": "" },
    ]));
    let function =
        |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "t", "arguments": arguments } });
    let expected = json!([
        { "role": "assistant", "content": null, "tool_calls": [function("a", "{\"x\":1}"), function("b", "{}")] },
        { "role": "tool", "tool_call_id": "a", "content": "the image follows" },
        { "role": "tool", "tool_call_id": "b", "content": "no output" },
        { "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "data:image/png;base64,QQ==" } }] },
    ]);
    assert_eq!(sent, expected);
}

#[test]
fn another_models_thinking_is_text() {
    let content = json!([{ "type": "thinking", "thinking": "hm. " }, { "type": "text", "text": "so" }]);
    let sent = messages(json!([{ "role": "assistant", "provider": "anthropic", "model": "c", "content": content }]));
    assert_eq!(sent, json!([{ "role": "assistant", "content": "hm. so" }]));
}

#[test]
fn thinking_and_text_are_blocks_of_their_own() {
    let (deltas, end) = decoded(&[
        json!({ "id": "r", "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" } }] }),
        delta(json!({ "reasoning_content": "hm", "reasoning": "hm" })),
        delta(
            json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "m" }] }, { "type": "text", "text": "so" }] }),
        ),
        delta(json!({ "content": null, "reasoning_text": "more" })),
        finish("stop"),
        json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": { "cached_tokens": 4 },
            "completion_tokens_details": { "reasoning_tokens": 9 } } }),
        json!("[DONE]"),
    ]);
    assert!(end.is_ok());
    let thinking = BlockStart::Thinking { redacted: false };
    let expected = [
        Delta::ResponseId("r".into()),
        Delta::Start { key: 0, block: thinking.clone() },
        Delta::Append { key: 0, text: "hm".into() },
        Delta::Append { key: 0, text: "m".into() },
        Delta::End { key: 0 },
        Delta::Start { key: 1, block: BlockStart::Text },
        Delta::Append { key: 1, text: "so".into() },
        Delta::End { key: 1 },
        Delta::Start { key: 2, block: thinking },
        Delta::Append { key: 2, text: "more".into() },
        Delta::Usage(Box::new(Usage { input: 6, cache_read: 4, output: 4, reasoning: 4, ..Usage::default() })),
        Delta::End { key: 2 },
        Delta::Stop { reason: StopReason::Stop, raw: Some("stop".into()) },
    ];
    assert_eq!(deltas, expected, "reasoning is never more than the output");
}

#[test]
fn which_call_a_piece_belongs_to() {
    let pieces = |list: &[Value]| {
        let mut chunks: Vec<Value> = list.iter().map(|piece| delta(json!({ "tool_calls": [piece] }))).collect();
        chunks.push(finish("tool_calls"));
        calls(&chunks)
    };
    let found = |list: &[(&str, &str, &str)]| -> Vec<(String, String, String)> {
        list.iter().map(|(id, name, text)| ((*id).into(), (*name).into(), (*text).into())).collect()
    };
    let plain = [call(json!(0), "a", "f", "{"), json!({ "index": 0, "function": { "arguments": "}" } })];
    assert_eq!(pieces(&plain), found(&[("a", "f", "{}")]));
    let two =
        [call(json!(0), "a", "f", "{"), call(json!(1), "b", "g", "{"), call(json!(0), "", "", "}"), call(json!(1), "", "", "}")];
    assert_eq!(pieces(&two), found(&[("a", "f", "{}"), ("b", "g", "{}")]), "interleaved");
    let repeated = [call(json!(0), "a", "f", "{"), call(json!(0), "a", "f", "}")];
    assert_eq!(pieces(&repeated), found(&[("a", "f", "{}")]), "id and name on every piece");
    let changing = [call(json!(0), "a", "f", "{"), call(json!(0), "other", "", "}")];
    assert_eq!(pieces(&changing), found(&[("a", "f", "{}")]), "another id without a name is the same call");
    let reused = [call(json!(0), "a", "f", "{}"), call(json!(0), "b", "g", "{}")];
    assert_eq!(pieces(&reused), found(&[("a", "f", "{}"), ("b", "g", "{}")]), "a new id and a new name are a new call");
    let unnumbered = [call(Value::Null, "a", "f", "{"), call(Value::Null, "", "", "}"), call(Value::Null, "b", "g", "{}")];
    assert_eq!(pieces(&unnumbered), found(&[("a", "f", "{}"), ("b", "g", "{}")]), "without an index");
    let late_name = [call(json!(0), "a", "", "{"), call(json!(0), "", "f", "}")];
    assert_eq!(pieces(&late_name), found(&[("a", "f", "{}")]), "the name after the first piece");
    let object = [json!({ "index": 0, "id": "a", "function": { "name": "f", "arguments": { "x": 1 } } })];
    assert_eq!(pieces(&object), found(&[("a", "f", "{\"x\":1}")]), "arguments as an object");
}

#[test]
fn stop_reasons() {
    for (raw, reason) in [
        ("stop", StopReason::Stop),
        ("end", StopReason::Stop),
        ("length", StopReason::Length),
        ("tool_calls", StopReason::ToolUse),
        ("function_call", StopReason::ToolUse),
        ("content_filter", StopReason::Refusal),
    ] {
        let (deltas, end) = decoded(&[delta(json!({ "content": "x" })), finish(raw)]);
        assert!(end.is_ok(), "the end of the body is enough after a finish_reason");
        assert_eq!(deltas.last(), Some(&Delta::Stop { reason, raw: Some(raw.into()) }));
    }
    let (deltas, _) = decoded(&[delta(json!({ "refusal": "no" })), finish("stop")]);
    assert_eq!(deltas.last(), Some(&Delta::Stop { reason: StopReason::Refusal, raw: Some("stop".into()) }));
}

#[test]
fn how_a_stream_may_fail() {
    let (_, end) = decoded(&[json!({ "error": { "type": "server_error", "message": "broke" } })]);
    assert_eq!(end.unwrap_err().to_string(), "server: openai sent an error in its stream: broke");
    let (deltas, end) = decoded(&[delta(json!({ "content": "x" })), json!("null"), json!("")]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::StreamTruncated);
    assert_eq!(deltas.len(), 3, "what came is kept");
    assert_eq!(decoded(&[finish("network_error")]).1.unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(decoded(&[json!("{")]).1.unwrap_err().kind(), ErrorKind::Protocol);
}
