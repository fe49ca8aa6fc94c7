use std::sync::Arc;

use serde_json::{Value, json};

use super::Gemini;
use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::message::Message;
use crate::protocol::Protocol;
use crate::protocol::tests::fixture::{Fixture, long_run};
use crate::request::{ModelOptions, Request, ThinkingLevel, ToolDescription};
use crate::usage::{StopReason, Usage};

/// The contents of a request with these messages, as they stand, after transcript repair.
fn contents(spec: Value, messages: Value) -> Value {
    let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
    Fixture::new(spec).encode(&Request { messages, ..Request::default() })["contents"].clone()
}

fn old() -> Value {
    json!("google/gemini-2.5-flash")
}

fn new() -> Value {
    json!("google/gemini-3-pro-preview")
}

fn vertex() -> Value {
    json!("google-vertex/gemini-3-pro-preview")
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "parts": [{ "text": text }] })
}

#[test]
fn the_address_asks_for_events_and_the_key_is_a_header() {
    assert_eq!(Gemini.path("gemini-2.5-pro"), "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
    assert_eq!(Gemini.path("models/gemini-2.5-pro"), Gemini.path("gemini-2.5-pro"), "as lists of models name it");
    assert_eq!(Gemini.key_header("k"), ("x-goog-api-key", "k".to_owned()));
    assert_eq!(Fixture::new(old()).headers(&Request::default()), []);
}

#[test]
fn the_whole_request() {
    let tool = ToolDescription { name: "t".into(), description: "d".into(), parameters: json!({ "properties": {} }).into() };
    let options = json!({
        "temperature": 0, "max_tokens": 4000, "stop_sequences": ["END"], "tool_choice": { "tool": "t" }, "session_id": "s",
    });
    let request = Request {
        system_prompt: "Be brief.".into(),
        messages: vec![Arc::new(Message::user("hi", 1))],
        tools: Arc::new(vec![tool]),
        thinking_level: ThinkingLevel::Low,
        options: serde_json::from_value(options).unwrap(),
        ..Request::default()
    };
    let expected = json!({
        "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }],
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "tools": [{ "functionDeclarations": [
            { "name": "t", "description": "d", "parametersJsonSchema": { "type": "object", "properties": {} } },
        ] }],
        "toolConfig": { "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["t"] } },
        "generationConfig": {
            "temperature": 0.0, "maxOutputTokens": 4000, "stopSequences": ["END"],
            "thinkingConfig": { "includeThoughts": true, "thinkingBudget": 2048 },
        },
    });
    assert_eq!(Fixture::new(old()).encode(&request).to_string(), expected.to_string(), "byte for byte, keys in order");
}

#[test]
fn how_tokens_are_chosen_is_sent_as_far_as_it_is_taken() {
    let all = json!({
        "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 7, "frequency_penalty": 0.5, "presence_penalty": -0.5,
    });
    let sent = |model: &str| {
        let request = Request { options: serde_json::from_value(all.clone()).unwrap(), ..Request::default() };
        Fixture::new(json!(model)).encode(&request)["generationConfig"].clone()
    };
    let expected = json!({
        "temperature": 0.5, "topP": 0.9, "topK": 40, "seed": 7, "frequencyPenalty": 0.5, "presencePenalty": -0.5,
    });
    assert_eq!(sent("google/gemini-2.0-flash").to_string(), expected.to_string());
    let newer = sent("google-vertex/gemini-3.5-flash");
    assert_eq!((&newer["topP"], &newer["topK"], &newer["seed"]), (&json!(0.9), &json!(40), &json!(7)));
    assert_eq!((newer.get("frequencyPenalty"), newer.get("presencePenalty")), (None, None), "only 2.0 takes them");
}

#[test]
fn what_is_not_set_is_not_sent() {
    let plain = Fixture::new(json!("google/gemma-3")).encode(&Request::default());
    assert_eq!(plain, json!({ "contents": [user("Continue.")] }), "nothing but a word of the user, which the API wants");
    let options = ModelOptions { tool_choice: serde_json::from_value(json!("auto")).unwrap(), ..ModelOptions::default() };
    let body = Fixture::of_protocol("gemini").body(json!([]), options, Vec::new());
    assert_eq!(body["toolConfig"], Value::Null, "no choice without tools");
}

#[test]
fn tool_choices() {
    let choice = |choice: Value, level| {
        let tool = ToolDescription { name: "t".into(), description: String::new(), parameters: json!({}).into() };
        let options = serde_json::from_value(json!({ "tool_choice": choice })).unwrap();
        let request = Request { tools: Arc::new(vec![tool]), options, thinking_level: level, ..Request::default() };
        Fixture::new(old()).encode(&request)["toolConfig"]["functionCallingConfig"].clone()
    };
    let off = ThinkingLevel::Off;
    assert_eq!(choice(json!("auto"), off), json!({ "mode": "AUTO" }));
    assert_eq!(choice(json!("none"), off), json!({ "mode": "NONE" }));
    assert_eq!(choice(json!("required"), off), json!({ "mode": "ANY" }));
    assert_eq!(choice(json!({ "tool": "t" }), off), json!({ "mode": "ANY", "allowedFunctionNames": ["t"] }));
    assert_eq!(choice(json!("required"), ThinkingLevel::High), json!({ "mode": "ANY" }), "also beside thinking");
}

#[test]
fn thinking_is_asked_for_as_the_model_takes_it() {
    use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
    let on = |what: Value| {
        let mut config = json!({ "includeThoughts": true });
        config.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        config
    };
    let budget = |tokens: u64| json!({ "thinkingBudget": tokens });
    let level = |level: &str| json!({ "thinkingLevel": level });
    for (model, asked, expected) in [
        // Tokens, within what the model takes; off is none where there is such a thing.
        ("gemini-2.5-pro", Off, budget(128)),
        ("gemini-2.5-pro", Minimal, on(budget(1024))),
        ("gemini-2.5-pro", Xhigh, on(budget(32_768))),
        ("gemini-2.5-flash", Off, budget(0)),
        ("gemini-2.5-flash", Medium, on(budget(8192))),
        ("gemini-2.5-flash", Xhigh, on(budget(24_576))),
        ("gemini-2.5-flash-lite", Off, budget(0)),
        ("gemini-2.5-flash-lite", Low, on(budget(2048))),
        // Words; they cannot be kept from thinking.
        ("gemini-3-pro-preview", Off, level("LOW")),
        ("gemini-3-pro-preview", Minimal, on(level("LOW"))),
        ("gemini-3-pro-preview", Medium, on(level("HIGH"))),
        ("gemini-3.1-pro-preview", Medium, on(level("MEDIUM"))),
        ("gemini-3-flash-preview", Off, level("MINIMAL")),
        ("gemini-3-flash-preview", Medium, on(level("MEDIUM"))),
        ("gemini-3-flash-preview", Xhigh, on(level("HIGH"))),
        // These do not think.
        ("gemini-2.0-flash", High, Value::Null),
        ("gemini-2.5-flash-image", Off, Value::Null),
        ("gemma-3-27b-it", Off, Value::Null),
    ] {
        for provider in ["google", "google-vertex"] {
            let request = Request { thinking_level: asked, ..Request::default() };
            let body = Fixture::new(json!(format!("{provider}/{model}"))).encode(&request);
            assert_eq!(body["generationConfig"]["thinkingConfig"], expected, "{provider}/{model} {asked:?}");
        }
    }
    let tokens = |model: &str, tokens: u64| {
        let options = serde_json::from_value(json!({ "thinking_budgets": { "low": tokens } })).unwrap();
        let request = Request { thinking_level: Low, options, ..Request::default() };
        Fixture::new(json!(model)).encode(&request)["generationConfig"]["thinkingConfig"].clone()
    };
    assert_eq!(tokens("google/gemini-2.5-pro", 5), on(budget(128)), "the model's least");
    assert_eq!(tokens("google/gemini-2.5-flash-lite", 5), on(budget(512)));
    assert_eq!(tokens("google/gemini-2.5-flash", 0), on(budget(1)), "thoughts are not asked for beside none");
    // An unknown model is not asked to turn thinking off: it may refuse that.
    assert_eq!(Fixture::of_protocol("gemini").encode(&Request::default()).get("generationConfig"), None);
}

#[test]
fn a_budget_of_thinking_leaves_room_for_the_answer() {
    let config = |spec: Value, level: ThinkingLevel, limit: Option<u64>| {
        let options = serde_json::from_value(json!({ "max_tokens": limit })).unwrap();
        let request = Request { thinking_level: level, options, ..Request::default() };
        let config = &Fixture::new(spec).encode(&request)["generationConfig"];
        (config["maxOutputTokens"].as_u64(), config["thinkingConfig"].clone())
    };
    let on = |tokens: u64| json!({ "thinkingBudget": tokens, "includeThoughts": true });
    let off = |tokens: u64| json!({ "thinkingBudget": tokens });
    let flash = || json!("google/gemini-2.5-flash");
    assert_eq!(config(flash(), ThinkingLevel::High, Some(100)), (Some(17_408), on(16_384)), "raised");
    assert_eq!(config(flash(), ThinkingLevel::High, Some(20_000)), (Some(20_000), on(16_384)));
    assert_eq!(config(flash(), ThinkingLevel::High, None), (None, on(16_384)), "what was not set is not sent");
    assert_eq!(config(flash(), ThinkingLevel::Off, Some(100)), (Some(100), off(0)));
    assert_eq!(
        config(json!("google/gemini-2.5-pro"), ThinkingLevel::Off, Some(100)),
        (Some(1152), off(128)),
        "it thinks all the same"
    );
    let small = |most: u64| json!({ "provider": "google", "id": "gemini-2.5-flash-lite", "max_output_tokens": most });
    assert_eq!(config(small(4096), ThinkingLevel::High, Some(100)), (Some(4096), on(3072)), "the model's most");
    assert_eq!(config(small(4096), ThinkingLevel::High, None), (None, on(3072)));
    assert_eq!(config(small(1500), ThinkingLevel::High, Some(100)), (Some(100), off(0)), "no room for the least budget");
    let level = config(json!("google/gemini-3.5-flash"), ThinkingLevel::High, Some(100));
    assert_eq!(level.0, Some(100), "the tokens of a level are not known");
}

#[test]
fn results_of_a_turn_are_one_content_in_call_order() {
    let sent = contents(
        old(),
        json!([
            { "role": "user", "content": "go" },
            { "role": "user", "content": [{ "type": "image", "data": "QQ==", "mime_type": "image/png" }] },
            { "role": "assistant", "content": [
                { "type": "tool_call", "id": "a", "name": "t", "arguments": { "x": 1 } },
                { "type": "tool_call", "id": "b", "name": "u", "arguments": {}, "raw_arguments": "{\"x\": " },
            ] },
            { "role": "tool_result", "tool_call_id": "a", "tool_name": "t", "content": "A" },
            { "role": "tool_result", "tool_call_id": "b", "tool_name": "u", "content": [], "is_error": true },
            { "role": "user", "content": "and?" },
        ]),
    );
    let expected = json!([
        { "role": "user", "parts": [{ "text": "go" }, { "inlineData": { "mimeType": "image/png", "data": "QQ==" } }] },
        { "role": "model", "parts": [
            { "functionCall": { "id": "a", "name": "t", "args": { "x": 1 } } },
            { "functionCall": { "id": "b", "name": "u", "args": {} } },
        ] },
        { "role": "user", "parts": [
            { "functionResponse": { "id": "a", "name": "t", "response": { "output": "A" } } },
            { "functionResponse": { "id": "b", "name": "u", "response": { "error": "no output" } } },
            { "text": "and?" },
        ] },
    ]);
    assert_eq!(sent, expected);
}

#[test]
fn ids_are_left_out_where_the_server_refuses_them() {
    let messages = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [{ "type": "tool_call", "id": "a", "name": "t" }] },
        { "role": "tool_result", "tool_call_id": "a", "tool_name": "t", "content": "A" },
    ]);
    let expected = json!([
        user("go"),
        { "role": "model", "parts": [{ "functionCall": { "name": "t", "args": {} } }] },
        { "role": "user", "parts": [{ "functionResponse": { "name": "t", "response": { "output": "A" } } }] },
    ]);
    assert_eq!(contents(json!("google-vertex/gemini-2.5-pro"), messages), expected);
}

