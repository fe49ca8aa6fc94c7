use std::sync::Arc;

use serde_json::{Value, json};

use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::message::Message;
use crate::protocol::tests::fixture::{Fixture, long_run};
use crate::request::{ModelOptions, Request, ThinkingLevel, ToolDescription};
use crate::usage::{Cost, StopReason, Usage};

fn fixture() -> Fixture {
    Fixture::new(json!({ "provider": "openai", "id": "m", "protocol": "openai_chat" }))
}

/// A server of which nothing is known but these quirks.
fn with(quirks: Value) -> Fixture {
    Fixture::new(json!({ "provider": "p", "id": "m", "base_url": "http://h", "quirks": quirks }))
}

/// A request with these messages, which already fit.
fn request(messages: Value) -> Request {
    let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
    Request { messages, ..Request::default() }
}

fn tool(name: &str) -> ToolDescription {
    ToolDescription { name: name.into(), description: "d".into(), parameters: json!({ "type": "object" }).into() }
}

fn encoded(messages: Value, options: Value, tools: Vec<ToolDescription>, own_address: bool) -> Value {
    let base_url = if own_address { "https://api.openai.com" } else { "http://h" };
    let spec = json!({ "provider": "openai", "id": "gpt-4.1", "protocol": "openai_chat", "base_url": base_url });
    let options: ModelOptions = serde_json::from_value(options).unwrap();
    Fixture::new(spec).body(messages, options, tools)
}

/// The messages that a server with these quirks is sent.
fn sent(quirks: Value, messages: Value) -> Value {
    with(quirks).encode(&request(messages))["messages"].clone()
}

fn messages(messages: Value) -> Value {
    fixture().encode(&request(messages))["messages"].clone()
}

fn decoded(chunks: &[Value]) -> (Vec<Delta>, Result<(), Error>) {
    fixture().decode(chunks)
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
    let options = json!({ "temperature": 0.5, "max_tokens": 9 });
    let user = json!([{ "role": "user", "content": "hi" }]);
    let parameters = json!({ "type": "object", "properties": {} });
    let tools = json!([{ "type": "function", "function": { "name": "t", "description": "d", "parameters": parameters } }]);
    let own = json!({
        "model": "gpt-4.1", "messages": user, "tools": tools, "max_completion_tokens": 9, "temperature": 0.5, "store": false,
        "stream": true, "stream_options": { "include_usage": true },
    });
    let body = encoded(user.clone(), options.clone(), vec![tool("t")], true);
    assert_eq!(body.to_string(), own.to_string(), "byte for byte, keys in order");
    let other = json!({
        "model": "gpt-4.1", "messages": user, "tools": tools, "max_tokens": 9, "temperature": 0.5,
        "stream": true, "stream_options": { "include_usage": true },
    });
    let body = encoded(user, options, vec![tool("t")], false);
    assert_eq!(body.to_string(), other.to_string(), "another server knows the older name, and refuses what it does not know");
}

#[test]
fn options_are_passed_on() {
    let options = json!({ "stop_sequences": ["END"], "tool_choice": { "tool": "t" }, "session_id": "s".repeat(70) });
    let own = encoded(json!([]), options.clone(), vec![tool("t")], true);
    assert_eq!(own["stop"], json!(["END"]));
    assert_eq!(own["tool_choice"], json!({ "type": "function", "function": { "name": "t" } }));
    assert_eq!(own["prompt_cache_key"], json!("s".repeat(64)), "as many characters as the API takes");
    let other = encoded(json!([]), options.clone(), vec![tool("t")], false);
    assert_eq!(other.get("prompt_cache_key"), None, "other servers refuse what they do not know");
    assert_eq!(encoded(json!([]), options, Vec::new(), true).get("tool_choice"), None, "nothing to choose from");
    let zero = with(json!({}))
        .encode(&Request { options: serde_json::from_value(json!({ "temperature": 0 })).unwrap(), ..request(json!([])) });
    assert_eq!(zero["temperature"], 0.0, "zero is a value");
    assert_eq!(with(json!({})).encode(&request(json!([]))).get("max_tokens"), None, "no cap of our own: some servers reserve it");
}

#[test]
fn how_tokens_are_chosen_is_sent_as_far_as_it_is_taken() {
    let all = json!({
        "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": -7, "frequency_penalty": 0.5, "presence_penalty": -0.5,
    });
    let sent = |spec: Value| {
        let options = serde_json::from_value(all.clone()).unwrap();
        let mut body = Fixture::new(spec).encode(&Request { options, ..request(json!([])) });
        body.as_object_mut().unwrap().retain(|name, _| name == "random_seed" || all.get(name).is_some());
        body
    };
    let without = |names: &[&str]| {
        let mut rest = all.clone();
        rest.as_object_mut().unwrap().retain(|name, _| !names.contains(&name.as_str()));
        rest
    };
    assert_eq!(sent(json!("vllm/m")).to_string(), all.to_string(), "in this order");
    let chat = |provider: &str, id: &str| json!({ "provider": provider, "id": id, "protocol": "openai_chat" });
    assert_eq!(sent(chat("openai", "gpt-4.1")), without(&["top_k"]), "a field that OpenAI does not know");
    assert_eq!(sent(chat("openai", "gpt-5")), json!({ "seed": -7 }), "a model that thinks");
    assert_eq!(sent(chat("xai", "grok-4")), without(&["top_k", "frequency_penalty", "presence_penalty"]));
    let mut of_mistral = without(&["top_k", "seed"]);
    of_mistral["random_seed"] = json!(-7);
    assert_eq!(sent(json!("mistral/mistral-small-latest")), of_mistral);
    let quirks = json!({ "top_k": true, "seed_field": null, "temperature_and_top_p": false });
    let own = json!({ "provider": "openai-compatible", "id": "m", "base_url": "http://h", "quirks": quirks });
    assert_eq!(sent(own), without(&["seed", "top_p"]));
}

