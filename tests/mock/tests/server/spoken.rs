//! Messages and failures in the format of the request.

use agent_mock::{Answer, Chunk, Encoding, Failure, Flavour, Format, Last, Mock, Script, Speech, Stop, Strict, Tokens, When};
use serde_json::{Value, json};

use crate::client::{Ended, Reply, connect, receive, send};

/// A plain question with a tool, as each service wants it.
pub(crate) fn question(format: Format) -> (&'static str, &'static str, Value) {
    match format {
        Format::Anthropic => (
            "/v1/messages",
            "x-api-key: k\r\nanthropic-version: 2023-06-01\r\n",
            json!({
                "model": "m", "max_tokens": 100, "stream": true, "messages": [{"role": "user", "content": "Rain?"}],
                "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
            }),
        ),
        Format::Chat => (
            "/v1/chat/completions",
            "authorization: Bearer k\r\n",
            json!({
                "model": "m", "stream": true, "stream_options": {"include_usage": true},
                "messages": [{"role": "user", "content": "Rain?"}],
                "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
            }),
        ),
        Format::Responses => (
            "/v1/responses",
            "authorization: Bearer k\r\n",
            json!({
                "model": "m", "stream": true, "store": false, "input": [{"role": "user", "content": "Rain?"}],
                "tools": [{"type": "function", "name": "weather", "parameters": {"type": "object"}}],
            }),
        ),
        Format::Gemini => (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            "x-goog-api-key: k\r\n",
            json!({
                "contents": [{"role": "user", "parts": [{"text": "Rain?"}]}],
                "tools": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": {"type": "object"}}]}],
            }),
        ),
        Format::Converse => (
            "/model/anthropic.claude-sonnet-4-5/converse-stream",
            "authorization: Bearer k\r\n",
            json!({
                "messages": [{"role": "user", "content": [{"text": "Rain?"}]}],
                "toolConfig": {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": {"type": "object"}}}}]},
            }),
        ),
    }
}

fn ask(mock: &Mock, format: Format) -> Reply {
    let (path, headers, body) = question(format);
    let mut stream = connect(&mock.url());
    send(&mut stream, "POST", path, &format!("connection: close\r\n{headers}"), &body.to_string());
    receive(&mut stream)
}

fn answered(format: Format, answer: Answer) -> Reply {
    ask(&Mock::start(Script::new().strict().answer(answer)), format)
}

/// The events of AWS's event stream: the name of each, and its JSON.
fn aws_events(mut bytes: &[u8]) -> Vec<(String, Value)> {
    let number = |bytes: &[u8]| u32::from_be_bytes(*bytes.first_chunk().unwrap()) as usize;
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let (message, rest) = bytes.split_at(number(bytes));
        bytes = rest;
        let (headers, payload) = message[12..message.len() - 4].split_at(number(&message[4..]));
        let start = headers[..].windows(5).position(|it| it == b"-type").unwrap() + 8;
        let length = usize::from(headers[start - 1]);
        let name = String::from_utf8(headers[start..start + length].to_vec()).unwrap();
        events.push((name, serde_json::from_slice(payload).unwrap()));
    }
    events
}

/// The JSON of the events; the names of events are those in their data.
fn events(body: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for frame in body.replace("\r\n", "\n").split("\n\n").filter(|frame| !frame.is_empty()) {
        let data = frame.lines().find_map(|line| line.strip_prefix("data: ")).expect("data");
        let name = frame.lines().find_map(|line| line.strip_prefix("event: "));
        if data == "[DONE]" {
            events.push(Value::from(data));
            continue;
        }
        let event: Value = serde_json::from_str(data).expect("JSON");
        assert!(name.is_none_or(|name| event["type"] == name), "{frame}");
        events.push(event);
    }
    events
}

fn texts(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)).filter_map(Value::as_str).collect()
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn sample() -> Speech {
    Speech::thinking("Let me think about it.")
        .and_text("I look at two places.")
        .and_call("weather", json!({"city": "Oslo", "days": [1, 2]}))
        .and_call("weather", json!({}))
        .usage(Tokens { input: 30, output: 20, cache_read: 5, cache_write: 0, reasoning: 8 })
        .piece(7)
}

