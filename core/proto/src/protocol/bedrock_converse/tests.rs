use std::sync::Arc;

use serde_json::{Value, json};

use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::protocol::by_name;
use crate::protocol::tests::fixture::Fixture;
use crate::request::{ModelOptions, Request, ThinkingLevel, ToolDescription};
use crate::sse::Frame;
use crate::usage::{StopReason, Usage};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn of(id: &str) -> Fixture {
    Fixture::new(json!({ "provider": "amazon-bedrock", "id": id, "location": "us-east-1" }))
}

fn tool(name: &str) -> ToolDescription {
    ToolDescription { name: name.into(), description: String::new(), parameters: Arc::new(json!({ "type": "object" })) }
}

fn body(id: &str, messages: Value, options: Value, tools: &[&str]) -> Value {
    let options: ModelOptions = serde_json::from_value(options).unwrap();
    of(id).body(messages, options, tools.iter().map(|name| tool(name)).collect())
}

fn messages(id: &str, messages: Value) -> Value {
    body(id, messages, json!({ "cache_retention": "none" }), &["t"])["messages"].take()
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_call", "id": id, "name": "t", "arguments": { "x": 1 } })
}

fn result(id: &str, content: Value) -> Value {
    json!({ "role": "tool_result", "tool_call_id": id, "tool_name": "t", "content": content })
}

#[test]
fn the_id_is_one_part_of_the_path() {
    let path = |id: &str| by_name("bedrock_converse").unwrap().path(id);
    assert_eq!(path(CLAUDE), "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream");
    assert_eq!(
        path("arn:aws:bedrock:us-east-1:1234:application-inference-profile/ab12"),
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1234%3Aapplication-inference-profile%2Fab12/converse-stream"
    );
    assert_eq!(path("ü"), "/model/%C3%BC/converse-stream");
}

#[test]
fn a_request_has_these_parts() {
    let options = json!({ "temperature": 0, "top_p": 0.5, "max_tokens": 100, "stop_sequences": ["END"], "top_k": 5 });
    let request = Request {
        system_prompt: "Be brief.".into(),
        messages: serde_json::from_value(json!([user("hi")])).unwrap(),
        tools: Arc::new(vec![tool("t")]),
        options: serde_json::from_value(options).unwrap(),
        ..Request::default()
    };
    let point = json!({ "cachePoint": { "type": "default" } });
    let spec = json!({ "name": "t", "description": "t", "inputSchema": { "json": { "type": "object", "properties": {} } } });
    let mut expected = json!({
        "messages": [{ "role": "user", "content": [{ "text": "hi" }, point] }],
        "system": [{ "text": "Be brief." }, point],
        "inferenceConfig": { "maxTokens": 100, "temperature": 0.0, "stopSequences": ["END"] },
        "toolConfig": { "tools": [{ "toolSpec": spec }, point] },
        "additionalModelRequestFields": { "top_k": 5 },
    });
    // One of the two, and the temperature came first.
    assert_eq!(of(CLAUDE).encode(&request), expected);
    expected["inferenceConfig"]["topP"] = json!(0.5);
    expected.as_object_mut().unwrap().shift_remove("additionalModelRequestFields");
    expected["toolConfig"]["tools"].as_array_mut().unwrap().pop();
    assert_eq!(of("amazon.nova-pro-v1:0").encode(&request), expected, "Nova caches no tools");
    for list in ["/messages/0/content", "/system"] {
        expected.pointer_mut(list).unwrap().as_array_mut().unwrap().pop();
    }
    assert_eq!(of("deepseek.v3.2").encode(&request), expected, "others cache nothing");
    expected["inferenceConfig"].as_object_mut().unwrap().shift_remove("stopSequences");
    assert_eq!(of("qwen.qwen3-32b-v1:0").encode(&request), expected, "nor does Qwen, which takes no stop sequences");
}