#[test]
fn how_long_a_cache_is_kept_is_asked_only_where_it_is_understood() {
    let body =
        |retention: &str, own| encoded(json!([]), json!({ "session_id": "s", "cache_retention": retention }), Vec::new(), own);
    assert_eq!(body("short", true).get("prompt_cache_retention"), None);
    assert_eq!(body("long", true)["prompt_cache_retention"], "24h");
    assert_eq!(body("long", true)["prompt_cache_key"], "s");
    assert_eq!(body("none", true).get("prompt_cache_key"), None);
    assert_eq!(body("long", false).get("prompt_cache_retention"), None);
}

#[test]
fn fields_that_servers_differ_in_follow_their_quirks() {
    let options = serde_json::from_value(json!({ "temperature": 1, "max_tokens": 5 })).unwrap();
    let request = Request { system_prompt: "s".into(), tools: Arc::new(vec![tool("t")]), options, ..request(json!([])) };
    let body = with(json!({})).encode(&request);
    assert_eq!(body["messages"][0]["role"], "system");
    for absent in ["store", "reasoning_format", "tool_stream", "max_completion_tokens"] {
        assert_eq!(body.get(absent), None);
    }
    assert_eq!(body["tools"][0]["function"].get("strict"), None);
    let quirks = json!({
        "system_role": "developer", "strict": false, "store": true, "stream_usage": false, "temperature": false,
        "max_tokens_field": "max_completion_tokens", "reasoning_format": true, "tool_stream": true,
    });
    let body = with(quirks).encode(&request);
    assert_eq!(body["messages"][0]["role"], "developer");
    assert_eq!(body["tools"][0]["function"]["strict"], false);
    assert_eq!((&body["store"], &body["tool_stream"]), (&json!(false), &json!(true)));
    assert_eq!((&body["reasoning_format"], &body["max_completion_tokens"]), (&json!("parsed"), &json!(5)));
    for absent in ["stream_options", "temperature", "max_tokens"] {
        assert_eq!(body.get(absent), None);
    }
}

#[test]
fn thinking_is_asked_for_in_one_way() {
    let plain = with(json!({ "thinking": "none" })).encode(&request(json!([])));
    let asked = |style: &str, level, off: bool| {
        let fixture = with(json!({ "thinking": style, "thinking_off": off }));
        let mut body = fixture.encode(&Request { thinking_level: level, ..request(json!([])) });
        body.as_object_mut().unwrap().retain(|name, value| plain.get(name) != Some(value));
        body
    };
    let (off, high) = (ThinkingLevel::Off, ThinkingLevel::High);
    for (style, on, not) in [
        ("none", json!({}), json!({})),
        ("effort", json!({ "reasoning_effort": "high" }), json!({ "reasoning_effort": "none" })),
        ("nested_effort", json!({ "reasoning": { "effort": "high" } }), json!({ "reasoning": { "effort": "none" } })),
        ("nested_switch", json!({ "reasoning": { "enabled": true } }), json!({ "reasoning": { "enabled": false } })),
        ("type", json!({ "thinking": { "type": "enabled" } }), json!({ "thinking": { "type": "disabled" } })),
        ("enable_thinking", json!({ "enable_thinking": true }), json!({ "enable_thinking": false })),
        (
            "template",
            json!({ "chat_template_kwargs": { "enable_thinking": true, "preserve_thinking": true } }),
            json!({ "chat_template_kwargs": { "enable_thinking": false, "preserve_thinking": true } }),
        ),
        ("prompt_mode", json!({ "prompt_mode": "reasoning" }), json!({})),
    ] {
        assert_eq!(asked(style, high, false), on, "{style}");
        assert_eq!(asked(style, off, false), json!({}), "{style}: off unless asked");
        assert_eq!(asked(style, off, true), not, "{style}: thinking is turned off on a server that thinks by default");
    }
    assert_eq!(asked("effort", ThinkingLevel::Xhigh, false), json!({ "reasoning_effort": "high" }), "a word the server has");
    assert_eq!(asked("effort", ThinkingLevel::Minimal, false), json!({ "reasoning_effort": "low" }));
}

fn assistant(content: Value) -> Value {
    json!({ "role": "assistant", "provider": "p", "protocol": "openai_chat", "model": "m", "content": content })
}

fn call_block(id: &str) -> Value {
    json!({ "type": "tool_call", "id": id, "name": "t" })
}

fn function(id: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "t", "arguments": arguments } })
}

#[test]
fn thinking_replay_goes_back_in_the_field_it_came_in() {
    let back = |quirk: Value, signature: Value| {
        let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": signature });
        let mut message =
            sent(json!({ "reasoning_field": quirk }), json!([assistant(json!([thinking, { "type": "text", "text": "so" }]))]))[0]
                .clone();
        let message = message.as_object_mut().unwrap();
        message.shift_remove("role");
        Value::Object(std::mem::take(message))
    };
    let content = json!({ "content": "so" });
    assert_eq!(back(json!(null), json!("reasoning")), content, "a server that does not want it");
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        assert_eq!(back(json!("reasoning_content"), json!(field)), json!({ "content": "so", field: "hm" }), "as it came");
        assert_eq!(back(json!(field), json!(null)), json!({ "content": "so", field: "hm" }), "else as the server has it");
    }
    assert_eq!(back(json!("reasoning_details"), json!(null)), json!({ "content": "so", "reasoning": "hm" }));
    let details = json!([{ "type": "reasoning.text", "text": "hm", "signature": "s", "index": 0, "new": null }]);
    let listed = back(json!("reasoning_details"), json!(details.to_string()));
    assert_eq!(listed.to_string(), json!({ "content": "so", "reasoning_details": details }).to_string(), "as they stand");
    let parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }, { "type": "text", "text": "so" }]);
    assert_eq!(back(json!("content"), json!("content")), json!({ "content": parts }), "Mistral's parts");
}

