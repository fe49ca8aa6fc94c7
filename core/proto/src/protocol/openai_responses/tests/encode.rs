use std::sync::Arc;

use serde_json::{Value, json};

use super::fixture;
use crate::message::Message;
use crate::protocol::tests::fixture::{Fixture, long_run};
use crate::request::{ModelOptions, Request, ThinkingLevel, ToolDescription};

/// A server of which nothing is known but these quirks.
fn other(quirks: Value) -> Fixture {
    Fixture::new(json!({ "provider": "p", "id": "m", "protocol": "openai_responses", "base_url": "http://h", "quirks": quirks }))
}

fn request(messages: Value) -> Request {
    let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
    Request { messages, ..Request::default() }
}

fn input_of(fixture: &Fixture, messages: Value) -> Value {
    fixture.encode(&request(messages))["input"].clone()
}

fn input(messages: Value) -> Value {
    input_of(&fixture(), messages)
}

/// The items of one assistant message with these blocks.
fn said(content: Value) -> Value {
    input(json!([{ "role": "assistant", "provider": "openai", "model": "gpt-5", "content": content }]))
}

fn tool() -> ToolDescription {
    ToolDescription { name: "t".into(), description: "d".into(), parameters: json!({ "type": "object" }).into() }
}

fn thinking(item: &Value) -> Value {
    json!({ "type": "thinking", "thinking": "hm", "signature": item.to_string() })
}

fn encrypted(id: &str) -> Value {
    json!({ "id": id, "type": "reasoning", "content": [], "encrypted_content": "gAAA+/=", "summary": [] })
}

fn answer(text: &str) -> Value {
    json!({
        "type": "message", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    })
}

#[test]
fn the_whole_request() {
    let options = json!({ "max_tokens": 9, "tool_choice": { "tool": "t" }, "session_id": "s", "stop_sequences": ["END"] });
    let request = Request {
        system_prompt: "be kind".into(),
        tools: Arc::new(vec![tool()]),
        thinking_level: ThinkingLevel::High,
        options: serde_json::from_value(options).unwrap(),
        ..request(json!([{ "role": "user", "content": "hi" }]))
    };
    let expected = json!({
        "model": "gpt-5",
        "input": [
            { "type": "message", "role": "developer", "content": "be kind" },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi" }] },
        ],
        "tools": [{
            "type": "function", "name": "t", "description": "d", "parameters": { "type": "object", "properties": {} },
            "strict": false,
        }],
        "tool_choice": { "type": "function", "name": "t" },
        "max_output_tokens": 16,
        "reasoning": { "effort": "high", "summary": "auto" },
        "include": ["reasoning.encrypted_content"],
        "store": false, "prompt_cache_key": "s", "stream": true,
    });
    assert_eq!(fixture().encode(&request).to_string(), expected.to_string(), "byte for byte, keys in order, no stop sequences");
}

#[test]
fn a_server_gets_what_its_quirks_say() {
    let bare = json!({ "encrypted_reasoning": false, "store": false, "strict": null, "thinking": "none" });
    let mut request = Request {
        system_prompt: "be kind".into(),
        tools: Arc::new(vec![tool()]),
        thinking_level: ThinkingLevel::High,
        options: serde_json::from_value(json!({ "session_id": "s" })).unwrap(),
        ..request(json!([{ "role": "user", "content": "hi" }]))
    };
    let body = other(bare).encode(&request);
    assert_eq!(body["input"][0], json!({ "type": "message", "role": "system", "content": "be kind" }));
    assert_eq!(body["tools"][0].get("strict"), None);
    let sent: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(sent, ["model", "input", "tools", "stream"]);
    let keyed = other(json!({ "cache_key": true }));
    request.options.session_id = Some("é".repeat(70));
    assert_eq!(keyed.encode(&request)["prompt_cache_key"], json!("é".repeat(64)), "as many characters as the API takes");
    request.tools = Arc::default();
    assert_eq!(keyed.encode(&request).get("tools"), None, "no empty list");
}

#[test]
fn thinking_is_asked_for_by_effort() {
    let reasoning = |quirks: Value, level| {
        let request = Request { thinking_level: level, ..Request::default() };
        other(quirks).encode(&request).get("reasoning").cloned()
    };
    let every = json!({ "efforts": ["minimal", "low", "medium", "high", "xhigh"] });
    for level in ["minimal", "low", "medium", "high", "xhigh"] {
        let sent = reasoning(every.clone(), serde_json::from_value(json!(level)).unwrap());
        assert_eq!(sent, Some(json!({ "effort": level, "summary": "auto" })));
    }
    let least = reasoning(json!({}), ThinkingLevel::Minimal);
    assert_eq!(least, Some(json!({ "effort": "low", "summary": "auto" })), "the nearest word that the model takes");
    assert_eq!(reasoning(json!({}), ThinkingLevel::Off), None);
    assert_eq!(reasoning(json!({ "thinking_off": true }), ThinkingLevel::Off), Some(json!({ "effort": "none" })));
    let nested = reasoning(json!({ "thinking": "nested_effort" }), ThinkingLevel::Low);
    assert_eq!(nested, Some(json!({ "effort": "low", "summary": "auto" })), "OpenRouter's word for Chat is the same here");
    assert_eq!(reasoning(json!({ "thinking": "none", "thinking_off": true }), ThinkingLevel::Low), None);
}