#[test]
fn cache_points_stand_where_the_family_takes_them() {
    let asked = |content: Value| json!({ "role": "user", "content": content });
    let text = json!({ "type": "text", "text": "hi" });
    let document = |kind: &str| json!({ "type": "document", "data": "aGk=", "mime_type": kind });
    let image = json!({ "type": "image", "data": "QQ==", "mime_type": "image/png" });
    let called = json!({ "role": "assistant", "content": [{ "type": "tool_call", "id": "c", "name": "t", "arguments": {} }] });
    let result = json!({ "role": "tool_result", "tool_call_id": "c", "tool_name": "t", "content": [text] });
    // In which messages points stand.
    let points = |id: &str, messages: Value| {
        let request = Request { messages: serde_json::from_value(messages).unwrap(), ..Request::default() };
        let body = of(id).encode(&request);
        let is_marked =
            |message: &Value| message["content"].as_array().unwrap().iter().any(|block| block["cachePoint"].is_object());
        body["messages"].as_array().unwrap().iter().map(is_marked).collect::<Vec<_>>()
    };
    let with_result = json!([asked(json!([text])), called, result]);
    assert_eq!(points(CLAUDE, with_result.clone()), [true, false, true]);
    assert_eq!(points("us.amazon.nova-pro-v1:0", with_result), [true, false, false], "none behind a result");
    let with_image = json!([asked(json!([text, image]))]);
    assert_eq!((points(CLAUDE, with_image.clone()), points("us.amazon.nova-pro-v1:0", with_image)), (vec![true], vec![false]));
    assert_eq!(points(CLAUDE, json!([asked(json!([text, document("application/pdf")]))])), [true]);
    assert_eq!(points(CLAUDE, json!([asked(json!([text, document("text/markdown")]))])), [false]);
    assert_eq!(points(CLAUDE, json!([asked(json!([document("text/markdown"), text]))])), [true]);
}

#[test]
fn an_empty_conversation_has_a_message_and_one_begins_with_the_user() {
    let opening = json!({ "role": "user", "content": [{ "text": "Continue." }] });
    assert_eq!(messages(CLAUDE, json!([])), json!([opening]));
    let said = json!({ "role": "assistant", "content": [{ "type": "text", "text": "hello" }] });
    assert_eq!(messages(CLAUDE, json!([said, user("hi")]))[0], opening);
    assert_eq!(messages(CLAUDE, json!([user("hi"), said]))[1]["content"], json!([{ "text": "hello" }]));
    assert!(
        Fixture::new(json!({ "provider": "amazon-bedrock", "id": CLAUDE })).encode(&Request::default()).get("system").is_none()
    );
}

#[test]
fn results_of_a_turn_are_one_message_and_where_nothing_may_be_beside_them_the_model_speaks() {
    let image = json!({ "type": "image", "data": "QQ==", "mime_type": "image/png" });
    let transcript = json!([
        user("go"),
        { "role": "assistant", "content": [call("abcDEF123"), call("abcDEF124")] },
        result("abcDEF123", json!([image])),
        { "role": "tool_result", "tool_call_id": "abcDEF124", "content": "bad", "is_error": true },
        user("and?"),
    ]);
    let results = |first: Value| {
        vec![
            json!({ "toolResult": { "toolUseId": "abcDEF123", "content": first } }),
            json!({ "toolResult": { "toolUseId": "abcDEF124", "content": [{ "text": "bad" }], "status": "error" } }),
        ]
    };
    let png = json!({ "image": { "format": "png", "source": { "bytes": "QQ==" } } });
    let said = json!({ "text": "and?" });
    let mut with_image = results(json!([{ "text": "see the image" }, png]));
    with_image.push(said.clone());
    assert_eq!(
        messages(CLAUDE, transcript.clone()).as_array().unwrap()[1..],
        [
            json!({ "role": "assistant", "content": [
                { "toolUse": { "toolUseId": "abcDEF123", "name": "t", "input": { "x": 1 } } },
                { "toolUse": { "toolUseId": "abcDEF124", "name": "t", "input": { "x": 1 } } },
            ] }),
            json!({ "role": "user", "content": with_image }),
        ]
    );
    let bare = results(json!([{ "text": "the image follows" }]));
    let tail = [
        json!({ "role": "user", "content": bare }),
        json!({ "role": "assistant", "content": [{ "text": "Understood." }] }),
        json!({ "role": "user", "content": [png, said] }),
    ];
    assert_eq!(messages("mistral.pixtral-large-2502-v1:0", transcript).as_array().unwrap()[2..], tail);
}

