use std::sync::Arc;

use serde_json::{Value, json};

use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::message::Message;
use crate::protocol::tests::fixture::{Fixture, long_run};
use crate::request::{ModelOptions, Request, ThinkingLevel, ToolDescription};
use crate::usage::{Cost, StopReason, Usage};

/// A request with these messages, which already fit.
fn request(messages: Value) -> Request {
    let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
    Request { system_prompt: "Be brief.".into(), messages, ..Request::default() }
}

fn encoded(messages: Value, options: Value, tools: Vec<ToolDescription>) -> Value {
    let options: ModelOptions = serde_json::from_value(options).unwrap();
    Fixture::new(json!("anthropic/m")).encode(&Request { tools: Arc::new(tools), options, ..request(messages) })
}

fn tool(name: &str) -> ToolDescription {
    ToolDescription { name: name.into(), description: "d".into(), parameters: json!({}).into() }
}

/// The places of a body that have a marker, as pointers, and the body without them.
fn markers(mut body: Value) -> (Vec<String>, Value) {
    fn search(value: &mut Value, place: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                if map.shift_remove("cache_control").is_some() {
                    found.push(place.to_owned());
                }
                map.iter_mut().for_each(|(name, value)| search(value, &format!("{place}/{name}"), found));
            }
            Value::Array(items) => {
                items.iter_mut().enumerate().for_each(|(i, item)| search(item, &format!("{place}/{i}"), found))
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    search(&mut body, "", &mut found);
    (found, body)
}

/// The messages of a body, without markers.
fn sent(fixture: &Fixture, messages: Value) -> Value {
    markers(fixture.encode(&request(messages))).1["messages"].clone()
}

fn messages(messages: Value) -> Value {
    sent(&Fixture::new(json!("anthropic/m")), messages)
}

/// All deltas of a stream, and how it ended.
fn decoded(frames: &[Value]) -> (Vec<Delta>, Result<(), Error>) {
    Fixture::new(json!("anthropic/m")).decode(frames)
}

#[test]
fn the_whole_request() {
    let options = json!({ "temperature": 0, "max_tokens": 9 });
    let body = encoded(json!([{ "role": "user", "content": "hi" }]), options, vec![tool("t")]);
    let marker = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "m", "max_tokens": 9, "system": [{ "type": "text", "text": "Be brief.", "cache_control": marker }],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi", "cache_control": marker }] }],
        "tools": [{
            "name": "t", "description": "d", "input_schema": { "type": "object", "properties": {}, "required": [] },
            "cache_control": marker,
        }],
        "temperature": 0.0, "stream": true,
    });
    assert_eq!(body.to_string(), expected.to_string(), "byte for byte, keys in order");
}

#[test]
fn a_schema_keeps_what_it_has() {
    let parameters =
        json!({ "type": "object", "required": ["x"], "$defs": { "y": {} }, "properties": { "x": { "$ref": "#/$defs/y" } } });
    let body = encoded(json!([]), json!({}), vec![ToolDescription { parameters: parameters.clone().into(), ..tool("t") }]);
    assert_eq!(body["tools"][0]["input_schema"], parameters);
}

#[test]
fn markers_stand_at_the_tools_the_system_and_the_ends_of_this_and_the_previous_request() {
    let call = |id: &str| {
        json!({
            "role": "assistant",
            "content": [
                { "type": "thinking", "thinking": "hm", "signature": "s" }, { "type": "tool_call", "id": id, "name": "t" },
            ],
        })
    };
    let result = |id: &str| json!({ "role": "tool_result", "tool_call_id": id, "content": "r" });
    let transcript = json!([
        { "role": "user", "content": "go" }, call("a"), result("a"), call("b"), result("b"),
        { "role": "user", "content": "and?" },
    ]);
    let (found, _) = markers(encoded(transcript.clone(), json!({}), vec![tool("t"), tool("u")]));
    assert_eq!(found, ["/system/0", "/messages/2/content/0", "/messages/4/content/1", "/tools/1"], "four, the most there may be");
    let body = encoded(transcript.clone(), json!({ "cache_retention": "long" }), Vec::new());
    assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral", "ttl": "1h" }));
    assert_eq!(
        body["messages"][4]["content"][1]["cache_control"],
        json!({ "type": "ephemeral", "ttl": "1h" }),
        "all of one length"
    );
    let (found, _) = markers(encoded(transcript.clone(), json!({ "cache_retention": "none" }), vec![tool("t")]));
    assert!(found.is_empty());
    let quirks = |quirks: Value| {
        let fixture = Fixture::new(
            json!({ "provider": "p", "id": "m", "protocol": "anthropic", "base_url": "http://h", "quirks": quirks }),
        );
        let options = serde_json::from_value(json!({ "cache_retention": "long" })).unwrap();
        fixture.encode(&Request { tools: Arc::new(vec![tool("t")]), options, ..request(transcript.clone()) })
    };
    let body = quirks(json!({ "cache_tools": false }));
    assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral" }), "a server that is not known to keep longer");
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert!(markers(quirks(json!({ "cache_markers": false }))).0.is_empty());
}