#[test]
fn found_w12_thinking_goes_back_to_an_unknown_server_with_its_calls() {
    let answer = |field: &str, content: Value| {
        let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": field });
        let mut message = assistant(json!([thinking]));
        message["content"].as_array_mut().unwrap().extend(content.as_array().unwrap().clone());
        message
    };
    let user = json!({ "role": "user", "content": "go" });
    let result = json!({ "role": "tool_result", "tool_call_id": "a", "tool_name": "t", "content": "1" });
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let called = answer(field, json!([call_block("a")]));
        let said = answer(field, json!([{ "type": "text", "text": "so" }]));
        let body = |fixture: &Fixture, called: &Value| {
            fixture.body(json!([user, called, result, said, user]), ModelOptions::default(), Vec::new())["messages"].clone()
        };
        let sent = body(&with(json!({})), &called);
        assert_eq!(sent[1][field], json!("hm"), "beside the calls: {sent}");
        assert_eq!(sent[3], json!({ "role": "assistant", "content": "so" }), "and not without any");
        // As the decoder reads it, it goes back.
        let read = decoded(&[delta(json!({ field: "hm" })), delta(json!({ "content": "x" }))]).0;
        assert!(read.contains(&Delta::Signature { key: 0, signature: field.into() }), "{read:?}");
        // Another model's thinking is text, and null keeps it back.
        let mut foreign = called.clone();
        foreign["model"] = json!("other");
        let sent = body(&with(json!({})), &foreign);
        assert_eq!((sent[1].get(field), &sent[1]["content"]), (None, &json!("hm")));
        assert_eq!(body(&with(json!({ "reasoning_field": null })), &called)[1].get(field), None);
    }
    // Whoever is known says so itself.
    let known = Fixture::new(json!({ "provider": "cerebras", "id": "m" }));
    let mut called = answer("reasoning", json!([call_block("a")]));
    called["provider"] = json!("cerebras");
    let sent = known.body(json!([user, called, result]), ModelOptions::default(), Vec::new());
    assert_eq!(sent["messages"][1].get("reasoning"), None);
}

#[test]
fn details_that_belong_to_calls_go_back_with_those_of_the_thinking() {
    let detail = |id: &str| json!({ "type": "reasoning.encrypted", "data": "x", "id": id });
    let (rs, a, b) = (detail("rs"), detail("a"), detail("b"));
    let content = json!([
        { "type": "thinking", "thinking": "", "signature": json!([rs]).to_string() },
        { "type": "tool_call", "id": "a", "name": "t", "signature": json!([a]).to_string() },
        { "type": "tool_call", "id": "b", "name": "t", "signature": b.to_string() },
        { "type": "tool_call", "id": "c", "name": "t" },
    ]);
    let message = sent(json!({ "reasoning_field": "reasoning_details" }), json!([assistant(content.clone())]))[0].clone();
    assert_eq!(message["reasoning_details"], json!([rs, a, b]));
    assert_eq!(sent(json!({ "reasoning_field": null }), json!([assistant(content)]))[0].get("reasoning_details"), None);
}

#[test]
fn a_server_that_demands_thinking_gets_an_empty_one() {
    let field = |level, text: bool| {
        let fixture = with(json!({ "thinking": "type", "reasoning_field": "reasoning_content", "reasoning_required": true }));
        let content = if text { json!([{ "type": "text", "text": "so" }]) } else { json!([call_block("a")]) };
        let body = fixture.encode(&Request { thinking_level: level, ..request(json!([assistant(content)])) });
        body["messages"][0].get("reasoning_content").cloned()
    };
    assert_eq!(field(ThinkingLevel::Low, false), Some(json!("")));
    assert_eq!(field(ThinkingLevel::Low, true), Some(json!("")));
    assert_eq!(field(ThinkingLevel::Off, false), None);
}

#[test]
fn results_follow_their_calls_and_images_follow_all_results() {
    let mut transcript = json!([
        assistant(json!([
            { "type": "thinking", "thinking": "kept back" },
            { "type": "tool_call", "id": "a", "name": "t", "arguments": { "x": 1 } }, call_block("b"),
        ])),
        {
            "role": "tool_result", "tool_call_id": "a", "tool_name": "t",
            "content": [{ "type": "image", "data": "QQ==", "mime_type": "image/png" }],
        },
        { "role": "tool_result", "tool_call_id": "b", "tool_name": "t", "content": "" },
        { "role": "user", "content": "and?" },
    ]);
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QQ==" } });
    let said = json!({ "role": "assistant", "content": null, "tool_calls": [function("a", "{\"x\":1}"), function("b", "{}")] });
    let expected = json!([
        said,
        { "role": "tool", "tool_call_id": "a", "content": "the image follows" },
        { "role": "tool", "tool_call_id": "b", "content": "no output" },
        { "role": "user", "content": [image] },
        { "role": "user", "content": "and?" },
    ]);
    assert_eq!(messages(transcript.clone()), expected);
    transcript[0]["content"].as_array_mut().unwrap().remove(0);
    let mistral = json!([
        { "role": "user", "content": "Continue." },
        { "role": "assistant", "content": "", "tool_calls": said["tool_calls"] },
        { "role": "tool", "tool_call_id": "a", "name": "t", "content": [image] },
        { "role": "tool", "tool_call_id": "b", "name": "t", "content": "no output" },
        { "role": "assistant", "content": "Understood." },
        { "role": "user", "content": "and?" },
    ]);
    let fixture = Fixture::new(json!("mistral/mistral-large-latest"));
    assert_eq!(fixture.encode(&request(transcript))["messages"], mistral, "names, images in the result, no user behind one");
}

#[test]
fn content_is_plain_text_and_messages_without_any_are_left_out() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let transcript = json!([
        { "role": "user", "content": [text("a"), text("b")] },
        assistant(json!([text("c"), text("d")])),
        assistant(json!([{ "type": "thinking", "thinking": "hm" }])),
        { "role": "user", "content": [text("see"), { "type": "image", "data": "QQ==", "mime_type": "image/png" }] },
    ]);
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QQ==" } });
    let expected = json!([
        { "role": "user", "content": "a\nb" },
        { "role": "assistant", "content": "cd" },
        { "role": "user", "content": [text("see"), image] },
    ]);
    assert_eq!(messages(transcript), expected);
    assert_eq!(messages(json!([])), json!([{ "role": "user", "content": "Continue." }]), "none at all is refused");
}

#[test]
fn where_order_is_demanded_somebody_speaks_between_and_behind_two_answers() {
    let said = |text: &str| assistant(json!([{ "type": "text", "text": text }]));
    let user = json!({ "role": "user", "content": "hi" });
    let transcript = json!([user, said("a"), said("b")]);
    let answer = |text: &str| json!({ "role": "assistant", "content": text });
    let go_on = json!({ "role": "user", "content": "Continue." });
    assert_eq!(sent(json!({}), transcript.clone()), json!([user, answer("a"), answer("b")]));
    assert_eq!(sent(json!({ "any_order": false }), transcript), json!([user, answer("a"), go_on, answer("b"), go_on]));
}