#[test]
fn a_broken_call_goes_back_with_an_empty_object() {
    let broken = json!({ "type": "tool_call", "id": "a", "name": "t", "arguments": {}, "raw_arguments": "{oops" });
    let sent = messages(CLAUDE, json!([user("go"), { "role": "assistant", "content": [broken] }]));
    assert_eq!(sent[1]["content"][0]["toolUse"]["input"], json!({}));
}

#[test]
fn documents_have_different_names_and_text_beside_them() {
    let document =
        |name: &str, data: &str, kind: &str| json!({ "type": "document", "name": name, "data": data, "mime_type": kind });
    let sent = messages(
        CLAUDE,
        json!([
            { "role": "user", "content": [document("a/b \t c.pdf", "JVBERi0=", "application/pdf")] },
            { "role": "user", "content": [{ "type": "text", "text": "and" }, document("  ", "eA==", "text/markdown")] },
            { "role": "user", "content": [document("a/b \t c.pdf", "eCx5", "text/csv")] },
        ]),
    );
    let block = |format: &str, name: &str, bytes: &str| {
        let source = json!({ "bytes": bytes });
        json!({ "document": { "format": format, "name": name, "source": source } })
    };
    assert_eq!(
        sent[0]["content"],
        json!([
            block("pdf", "a-b c-pdf", "JVBERi0="), { "text": "see the file" },
            { "text": "and" }, block("md", "document [2]", "eA=="),
            block("csv", "a-b c-pdf [3]", "eCx5"), { "text": "see the file" },
        ])
    );
    let long = json!({ "type": "document", "data": "eA==", "mime_type": "application/pdf", "name": "a".repeat(300) });
    let sent = messages(CLAUDE, json!([{ "role": "user", "content": [long, long] }]));
    let name = |at: usize| sent[0]["content"][at]["document"]["name"].as_str().unwrap().len();
    assert_eq!((name(0), name(1)), (200, 200), "the number has its room");
}