#[test]
fn a_turn_of_more_blocks_than_the_look_back_is_marked_where_the_request_before_ended() {
    let ids: Vec<String> = (0..30).map(|i| format!("c{i}")).collect();
    let calls: Vec<Value> = ids.iter().map(|id| json!({ "type": "tool_call", "id": id, "name": "t" })).collect();
    let mut transcript = vec![json!({ "role": "user", "content": "go" }), json!({ "role": "assistant", "content": calls })];
    transcript.extend(ids.iter().map(|id| json!({ "role": "tool_result", "tool_call_id": id, "content": "r" })));
    let (found, _) = markers(encoded(transcript.into(), json!({}), Vec::new()));
    assert_eq!(found, ["/system/0", "/messages/0/content/0", "/messages/2/content/29"]);
}

#[test]
fn each_request_of_a_long_run_extends_the_one_before_but_for_the_markers() {
    let fixture = Fixture::new(json!("anthropic/m"));
    let bodies: Vec<Value> = long_run(20).into_iter().map(|messages| markers(fixture.encode(&request(messages))).1).collect();
    for pair in bodies.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|body| body["messages"].to_string());
        assert!(after.starts_with(before.trim_end_matches(']')), "{before}\n{after}");
        assert_eq!((&pair[0]["system"], &pair[0]["tools"]), (&pair[1]["system"], &pair[1]["tools"]));
    }
    assert!(bodies.len() >= 20);
}

#[test]
fn a_conversation_begins_with_the_user_and_is_never_empty() {
    let opening = json!({ "role": "user", "content": [{ "type": "text", "text": "Continue." }] });
    assert_eq!(messages(json!([])), json!([opening]));
    let said = json!({ "role": "assistant", "content": [{ "type": "text", "text": "hello" }] });
    assert_eq!(messages(json!([said, { "role": "user", "content": "hi" }]))[0], opening);
}

#[test]
fn an_answer_to_go_on_with_does_not_end_in_white_space() {
    let user = json!({ "role": "user", "content": "hi" });
    let said = |text: &str| json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] });
    assert_eq!(messages(json!([user, said("so \n")]))[1]["content"][0]["text"], "so");
    assert_eq!(messages(json!([user, said("so \n"), user]))[1]["content"][0]["text"], "so \n", "elsewhere it stays");
    assert_eq!(messages(json!([user, said("  ")])).as_array().unwrap().len(), 1);
}

#[test]
fn a_broken_call_goes_back_with_an_empty_object() {
    let call = json!({ "type": "tool_call", "id": "a", "name": "t", "arguments": {}, "raw_arguments": "{oops" });
    let sent = messages(json!([{ "role": "user", "content": "go" }, { "role": "assistant", "content": [call] }]));
    assert_eq!(sent[1]["content"][0], json!({ "type": "tool_use", "id": "a", "name": "t", "input": {} }));
}

#[test]
fn on_vertex_version_and_flags_stand_in_the_body_and_the_model_in_the_address() {
    let fixture = Fixture::new(
        json!({ "provider": "google-vertex", "id": "claude-sonnet-4-5@20250929", "project": "p", "location": "global" }),
    );
    let request = Request {
        thinking_level: ThinkingLevel::Low,
        tools: Arc::new(vec![tool("t")]),
        ..request(json!([{ "role": "user", "content": "hi" }]))
    };
    let body = fixture.encode(&request);
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["anthropic_version", "anthropic_beta", "max_tokens", "system", "messages", "tools", "thinking", "stream"]);
    assert_eq!(body["anthropic_version"], "vertex-2023-10-16");
    assert_eq!(body["anthropic_beta"], json!(["interleaved-thinking-2025-05-14"]));
    assert!(fixture.headers(&request).is_empty());
}