#[test]
fn a_conversation_of_which_nothing_is_left_asks_for_something() {
    let thought = json!([assistant(json!([{ "type": "thinking", "thinking": "hm" }]))]);
    let request = Request { system_prompt: "Be brief.".into(), ..request(thought) };
    let roles: Vec<Value> =
        fixture().encode(&request)["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["system", "user"]);
}

#[test]
fn a_server_with_one_field_for_thinking_gets_no_other() {
    let details = json!([{ "type": "reasoning.text", "text": "m", "index": 0 }]).to_string();
    let content = json!([
        { "type": "thinking", "thinking": "h", "signature": "reasoning" },
        { "type": "thinking", "thinking": "m", "signature": details },
        { "type": "tool_call", "id": "a", "name": "t", "signature": details },
    ]);
    let message = |quirks: Value| sent(quirks, json!([assistant(content.clone())]))[0].clone();
    let calls = json!([function("a", "{}")]);
    assert_eq!(
        message(json!({ "reasoning_field": "reasoning_content", "reasoning_required": true })),
        json!({ "role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": calls })
    );
    let parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }]);
    assert_eq!(
        message(json!({ "reasoning_field": "content" })),
        json!({ "role": "assistant", "content": parts, "tool_calls": calls })
    );
}

#[test]
fn a_broken_call_goes_back_with_an_empty_object() {
    let call = json!({ "type": "tool_call", "id": "a", "name": "t", "arguments": {}, "raw_arguments": "{oops" });
    assert_eq!(messages(json!([assistant(json!([call]))]))[0]["tool_calls"], json!([function("a", "{}")]));
}

#[test]
fn an_empty_list_of_tools_is_sent_only_where_the_history_demands_it() {
    let calls = json!([assistant(json!([call_block("a")])), { "role": "tool_result", "tool_call_id": "a", "content": "r" }]);
    let tools = |quirks: Value, transcript: &Value| with(quirks).encode(&request(transcript.clone())).get("tools").cloned();
    assert_eq!(tools(json!({}), &calls), None);
    assert_eq!(tools(json!({ "empty_tools": true }), &calls), Some(json!([])));
    assert_eq!(tools(json!({ "empty_tools": true }), &json!([])), None);
}

#[test]
fn a_router_of_anthropic_gets_its_markers_on_texts() {
    let fixture = Fixture::new(json!("openrouter/anthropic/claude-sonnet-4.5"));
    let result = |id: &str| json!({ "role": "tool_result", "tool_call_id": id, "content": "r" });
    let image = json!({ "type": "image", "data": "QQ==", "mime_type": "image/png" });
    let transcript = json!([
        { "role": "user", "content": "go" },
        assistant(json!([call_block("a"), call_block("b")])), result("a"), result("b"),
        assistant(json!([{ "type": "text", "text": "so" }])),
        { "role": "user", "content": [{ "type": "text", "text": "see" }, image] },
    ]);
    let options = serde_json::from_value(json!({ "cache_retention": "long" })).unwrap();
    let body = fixture.encode(&Request { system_prompt: "s".into(), options, ..request(transcript) });
    let marked: Vec<bool> =
        body["messages"].as_array().unwrap().iter().map(|message| message.to_string().contains("cache_control")).collect();
    assert_eq!(marked, [true, false, false, false, true, false, true], "the system, the end of the request before, the end");
    assert_eq!(
        body["messages"][6]["content"][0]["cache_control"],
        json!({ "type": "ephemeral", "ttl": "1h" }),
        "not on the image"
    );
    assert_eq!(
        Fixture::new(json!("openrouter/openai/gpt-5")).encode(&request(json!([{ "role": "user", "content": "go" }])))["messages"]
            [0]["content"],
        "go"
    );
}

#[test]
fn each_request_of_a_long_run_extends_the_one_before() {
    for spec in [json!("openai-compatible/m"), json!("mistral/m"), json!("deepseek/m"), json!("openrouter/openai/m")] {
        let spec =
            if spec == "openai-compatible/m" { json!({ "provider": "p", "id": "m", "base_url": "http://h" }) } else { spec };
        let fixture = Fixture::new(spec.clone());
        let bodies: Vec<Value> = long_run(20).into_iter().map(|messages| fixture.encode(&request(messages))).collect();
        for pair in bodies.windows(2) {
            let [before, after] = [&pair[0], &pair[1]].map(|body| body["messages"].to_string());
            assert!(after.starts_with(before.trim_end_matches(']')), "{spec}:\n{before}\n{after}");
        }
        assert!(bodies.len() >= 20);
    }
}