#[test]
fn numbers_are_sent_when_set_and_taken() {
    let sent = |fixture: &Fixture, options: Value| {
        fixture.body(json!([]), serde_json::from_value::<ModelOptions>(options).unwrap(), Vec::new())
    };
    let plain = other(json!({}));
    assert_eq!(sent(&plain, json!({ "temperature": 0 }))["temperature"], json!(0.0), "zero is a value");
    assert_eq!(sent(&plain, json!({})).get("temperature"), None);
    assert_eq!(sent(&fixture(), json!({ "temperature": 0 })).get("temperature"), None, "models that think refuse it");
    let sampling = json!({
        "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 7, "frequency_penalty": 0.5, "presence_penalty": -0.5,
    });
    let body = sent(&plain, sampling.clone());
    let taken = sampling.as_object().unwrap().iter().filter(|(name, value)| body.get(*name) == Some(*value));
    assert_eq!(taken.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["temperature", "top_p"], "the format has no more");
    assert_eq!(sent(&fixture(), sampling).get("top_p"), None);
    assert_eq!(sent(&plain, json!({ "max_tokens": 17 }))["max_output_tokens"], 17);
    assert_eq!(sent(&plain, json!({ "max_tokens": 1 }))["max_output_tokens"], 16, "less is refused");
    assert_eq!(sent(&plain, json!({})).get("max_output_tokens"), None);
}

#[test]
fn tool_choice_has_words_and_is_only_sent_with_tools() {
    let sent = |choice: &str, tools: Vec<ToolDescription>| {
        let options = serde_json::from_value(json!({ "tool_choice": choice })).unwrap();
        fixture().body(json!([]), options, tools).get("tool_choice").cloned()
    };
    for choice in ["auto", "none", "required"] {
        assert_eq!(sent(choice, vec![tool()]), Some(json!(choice)));
    }
    assert_eq!(sent("auto", Vec::new()), None);
}

#[test]
fn an_empty_conversation_gets_a_user_message() {
    let expected = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Continue." }] });
    assert_eq!(input(json!([])), json!([expected]));
    let request = Request { system_prompt: "be kind".into(), ..Request::default() };
    assert_eq!(fixture().encode(&request)["input"][1], expected, "instructions alone are no input");
}

#[test]
fn a_user_shows_images_in_place() {
    let sent = input(json!([{ "role": "user", "content": [
        { "type": "text", "text": "what is" },
        { "type": "image", "data": "QQ==", "mime_type": "image/png" },
        { "type": "text", "text": "this?" },
    ] }]));
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,QQ==", "detail": "auto" });
    let content = json!([{ "type": "input_text", "text": "what is" }, image, { "type": "input_text", "text": "this?" }]);
    assert_eq!(sent, json!([{ "type": "message", "role": "user", "content": content }]));
}

#[test]
fn a_turn_goes_back_as_the_items_it_came_in() {
    let sent = input(json!([
        { "role": "assistant", "provider": "openai", "model": "gpt-5", "content": [
            thinking(&encrypted("rs_1")),
            { "type": "text", "text": "I'll look", "signature": "{\"id\":\"msg_1\",\"phase\":\"commentary\"}" },
            { "type": "tool_call", "id": "call_1", "name": "t", "arguments": { "b": 1, "a": "é" }, "signature": "fc_1" },
            { "type": "tool_call", "id": "call_2", "name": "t" },
        ] },
        { "role": "tool_result", "tool_call_id": "call_1", "content": "found" },
        { "role": "tool_result", "tool_call_id": "call_2", "content": [] },
    ]));
    let mut text = answer("I'll look");
    text["id"] = json!("msg_1");
    text["phase"] = json!("commentary");
    let expected = json!([
        encrypted("rs_1"),
        text,
        { "type": "function_call", "call_id": "call_1", "name": "t", "arguments": "{\"b\":1,\"a\":\"é\"}", "id": "fc_1" },
        { "type": "function_call", "call_id": "call_2", "name": "t", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "call_1", "output": "found" },
        { "type": "function_call_output", "call_id": "call_2", "output": "no output" },
    ]);
    assert_eq!(sent.to_string(), expected.to_string(), "reasoning byte for byte");
}