#[test]
fn thinking_between_calls_is_asked_for_only_where_it_must_be() {
    let headers = |model: &str, level, tools: Vec<ToolDescription>| {
        let request = Request { thinking_level: level, tools: Arc::new(tools), ..Request::default() };
        Fixture::new(json!({ "provider": "anthropic", "id": model })).headers(&request)
    };
    let version = [("anthropic-version", "2023-06-01".to_owned())];
    let beta = ("anthropic-beta", "interleaved-thinking-2025-05-14".to_owned());
    let (low, off) = (ThinkingLevel::Low, ThinkingLevel::Off);
    assert_eq!(headers("claude-sonnet-4-5", low, vec![tool("t")]), [version[0].clone(), beta]);
    assert_eq!(headers("claude-sonnet-4-5", low, Vec::new()), version, "there are no calls");
    assert_eq!(headers("claude-sonnet-4-5", off, vec![tool("t")]), version);
    assert_eq!(headers("claude-opus-4-6", low, vec![tool("t")]), version, "newer models do by themselves");
    assert_eq!(headers("claude-3-7-sonnet-20250219", low, vec![tool("t")]), version, "older ones cannot");
}

/// What a body says of thinking and of the options beside it.
fn with_options(spec: Value, level: ThinkingLevel, options: Value) -> Value {
    let request = Request {
        thinking_level: level,
        options: serde_json::from_value(options).unwrap(),
        tools: Arc::new(vec![tool("t"), tool("u")]),
        ..Request::default()
    };
    let mut body = Fixture::new(spec).encode(&request);
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
    let tiny = json!({ "provider": "anthropic", "id": "m", "max_output_tokens": 1500 });
    assert_eq!(with_options(tiny, ThinkingLevel::High, json!({})), json!({ "max_tokens": 1500 }), "no room for the least budget");
    let large = json!({ "provider": "anthropic", "id": "m", "max_output_tokens": 128_000 });
    assert_eq!(with_options(large.clone(), ThinkingLevel::Off, json!({})), json!({ "max_tokens": 32_000 }), "not all there is");
    assert_eq!(with_options(large, ThinkingLevel::Xhigh, json!({}))["max_tokens"], 33_792);
}

#[test]
fn how_tokens_are_chosen_is_sent_as_far_as_it_is_taken() {
    let all = json!({
        "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 7, "frequency_penalty": 0.5, "presence_penalty": -0.5,
    });
    let sent = |model: &str, level, options: &Value| {
        let mut body = with_options(json!(model), level, options.clone());
        body.as_object_mut().unwrap().retain(|name, _| all.get(name).is_some());
        body
    };
    let (off, low) = (ThinkingLevel::Off, ThinkingLevel::Low);
    let older = json!({ "temperature": 0.5, "top_p": 0.9, "top_k": 40 });
    assert_eq!(sent("anthropic/claude-sonnet-4-20250514", off, &all), older);
    assert_eq!(sent("anthropic/claude-opus-4-1", off, &all), json!({ "temperature": 0.5, "top_k": 40 }), "one of the two");
    assert_eq!(sent("anthropic/claude-opus-4-1", off, &json!({ "top_p": 0.9 })), json!({ "top_p": 0.9 }));
    assert_eq!(sent("anthropic/claude-opus-4-7", off, &all), json!({}));
    assert_eq!(sent("anthropic/claude-haiku-4-5", low, &all), json!({}), "while it thinks");
    assert_eq!(sent("anthropic/claude-haiku-4-5", low, &json!({ "top_p": 0.95 })), json!({ "top_p": 0.95 }));
}

#[test]
fn newer_models_get_an_effort_and_choose_the_amount() {
    let model = |id: &str, quirks: Value| json!({ "provider": "anthropic", "id": id, "quirks": quirks });
    let body = with_options(model("claude-opus-4-6", json!({})), ThinkingLevel::Xhigh, json!({ "temperature": 1 }));
    let thinking = json!({ "type": "adaptive", "display": "summarized" });
    assert_eq!(body, json!({ "max_tokens": 8192, "thinking": thinking, "output_config": { "effort": "max" } }));
    let off = |id: &str, quirks: Value| with_options(model(id, quirks), ThinkingLevel::Off, json!({ "temperature": 1 }));
    assert_eq!(
        off("claude-opus-4-6", json!({})),
        json!({ "max_tokens": 8192, "temperature": 1.0 }),
        "some refuse the field that turns it off"
    );
    let disabled = json!({ "type": "disabled" });
    assert_eq!(off("claude-opus-4-6", json!({ "thinking_off": true }))["thinking"], disabled, "others must be");
    assert_eq!(off("claude-opus-4-7", json!({})), json!({ "max_tokens": 8192 }), "the newest take no temperature");
    let none = with_options(model("m", json!({ "thinking": "none" })), ThinkingLevel::High, json!({ "temperature": 1 }));
    assert_eq!(none, json!({ "max_tokens": 8192, "temperature": 1.0 }), "a model that does not think");
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
    let body = encoded(json!([]), json!({ "tool_choice": "auto" }), Vec::new());
    assert_eq!(body.get("tool_choice"), None, "nothing to choose from");
}