#[test]
fn thinking_and_text_are_separate_blocks() {
    let (deltas, end) = decoded(&[
        json!({ "id": "r", "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" } }] }),
        delta(json!({ "reasoning_content": "hm", "reasoning": "hm" })),
        delta(json!({ "content": [
                { "type": "thinking", "thinking": [{ "type": "text", "text": "m" }] }, { "type": "text", "text": "so" },
            ] })),
        delta(json!({ "content": null, "reasoning_text": "more" })),
        finish("stop"),
        json!({ "choices": [], "usage": {
            "prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": { "cached_tokens": 4 },
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
        Delta::Signature { key: 0, signature: "reasoning_content".into() },
        Delta::End { key: 0 },
        Delta::Start { key: 1, block: BlockStart::Text },
        Delta::Append { key: 1, text: "so".into() },
        Delta::End { key: 1 },
        Delta::Start { key: 2, block: thinking },
        Delta::Append { key: 2, text: "more".into() },
        Delta::Usage(Box::new(Usage { input: 6, cache_read: 4, output: 4, reasoning: 4, ..Usage::default() })),
        Delta::Signature { key: 2, signature: "reasoning_text".into() },
        Delta::End { key: 2 },
        Delta::Stop { reason: StopReason::Stop, raw: Some("stop".into()) },
    ];
    assert_eq!(deltas, expected, "reasoning is never more than the output");
}

/// The signatures of a stream by their block's key.
fn signatures(chunks: &[Value]) -> Vec<(u32, Value)> {
    let (deltas, end) = decoded(chunks);
    assert!(end.is_ok());
    let signature = |delta| match delta {
        Delta::Signature { key, signature } => Some((key, serde_json::from_str(&signature).unwrap_or(Value::String(signature)))),
        _ => None,
    };
    deltas.into_iter().filter_map(signature).collect()
}

#[test]
fn details_are_put_together_and_sign_their_thinking() {
    let details = |details: Value| delta(json!({ "content": "", "reasoning_details": [details] }));
    let text = |text: &str| {
        json!({
            "type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": 0, "signature": "",
        })
    };
    let chunks = [
        details(text("The ")),
        details(text("user")),
        details(
            json!({ "type": "reasoning.text", "signature": "sig", "format": "anthropic-claude-v1", "index": 0, "text": null }),
        ),
        details(json!({ "type": "reasoning.summary", "summary": "In ", "index": 1 })),
        details(json!({ "type": "reasoning.summary", "summary": "short", "index": 1 })),
        details(json!({ "type": "reasoning.encrypted", "data": "x", "index": 2 })),
        details(json!({ "type": "reasoning.encrypted", "data": "y", "index": 2 })),
        delta(json!({ "content": "so", "reasoning_details": [] })),
        finish("stop"),
    ];
    let expected = json!([
        { "type": "reasoning.text", "text": "The user", "format": "anthropic-claude-v1", "index": 0, "signature": "sig" },
        { "type": "reasoning.summary", "summary": "In short", "index": 1 },
        { "type": "reasoning.encrypted", "data": "x", "index": 2 },
        { "type": "reasoning.encrypted", "data": "y", "index": 2 },
    ]);
    assert_eq!(signatures(&chunks), [(0, expected)]);
    let thinking: String = decoded(&chunks)
        .0
        .into_iter()
        .filter_map(|delta| match delta {
            Delta::Append { key: 0, text } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(thinking, "The userIn short", "where no other field has the text");
}

#[test]
fn details_may_come_before_or_after_the_call_they_belong_to() {
    let detail = |id: &str| json!({ "type": "reasoning.encrypted", "data": "x", "id": id, "index": 0 });
    let details = |id: &str| delta(json!({ "reasoning_details": [detail(id)] }));
    let piece = |index: u32, id: &str, name: &str| delta(json!({ "tool_calls": [call(json!(index), id, name, "{}")] }));
    let chunks = [
        details("a"),
        details("rs"),
        piece(0, "a", "f"),
        piece(1, "b", "g"),
        piece(0, "", ""),
        details("b"),
        details("late"),
        finish("tool_calls"),
    ];
    // 0 and 3 are thinking without a text: what came before the calls, and what came late.
    assert_eq!(
        signatures(&chunks),
        [(0, json!([detail("rs")])), (3, json!([detail("late")])), (1, json!([detail("a")])), (2, json!([detail("b")]))]
    );
}

#[test]
fn thinking_in_parts_says_so() {
    let part = json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }], "closed": true }] });
    assert_eq!(signatures(&[delta(part), finish("stop")]), [(0, json!("content"))]);
}