#[test]
fn anthropic_streams_blocks() {
    let reply = answered(Format::Anthropic, Answer::message(sample()));
    assert!(reply.has_header("content-type: text/event-stream"), "{}", reply.head);
    let events = events(&reply.body());
    assert_eq!(reply.chunks.len(), events.len(), "an HTTP chunk for each event");
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(&kinds[..4], ["message_start", "content_block_start", "ping", "content_block_delta"]);
    assert_eq!(&kinds[kinds.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    assert_eq!(texts(&events, "/delta/thinking"), "Let me think about it.");
    assert_eq!(texts(&events, "/delta/signature"), "bW9jay1zaWduYXR1cmU=");
    assert_eq!(texts(&events, "/delta/text"), "I look at two places.");
    assert_eq!(texts(&events, "/delta/partial_json"), r#"{"city":"Oslo","days":[1,2]}"#, "nothing for the empty arguments");
    let starts = of_type(&events, "content_block_start");
    assert_eq!(starts.iter().map(|it| it["index"].as_u64()).collect::<Vec<_>>(), [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(starts[2]["content_block"]["name"], "weather");
    assert_ne!(starts[2]["content_block"]["id"], starts[3]["content_block"]["id"]);
    let end = of_type(&events, "message_delta")[0];
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    assert_eq!((&end["usage"]["input_tokens"], &end["usage"]["output_tokens"]), (&json!(30), &json!(20)));
}

#[test]
fn chat_streams_chunks() {
    let events = events(&answered(Format::Chat, Answer::message(sample())).body());
    assert_eq!(texts(&events, "/choices/0/delta/reasoning_content"), "Let me think about it.");
    assert_eq!(texts(&events, "/choices/0/delta/content"), "I look at two places.");
    assert_eq!(texts(&events, "/choices/0/delta/tool_calls/0/function/arguments"), r#"{"city":"Oslo","days":[1,2]}{}"#);
    let indices: Vec<u64> =
        events.iter().filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0/index")?.as_u64()).collect();
    assert!(indices.is_sorted() && indices.first() == Some(&0) && indices.last() == Some(&1), "{indices:?}");
    assert_eq!(texts(&events, "/choices/0/finish_reason"), "tool_calls");
    let usage = &events[events.len() - 2];
    assert_eq!((&usage["choices"], &usage["usage"]["prompt_tokens"]), (&json!([]), &json!(35)), "cached tokens are in it");
    assert_eq!(usage["usage"]["completion_tokens_details"]["reasoning_tokens"], 8);
    assert_eq!(events.last(), Some(&json!("[DONE]")));
}

#[test]
fn chat_tells_usage_only_if_asked() {
    let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
    let (path, headers, mut body) = question(Format::Chat);
    body.as_object_mut().unwrap().remove("stream_options");
    let mut stream = connect(&mock.url());
    send(&mut stream, "POST", path, headers, &body.to_string());
    assert!(!receive(&mut stream).body().contains("prompt_tokens"));
}

#[test]
fn responses_streams_items() {
    let events = events(&answered(Format::Responses, Answer::message(sample())).body());
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let deltas = |kind| of_type(&events, kind).iter().map(|event| event["delta"].as_str().unwrap()).collect::<String>();
    assert_eq!(deltas("response.reasoning_summary_text.delta"), "Let me think about it.");
    assert_eq!(deltas("response.output_text.delta"), "I look at two places.");
    assert_eq!(deltas("response.function_call_arguments.delta"), r#"{"city":"Oslo","days":[1,2]}{}"#);
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    let done: Vec<&Value> = of_type(&events, "response.output_item.done").iter().map(|event| &event["item"]).collect();
    assert_eq!(last["response"]["output"].as_array().unwrap().iter().collect::<Vec<_>>(), done, "the end repeats the items");
    assert_eq!(
        done.iter().map(|item| item["type"].as_str().unwrap()).collect::<Vec<_>>(),
        ["reasoning", "message", "function_call", "function_call"]
    );
    assert_eq!(done[0]["encrypted_content"], "bW9jay1zaWduYXR1cmU=");
    assert_eq!(last["response"]["usage"]["input_tokens"], 35);
}

#[test]
fn gemini_streams_whole_responses() {
    let reply = answered(Format::Gemini, Answer::message(sample()));
    assert!(reply.body().contains("\r\n\r\n") && !reply.body().replace("\r\n", "").contains('\n'), "lines end with CRLF");
    let events = events(&reply.body());
    let parts: Vec<&Value> = events.iter().map(|event| &event["candidates"][0]["content"]["parts"][0]).collect();
    let text = |thought: bool| {
        let of = |part: &&&Value| part.get("thought").is_some() == thought;
        parts.iter().filter(of).filter_map(|part| part["text"].as_str()).collect::<String>()
    };
    assert_eq!((text(true).as_str(), text(false).as_str()), ("Let me think about it.", "I look at two places."));
    let calls: Vec<&&Value> = parts.iter().filter(|part| part.get("functionCall").is_some()).collect();
    assert_eq!(calls[0]["functionCall"], json!({"name": "weather", "args": {"city": "Oslo", "days": [1, 2]}}));
    assert_eq!((calls[0].get("thoughtSignature").is_some(), calls[1].get("thoughtSignature").is_some()), (true, false));
    let finishes: Vec<&Value> = events.iter().filter_map(|event| event["candidates"][0].get("finishReason")).collect();
    assert_eq!(finishes, ["STOP"], "in the last chunk, also for calls");
    let usage = &events.last().unwrap()["usageMetadata"];
    assert_eq!((&usage["candidatesTokenCount"], &usage["thoughtsTokenCount"]), (&json!(12), &json!(8)), "apart");
}

#[test]
fn bedrock_streams_binary_messages() {
    let reply = answered(Format::Converse, Answer::message(sample()));
    assert!(reply.has_header("content-type: application/vnd.amazon.eventstream"), "{}", reply.head);
    let events = aws_events(&reply.bytes);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names[0], &names[names.len() - 2..]), ("messageStart", &["messageStop", "metadata"][..]));
    let said = |pointer: &str| events.iter().filter_map(|(_, data)| data.pointer(pointer)?.as_str()).collect::<String>();
    assert_eq!(said("/delta/reasoningContent/text"), "Let me think about it.");
    assert_eq!(said("/delta/text"), "I look at two places.");
    assert_eq!(said("/start/toolUse/name"), "weatherweather");
    assert!(said("/delta/toolUse/input").starts_with("{\"city\":\"Oslo\""));
    assert_eq!(said("/stopReason"), "tool_use");
    assert!(events.last().unwrap().1["usage"]["inputTokens"].is_u64());
}

#[test]
fn each_service_has_its_own_word_for_the_end() {
    for (stop, words) in [
        (Stop::Stop, ["end_turn", "\"stop\"", "response.completed", "STOP", "end_turn"]),
        (Stop::Length, ["max_tokens", "\"length\"", "max_output_tokens\"}", "MAX_TOKENS", "max_tokens"]),
        (Stop::Refusal, ["refusal", "content_filter", "response.refusal.done", "SAFETY", "content_filtered"]),
    ] {
        for (format, word) in Format::ALL.into_iter().zip(words) {
            let body = answered(format, Answer::message(Speech::text("So.").stop(stop))).body();
            assert!(body.contains(word), "{format} {stop:?}: {body}");
        }
    }
}

#[test]
fn an_empty_message_ends_properly_too() {
    let ends = ["message_stop", "[DONE]", "response.completed", "finishReason", "messageStop"];
    for (format, end) in Format::ALL.into_iter().zip(ends) {
        let reply = answered(format, Answer::message(Speech::new()));
        assert!(
            reply.status == 200 && reply.ended == Ended::Complete && reply.body().contains(end),
            "{format}: {}",
            reply.body()
        );
    }
}

#[test]
fn one_script_serves_all_formats_and_ids_do_not_repeat() {
    let script: Script = Script::parse(
        r#"{
            "strict": true,
            "answers": [
                { "when": { "user_messages": 1, "last": "user", "tools": true },
                  "body": { "message": { "thinking": "Hm.", "text": "I look.", "tool_calls": [{ "name": "weather" }] } } }
            ]
        }"#,
    )
    .unwrap();
    let mock = Mock::start(script);
    for format in Format::ALL {
        let [first, second] = [ask(&mock, format).bytes, ask(&mock, format).bytes];
        assert_eq!(first.len(), second.len(), "{format}");
        assert_ne!(first, second, "{format}");
    }
    assert_eq!(mock.requests().iter().filter_map(|it| it.answer).count(), 10);
}

#[test]
fn a_message_needs_a_format_and_a_stream() {
    let mock =
        Mock::start(Script::new().answer(Answer::message(Speech::text("x")).name("hello").when(When::new().last(Last::User))));
    let (path, headers, mut body) = question(Format::Chat);
    let ask = |path: &str, body: &Value| {
        let mut stream = connect(&mock.url());
        send(&mut stream, "POST", path, headers, &body.to_string());
        receive(&mut stream).json()["error"]["message"].as_str().unwrap().to_owned()
    };
    let message = ask("/v1/embeddings", &body);
    assert!(message.contains("answer 1 (hello) is a message or an error in the format of the request"), "{message}");
    body["stream"] = json!(false);
    let message = ask(path, &body);
    assert!(message.contains("only sent as a stream") && message.contains("\"stream\": true"), "{message}");
    assert!(mock.requests().iter().all(|request| request.answer.is_none()));
}

#[test]
fn failures_are_those_of_each_service() {
    let kinds = [
        Failure::RateLimited,
        Failure::Overloaded,
        Failure::Authentication,
        Failure::ContextOverflow,
        Failure::Quota,
        Failure::Server,
        Failure::InvalidRequest,
        Failure::NotFound,
    ];
    for (format, statuses) in [
        (Format::Anthropic, [429, 529, 401, 400, 400, 500, 400, 404]),
        (Format::Chat, [429, 503, 401, 400, 429, 500, 400, 404]),
        (Format::Responses, [429, 503, 401, 400, 429, 500, 400, 404]),
        (Format::Gemini, [429, 503, 400, 400, 429, 500, 400, 404]),
        (Format::Converse, [429, 503, 403, 400, 429, 500, 400, 404]),
    ] {
        for (failure, status) in kinds.into_iter().zip(statuses) {
            let reply = answered(format, Answer::error(failure));
            assert_eq!(reply.status, status, "{format} {failure:?}");
            assert!(reply.has_header("content-type: application/json"), "{}", reply.head);
            if format == Format::Converse {
                assert!(reply.json()["message"].is_string() && reply.head.contains("\nx-amzn-errortype: "), "{}", reply.head);
                continue;
            }
            let error = &reply.json()["error"];
            assert!(error["message"].as_str().is_some_and(|it| !it.is_empty()), "{format} {failure:?}: {error}");
            match format {
                Format::Anthropic => assert_eq!(reply.json()["type"], "error"),
                Format::Chat | Format::Responses => assert!(error["type"].is_string() && error.get("param").is_some(), "{error}"),
                Format::Converse => {}
                Format::Gemini => assert!(error["code"] == status && error["status"].is_string(), "{error}"),
            }
            let waits = failure == Failure::RateLimited && format != Format::Gemini;
            assert_eq!(reply.has_header("retry-after: 1"), waits, "{format} {failure:?}");
        }
    }
    let reply = answered(Format::Chat, Answer::error(Failure::RateLimited).header("retry-after", "30").status(503));
    assert_eq!((reply.status, reply.has_header("retry-after: 30")), (503, true), "the script has the last word");
    assert_eq!(answered(Format::Chat, Answer::error(Failure::Quota)).json()["error"]["code"], "insufficient_quota");
}

#[test]
fn an_overload_inside_of_a_stream_ends_it() {
    let reply = answered(Format::Converse, Answer::message(Speech::text("It rains all day.").piece(4)).error_after(2));
    assert_eq!(aws_events(&reply.bytes)[2].0, "serviceUnavailableException");
    for (format, word) in
        Format::ALL.into_iter().zip(["overloaded_error", "server_is_overloaded", "server_is_overloaded", "UNAVAILABLE"])
    {
        for after in [0, 1, 3] {
            let reply = answered(format, Answer::message(Speech::text("It rains all day.").piece(4)).error_after(after));
            assert_eq!((reply.status, reply.ended), (200, Ended::Complete), "{format}");
            let events = events(&reply.body());
            assert!(events[after].to_string().contains(word), "{format}: {}", events[after]);
            assert!(events[..after].iter().all(|event| !event.to_string().contains(word)), "{format}");
            let and_then = if format == Format::Responses { "response.failed" } else { "" };
            assert_eq!(texts(&events[after + 1..], "/type"), and_then, "{format}");
            assert!(!reply.body().contains("[DONE]"), "{format}");
        }
    }
}

#[test]
fn the_strict_server_refuses_in_the_services_words_and_keeps_the_answer() {
    let mock = Mock::start(Script::new().strict().answer(Answer::message(Speech::text("Yes."))));
    let (path, headers, good) = question(Format::Anthropic);
    let mut bad = good.clone();
    bad["max_tokens"] = json!(0);
    let ask = |headers: &str, body: &Value| {
        let mut stream = connect(&mock.url());
        send(&mut stream, "POST", path, headers, &body.to_string());
        receive(&mut stream)
    };
    let reply = ask(headers, &bad);
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json()["error"]["type"], "invalid_request_error");
    assert_eq!(reply.json()["error"]["message"], "max_tokens: Input should be greater than or equal to 1");
    assert_eq!(ask("", &good).status, 401);
    assert_eq!(ask(headers, &json!("not an object")).status, 400);
    assert_eq!(ask(headers, &good).status, 200);
    let requests = mock.requests();
    assert_eq!(requests[0].refused.as_deref(), Some("max_tokens: Input should be greater than or equal to 1"));
    assert_eq!((requests[0].answer, requests[3].answer, &requests[3].refused), (None, Some(0), &None));
}

#[test]
fn an_answer_may_be_strict_in_its_own_way() {
    let (path, headers, mut body) = question(Format::Chat);
    body["enable_thinking"] = json!(true);
    for (answer, status) in [
        (Answer::text("x"), 400),
        (Answer::text("x").lenient(), 200),
        (Answer::text("x").strict(Strict::new().flavour(Flavour::Compatible)), 200),
    ] {
        let mock = Mock::start(Script::new().strict().answer(answer));
        let mut stream = connect(&mock.url());
        send(&mut stream, "POST", path, headers, &body.to_string());
        assert_eq!(receive(&mut stream).status, status);
    }
    for (strict, status) in [("true", 400), ("false", 200), (r#"{"flavour": "compatible"}"#, 200), (r#"{"key": "other"}"#, 401)] {
        let text = format!(r#"{{"strict": true, "answers": [{{"body": "x", "strict": {strict}}}]}}"#);
        let mock = Mock::start(Script::parse(&text).unwrap());
        let mut stream = connect(&mock.url());
        send(&mut stream, "POST", path, headers, &body.to_string());
        assert_eq!(receive(&mut stream).status, status, "{strict}");
    }
}

#[test]
fn a_message_is_cut_garbled_or_held_at_any_byte() {
    for format in Format::ALL {
        let whole = Answer::message(sample()).body_bytes(format).unwrap();
        assert_eq!(answered(format, Answer::message(sample())).bytes, whole, "{format}");
        for point in 0..=10 {
            let at = whole.len() * point / 10;
            let before = &whole[..at];
            let reply = answered(format, Answer::message(sample()).cut_after(at));
            assert_eq!((reply.bytes.as_slice(), reply.ended), (before, Ended::Cut), "{format}, cut after {at}");
            let reply = answered(format, Answer::message(sample()).garble_after(at));
            assert_eq!(reply.ended, Ended::Complete, "{format}, garbled after {at}");
            assert!(reply.bytes.starts_with(before), "{format}, garbled after {at}");
            assert_eq!(reply.bytes.contains(&0xff), point < 10, "{format}, garbled after {at}");
        }
    }
    let reply = answered(Format::Gemini, Answer::message(sample()).cut_after(100).stall());
    assert_eq!((reply.body().len(), reply.ended), (100, Ended::Held));
}

#[test]
fn a_cut_beyond_the_message_is_reported_on_its_request() {
    let lengths = Format::ALL.map(|format| Answer::message(sample()).body_bytes(format).unwrap().len());
    let longest = Format::ALL[(0..5).max_by_key(|index| lengths[*index]).unwrap()];
    let most = *lengths.iter().max().unwrap();
    assert_eq!(answered(longest, Answer::message(sample()).cut_after(most)).ended, Ended::Cut);
    let shortest = Format::ALL[(0..5).min_by_key(|index| lengths[*index]).unwrap()];
    let reply = answered(shortest, Answer::message(sample()).cut_after(most));
    assert_eq!(reply.status, 500);
    assert!(reply.body().contains(&format!("cut_after {most}: the body has only")), "{}", reply.body());
    let error = Mock::start_on(Script::new().answer(Answer::message(sample()).cut_after(most + 1)), 0).unwrap_err();
    assert!(error.to_string().contains("answer 1: cut_after"), "{error}");
}

#[test]
fn a_compressed_message_is_the_same_message() {
    let mock = Mock::start(
        Script::new().answer(Answer::message(sample()).encoding(Encoding::Gzip).chunk(Chunk::Whole).when(When::new())),
    );
    for format in Format::ALL {
        let (path, headers, body) = question(format);
        let mut stream = connect(&mock.url());
        send(&mut stream, "POST", path, &format!("connection: close\r\n{headers}"), &body.to_string());
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut bytes).unwrap();
        let split = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
        assert!(String::from_utf8_lossy(&bytes[..split]).contains("content-encoding: gzip"));
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[split..]), &mut text).unwrap();
        let plain = Answer::message(sample()).body_bytes(format).unwrap();
        assert_eq!(text.len(), plain.len(), "{format}");
    }
}