#[test]
fn a_tool_that_cannot_be_forced_beside_thinking_is_the_only_one_offered() {
    let body = |choice: Value| {
        let options = serde_json::from_value(json!({ "tool_choice": choice })).unwrap();
        let tools = Arc::new(vec![tool("t"), tool("u")]);
        let body = Fixture::new(json!("anthropic/m")).encode(&Request {
            thinking_level: ThinkingLevel::Low,
            options,
            tools,
            ..Request::default()
        });
        let names: Vec<Value> = body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        (body["tool_choice"].clone(), names)
    };
    assert_eq!(body(json!("required")), (json!({ "type": "auto" }), vec![json!("t"), json!("u")]));
    assert_eq!(body(json!({ "tool": "u" })), (json!({ "type": "auto" }), vec![json!("u")]));
    assert_eq!(body(json!("none")).0, json!({ "type": "none" }));
}

/// <https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5>
#[test]
fn no_tool_is_forced_on_models_that_refuse_it_while_thinking_is_not_requested() {
    let choice = |model: &str| {
        let body = with_options(json!(format!("anthropic/{model}")), ThinkingLevel::Off, json!({ "tool_choice": "required" }));
        (body["tool_choice"]["type"].clone(), body["thinking"]["type"].clone())
    };
    for refuses in ["claude-opus-5-5", "claude-fable-5-1", "claude-opus-6"] {
        assert_eq!(choice(refuses), (json!("auto"), json!(null)), "{refuses}");
    }
    for takes in ["claude-fable-5", "claude-opus-4-8", "claude-haiku-4-5-20251001"] {
        assert_eq!(choice(takes), (json!("any"), json!(null)), "{takes}");
    }
    assert_eq!(choice("claude-opus-5"), (json!("any"), json!("disabled")), "thinks unless thinking is turned off");
}