#[test]
fn usage_in_the_words_of_each_server() {
    let used = |chunk: Value| {
        let (deltas, _) = decoded(&[chunk, json!({ "choices": [], "usage": { "prompt_tokens": 0, "completion_tokens": 0 } })]);
        deltas.into_iter().rev().find_map(|delta| match delta {
            Delta::Usage(usage) => Some((usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)),
            _ => None,
        })
    };
    let top = |usage: Value| used(json!({ "choices": [], "usage": usage }));
    let openai = json!({
        "prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 4 },
        "completion_tokens_details": { "reasoning_tokens": 3 },
    });
    assert_eq!(top(openai), Some((6, 5, 4, 0, 3)), "a last zero does not overwrite it");
    assert_eq!(
        top(json!({ "prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2 })),
        Some((2, 5, 8, 0, 0)),
        "DeepSeek"
    );
    let router = json!({
        "prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 3 },
    });
    assert_eq!(top(router), Some((3, 5, 4, 3, 0)), "OpenRouter");
    let choice = json!({
        "choices": [{ "index": 0, "delta": {}, "usage": { "prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4 } }],
    });
    assert_eq!(used(choice), Some((6, 5, 4, 0, 0)), "Moonshot");
    assert_eq!(
        top(json!({ "prompt_tokens": 2, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 4 } })),
        Some((0, 5, 4, 0, 0)),
        "never below zero"
    );
    assert_eq!(top(json!(null)), None);
}

#[test]
fn found_w14_what_a_gateway_charges_is_the_cost() {
    let cost = |more: Value| {
        let mut usage = json!({ "prompt_tokens": 10, "completion_tokens": 5 });
        usage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (deltas, _) = decoded(&[json!({ "choices": [], "usage": usage })]);
        let used = deltas.into_iter().find_map(|delta| if let Delta::Usage(usage) = delta { Some(usage) } else { None });
        used.unwrap().cost.map(|cost| (cost.input, cost.output, cost.total))
    };
    let details = json!({
        "upstream_inference_cost": 0.75, "upstream_inference_prompt_cost": 0.25, "upstream_inference_completions_cost": 0.5,
    });
    assert_eq!(cost(json!({ "cost": 0.5 })), Some((0.0, 0.0, 0.5)));
    assert_eq!(cost(json!({ "cost": 0 })), Some((0.0, 0.0, 0.0)), "a free model");
    assert_eq!(cost(json!({ "cost": 0.75, "cost_details": details })), Some((0.25, 0.5, 0.75)));
    assert_eq!(cost(json!({ "cost": 0.8, "cost_details": details })), Some((0.0, 0.0, 0.8)), "the parts are not all");
    assert_eq!(cost(json!({ "cost": 0.25, "is_byok": true, "cost_details": details })), Some((0.0, 0.0, 1.0)), "a fee on top");
    assert_eq!(cost(json!({ "cost": 0, "is_byok": true })), None, "the provider's bill is not known");
    assert_eq!(cost(json!({ "cost": { "request_cost": 0.25, "total_cost": 0.5 } })), Some((0.0, 0.0, 0.5)), "Perplexity");
    // It speaks other formats, too.
    let anthropic = Fixture::new(json!({ "provider": "openrouter", "id": "m", "protocol": "anthropic" }));
    let used = [json!({ "type": "message_delta", "delta": {}, "usage": { "output_tokens": 5, "cost": 0.5 } })];
    let expected = |usage| Delta::Usage(Box::new(Usage { cost: Some(Cost { total: 0.5, ..Cost::default() }), ..usage }));
    assert_eq!(anthropic.decode(&used).0, [expected(Usage { output: 5, ..Usage::default() })]);
    for odd in [json!(null), json!("free"), json!(-1), json!({}), json!([])] {
        assert_eq!(cost(json!({ "cost": odd })), None);
    }
}

#[test]
fn found_w14_groqs_own_usage_is_used_where_there_is_no_other() {
    let used = |top: Value| {
        let groq = json!({ "id": "req", "usage": { "prompt_tokens": 201, "completion_tokens": 58, "total_tokens": 259 } });
        let first = json!({ "id": "c", "choices": [{ "index": 0, "delta": { "content": "Hi" } }], "x_groq": { "id": "req" } });
        let last = json!({
            "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "x_groq": groq, "usage": top,
        });
        let (deltas, ended) = decoded(&[first, last, json!("[DONE]")]);
        ended.unwrap();
        let usage = deltas.into_iter().find_map(|delta| if let Delta::Usage(usage) = delta { Some(usage) } else { None });
        usage.map(|usage| (usage.input, usage.output))
    };
    assert_eq!(used(json!(null)), Some((201, 58)));
    assert_eq!(used(json!({ "prompt_tokens": 3, "completion_tokens": 4 })), Some((3, 4)));
    // In a chunk that is read without a JSON tree otherwise.
    let text = json!({
        "choices": [{ "index": 0, "delta": { "content": "Hi" } }], "x_groq": { "usage": { "prompt_tokens": 1 } },
    });
    let (deltas, _) = decoded(&[json!({ "id": "c", "choices": [] }), text]);
    assert!(deltas.contains(&Delta::Usage(Box::new(Usage { input: 1, ..Usage::default() }))));
}

#[test]
fn half_a_character_is_replaced_in_text_and_in_arguments() {
    let raw = |delta: &str| json!(format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#));
    let (deltas, _) = decoded(&[
        raw(r#"{"content":"a\ud83d"}"#),
        raw(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"\ud83d"}}]}"#),
        raw(r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}"#),
    ]);
    let texts: Vec<&str> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Append { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["a\u{fffd}", "{\"x\":\"\u{fffd}", "\"}"]);
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
    let listed = [
        json!({ "id": "a", "function": { "name": "f", "arguments": "{" } }),
        json!({ "id": "b", "function": { "name": "g", "arguments": "{" } }),
    ];
    let rest = [json!({ "function": { "arguments": "1}" } }), json!({ "function": { "arguments": "2}" } })];
    let chunks = [delta(json!({ "tool_calls": listed })), delta(json!({ "tool_calls": rest })), finish("tool_calls")];
    assert_eq!(calls(&chunks), found(&[("a", "f", "{1}"), ("b", "g", "{2}")]), "by their place in the list");
    let gaps = [call(json!(7), "a", "f", "{"), call(json!(2), "b", "g", "{}"), call(json!(7), "", "", "}")];
    assert_eq!(pieces(&gaps), found(&[("a", "f", "{}"), ("b", "g", "{}")]), "numbers with gaps");
    let without_id = [call(json!(0), "null", "f", "{}"), call(json!(1), "null", "g", "{}")];
    assert_eq!(pieces(&without_id), found(&[("", "f", "{}"), ("", "g", "{}")]), "Mistral's word for none");
    let late_name = [call(json!(0), "a", "", "{"), call(json!(0), "", "f", "}")];
    assert_eq!(pieces(&late_name), found(&[("a", "f", "{}")]), "the name after the first piece");
    let object = [json!({ "index": 0, "id": "a", "function": { "name": "f", "arguments": { "x": 1 } } })];
    assert_eq!(pieces(&object), found(&[("a", "f", "{\"x\":1}")]), "arguments as an object");
}

#[test]
fn a_call_waits_for_its_id_as_long_as_one_may_come() {
    let piece = |id: &str, name: &str, arguments: &str| delta(json!({ "tool_calls": [call(json!(0), id, name, arguments)] }));
    let late = [piece("", "f", ""), piece("a", "", ""), piece("", "", "{}"), finish("tool_calls")];
    assert_eq!(calls(&late), [("a".into(), "f".into(), "{}".into())]);
    let none = [piece("", "f", ""), piece("", "", "{}"), finish("tool_calls")];
    assert_eq!(calls(&none), [(String::new(), "f".into(), "{}".into())], "the arguments come: it has none");
    let nothing = [piece("", "f", ""), finish("tool_calls")];
    assert_eq!(calls(&nothing), [(String::new(), "f".into(), String::new())]);
}

#[test]
fn a_signature_in_googles_words_goes_back_as_it_came() {
    let extra = json!({ "google": { "thought_signature": "c2ln" } });
    let mut piece = call(json!(0), "a", "f", "{}");
    piece["extra_content"] = extra.clone();
    let chunks = [delta(json!({ "tool_calls": [piece] })), finish("tool_calls")];
    let [(0, signature)] = &signatures(&chunks)[..] else { panic!("{:?}", signatures(&chunks)) };
    let block = json!({ "type": "tool_call", "id": "a", "name": "f", "signature": signature.to_string() });
    for quirks in [json!({}), json!({ "reasoning_field": "reasoning_details" })] {
        let message = sent(quirks, json!([assistant(json!([block, call_block("b")]))]))[0].clone();
        assert_eq!(message["tool_calls"][0]["extra_content"], extra);
        assert_eq!((message["tool_calls"][1].get("extra_content"), message.get("reasoning_details")), (None, None));
    }
}

#[test]
fn calls_end_only_when_the_stream_does() {
    let piece = |arguments: &str| delta(json!({ "tool_calls": [call(json!(0), "a", "f", arguments)] }));
    let chunks = [piece("{\"x\": 1}"), delta(json!({ "content": "so" })), piece("  "), finish("stop")];
    let (deltas, _) = decoded(&chunks);
    let ends: Vec<usize> = (0..deltas.len()).filter(|at| deltas[*at] == Delta::End { key: 0 }).collect();
    assert_eq!(ends, [deltas.len() - 2], "though they could be read before");
    assert_eq!(calls(&chunks), [("a".into(), "f".into(), "{\"x\": 1}  ".into())], "also where the word for the end is \"stop\"");
}

#[test]
fn chunks_may_have_no_choices_and_nothing_is_read_after_done() {
    let chunks = [
        json!("null"),
        json!({}),
        json!({ "choices": null }),
        json!({ "choices": [{ "index": 0, "delta": null, "finish_reason": null }] }),
        delta(json!({ "content": "x" })),
        finish("stop"),
        json!({ "usage": { "prompt_tokens": 3, "completion_tokens": 1 } }),
        json!("[DONE]"),
        json!({ "error": { "message": "never read" } }),
    ];
    let (deltas, end) = decoded(&chunks);
    assert!(end.is_ok());
    let expected = [
        Delta::Start { key: 0, block: BlockStart::Text },
        Delta::Append { key: 0, text: "x".into() },
        Delta::Usage(Box::new(Usage { input: 3, output: 1, ..Usage::default() })),
        Delta::End { key: 0 },
        Delta::Stop { reason: StopReason::Stop, raw: Some("stop".into()) },
    ];
    assert_eq!(deltas, expected);
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
        ("model_length", StopReason::Length),
        ("sensitive", StopReason::Refusal),
        ("end_turn", StopReason::Stop),
        ("eos_token", StopReason::Stop),
        ("STOP", StopReason::Stop),
        ("tool-calls", StopReason::ToolUse),
    ] {
        let (deltas, end) = decoded(&[delta(json!({ "content": "x" })), finish(raw)]);
        assert!(end.is_ok(), "the end of the body is enough after a finish_reason");
        assert_eq!(deltas.last(), Some(&Delta::Stop { reason, raw: Some(raw.into()) }));
    }
    let (deltas, _) = decoded(&[delta(json!({ "refusal": "no" })), finish("stop")]);
    assert_eq!(deltas.last(), Some(&Delta::Stop { reason: StopReason::Refusal, raw: Some("stop".into()) }));
}

/// The last two deltas of an answer whose end has no known reason.
fn unknown_end(raw: Value, reason: StopReason, message: &str) -> [Delta; 2] {
    let data = json!({ "raw_stop_reason": raw, "stop_reason": reason.as_str() });
    [
        Delta::Diagnostic { code: "unknown_stop_reason".into(), message: message.to_owned(), data: Box::new(data) },
        Delta::Stop { reason, raw: raw.as_str().map(str::to_owned) },
    ]
}

#[test]
fn found_w11_sources_are_reported() {
    let reported = |chunks: &[Value]| {
        let (deltas, end) = decoded(chunks);
        assert_eq!(end, Ok(()));
        let found = deltas.into_iter().filter_map(|delta| match delta {
            Delta::Diagnostic { code, message, data } if code == "citations" => Some((message, data["citations"].clone())),
            _ => None,
        });
        found.collect::<Vec<_>>()
    };
    let source = |url: &str| json!({ "type": "url_citation", "url_citation": { "url": url, "title": "t" } });
    let (a, b) = (source("http://a"), source("http://b"));
    let cite = |annotations: Value| delta(json!({ "content": "x", "annotations": annotations }));
    let chunks = [cite(json!([])), cite(json!([a])), cite(json!(null)), cite(json!([a, b])), finish("stop")];
    assert_eq!(reported(&chunks), [("a text names 2 sources".to_owned(), json!([a, b]))]);
    // Perplexity's: with each chunk, the last of which has all.
    let with = |chunk: Value, fields: Value| {
        let mut chunk = chunk;
        chunk.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        chunk
    };
    let urls = |urls: Value| json!({ "citations": urls });
    let chunks = [
        with(delta(json!({ "content": "x" })), urls(json!(["http://a"]))),
        with(delta(json!({ "content": "y" })), urls(json!(["http://a", "http://b"]))),
        finish("stop"),
    ];
    assert_eq!(reported(&chunks), [("a text names 2 sources".to_owned(), json!(["http://a", "http://b"]))]);
    let both = json!({ "citations": ["http://a"], "search_results": [{ "url": "http://a", "title": "t" }] });
    let chunks = [with(delta(json!({ "content": "x" })), both.clone()), finish("stop")];
    assert_eq!(reported(&chunks), [("a text names a source".to_owned(), both["search_results"].clone())]);
    let chunks = [with(cite(json!([a])), both), finish("stop")];
    assert_eq!(reported(&chunks), [("a text names a source".to_owned(), json!([a]))], "what the text names says more");
    for odd in [json!("x"), json!({}), json!(5), json!([])] {
        let chunks = [with(cite(odd.clone()), json!({ "citations": odd, "search_results": odd })), finish("stop")];
        assert_eq!(reported(&chunks), []);
    }
}

/// As OpenRouter sends what an image model draws, and as a part of the content.
#[test]
fn found_w5_an_answer_of_only_images_is_content() {
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QQ==" }, "index": 0 });
    for piece in [json!({ "content": "", "images": [image] }), json!({ "content": [image] })] {
        let (deltas, end) = decoded(&[delta(piece), finish("stop")]);
        assert_eq!(end, Ok(()));
        let block = BlockStart::Opaque { protocol: "openai_chat".into(), data: Box::new(image.clone()) };
        assert_eq!(deltas[0], Delta::Start { key: 0, block });
        assert!(matches!(&deltas[1], Delta::Diagnostic { code, .. } if code == "opaque_block"), "{deltas:?}");
        assert_eq!(deltas[2], Delta::End { key: 0 });
    }
    for odd in [json!(null), json!("x"), json!([1, null]), json!({})] {
        let (deltas, end) = decoded(&[delta(json!({ "content": "x", "images": odd })), finish("stop")]);
        assert_eq!((deltas.len(), end), (4, Ok(())), "{odd}");
    }
    let said = json!([{ "type": "opaque", "protocol": "openai_chat", "data": image }]);
    let back = messages(json!([{ "role": "user", "content": "draw" }, { "role": "assistant", "content": said }]));
    assert_eq!(back[1], json!({ "role": "assistant", "content": null, "images": [image] }));
}

/// Snowflake Cortex never sends a reason; Novita, Evolink and NIM leave it out at times.
#[test]
fn found_w1_done_without_finish_reason() {
    let text = || delta(json!({ "content": "x" }));
    let whole = || delta(json!({ "tool_calls": [call(json!(0), "a", "f", "{}")] }));
    let half = || delta(json!({ "tool_calls": [call(json!(1), "b", "f", r#"{"s":"}","m":{"x":1}"#)] }));
    let rest = || delta(json!({ "tool_calls": [{ "index": 1, "function": { "arguments": "}" } }] }));
    let without_arguments = || delta(json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "f" } }] }));
    let unnamed = delta(json!({ "tool_calls": [call(json!(0), "a", "", "{}")] }));
    let usage = || json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 1 } });
    let no_reason = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "" }] });
    for (chunks, reason) in [
        (vec![text()], StopReason::Stop),
        (vec![text(), usage()], StopReason::Stop),
        (vec![text(), no_reason, finish("null")], StopReason::Stop),
        (vec![text(), whole()], StopReason::ToolUse),
        (vec![whole(), usage()], StopReason::ToolUse),
        (vec![text(), unnamed], StopReason::Stop),
        (vec![half()], StopReason::Stop),
        (vec![half(), rest()], StopReason::ToolUse),
        (vec![whole(), half()], StopReason::ToolUse),
        (vec![without_arguments()], StopReason::ToolUse),
        (vec![], StopReason::Stop),
    ] {
        let (deltas, end) = decoded(&[chunks.clone(), vec![json!("[DONE]")]].concat());
        assert_eq!(end, Ok(()), "{chunks:?}");
        let message = format!("openai ended its answer without a reason; it counts as {}", reason.as_str());
        assert!(deltas.ends_with(&unknown_end(Value::Null, reason, &message)), "{deltas:?}");
        let (_, end) = decoded(&chunks);
        assert_eq!(end.unwrap_err().kind(), ErrorKind::StreamTruncated, "neither a reason nor the mark: {chunks:?}");
    }
    let (deltas, _) = decoded(&[delta(json!({ "refusal": "no" })), json!("[DONE]")]);
    assert_eq!(deltas.last(), Some(&Delta::Stop { reason: StopReason::Refusal, raw: None }));
}

