use serde_json::{Value, json};

use super::*;

fn body(given: &Value, tools: &[Value], protocol: &'static str) -> (Value, Vec<String>) {
    let mut ignored = Vec::new();
    let body = added(given.to_string().as_bytes(), tools, protocol, &mut ignored);
    let ignored = ignored.into_iter().map(|ignored| format!("{}: {}", ignored.option, ignored.why)).collect();
    (serde_json::from_slice(&body).unwrap(), ignored)
}

#[test]
fn they_stand_behind_the_agents_tools() {
    let (got, ignored) = body(
        &json!({ "model": "m", "tools": [{ "name": "a]\"" }], "stream": true }),
        &[json!({ "type": "web_search_20250305", "name": "web_search" })],
        "anthropic",
    );
    let tools = json!([{ "name": "a]\"" }, { "type": "web_search_20250305", "name": "web_search" }]);
    assert_eq!(got, json!({ "model": "m", "tools": tools, "stream": true }));
    assert!(ignored.is_empty());
}

#[test]
fn they_need_no_others() {
    for given in [json!({ "model": "m" }), json!({ "model": "m", "tools": [] })] {
        let (got, _) =
            body(&given, &[json!({ "type": "web_search" }), json!({ "type": "image_generation" })], "openai_responses");
        assert_eq!(got, json!({ "model": "m", "tools": [{ "type": "web_search" }, { "type": "image_generation" }] }));
    }
}

#[test]
fn gemini_is_asked_for_both_kinds() {
    let search = [json!({ "google_search": {} })];
    let functions = json!({ "functionDeclarations": [{ "name": "f" }] });
    assert_eq!(body(&json!({ "contents": [] }), &search, "gemini").0, json!({ "contents": [], "tools": [search[0]] }));
    assert_eq!(
        body(&json!({ "tools": [functions], "toolConfig": { "functionCallingConfig": { "mode": "AUTO" } } }), &search, "gemini")
            .0,
        json!({
            "tools": [functions, search[0]],
            "toolConfig": { "functionCallingConfig": { "mode": "AUTO" }, "includeServerSideToolInvocations": true },
        })
    );
}

#[test]
fn those_of_other_formats_are_left_out() {
    let tools = [
        json!({ "type": "web_search" }),
        json!({ "type": "web_search_20250305", "name": "web_search" }),
        json!({ "google_search": {} }),
        json!({ "type": "web_search_preview_2025_03_11" }),
    ];
    let left_out = |protocol: &str, names: &str| {
        format!("hosted_tools: in the wire format {protocol} there is no tool {names}; leave it out for this model")
    };
    for (protocol, sent, names) in [
        ("openai_responses", &[0, 3][..], r#""web_search_20250305", "google_search""#),
        ("openai_chat", &[0, 3], r#""web_search_20250305", "google_search""#),
        ("anthropic", &[1], r#""web_search", "google_search", "web_search_preview_2025_03_11""#),
        ("gemini", &[2], r#""web_search", "web_search_20250305", "web_search_preview_2025_03_11""#),
    ] {
        let sent: Vec<&Value> = sent.iter().map(|index| &tools[*index]).collect();
        assert_eq!(body(&json!({}), &tools, protocol), (json!({ "tools": sent }), vec![left_out(protocol, names)]));
    }
    let (got, ignored) = body(&json!({ "tools": [] }), &tools[2..3], "anthropic");
    assert_eq!((got, ignored), (json!({ "tools": [] }), vec![left_out("anthropic", r#""google_search""#)]));
}

#[test]
fn what_is_no_tool_of_a_provider_is_refused() {
    for (tools, wrong) in [
        (json!(["web_search"]), "[0]: expected an object as the provider describes the tool, got \"web_search\""),
        (json!([{ "type": "a" }, {}]), "[1]: the object is empty; give it as the provider describes it, such as {\"type\": "),
        (json!([{ "type": 5 }]), "[0]: its \"type\" is no text; give it as"),
        (json!([{ "type": "function", "name": "f" }]), "[0]: it would be called here, not by the provider; give it as a tool of"),
        (json!([{ "name": "f", "input_schema": {} }]), "[0]: it would be called here"),
        (json!([{ "functionDeclarations": [] }]), "[0]: it would be called here"),
    ] {
        let error = check(tools.as_array().unwrap(), "hostedTools").unwrap_err();
        assert!(error.message().starts_with(&format!("option \"hostedTools\": {wrong}")), "{}", error.message());
    }
    check(&[json!({ "type": "web_search" }), json!({ "google_search": {} })], "hosted_tools").unwrap();
}