#[test]
fn results_of_a_turn_are_one_user_message_with_what_follows() {
    let sent = messages(json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [
            { "type": "tool_call", "id": "a", "name": "t", "arguments": { "x": 1 } },
            { "type": "tool_call", "id": "b", "name": "t" },
        ] },
        {
            "role": "tool_result", "tool_call_id": "a",
            "content": [{ "type": "image", "data": "QQ==", "mime_type": "image/png" }],
        },
        { "role": "tool_result", "tool_call_id": "b", "content": "B", "is_error": true },
        { "role": "user", "content": "and?" },
    ]));
    let expected = json!([
        { "role": "user", "content": [{ "type": "text", "text": "go" }] },
        { "role": "assistant", "content": [
            { "type": "tool_use", "id": "a", "name": "t", "input": { "x": 1 } },
            { "type": "tool_use", "id": "b", "name": "t", "input": {} },
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
fn images_that_results_may_not_hold_follow_all_results() {
    let image = json!({ "type": "image", "data": "QQ==", "mime_type": "image/png" });
    let fixture = Fixture::new(json!({
        "provider": "p", "id": "m", "protocol": "anthropic", "base_url": "http://h", "quirks": { "result_images": false },
    }));
    let sent = sent(
        &fixture,
        json!([
            { "role": "user", "content": "go" },
            {
                "role": "assistant",
                "content": [{ "type": "tool_call", "id": "a", "name": "t" }, { "type": "tool_call", "id": "b", "name": "t" }],
            },
            { "role": "tool_result", "tool_call_id": "a", "content": [image] },
            { "role": "tool_result", "tool_call_id": "b", "content": " \n" },
            { "role": "user", "content": "and?" },
        ]),
    );
    let kinds: Vec<Value> = sent[2]["content"].as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "image", "text"]);
    assert_eq!(sent[2]["content"][0]["content"], json!([{ "type": "text", "text": "the image follows" }]));
    assert_eq!(sent[2]["content"][1]["content"], json!([{ "type": "text", "text": "no output" }]), "white space is refused");
}

#[test]
fn the_result_of_a_failed_call_holds_no_image() {
    let image = json!({ "type": "image", "data": "QQ==", "mime_type": "image/png" });
    let call = |id: &str| json!({ "type": "tool_call", "id": id, "name": "t" });
    let sent = messages(json!([
        { "role": "user", "content": "go" }, { "role": "assistant", "content": [call("a"), call("b")] },
        { "role": "tool_result", "tool_call_id": "a", "content": [image], "is_error": true },
        { "role": "tool_result", "tool_call_id": "b", "content": [image] },
    ]));
    let kinds = |content: &Value| content.as_array().unwrap().iter().map(|block| block["type"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&sent[2]["content"]), ["tool_result", "tool_result", "image"]);
    assert_eq!(sent[2]["content"][0]["content"], json!([{ "type": "text", "text": "the image follows" }]));
    assert_eq!(kinds(&sent[2]["content"][1]["content"]), ["text", "image"]);
}

#[test]
fn with_a_budget_a_loop_that_began_without_thinking_is_finished_without() {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    let call = |id: &str| json!({ "type": "tool_call", "id": id, "name": "t" });
    let said = |content: Value| json!({ "role": "assistant", "content": content });
    let result = |id: &str| json!({ "role": "tool_result", "tool_call_id": id, "content": "r" });
    let user = json!({ "role": "user", "content": "go" });
    let asked = |model: &str, transcript: Value| {
        let request = Request { thinking_level: ThinkingLevel::Low, ..request(transcript) };
        Fixture::new(json!({ "provider": "anthropic", "id": model })).encode(&request)["thinking"]["type"].clone()
    };
    let budget = |transcript: Value| asked("claude-sonnet-4-5", transcript);
    let thought = said(json!([thinking, call("a")]));
    let bare = |id: &str| said(json!([call(id)]));
    assert_eq!(budget(json!([user, thought, result("a")])), "enabled");
    assert_eq!(budget(json!([user, bare("a"), result("a")])), Value::Null);
    assert_eq!(budget(json!([user, thought, result("a"), bare("b"), result("b")])), "enabled", "only how it began counts");
    assert_eq!(budget(json!([user, bare("a"), result("a"), said(json!([thinking, call("b")])), result("b")])), Value::Null);
    assert_eq!(budget(json!([user, thought, result("a"), bare("b"), result("b"), user])), Value::Null, "the user spoke into it");
    assert_eq!(budget(json!([user, bare("a"), result("a"), said(json!("so")), user])), "enabled", "it is over");
    assert_eq!(budget(json!([user, said(json!("so"))])), Value::Null, "an answer to go on with");
    assert_eq!(asked("claude-opus-4-7", json!([user, bare("a"), result("a")])), "adaptive");
}

#[test]
fn an_answer_to_go_on_with_has_no_thinking_while_that_is_off() {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    let hidden = json!({ "type": "thinking", "thinking": "", "signature": "data", "redacted": true });
    let user = json!({ "role": "user", "content": "hi" });
    let said = json!({ "role": "assistant", "content": [thinking, { "type": "text", "text": "so " }, hidden] });
    assert_eq!(messages(json!([user, said]))[1]["content"], json!([{ "type": "text", "text": "so" }]));
    let only = json!({ "role": "assistant", "content": [thinking, hidden] });
    assert_eq!(messages(json!([user, only])).as_array().unwrap().len(), 1);
    assert_eq!(messages(json!([user, only, user]))[1]["content"].as_array().unwrap().len(), 2, "elsewhere it stays");
}

#[test]
fn signed_blocks_go_back_as_they_came() {
    let content = json!([
        { "type": "thinking", "thinking": "hm", "signature": "sig" },
        { "type": "thinking", "thinking": "", "signature": "empty" },
        { "type": "thinking", "thinking": "", "signature": "data", "redacted": true },
        { "type": "opaque", "protocol": "anthropic", "data": { "type": "server_tool_use", "id": "s" } },
        { "type": "text", "text": " " },
        { "type": "text", "text": "so" },
    ]);
    let own = json!([
        { "type": "thinking", "thinking": "hm", "signature": "sig" },
        { "type": "thinking", "thinking": "", "signature": "empty" },
        { "type": "redacted_thinking", "data": "data" },
        { "type": "server_tool_use", "id": "s" },
        { "type": "text", "text": "so" },
    ]);
    let user = json!({ "role": "user", "content": "go" });
    assert_eq!(messages(json!([user, { "role": "assistant", "content": content }, user]))[1]["content"], own);
}

#[test]
fn thinking_without_a_signature_is_plain_text_unless_the_server_signs_nothing() {
    let transcript = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "so" }] },
        { "role": "user", "content": "and?" },
    ]);
    let text = |text: &str| json!({ "type": "text", "text": text });
    assert_eq!(messages(transcript.clone())[1]["content"], json!([text("hm"), text("so")]));
    let fixture = Fixture::new(json!({
        "provider": "p", "id": "m", "protocol": "anthropic", "base_url": "http://h", "quirks": { "empty_signatures": true },
    }));
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "" });
    assert_eq!(sent(&fixture, transcript)[1]["content"], json!([thinking, text("so")]));
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
        json!({
            "type": "message_start",
            "message": { "usage": { "input_tokens": 30, "cache_read_input_tokens": 5, "output_tokens": 1 } },
        }),
        json!({
            "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "input_tokens": 0, "output_tokens": 9 },
        }),
        json!({ "type": "message_stop" }),
    ]);
    let last = deltas.iter().rev().find_map(|delta| match delta {
        Delta::Usage(usage) => Some(usage.clone()),
        _ => None,
    });
    assert_eq!(*last.unwrap(), Usage { input: 30, cache_read: 5, output: 9, ..Usage::default() });
}