#[test]
fn thinking_goes_back_as_each_family_has_it() {
    let made = |id: &str, content: Value| {
        let maker = json!({ "provider": "amazon-bedrock", "protocol": "bedrock_converse", "model": id });
        let mut message = json!({ "role": "assistant", "content": content });
        message.as_object_mut().unwrap().extend(maker.as_object().unwrap().clone());
        messages(id, json!([user("go"), message, user("on")]))[1]["content"].take()
    };
    let content = json!([
        { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
        { "type": "thinking", "thinking": "", "signature": "c2ln" },
        { "type": "thinking", "thinking": "", "signature": "aGlkZGVu", "redacted": true },
        { "type": "thinking", "thinking": "bare" },
        { "type": "text", "text": "so" },
    ]);
    let text = |text: &str, signature: Option<&str>| {
        let mut reasoning = json!({ "text": text });
        if let Some(signature) = signature {
            reasoning["signature"] = json!(signature);
        }
        json!({ "reasoningContent": { "reasoningText": reasoning } })
    };
    let hidden = json!({ "reasoningContent": { "redactedContent": "aGlkZGVu" } });
    let signed = [text("hm", Some("c2ln")), text("", Some("c2ln")), hidden];
    let rest = |bare: Value| json!([signed[0], signed[1], signed[2], bare, { "text": "so" }]);
    assert_eq!(made(CLAUDE, content.clone()), rest(json!({ "text": "bare" })));
    assert_eq!(made("deepseek.v3.2", content), rest(text("bare", None)));
}

/// `additionalModelRequestFields` and `inferenceConfig`.
fn thinks(id: &str, level: ThinkingLevel, options: Value) -> (Value, Value) {
    let request = Request {
        thinking_level: level,
        options: serde_json::from_value(options).unwrap(),
        tools: Arc::new(vec![tool("t")]),
        ..Request::default()
    };
    let mut body = of(id).encode(&request);
    (body["additionalModelRequestFields"].take(), body["inferenceConfig"].take())
}

#[test]
fn each_family_is_asked_to_think_in_its_own_words() {
    let (fields, config) = thinks(CLAUDE, ThinkingLevel::Low, json!({ "max_tokens": 1000 }));
    assert_eq!(
        fields,
        json!({
            "thinking": { "type": "enabled", "budget_tokens": 2048 }, "anthropic_beta": ["interleaved-thinking-2025-05-14"],
        })
    );
    assert_eq!(config, json!({ "maxTokens": 3072 }), "the budget is a part of it");
    let (fields, config) = thinks("global.anthropic.claude-opus-4-7", ThinkingLevel::High, json!({}));
    let thinking = json!({ "type": "adaptive", "display": "summarized" });
    assert_eq!(fields, json!({ "thinking": thinking, "output_config": { "effort": "high" } }));
    assert_eq!(config, Value::Null, "the service has its own limit");
    let nova = json!({ "reasoningConfig": { "type": "enabled", "maxReasoningEffort": "low" } });
    assert_eq!(thinks("us.amazon.nova-2-lite-v1:0", ThinkingLevel::Low, json!({})).0, nova);
    let effort = json!({ "reasoning_effort": "medium" });
    assert_eq!(thinks("openai.gpt-oss-120b-1:0", ThinkingLevel::Medium, json!({})).0, effort);
    let nested = json!({ "reasoning": { "effort": "low" } });
    assert_eq!(thinks("us.openai.gpt-5.6-sol", ThinkingLevel::Low, json!({})).0, nested);
    let limits = json!({ "max_tokens": 100, "temperature": 0.5, "top_p": 0.5, "stop_sequences": ["END"] });
    let (_, config) = thinks("us.amazon.nova-2-lite-v1:0", ThinkingLevel::High, limits);
    assert_eq!(config, json!({ "stopSequences": ["END"] }), "with the most thinking there are no limits");
    assert_eq!(thinks("qwen.qwen3-32b-v1:0", ThinkingLevel::High, json!({})).0, Value::Null);
    for id in [CLAUDE, "us.amazon.nova-2-lite-v1:0", "openai.gpt-oss-120b-1:0"] {
        assert_eq!(thinks(id, ThinkingLevel::Off, json!({})), (Value::Null, Value::Null), "{id}");
    }
    let off = thinks("us.anthropic.claude-opus-5", ThinkingLevel::Off, json!({})).0;
    assert_eq!(off, json!({ "thinking": { "type": "disabled" } }), "thinks unless it is turned off");
}

#[test]
fn tool_choices_and_tools_of_the_history() {
    let config = |id: &str, choice: Value, messages: Value, tools: &[&str]| {
        body(id, messages, json!({ "tool_choice": choice, "cache_retention": "none" }), tools)["toolConfig"].take()
    };
    let of_choice = |id: &str, choice: Value| config(id, choice, json!([user("hi")]), &["t", "u"])["toolChoice"].take();
    assert_eq!(of_choice(CLAUDE, json!("auto")), Value::Null, "what the service does by itself");
    assert_eq!(of_choice(CLAUDE, json!("required")), json!({ "any": {} }));
    assert_eq!(of_choice(CLAUDE, json!({ "tool": "u" })), json!({ "tool": { "name": "u" } }));
    assert_eq!(of_choice("qwen.qwen3-32b-v1:0", json!("required")), Value::Null);
    let called = json!([user("go"), { "role": "assistant", "content": [call("a")] }, result("a", json!("r"))]);
    let names = |config: &Value| -> Vec<Value> {
        let tools = config["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["toolSpec"]["name"].clone()).collect()
    };
    assert_eq!(config(CLAUDE, json!("none"), json!([user("hi")]), &["t"]), Value::Null, "there is no choice of none");
    assert_eq!(
        names(&config(CLAUDE, json!("none"), called.clone(), &["t", "u"])),
        ["t", "u"],
        "a history with calls needs tools"
    );
    assert_eq!(names(&config(CLAUDE, json!("auto"), called, &[])), ["t"], "also one whose tools are gone");
    assert_eq!(config(CLAUDE, json!("auto"), json!([user("hi")]), &[]), Value::Null);
}

type Read = (Vec<Delta>, Result<(), Error>);

fn read(events: &[(&str, Value)]) -> Read {
    let (mut decoder, mut out) = (of(CLAUDE).decoder(), Vec::new());
    for (event, data) in events {
        let frame = Frame { event: (*event).into(), data: data.to_string().into(), ..Frame::default() };
        match decoder.frame(&frame, &mut out) {
            Ok(true) => {}
            Ok(false) => return (out, Ok(())),
            Err(error) => return (out, Err(error)),
        }
    }
    let end = decoder.end(&mut out);
    (out, end)
}

fn piece(index: u32, delta: Value) -> (&'static str, Value) {
    ("contentBlockDelta", json!({ "contentBlockIndex": index, "delta": delta, "p": "abc" }))
}

fn stop(index: u32) -> (&'static str, Value) {
    ("contentBlockStop", json!({ "contentBlockIndex": index }))
}

fn over(reason: &str) -> (&'static str, Value) {
    ("messageStop", json!({ "stopReason": reason }))
}

#[test]
fn an_answer_of_all_kinds_of_blocks() {
    let (deltas, end) = read(&[
        ("messageStart", json!({ "role": "assistant", "p": "a" })),
        piece(0, json!({ "reasoningContent": { "text": "hm" } })),
        piece(0, json!({ "reasoningContent": { "signature": "c2ln" } })),
        stop(0),
        piece(1, json!({ "reasoningContent": { "redactedContent": "aGlk" } })),
        piece(1, json!({ "reasoningContent": { "redactedContent": "ZGU=" } })),
        stop(1),
        piece(2, json!({ "text": "I " })),
        piece(2, json!({ "text": "look" })),
        piece(2, json!({ "text": "" })),
        piece(2, json!({ "citation": { "title": "t" } })),
        stop(2),
        ("contentBlockStart", json!({ "contentBlockIndex": 3, "start": { "toolUse": { "toolUseId": "c", "name": "t" } } })),
        piece(3, json!({ "toolUse": { "input": "{\"x\":" } })),
        piece(3, json!({ "toolUse": { "input": "1}" } })),
        stop(3),
        over("tool_use"),
        (
            "metadata",
            json!({
                "usage": {
                    "inputTokens": 5, "outputTokens": 7, "totalTokens": 18, "cacheReadInputTokens": 4, "cacheWriteInputTokens": 2,
                },
                "metrics": { "latencyMs": 9 },
            }),
        ),
        ("later", json!({})),
    ]);
    assert_eq!(end, Ok(()));
    let append = |key, text: &str| Delta::Append { key, text: text.into() };
    let kinds: Vec<Delta> = deltas.into_iter().filter(|delta| !matches!(delta, Delta::Diagnostic { .. })).collect();
    let usage = Usage { input: 5, output: 7, cache_read: 4, cache_write: 2, ..Usage::default() };
    assert_eq!(
        kinds,
        [
            Delta::Start { key: 0, block: BlockStart::Thinking { redacted: false } },
            append(0, "hm"),
            Delta::Signature { key: 0, signature: "c2ln".into() },
            Delta::End { key: 0 },
            Delta::Start { key: 1, block: BlockStart::Thinking { redacted: true } },
            Delta::Signature { key: 1, signature: "aGlkZGU=".into() },
            Delta::End { key: 1 },
            Delta::Start { key: 2, block: BlockStart::Text },
            append(2, "I "),
            append(2, "look"),
            Delta::End { key: 2 },
            Delta::Start { key: 3, block: BlockStart::ToolCall { id: "c".into(), name: "t".into() } },
            append(3, "{\"x\":"),
            append(3, "1}"),
            Delta::End { key: 3 },
            Delta::Stop { reason: StopReason::ToolUse, raw: Some("tool_use".into()) },
            Delta::Usage(Box::new(usage)),
        ]
    );
}

#[test]
fn a_piece_of_another_kind_begins_another_block() {
    let (deltas, end) = read(&[
        piece(0, json!({ "reasoningContent": { "text": "hm" } })),
        piece(0, json!({ "text": "so" })),
        piece(1, json!({ "text": "and" })),
        piece(0, json!({ "text": " on" })),
        over("end_turn"),
    ]);
    assert_eq!(end, Ok(()), "what was used may be missing");
    let texts: Vec<(u32, &str)> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Append { key, text } => Some((*key, text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(texts, [(0, "hm"), (1, "so"), (2, "and"), (1, " on")]);
    assert_eq!(deltas.iter().filter(|delta| matches!(delta, Delta::End { .. })).count(), 3);
}

#[test]
fn what_the_service_did_itself_is_kept_and_not_called() {
    let (deltas, _) = read(&[
        (
            "contentBlockStart",
            json!({
                "contentBlockIndex": 0,
                "start": { "toolUse": { "toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use" } },
            }),
        ),
        piece(0, json!({ "toolUse": { "input": "{\"q\":1}" } })),
        stop(0),
        (
            "contentBlockStart",
            json!({ "contentBlockIndex": 1, "start": { "toolResult": { "toolUseId": "s", "type": "grounding_result" } } }),
        ),
        piece(1, json!({ "toolResult": [{ "text": "a" }] })),
        piece(1, json!({ "toolResult": [{ "text": "b" }] })),
        stop(1),
        over("end_turn"),
    ]);
    let kept: Vec<&Value> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Start { block: BlockStart::Opaque { data, .. }, .. } => Some(&**data),
            _ => None,
        })
        .collect();
    assert_eq!(
        kept,
        [
            &json!({ "toolUse": { "toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use", "input": { "q": 1 } } }),
            &json!({
                "toolResult": { "toolUseId": "s", "type": "grounding_result", "content": [{ "text": "a" }, { "text": "b" }] }
            }),
        ]
    );
}

#[test]
fn reasons_for_the_end() {
    let reason = |word: &str| {
        read(&[piece(0, json!({ "text": "so" })), over(word)]).0.into_iter().find_map(|delta| match delta {
            Delta::Stop { reason, .. } => Some(reason),
            _ => None,
        })
    };
    for (word, expected) in [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("tool_use", StopReason::ToolUse),
        ("guardrail_intervened", StopReason::Refusal),
        ("content_filtered", StopReason::Refusal),
        ("new_word", StopReason::Stop),
    ] {
        assert_eq!(reason(word), Some(expected), "{word}");
    }
    for word in ["malformed_tool_use", "malformed_model_output"] {
        let error = read(&[over(word)]).1.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Protocol, true), "{word}");
    }
    let cut = read(&[piece(0, json!({ "text": "so" }))]).1.unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::StreamTruncated);
}

#[test]
fn exceptions_count_as_the_errors_that_they_are() {
    for (kind, message, expected, is_retried) in [
        ("throttlingException", "Too many tokens, please wait before trying again.", ErrorKind::RateLimited, true),
        ("throttlingException", "Too many requests", ErrorKind::RateLimited, true),
        ("validationException", "Malformed input request", ErrorKind::InvalidRequest, false),
        ("validationException", "Input is too long for requested model.", ErrorKind::ContextOverflow, false),
        ("internalServerException", "It broke.", ErrorKind::Server, true),
        ("modelStreamErrorException", "The model's stream broke.", ErrorKind::Server, true),
        ("serviceUnavailableException", "Bedrock is unable to process your request.", ErrorKind::Overloaded, true),
        ("modelTimeoutException", "Too slow.", ErrorKind::Timeout, true),
        ("accessDeniedException", "You don't have access to the model.", ErrorKind::Permission, false),
    ] {
        let (_, end) = read(&[("error", json!({ "error": { "type": kind, "message": message } }))]);
        let error = end.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (expected, is_retried), "{kind}: {error}");
        assert!(error.message().contains(message), "{error}");
    }
}