#[test]
fn images_of_results_go_into_the_result_or_follow_all_of_them() {
    let image = |data: &str| json!({ "type": "image", "data": data, "mime_type": "image/png" });
    let messages = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [
            { "type": "tool_call", "id": "a", "name": "t", "signature": "c2ln" }, { "type": "tool_call", "id": "b", "name": "t" },
        ] },
        { "role": "tool_result", "tool_call_id": "a", "tool_name": "t", "content": [image("QQ==")] },
        {
            "role": "tool_result", "tool_call_id": "b", "tool_name": "t",
            "content": [{ "type": "text", "text": "B" }, image("Qg==")],
        },
        { "role": "user", "content": "and?" },
    ]);
    let inline = |data: &str| json!({ "inlineData": { "mimeType": "image/png", "data": data } });
    let response = |id: &str, text: &str| json!({ "id": id, "name": "t", "response": { "output": text } });
    let nested = |id: &str, text: &str, data: &str| {
        let mut response = response(id, text);
        response["parts"] = json!([inline(data)]);
        json!({ "functionResponse": response })
    };
    let sent = contents(new(), messages.clone());
    let parts = json!([nested("a", "see the image", "QQ=="), nested("b", "B", "Qg=="), { "text": "and?" }]);
    assert_eq!(sent[2], json!({ "role": "user", "parts": parts }));
    let sent = contents(old(), messages);
    let results = json!([
        { "functionResponse": response("a", "the image follows") }, { "functionResponse": response("b", "B") },
    ]);
    assert_eq!(sent[2], json!({ "role": "user", "parts": results }));
    let images = json!([inline("QQ=="), inline("Qg=="), { "text": "and?" }]);
    assert_eq!(sent[3], json!({ "role": "user", "parts": images }), "a turn of the user's, which goes on with what is said");
}