#[test]
fn found_w9_the_closing_count_of_the_output_replaces_the_first_one() {
    let used = |closing: Value| {
        let (deltas, _) = decoded(&[
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 30, "output_tokens": 7 } } }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": closing }),
            json!({ "type": "message_stop" }),
        ]);
        deltas.into_iter().rev().find_map(|delta| if let Delta::Usage(usage) = delta { Some(*usage) } else { None }).unwrap()
    };
    let usage = |input, output| Usage { input, output, ..Usage::default() };
    assert_eq!(used(json!({ "output_tokens": 0 })), usage(30, 0));
    assert_eq!(used(json!({ "output_tokens": 3 })), usage(30, 3));
    assert_eq!(used(json!({ "input_tokens": 0, "output_tokens": 0 })), usage(30, 0), "nothing was read says nothing");
    assert_eq!(used(json!({ "input_tokens": 40 })), usage(40, 7), "no count is no zero");
    assert_eq!(used(json!({ "output_tokens": null })), usage(30, 7));
}

#[test]
fn blocks_of_unknown_kinds_are_kept_with_their_input() {
    let (deltas, _) = decoded(&[
        json!({
            "type": "content_block_start", "index": 0, "content_block": { "type": "server_tool_use", "id": "s", "input": {} },
        }),
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
fn citations_are_reported_once_and_the_text_stays_one() {
    let delta = |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    let (deltas, _) = decoded(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "", "citations": [] } }),
        delta(json!({ "type": "citations_delta", "citation": { "url": "a" } })),
        delta(json!({ "type": "text_delta", "text": "so" })),
        delta(json!({ "type": "citations_delta", "citation": { "url": "b" } })),
        json!({ "type": "content_block_stop", "index": 0 }),
    ]);
    let reported = Delta::Diagnostic {
        code: "citations".into(),
        message: "a text names 2 sources".into(),
        data: Box::new(json!({ "citations": [{ "url": "a" }, { "url": "b" }] })),
    };
    let text = [
        Delta::Start { key: 0, block: BlockStart::Text },
        Delta::Append { key: 0, text: "so".into() },
        reported,
        Delta::End { key: 0 },
    ];
    assert_eq!(deltas, text);
}

#[test]
fn thinking_is_signed_in_pieces_and_may_have_no_text() {
    let delta = |delta: Value| json!({ "type": "content_block_delta", "index": 3, "delta": delta });
    let (deltas, _) = decoded(&[
        json!({
            "type": "content_block_start", "index": 3, "content_block": { "type": "thinking", "thinking": "", "signature": "" },
        }),
        delta(json!({ "type": "signature_delta", "signature": "ab" })),
        delta(json!({ "type": "signature_delta", "signature": "c=" })),
        json!({ "type": "content_block_stop", "index": 3 }),
        json!({ "type": "content_block_start", "index": 4, "content_block": { "type": "redacted_thinking", "data": "xyz" } }),
    ]);
    let expected = [
        Delta::Start { key: 3, block: BlockStart::Thinking { redacted: false } },
        Delta::Signature { key: 3, signature: "ab".into() },
        Delta::Signature { key: 3, signature: "c=".into() },
        Delta::End { key: 3 },
        Delta::Start { key: 4, block: BlockStart::Thinking { redacted: true } },
        Delta::Signature { key: 4, signature: "xyz".into() },
    ];
    assert_eq!(deltas, expected);
}