#[test]
fn found_w1_an_unknown_finish_reason() {
    let whole = || delta(json!({ "tool_calls": [call(json!(0), "a", "f", "{}")] }));
    for (chunk, raw, reason) in [
        (delta(json!({ "content": "x" })), "from_the_future", StopReason::Stop),
        (delta(json!({ "content": "x" })), "unknown", StopReason::Stop),
        (whole(), "OTHER", StopReason::ToolUse),
        (delta(json!({ "tool_calls": [call(json!(0), "a", "f", "{\"x\":")] })), "OTHER", StopReason::Stop),
    ] {
        let (deltas, end) = decoded(&[chunk, finish(raw)]);
        assert_eq!(end, Ok(()));
        let message = format!("openai ended its answer with an unknown reason, {raw:?}; it counts as {}", reason.as_str());
        assert!(deltas.ends_with(&unknown_end(json!(raw), reason, &message)), "{deltas:?}");
    }
}

#[test]
fn how_a_stream_may_fail() {
    let (_, end) = decoded(&[json!({ "error": { "type": "server_error", "message": "broke" } })]);
    assert_eq!(end.unwrap_err().to_string(), "server: openai sent an error in its stream: broke");
    let (deltas, end) = decoded(&[delta(json!({ "content": "x" })), json!("null"), json!("")]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::StreamTruncated);
    assert_eq!(deltas.len(), 3, "what came is kept");
    for raw in ["network_error", "error", "abort"] {
        let error = decoded(&[finish(raw)]).1.unwrap_err();
        let text = format!("server: openai broke the answer off itself (finish_reason {raw:?})");
        assert_eq!((error.to_string(), error.is_retryable()), (text, true));
    }
    assert_eq!(decoded(&[finish("insufficient_system_resource")]).1.unwrap_err().kind(), ErrorKind::Overloaded);
    let of_choice = json!({ "choices": [{
        "index": 0, "delta": { "content": "" }, "finish_reason": "error", "error": { "code": 429, "message": "slow" },
    }] });
    assert_eq!(decoded(&[of_choice]).1.unwrap_err().to_string(), "rate_limited: openai sent an error in its stream: slow");
    let flat = json!({ "object": "error", "message": "prompt is too long", "code": 400 });
    assert_eq!(decoded(&[flat]).1.unwrap_err().kind(), ErrorKind::ContextOverflow);
    assert_eq!(decoded(&[json!("{")]).1.unwrap_err().kind(), ErrorKind::Protocol);
}

#[test]
fn pieces_of_text_thinking_and_arguments_are_read_quickly() {
    use super::wire::{Known, Piece, piece};
    let known = Known { id: true, model: true, ..Known::default() };
    let chunk = |piece: Value| {
        let choice = json!({ "index": 0, "delta": piece, "logprobs": null, "finish_reason": null });
        json!({ "id": "r", "object": "chat.completion.chunk", "choices": [choice], "usage": null }).to_string()
    };
    assert!(matches!(piece(&chunk(json!({ "content": "a" })), &known), Some(Piece::Text(text)) if text == "a"));
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let chunk = chunk(json!({ "content": null, field: "a" }));
        assert!(matches!(piece(&chunk, &known), Some(Piece::Thinking(named, text)) if (named, &*text) == (field, "a")));
    }
    let call = json!({ "tool_calls": [{ "index": 2, "function": { "arguments": "a" } }] });
    assert!(matches!(piece(&chunk(call), &known), Some(Piece::Arguments(2, text)) if text == "a"));
    assert!(piece(&chunk(json!({ "content": "a" })), &Known::default()).is_none(), "its id was not sent yet");
}