#[test]
fn signatures_stand_on_the_parts_they_came_with() {
    let content = json!([
        { "type": "thinking", "thinking": "hm", "signature": "dGg=" },
        { "type": "thinking", "thinking": "and" },
        { "type": "text", "text": "a" },
        { "type": "text", "text": "b", "signature": "dGV4dA" },
        { "type": "text", "text": "", "signature": "ZW1w-_+/" },
        { "type": "opaque", "protocol": "gemini", "data": { "executableCode": { "code": "1" }, "thoughtSignature": "b3A=" } },
        { "type": "tool_call", "id": "a", "name": "t", "signature": "Y2FsbA==" },
        { "type": "tool_call", "id": "b", "name": "t" },
    ]);
    let message = json!({ "role": "assistant", "content": content });
    let sent = contents(new(), json!([{ "role": "user", "content": "go" }, message]));
    let expected = json!([
        { "text": "hm", "thought": true, "thoughtSignature": "dGg=" },
        { "text": "and", "thought": true },
        { "text": "a" },
        { "text": "b", "thoughtSignature": "dGV4dA" },
        { "text": "", "thoughtSignature": "ZW1w-_+/" },
        { "executableCode": { "code": "1" }, "thoughtSignature": "b3A=" },
        { "functionCall": { "id": "a", "name": "t", "args": {} }, "thoughtSignature": "Y2FsbA==" },
        { "functionCall": { "id": "b", "name": "t", "args": {} } },
    ]);
    assert_eq!(sent[1]["parts"], expected, "in place, unmerged, and none is made up where the first call has one");
}