#[test]
fn a_call_without_input_has_none() {
    let (deltas, _) = decoded(&[
        json!({
            "type": "content_block_start", "index": 0,
            "content_block": { "type": "tool_use", "id": "a", "name": "t", "input": {} },
        }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
    ]);
    let start = Delta::Start { key: 0, block: BlockStart::ToolCall { id: "a".into(), name: "t".into() } };
    assert_eq!(deltas, [start, Delta::End { key: 0 }], "an empty text means an empty object");
}

#[test]
fn the_reason_of_a_refusal_is_reported() {
    let details = json!({ "type": "refusal", "category": "cyber", "explanation": "Not this." });
    let (deltas, _) = decoded(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "Well" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "refusal", "stop_details": details } }),
        json!({ "type": "message_stop" }),
    ]);
    let reported = Delta::Diagnostic {
        code: "refusal".into(),
        message: "anthropic refused: Not this.".into(),
        data: Box::new(json!({ "explanation": "Not this." })),
    };
    assert_eq!(deltas[3..], [reported, Delta::Stop { reason: StopReason::Refusal, raw: Some("refusal".into()) }]);
}

#[test]
fn a_zero_beside_other_numbers_of_the_prompt_counts() {
    let (deltas, _) = decoded(&[
        json!({
            "type": "message_start",
            "message": { "usage": { "input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 7 } },
        }),
        json!({
            "type": "message_delta", "delta": {},
            "usage": { "input_tokens": 181, "cache_read_input_tokens": 0, "output_tokens": 8 },
        }),
    ]);
    let usage = Usage { input: 181, output: 8, ..Usage::default() };
    assert_eq!(deltas.last(), Some(&Delta::Usage(Box::new(usage))));
}

#[test]
fn a_summary_in_pieces_is_kept_and_a_later_signature_replaces_the_first() {
    let piece = |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    let stop = json!({ "type": "content_block_stop", "index": 0 });
    let (deltas, _) = decoded(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "compaction", "content": null } }),
        piece(json!({ "type": "compaction_delta", "content": "so ", "encrypted_content": null })),
        piece(json!({ "type": "compaction_delta", "content": "far", "encrypted_content": "e" })),
        stop.clone(),
    ]);
    let kept = json!({ "type": "compaction", "content": "so far", "encrypted_content": "e" });
    let block = BlockStart::Opaque { protocol: "anthropic".into(), data: Box::new(kept) };
    assert_eq!(deltas[0], Delta::Start { key: 0, block });
    let (deltas, _) = decoded(&[
        json!({
            "type": "content_block_start", "index": 0,
            "content_block": { "type": "thinking", "thinking": "", "signature": "begun" },
        }),
        piece(json!({ "type": "text_delta", "text": "hm", "signature": null })),
        piece(json!({ "type": "signature_delta", "signature": "whole" })),
        stop,
    ]);
    assert_eq!(
        deltas[1..3],
        [Delta::Append { key: 0, text: "hm".into() }, Delta::Signature { key: 0, signature: "whole".into() }]
    );
}

#[test]
fn half_a_character_is_replaced() {
    let delta = |kind: &str, field: &str| {
        json!(format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{field}":"a\ud83d"}}}}"#))
    };
    let (deltas, end) = decoded(&[delta("text_delta", "text"), delta("input_json_delta", "partial_json")]);
    let append = Delta::Append { key: 0, text: "a\u{fffd}".into() };
    assert_eq!(deltas[1..], [append.clone(), append], "behind the beginning of a block whose own frame did not come");
    assert_eq!(end.unwrap_err().kind(), ErrorKind::StreamTruncated);
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
        ("sensitive", StopReason::Refusal),
        ("compaction", StopReason::Stop),
    ] {
        let (deltas, _) =
            decoded(&[json!({ "type": "message_delta", "delta": { "stop_reason": raw } }), json!({ "type": "message_stop" })]);
        assert_eq!(deltas.last(), Some(&Delta::Stop { reason, raw: Some(raw.into()) }));
    }
}

/// Without it a call whose input came whole would run with none.
#[test]
fn a_call_keeps_its_input_without_its_last_frame_or_with_pieces_before_the_first() {
    let call = |input: Value| json!({ "type": "tool_use", "id": "a", "name": "f", "input": input });
    let start = |block: Value| json!({ "type": "content_block_start", "index": 0, "content_block": block });
    let piece = |text: &str| {
        let delta = json!({ "type": "input_json_delta", "partial_json": text });
        json!({ "type": "content_block_delta", "index": 0, "delta": delta })
    };
    let closing = [json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }), json!({ "type": "message_stop" })];
    for frames in [vec![start(call(json!({ "x": 1 })))], vec![piece("{\"x\":1}"), start(call(json!({})))]] {
        let (deltas, end) = decoded(&[&frames[..], &closing].concat());
        let started = Delta::Start { key: 0, block: BlockStart::ToolCall { id: "a".into(), name: "f".into() } };
        let input = Delta::Append { key: 0, text: "{\"x\":1}".into() };
        assert!(end.is_ok() && deltas.starts_with(&[started, input]), "{deltas:?}");
    }
}

