//! What `extra_body` does to the body of each wire format.

use serde_json::{Value, json};

use super::{check, fields};
use crate::message::Message;
use crate::protocol::EncodeCache;
use crate::protocol::tests::fixture::Fixture;
use crate::request::{Request, ThinkingLevel, ToolDescription};

/// A request with quotes, brackets and escapes in its texts.
fn request(extra: Value) -> Request {
    let parameters = json!({ "type": "object", "properties": { "a\"]}": { "const": [1, { "b": null }] } } });
    Request {
        system_prompt: "Be \"brief\" \\ {[,".into(),
        messages: vec![Message::user("}],\" \\\\\"", 0).into()],
        tools: vec![ToolDescription::new("t", "A tool.", parameters)].into(),
        thinking_level: ThinkingLevel::Low,
        options: serde_json::from_value(json!({ "temperature": 0.5, "extra_body": extra })).unwrap(),
        ..Request::default()
    }
}

fn own(protocol: &str) -> Fixture {
    let quirks = if protocol == "openai_chat" { json!({ "thinking": "type" }) } else { json!({}) };
    Fixture::new(json!({ "provider": "p", "id": "m", "protocol": protocol, "base_url": "http://h", "quirks": quirks }))
}

#[test]
fn the_fields_of_a_body_are_found() {
    for protocol in ["anthropic", "openai_chat", "openai_responses", "gemini", "bedrock_converse"] {
        let body = own(protocol).encode_with(&mut EncodeCache::default(), &request(json!({}))).body;
        let read: Value = serde_json::from_slice(&body).unwrap();
        let found: Vec<(&str, Value)> = fields(&body)
            .into_iter()
            .map(|(name, json)| (std::str::from_utf8(name).unwrap(), serde_json::from_slice(json).unwrap()))
            .collect();
        let expected: Vec<(&str, Value)> =
            read.as_object().unwrap().iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        assert_eq!(found, expected, "{protocol}");
    }
}

#[test]
fn an_object_is_merged_null_removes_and_all_else_replaces() {
    let cases = [
        (
            "anthropic",
            json!({ "service_tier": "auto", "thinking": { "display": "omitted" }, "stop_sequences": null, "max_tokens": 9000 }),
            json!({ "service_tier": "auto", "thinking": { "type": "enabled", "budget_tokens": 2048, "display": "omitted" },
                "max_tokens": 9000 }),
        ),
        (
            "openai_chat",
            json!({ "logit_bias": { "50256": -100, "1": null }, "stream_options": { "include_usage": null, "x": [1] },
                "thinking": "on", "temperature": null, "parallel_tool_calls": false }),
            json!({ "logit_bias": { "50256": -100 }, "stream_options": { "x": [1] }, "thinking": "on", "temperature": null,
                "parallel_tool_calls": false }),
        ),
        (
            "openai_responses",
            json!({ "text": { "verbosity": "low" }, "reasoning": { "summary": "detailed" }, "include": ["a"] }),
            json!({ "text": { "verbosity": "low" }, "reasoning": { "effort": "low", "summary": "detailed" }, "include": ["a"] }),
        ),
        (
            "gemini",
            json!({ "safetySettings": [], "generationConfig": { "temperature": 1, "thinkingConfig": { "thinkingBudget": 5 } } }),
            json!({ "safetySettings": [], "generationConfig": {
                "temperature": 1, "thinkingConfig": { "includeThoughts": true, "thinkingBudget": 5 } } }),
        ),
    ];
    for (protocol, extra, changed) in cases {
        let mut expected = own(protocol).encode(&request(json!({})));
        let body = own(protocol).encode(&request(extra));
        for (name, value) in changed.as_object().unwrap() {
            let fields = expected.as_object_mut().unwrap();
            if value.is_null() {
                fields.shift_remove(name);
            } else if name == "generationConfig" {
                fields[name]["temperature"] = value["temperature"].clone();
                fields[name]["thinkingConfig"] = value["thinkingConfig"].clone();
            } else {
                fields.insert(name.clone(), value.clone());
            }
        }
        assert_eq!(body.to_string(), expected.to_string(), "{protocol}: the rest as it was, in order");
    }
}

#[test]
fn what_the_engine_decides_is_refused_with_what_to_do_and_is_never_sent() {
    let refused = |extra: Value| check(extra.as_object().unwrap(), "extraBody").err().map(|e| e.message().to_owned());
    assert_eq!(
        refused(json!({ "x": 1, "tools": [] })).unwrap(),
        "option \"extraBody\": the engine writes \"tools\" itself; use tools of the agent, or the option hosted_tools"
    );
    assert_eq!(refused(json!({ "x": { "tools": [] } })), None);
    let all = json!({
        "model": "x", "messages": 1, "input": 1, "contents": 1, "system": 1, "systemInstruction": 1, "tools": 1,
        "tool_choice": 1, "toolConfig": 1, "stream": false, "n": 2, "x": 1,
    });
    for protocol in ["anthropic", "openai_chat", "openai_responses", "gemini", "bedrock_converse"] {
        let mut expected = own(protocol).encode(&request(json!({})));
        expected["x"] = json!(1);
        assert_eq!(own(protocol).encode(&request(all.clone())), expected, "{protocol}");
        let ignored = own(protocol).ignored(&request(all.clone()));
        let why = "the engine writes \"model\" itself; use the option model";
        assert_eq!(ignored.last().map(|last| (last.option, last.why.as_str())), Some(("extra_body", why)), "{protocol}");
    }
}

#[test]
fn a_relay_gets_it_as_an_option() {
    let body = own("relay").encode(&request(json!({ "x": 1 })));
    assert_eq!((&body["options"]["extra_body"], body.get("x")), (&json!({ "x": 1 }), None));
}