#[test]
fn a_first_call_without_a_signature_skips_the_check_where_that_is_understood() {
    let signatures = |spec: Value, first: Option<&str>| {
        let mut call = json!({ "type": "tool_call", "id": "a", "name": "t" });
        if let Some(signature) = first {
            call["signature"] = signature.into();
        }
        let content = json!([{ "type": "text", "text": "so" }, call, { "type": "tool_call", "id": "b", "name": "t" }]);
        let sent = contents(spec, json!([{ "role": "user", "content": "go" }, { "role": "assistant", "content": content }]));
        sent[1]["parts"].as_array().unwrap().iter().map(|part| part["thoughtSignature"].clone()).collect::<Vec<_>>()
    };
    let skipped = [Value::Null, json!("skip_thought_signature_validator"), Value::Null];
    assert_eq!(signatures(new(), None), skipped);
    assert_eq!(signatures(new(), Some("{no base64}")), skipped, "the API would refuse it");
    assert_eq!(signatures(new(), Some("c2ln")), [Value::Null, json!("c2ln"), Value::Null]);
    assert_eq!(signatures(vertex(), None), [Value::Null, Value::Null, Value::Null], "Vertex refuses the marker");
    assert_eq!(signatures(old(), None), [Value::Null, Value::Null, Value::Null], "older models do not check");
}

#[test]
fn each_request_of_a_long_run_extends_the_one_before() {
    for spec in [old(), new(), vertex()] {
        let bodies: Vec<String> = long_run(20).into_iter().map(|messages| contents(spec.clone(), messages).to_string()).collect();
        for pair in bodies.windows(2) {
            assert!(pair[1].starts_with(pair[0].trim_end_matches(']')), "{spec}:\n{}\n{}", pair[0], pair[1]);
        }
        assert!(bodies.len() >= 20);
    }
}

#[test]
fn contents_begin_with_the_user_and_alternate() {
    assert_eq!(contents(old(), json!([])), json!([user("Continue.")]));
    let said = |text: &str| json!({ "role": "assistant", "content": text });
    let sent = contents(old(), json!([said("a"), said("b"), { "role": "user", "content": "c" }]));
    assert_eq!(sent, json!([user("Continue."), { "role": "model", "parts": [{ "text": "a" }, { "text": "b" }] }, user("c")]));
}

/// A chunk with these parts.
fn parts(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "parts": parts, "role": "model" } }] })
}

/// The last chunk.
fn finish(reason: &str) -> Value {
    json!({ "candidates": [{ "finishReason": reason }] })
}

fn decoded(chunks: &[Value]) -> (Vec<Delta>, Result<(), Error>) {
    Fixture::of_protocol("gemini").decode(chunks)
}

/// What the deltas come to: of each block its kind, text and signature, in order.
fn blocks(deltas: &[Delta]) -> Vec<(String, String, String)> {
    let mut blocks: Vec<(String, String, String)> = Vec::new();
    for delta in deltas {
        match delta {
            Delta::Start { key, block } => {
                assert_eq!(*key as usize, blocks.len(), "keys count the blocks");
                let kind = match block {
                    BlockStart::Text => "text".to_owned(),
                    BlockStart::Thinking { .. } => "thinking".to_owned(),
                    BlockStart::ToolCall { id, name } => format!("call {id:?} {name}"),
                    BlockStart::Opaque { data, .. } => format!("opaque {data}"),
                };
                blocks.push((kind, String::new(), String::new()));
            }
            Delta::Append { key, text } => blocks[*key as usize].1.push_str(text),
            Delta::Signature { key, signature } => blocks[*key as usize].2.push_str(signature),
            _ => {}
        }
    }
    let ends = deltas.iter().filter(|delta| matches!(delta, Delta::End { .. })).count();
    assert_eq!(ends, blocks.len(), "each block ends");
    blocks
}

/// The blocks of an answer of these parts, each in a chunk of its own.
fn blocks_of(all: Value) -> Vec<(String, String, String)> {
    let chunks = all.as_array().unwrap().iter().map(|part| parts(json!([part])));
    let (deltas, end) = decoded(&chunks.chain([finish("STOP")]).collect::<Vec<_>>());
    assert_eq!(end, Ok(()));
    blocks(&deltas)
}

fn block(kind: &str, text: &str, signature: &str) -> (String, String, String) {
    (kind.to_owned(), text.to_owned(), signature.to_owned())
}