#[test]
fn found_w6_an_unknown_stop_reason_is_what_came() {
    let call = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
    let start = |block: Value| json!({ "type": "content_block_start", "index": 0, "content_block": block });
    for (block, reason) in [(json!({ "type": "text", "text": "x" }), StopReason::Stop), (call, StopReason::ToolUse)] {
        for raw in [json!("from_the_future"), Value::Null] {
            let end = json!({ "type": "message_delta", "delta": { "stop_reason": raw } });
            let (deltas, end) = decoded(&[start(block.clone()), end, json!({ "type": "message_stop" })]);
            assert_eq!(end, Ok(()));
            let [.., Delta::Diagnostic { code, data, .. }, Delta::Stop { reason: ours, raw: kept }] = &deltas[..] else {
                panic!("{deltas:?}")
            };
            assert_eq!((&code[..], *ours, json!(kept)), ("unknown_stop_reason", reason, raw.clone()));
            assert_eq!(**data, json!({ "raw_stop_reason": raw, "stop_reason": reason.as_str() }));
        }
    }
}

#[test]
fn how_a_stream_may_fail() {
    let (_, end) = decoded(&[json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } })]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::RateLimited);
    let (_, end) = decoded(&[json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } })]);
    let error = end.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Overloaded, true));
    let (_, end) = decoded(&[json!({ "error": { "code": 502, "message": "a gateway's" } })]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::Server);
    let (_, end) = decoded(&[json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } })]);
    let error = end.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StreamTruncated);
    assert_eq!(error.message(), "anthropic's answer ended in the middle: the connection closed before message_stop");
    let (_, end) = decoded(&[json!("{\"type\":")]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::Protocol);
}

#[test]
fn what_is_cached_for_an_hour_costs_twice_the_input() {
    let cost = |usage: Value| {
        let prices = json!({ "input": 4, "output": 20, "cache_read": 0.4, "cache_write": 5 });
        let fixture = Fixture::new(json!({ "provider": "anthropic", "id": "m", "cost": prices }));
        let start = json!({ "type": "message_start", "message": { "usage": usage } });
        let end =
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 1_000_000 } });
        let (deltas, _) = fixture.decode(&[start, end, json!({ "type": "message_stop" })]);
        deltas.into_iter().rev().find_map(|delta| if let Delta::Usage(usage) = delta { usage.cost } else { None })
    };
    let written = |long: u64| {
        let split = json!({ "ephemeral_5m_input_tokens": 2_000_000 - long, "ephemeral_1h_input_tokens": long });
        json!({ "input_tokens": 1_000_000, "cache_creation_input_tokens": 2_000_000, "cache_creation": split })
    };
    assert_eq!(cost(written(0)), None, "the list says it");
    let half = Cost { input: 4.0, output: 20.0, cache_read: 0.0, cache_write: 5.0 + 8.0, total: 37.0 };
    assert_eq!(cost(written(1_000_000)), Some(half));
}

#[test]
fn nothing_is_read_after_the_last_event() {
    let (deltas, end) = decoded(&[
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_stop" }),
        json!({ "type": "error", "error": { "type": "api_error", "message": "never read" } }),
    ]);
    assert!(end.is_ok());
    assert_eq!(deltas, [Delta::Stop { reason: StopReason::Stop, raw: Some("end_turn".into()) }]);
}

#[test]
fn pieces_and_what_closes_something_are_read_quickly() {
    use super::wire::{Frequent, frequent};

    for (kind, field) in [("text_delta", "text"), ("thinking_delta", "thinking"), ("input_json_delta", "partial_json")] {
        let frame = json!({ "type": "content_block_delta", "index": 3, "delta": { "type": kind, field: "a" } }).to_string();
        let Some(Frequent::Piece(piece)) = frequent(&frame) else { panic!("{frame}") };
        assert_eq!((piece.index, &*piece.kind, &*piece.text), (3, kind, "a"));
    }
    assert!(matches!(frequent(r#"{"type": "content_block_stop", "index": 2}"#), Some(Frequent::BlockStop(2))));
    assert!(matches!(frequent(r#"{"type": "message_stop"}"#), Some(Frequent::MessageStop)));
    assert!(matches!(frequent(r#"{"type": "ping"}"#), Some(Frequent::Ping)));
    // What else stands there may count.
    for frame in
        [r#"{"type": "ping", "error": {}}"#, r#"{"type": "message_stop", "index": 1}"#, r#"{"type": "content_block_stop"}"#]
    {
        assert!(frequent(frame).is_none(), "{frame}");
    }
}