#[test]
fn an_item_is_named_only_by_an_id_that_is_taken() {
    let long = format!("fc_{}", "x".repeat(62));
    let ids = [("fc_1-A", true), (&*long, false), ("fc_a+b/c=", false), ("call_1", false), ("62bf2bb7-56af", false), ("", false)];
    for (id, taken) in ids {
        let call = said(json!([{ "type": "tool_call", "id": "c", "name": "t", "signature": id }]));
        assert_eq!(call[0].get("id").is_some(), taken, "{id}");
        assert_eq!(call[0]["call_id"], "c", "the other id is always there");
        let id = id.replace("fc_", "msg_");
        let text = said(json!([{ "type": "text", "text": "x", "signature": json!({ "id": id }).to_string() }]));
        assert_eq!(text[0].get("id").is_some(), taken, "{id}");
    }
    let text = said(json!([{ "type": "text", "text": "x", "signature": "{\"id\":\"other\",\"phase\":\"final_answer\"}" }]));
    assert_eq!(text[0]["phase"], "final_answer", "the phase stays");
    assert_eq!(said(json!([{ "type": "text", "text": "x", "signature": "no JSON" }])), json!([answer("x")]));
}

#[test]
fn of_items_that_come_twice_only_the_first_have_their_ids() {
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
    let content = |call: &str| {
        json!([
            thinking(&encrypted("rs_1")), { "type": "opaque", "protocol": "openai_responses", "data": search },
            { "type": "text", "text": "so", "signature": "{\"id\":\"msg_1\"}" },
            { "type": "tool_call", "id": call, "name": "t", "signature": "fc_1" },
        ])
    };
    let message = |call: &str| json!({ "role": "assistant", "provider": "openai", "model": "gpt-5", "content": content(call) });
    let result = |call: &str| json!({ "role": "tool_result", "tool_call_id": call, "content": "r" });
    let items = input(json!([message("a"), result("a"), message("b"), result("b")]));
    let ids: Vec<Value> = items.as_array().unwrap().iter().map(|item| json!([item["type"], item["id"]])).collect();
    let expected = [
        json!(["reasoning", "rs_1"]),
        json!(["web_search_call", "ws_1"]),
        json!(["message", "msg_1"]),
        json!(["function_call", "fc_1"]),
        json!(["function_call_output", null]),
        json!(["message", null]),
        json!(["function_call", null]),
        json!(["function_call_output", null]),
    ];
    assert_eq!(ids, expected);
}

#[test]
fn a_schema_says_that_it_is_an_object() {
    let tool = ToolDescription { parameters: Value::Null.into(), ..tool() };
    let body = fixture().encode(&Request { tools: Arc::new(vec![tool]), ..request(json!([])) });
    assert_eq!(body["tools"][0]["parameters"]["type"], "object");
}

#[test]
fn results_have_their_images_inside_or_behind_them() {
    let image = json!({ "type": "image", "data": "QQ==", "mime_type": "image/png" });
    let messages = json!([
        { "role": "assistant", "content": [
            { "type": "tool_call", "id": "a", "name": "t" }, { "type": "tool_call", "id": "b", "name": "t" },
        ] },
        { "role": "tool_result", "tool_call_id": "a", "content": [{ "type": "text", "text": "see" }, image] },
        { "role": "tool_result", "tool_call_id": "b", "content": [image] },
        { "role": "user", "content": "so?" },
    ]);
    let shown = json!({ "type": "input_image", "image_url": "data:image/png;base64,QQ==", "detail": "auto" });
    let output = |id: &str, output: Value| json!({ "type": "function_call_output", "call_id": id, "output": output });
    let inside = input(messages.clone());
    assert_eq!(inside[2], output("a", json!([{ "type": "input_text", "text": "see" }, shown])));
    assert_eq!(inside[3], output("b", json!([shown])));
    let behind = input_of(&other(json!({ "result_images": false })), messages);
    assert_eq!(behind[2], output("a", json!("see")));
    assert_eq!(behind[3], output("b", json!("the image follows")));
    assert_eq!(behind[4], json!({ "type": "message", "role": "user", "content": [shown, shown] }), "once, after all results");
    assert_eq!(behind[5]["content"][0]["text"], "so?");
}