fn stop(deltas: &[Delta]) -> Option<(StopReason, &str)> {
    deltas.iter().find_map(|delta| match delta {
        Delta::Stop { reason, raw } => Some((*reason, raw.as_deref().unwrap_or_default())),
        _ => None,
    })
}

#[test]
fn text_and_thinking_are_blocks_that_go_on() {
    let found = blocks_of(json!([
        { "text": "h", "thought": true }, { "text": "m", "thought": true }, { "text": "" }, { "text": "a" }, { "text": "b" },
        { "text": "again", "thought": true }, { "text": " " },
    ]));
    let expected = [block("thinking", "hm", ""), block("text", "ab", ""), block("thinking", "again", ""), block("text", " ", "")];
    assert_eq!(found, expected);
}

#[test]
fn a_part_with_a_signature_is_a_separate_block() {
    let found = blocks_of(json!([
        { "text": "t", "thought": true }, { "text": "u", "thought": true, "thoughtSignature": "s0" },
        { "text": "a" }, { "text": "b", "thoughtSignature": "s1" }, { "text": "c" }, { "text": "d", "thoughtSignature": "" },
        { "text": "", "thoughtSignature": "s2" }, { "thoughtSignature": "s3" },
    ]));
    let expected = [
        block("thinking", "t", ""),
        block("thinking", "u", "s0"),
        block("text", "a", ""),
        block("text", "b", "s1"),
        block("text", "cd", ""),
        block("text", "", "s2"),
        block("text", "", "s3"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn calls_come_whole_with_or_without_arguments_and_id() {
    let found = blocks_of(json!([
        { "text": "so" },
        { "functionCall": { "name": "t", "args": { "z": 1, "a": [1.50] }, "id": "x" }, "thoughtSignature": "s" },
        { "functionCall": { "name": "t", "args": {} } },
        { "functionCall": { "name": "t" } },
        { "functionCall": { "name": "t", "args": null, "id": "" } },
        { "text": "" },
    ]));
    let expected = [
        block("text", "so", ""),
        block("call \"x\" t", r#"{"z":1,"a":[1.5]}"#, "s"),
        block("call \"\" t", "{}", ""),
        block("call \"\" t", "", ""),
        block("call \"\" t", "", ""),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_chunk_may_have_several_parts() {
    let several = json!([
        { "text": "hm", "thought": true }, { "text": "so" }, { "functionCall": { "name": "t" }, "thoughtSignature": "s" },
        { "functionCall": { "name": "u" } },
    ]);
    let (deltas, end) = decoded(&[parts(several), finish("STOP")]);
    assert_eq!(end, Ok(()));
    let calls = [block("call \"\" t", "", "s"), block("call \"\" u", "", "")];
    assert_eq!(blocks(&deltas), [&[block("thinking", "hm", ""), block("text", "so", "")], &calls[..]].concat());
}

#[test]
fn streamed_arguments_are_put_together_by_their_paths() {
    let piece = |path: &str, value: Value| {
        let mut piece = json!({ "jsonPath": path });
        piece.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        json!({ "functionCall": { "partialArgs": [piece], "willContinue": true } })
    };
    let text = |path: &str, text: &str| piece(path, json!({ "stringValue": text, "willContinue": true }));
    let found = blocks_of(json!([
        { "functionCall": { "name": "t", "willContinue": true }, "thoughtSignature": "s" },
        text("$.list[0].name", "ei"), text("$.list[0].name", "ns"), piece("$.list[0].name", json!({})),
        text("$.list[1].name", "2"), piece("$.list[1].n", json!({ "numberValue": 0.5 })),
        piece("$.grid[0][0]", json!({ "boolValue": true })), piece("$['odd.name'][0]", json!({ "nullValue": null })),
        text("$.empty", ""),
        { "functionCall": {} },
        { "functionCall": { "name": "u", "args": { "a": 1 }, "willContinue": true } },
        { "functionCall": { "partialArgs": [{ "jsonPath": "$.b", "numberValue": 2 }] } },
        { "text": "" },
    ]));
    let whole = r#"{"list":[{"name":"eins"},{"name":"2","n":0.5}],"grid":[[true]],"odd.name":[null],"empty":""}"#;
    assert_eq!(found, [block("call \"\" t", whole, "s"), block("call \"\" u", r#"{"a":1,"b":2}"#, "")]);
}

#[test]
fn streamed_arguments_that_make_no_sense_are_an_error() {
    let deep = format!("${}", "[0]".repeat(200));
    for (path, why) in [
        ("$", "cannot be read"),
        ("$.a..b", "cannot be read"),
        ("$.a[x]", "cannot be read"),
        ("$.a['b]", "cannot be read"),
        (deep.as_str(), "cannot be read"),
        ("$[0]", "does not fit"),
        ("$.a[4000000000]", "does not fit"),
    ] {
        let call = json!({ "name": "t", "partialArgs": [{ "jsonPath": path, "stringValue": "x" }], "willContinue": true });
        let error = decoded(&[parts(json!([{ "functionCall": call }]))]).1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{path}");
        assert!(error.message().starts_with("p sent arguments of a call of t") && error.message().contains(why), "{error}");
    }
}

#[test]
fn arguments_that_promise_more_are_never_taken_for_whole() {
    let begun = parts(json!([{ "functionCall": {
        "name": "t", "partialArgs": [{ "jsonPath": "$.a", "stringValue": "x", "willContinue": true }], "willContinue": true,
    } }]));
    let next = parts(json!([{ "functionCall": { "name": "u", "args": {} } }]));
    for chunks in [[begun.clone(), finish("STOP")], [begun.clone(), next]] {
        let error = decoded(&chunks).1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StreamTruncated);
        assert!(error.message().ends_with("before the arguments of its call of t were complete"), "{error}");
    }
    let (deltas, end) = decoded(&[begun, finish("MAX_TOKENS")]);
    assert_eq!((end, stop(&deltas)), (Ok(()), Some((StopReason::Length, "MAX_TOKENS"))));
    assert_eq!(blocks(&deltas), [block("call \"\" t", r#"{"a":"x""#, "")], "as text that is no object");
}

#[test]
fn only_the_first_candidate_is_read() {
    let chunk = json!({ "candidates": [
        { "index": 1, "content": { "parts": [{ "text": "no" }] }, "finishReason": "SAFETY" },
        { "index": 0, "content": { "parts": [{ "text": "yes" }] }, "finishReason": "STOP" },
        { "content": { "parts": [{ "text": "no" }] }, "finishReason": "SAFETY" },
    ] });
    let (deltas, end) = decoded(&[chunk]);
    assert_eq!((end, stop(&deltas)), (Ok(()), Some((StopReason::Stop, "STOP"))));
    assert_eq!(blocks(&deltas), [block("text", "yes", "")]);
}

#[test]
fn unknown_parts_are_kept_and_reported() {
    let code = json!({ "executableCode": { "language": "PYTHON", "code": "1" }, "thoughtSignature": "s" });
    let image = json!({ "thought": true, "inlineData": { "mimeType": "image/png", "data": "QQ==" } });
    let odd = json!({ "text": 7 });
    let all = [&code, &image, &odd, &json!({}), &json!(null), &json!(5)].map(|part| parts(json!([part])));
    let (deltas, end) = decoded(&[&all[..], &[finish("STOP")]].concat());
    assert_eq!(end, Ok(()));
    let expected = [&code, &image, &odd].map(|part| block(&format!("opaque {part}"), "", ""));
    assert_eq!(blocks(&deltas), expected);
    let reported: Vec<String> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Diagnostic { code, data, .. } => Some(format!("{code} {data}")),
            _ => None,
        })
        .collect();
    let kinds = ["executableCode", "inlineData", "text"].map(|kind| format!("opaque_block {{\"type\":\"{kind}\"}}"));
    assert_eq!(reported, kinds);
}

#[test]
fn grounding_is_reported_once() {
    let with = |name: &str, value: Value| {
        let mut chunk = parts(json!([{ "text": "a" }]));
        chunk["candidates"][0][name] = value;
        chunk
    };
    let chunks = [
        with("groundingMetadata", json!({})),
        with("groundingMetadata", json!({ "webSearchQueries": ["q"] })),
        with("groundingMetadata", json!({ "webSearchQueries": ["q", "r"] })),
        with("citationMetadata", json!({ "citationSources": [] })),
        finish("STOP"),
    ];
    let (deltas, end) = decoded(&chunks);
    assert_eq!(end, Ok(()));
    assert_eq!(blocks(&deltas), [block("text", "aaaa", "")]);
    let data = json!({ "groundingMetadata": { "webSearchQueries": ["q", "r"] }, "citationMetadata": { "citationSources": [] } });
    let reported: Vec<&Delta> = deltas.iter().filter(|delta| matches!(delta, Delta::Diagnostic { .. })).collect();
    let message = "the answer names its sources".to_owned();
    assert_eq!(reported, [&Delta::Diagnostic { code: "citations".into(), message, data: Box::new(data) }]);
}

#[test]
fn stop_reasons() {
    let ended = |reason: &str, part: Value| {
        let (deltas, end) = decoded(&[parts(json!([part])), finish(reason)]);
        let (ours, raw) = stop(&deltas).unwrap();
        assert_eq!(raw, reason, "the vendor's word");
        end.map(|()| ours).map_err(|error| (error.kind(), error.is_retryable()))
    };
    let text = || json!({ "text": "a" });
    let call = || json!({ "functionCall": { "name": "t" } });
    assert_eq!(ended("STOP", text()), Ok(StopReason::Stop));
    assert_eq!(ended("STOP", call()), Ok(StopReason::ToolUse));
    assert_eq!(ended("MAX_TOKENS", call()), Ok(StopReason::Length));
    for refused in [
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    ] {
        assert_eq!(ended(refused, text()), Ok(StopReason::Refusal), "{refused}");
    }
    for malformed in ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"] {
        assert_eq!(ended(malformed, text()), Err((ErrorKind::Protocol, true)), "{malformed}");
    }
    assert_eq!(ended("MISSING_THOUGHT_SIGNATURE", text()), Err((ErrorKind::InvalidRequest, false)));
    for unknown in ["OTHER", "NO_IMAGE", "SOMETHING_NEW", "FUNCTION_CALL"] {
        assert_eq!(ended(unknown, text()), Ok(StopReason::Stop), "{unknown}");
        assert_eq!(ended(unknown, call()), Ok(StopReason::ToolUse), "{unknown}");
    }
}

#[test]
fn found_w6_an_unknown_finish_reason_keeps_the_answer() {
    let call = json!({ "functionCall": { "name": "t", "args": { "a": 1 } } });
    for raw in ["OTHER", "SOMETHING_NEW"] {
        let (deltas, end) = decoded(&[parts(json!([{ "text": "a" }, call])), finish(raw)]);
        assert_eq!((end, stop(&deltas)), (Ok(()), Some((StopReason::ToolUse, raw))));
        assert_eq!(blocks(&deltas), [block("text", "a", ""), block("call \"\" t", r#"{"a":1}"#, "")]);
        let data = json!({ "raw_stop_reason": raw, "stop_reason": "tool_use" });
        let message = format!("p ended its answer with an unknown reason, {raw:?}; it counts as tool_use");
        let reported = Delta::Diagnostic { code: "unknown_stop_reason".into(), message, data: Box::new(data) };
        assert_eq!(deltas[deltas.len() - 2], reported);
    }
}

#[test]
fn the_last_reason_stands_and_what_follows_it_is_read() {
    let repeated = |text: &str, reason: &str| {
        json!({
            "candidates": [{ "content": { "parts": [{ "text": text }] }, "finishReason": reason }],
        })
    };
    let used = json!({ "usageMetadata": { "promptTokenCount": 3 } });
    let (deltas, end) = decoded(&[repeated("a", "STOP"), repeated("b", "MAX_TOKENS"), used]);
    assert_eq!((end, stop(&deltas)), (Ok(()), Some((StopReason::Length, "MAX_TOKENS"))));
    assert_eq!(blocks(&deltas), [block("text", "ab", "")]);
    assert!(deltas.contains(&Delta::Usage(Box::new(Usage { input: 3, ..Usage::default() }))));
}

#[test]
fn a_refusal_says_why_where_a_reason_is_given() {
    let why = |chunk: Value| {
        let (deltas, end) = decoded(&[chunk]);
        assert_eq!(end, Ok(()));
        let (reason, raw) = stop(&deltas).unwrap();
        assert_eq!(reason, StopReason::Refusal);
        assert_eq!(blocks(&deltas), [], "the provider's words are not the model's");
        let reported = deltas.iter().filter_map(|delta| match delta {
            Delta::Diagnostic { code, message, .. } if code == "refusal" => Some(message.clone()),
            _ => None,
        });
        (raw.to_owned(), reported.collect::<Vec<String>>())
    };
    let finished = json!({ "candidates": [{ "finishReason": "SPII", "finishMessage": "Private." }] });
    assert_eq!(why(finished), ("SPII".to_owned(), vec!["p refused: Private.".to_owned()]));
    assert_eq!(why(finish("SAFETY")), ("SAFETY".to_owned(), vec![]));
    let blocked = |feedback: Value| json!({ "promptFeedback": feedback, "usageMetadata": { "promptTokenCount": 1 } });
    let (raw, none) = why(blocked(json!({ "blockReason": "PROHIBITED_CONTENT", "safetyRatings": [] })));
    assert_eq!((raw.as_str(), none), ("PROHIBITED_CONTENT", vec![]), "a refused prompt has no candidates");
    let (raw, said) = why(blocked(json!({ "blockReason": "OTHER", "blockReasonMessage": "No." })));
    assert_eq!((raw.as_str(), said), ("OTHER", vec!["p refused: No.".to_owned()]));
    // With a call, `finishMessage` only says that there is one; and ratings alone refuse nothing.
    let call = json!({ "candidates": [{
        "content": { "parts": [{ "functionCall": { "name": "t" } }] },
        "finishReason": "STOP", "finishMessage": "Model generated function call(s).",
    }], "promptFeedback": { "safetyRatings": [] } });
    let (deltas, _) = decoded(&[call]);
    assert_eq!(stop(&deltas), Some((StopReason::ToolUse, "STOP")));
    assert_eq!(blocks(&deltas), [block("call \"\" t", "", "")]);
}

#[test]
fn a_malformed_call_is_reported_in_the_vendors_words() {
    let chunk = json!({ "candidates": [
        { "content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: print(t())" },
    ] });
    let (deltas, end) = decoded(&[chunk]);
    let text = "p broke the answer off, the model wrote a call that cannot be read (finishReason \"MALFORMED_FUNCTION_CALL\"): \
                Malformed function call: print(t())";
    assert_eq!(end.unwrap_err().message(), text);
    assert_eq!(blocks(&deltas), [], "nothing was started, so it may be asked again");
}

#[test]
fn a_stream_without_a_reason_is_truncated() {
    for chunks in [vec![], vec![parts(json!([{ "text": "a" }]))], vec![finish("FINISH_REASON_UNSPECIFIED")]] {
        let error = decoded(&chunks).1.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::StreamTruncated, true));
    }
}

#[test]
fn an_error_in_the_stream_ends_it() {
    for (code, status, kind, retryable) in [
        (429, "RESOURCE_EXHAUSTED", ErrorKind::RateLimited, true),
        (503, "UNAVAILABLE", ErrorKind::Overloaded, true),
        (500, "INTERNAL", ErrorKind::Server, true),
        (400, "INVALID_ARGUMENT", ErrorKind::InvalidRequest, false),
        (403, "PERMISSION_DENIED", ErrorKind::Permission, false),
    ] {
        let frame = json!({ "error": { "code": code, "message": "It broke.", "status": status } });
        let error = decoded(&[parts(json!([{ "text": "a" }])), frame]).1.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{status}");
        assert_eq!(error.message(), "p sent an error in its stream: It broke.");
    }
}

#[test]
fn usage_is_the_last_of_each_count_in_disjoint_parts() {
    let used = |counts: Value| json!({ "usageMetadata": counts });
    let chunks = [
        used(json!({ "trafficType": "ON_DEMAND" })),
        used(json!({ "promptTokenCount": 10, "cachedContentTokenCount": 4, "totalTokenCount": 10 })),
        used(json!({ "promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 5 })),
        used(json!({ "promptTokenCount": 10, "candidatesTokenCount": 3, "toolUsePromptTokenCount": 100 })),
        used(json!({ "promptTokenCount": 10, "candidatesTokenCount": 3 })),
        finish("STOP"),
    ];
    let (deltas, end) = decoded(&chunks);
    assert_eq!(end, Ok(()));
    let found: Vec<Usage> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Usage(usage) => Some((**usage).clone()),
            _ => None,
        })
        .collect();
    let usage = |input, output, reasoning| Usage { input, output, cache_read: 4, reasoning, ..Usage::default() };
    assert_eq!(found, [usage(6, 0, 0), usage(6, 7, 5), usage(6, 8, 5)], "reported when it changes");
    let odd = used(json!({ "promptTokenCount": 1, "cachedContentTokenCount": 4 }));
    assert!(decoded(&[odd]).0.contains(&Delta::Usage(Box::new(Usage { cache_read: 4, ..Usage::default() }))), "never below zero");
}

#[test]
fn the_response_has_an_id_once() {
    let with_id = |id: Value| json!({ "responseId": id });
    let (deltas, _) = decoded(&[with_id(json!(null)), with_id(json!("r")), with_id(json!("r"))]);
    assert_eq!(deltas, [Delta::ResponseId("r".into())]);
}

#[test]
fn half_characters_are_replaced_and_odd_frames_skipped() {
    let chunks = [
        json!(""),
        json!("null"),
        json!("[DONE]"),
        json!({ "candidates": null }),
        json!({ "candidates": [{ "content": null, "finishReason": null }] }),
        json!({ "candidates": [{ "content": { "parts": null } }], "new": {} }),
        json!(r#"{"candidates":[{"content":{"parts":[{"text":"a\ud83db"},{"text":"\uD83D\uDE00 c\\ud"}]}}]}"#),
        finish("STOP"),
    ];
    let (deltas, end) = decoded(&chunks);
    assert_eq!(end, Ok(()));
    assert_eq!(blocks(&deltas), [block("text", "a\u{FFFD}b\u{1F600} c\\ud", "")]);
    let error = decoded(&[json!("<html>")]).1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
}

#[test]
fn pieces_of_text_thinking_and_arguments_are_read_quickly() {
    use super::wire::{Known, Said, piece};
    let known = Known { id: true, model: true, ..Known::default() };
    let chunk = |part: Value| {
        let content = json!({ "parts": [part], "role": "model" });
        let usage = json!({ "promptTokenCount": 3, "candidatesTokenCount": 2 });
        json!({ "candidates": [{ "content": content, "index": 0 }], "usageMetadata": usage, "responseId": "r" }).to_string()
    };
    let text = chunk(json!({ "text": "a" }));
    let read = piece(&text, &known).unwrap();
    assert!(matches!(read.said, Said::Text(text) if text == "a"));
    assert_eq!(read.counts.unwrap().candidates_token_count, Some(2));
    let thought = chunk(json!({ "text": "a", "thought": true }));
    assert!(matches!(piece(&thought, &known).unwrap().said, Said::Thinking(text) if text == "a"));
    let more = json!({ "partialArgs": [{ "jsonPath": "$.x", "stringValue": "a", "willContinue": true }], "willContinue": true });
    let more = chunk(json!({ "functionCall": more }));
    assert!(matches!(piece(&more, &known).unwrap().said, Said::Argument(path, text) if (&*path, &*text) == ("$.x", "a")));
    assert!(piece(&text, &Known::default()).is_none(), "its id was not sent yet");
}