#[test]
fn reasoning_goes_back_only_where_the_server_can_read_it() {
    let sent = |fixture: &Fixture, item: Value| {
        let content = json!([thinking(&item), { "type": "text", "text": "so" }]);
        input_of(fixture, json!([{ "role": "assistant", "content": content }]))[0].clone()
    };
    let open = json!({ "type": "reasoning", "id": "r", "summary": [], "content": [{ "type": "reasoning_text", "text": "hm" }] });
    let remembered = json!({ "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "hm" }] });
    let empty = json!({ "type": "reasoning", "id": "r", "summary": [], "content": [], "encrypted_content": "" });
    let plain = other(json!({ "encrypted_reasoning": false }));
    assert_eq!(sent(&fixture(), encrypted("rs_1")), encrypted("rs_1"));
    assert_eq!(sent(&plain, encrypted("rs_1")), answer("so"), "the quirk says that it is not read");
    assert_eq!(sent(&plain, open.clone()), open, "open models' own");
    assert_eq!(sent(&fixture(), remembered), answer("so"), "it was not stored");
    assert_eq!(sent(&plain, empty), answer("so"));
}

#[test]
fn reasoning_never_stands_without_what_it_led_to() {
    let text = |id: &str| json!({ "type": "text", "text": "x", "signature": json!({ "id": id }).to_string() });
    let lost =
        json!({ "type": "opaque", "protocol": "openai_responses", "data": { "type": "custom_tool_call", "call_id": "c" } });
    let ids = |content: Value| -> Vec<String> {
        let sent = said(content);
        sent.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap_or("-").to_owned()).collect()
    };
    let (first, second) = (thinking(&encrypted("rs_1")), thinking(&encrypted("rs_2")));
    assert_eq!(ids(json!([first, second, text("msg_1")])), ["rs_1", "rs_2", "msg_1"]);
    assert_eq!(ids(json!([text("msg_1"), first])), ["msg_1"], "nothing follows");
    assert_eq!(ids(json!([first, lost, second, text("msg_1")])), ["rs_2", "msg_1"], "its follower is not sent");
    assert_eq!(ids(json!([first, lost, text("msg_1")])), ["rs_1", "msg_1"], "another item of the same reasoning is");
    let unread = thinking(&json!({ "type": "reasoning", "id": "rs_0" }));
    assert_eq!(ids(json!([unread, text("msg_1")])), ["-"], "an id would demand the reasoning that is not sent");
    let only = input(json!([
        { "role": "user", "content": "a" }, { "role": "assistant", "content": [first] }, { "role": "user", "content": "b" },
    ]));
    assert_eq!(only.as_array().unwrap().len(), 2);
}

#[test]
fn what_servers_did_goes_back_and_unanswered_calls_do_not() {
    let opaque = |data: Value| json!({ "type": "opaque", "protocol": "openai_responses", "data": data });
    let sent = |items: &[Value]| said(items.iter().cloned().map(opaque).collect());
    for item in [
        json!({ "type": "web_search_call", "id": "ws_1", "status": "completed", "action": { "type": "search", "query": "q" } }),
        json!({ "type": "tool_search_call", "id": "tsc_1", "call_id": null, "execution": "server" }),
        json!({ "type": "program", "id": "cm_1", "call_id": "call_1", "code": "x" }),
    ] {
        assert_eq!(sent(std::slice::from_ref(&item)), json!([item]), "as it came");
    }
    let shell = json!({ "type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": { "commands": ["ls"] } });
    let output = json!({ "type": "shell_call_output", "call_id": "call_1", "output": [] });
    assert_eq!(sent(&[shell.clone(), output.clone()]), json!([shell, output]));
    let nothing = json!([{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Continue." }] }]);
    assert_eq!(sent(&[shell]), nothing, "the API refuses the request for it");
}

#[test]
fn a_broken_call_goes_back_with_an_empty_object() {
    let call = said(json!([{ "type": "tool_call", "id": "a", "name": "t", "arguments": {}, "raw_arguments": "{oops" }]));
    assert_eq!(call, json!([{ "type": "function_call", "call_id": "a", "name": "t", "arguments": "{}" }]));
}

#[test]
fn how_long_a_cache_is_kept_is_asked_only_where_it_is_understood() {
    let body = |fixture: &Fixture, retention: &str| {
        let options = serde_json::from_value(json!({ "session_id": "s", "cache_retention": retention })).unwrap();
        fixture.body(json!([]), options, Vec::new())
    };
    let long = body(&fixture(), "long");
    assert_eq!((&long["prompt_cache_key"], &long["prompt_cache_retention"]), (&json!("s"), &json!("24h")));
    assert_eq!(body(&fixture(), "short").get("prompt_cache_retention"), None);
    assert_eq!(body(&fixture(), "none").get("prompt_cache_key"), None, "none is wanted");
    let elsewhere = body(&other(json!({ "cache_key": true })), "long");
    assert_eq!((&elsewhere["prompt_cache_key"], elsewhere.get("prompt_cache_retention")), (&json!("s"), None));
}

#[test]
fn each_request_of_a_long_run_extends_the_one_before() {
    let fixture = fixture();
    let bodies: Vec<Value> = long_run(20).into_iter().map(|messages| fixture.encode(&request(messages))).collect();
    for pair in bodies.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|body| body["input"].to_string());
        assert!(after.starts_with(before.trim_end_matches(']')), "{before}\n{after}");
    }
    assert!(bodies.len() >= 20);
}
