use serde_json::{Value, json};

use super::fixture;
use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::usage::{StopReason, Usage};

fn decoded(events: &[Value]) -> (Vec<Delta>, Result<(), Error>) {
    fixture().decode(events)
}

fn added(index: i64, item: Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn done(index: i64, item: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn piece(kind: &str, index: i64, delta: &str) -> Value {
    json!({ "type": format!("response.{kind}.delta"), "output_index": index, "delta": delta })
}

fn completed(output: Value) -> Value {
    json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": output } })
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

fn function_call(arguments: &str) -> Value {
    json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": arguments })
}

/// What of a kind an answer's blocks have: text, thinking or arguments, joined.
fn text_of(events: &[Value], wanted: fn(&BlockStart) -> bool) -> String {
    let mut keys = Vec::new();
    let mut text = String::new();
    for delta in decoded(events).0 {
        match delta {
            Delta::Start { key, block } if wanted(&block) => keys.push(key),
            Delta::Append { key, text: piece } if keys.contains(&key) => text.push_str(&piece),
            _ => {}
        }
    }
    text
}

fn is_text(block: &BlockStart) -> bool {
    *block == BlockStart::Text
}

fn is_thinking(block: &BlockStart) -> bool {
    matches!(block, BlockStart::Thinking { .. })
}

fn is_call(block: &BlockStart) -> bool {
    matches!(block, BlockStart::ToolCall { name, .. } if name == "f")
}

#[test]
fn each_item_is_a_block_in_deltas() {
    let reasoning = json!({ "id": "rs_9", "type": "reasoning", "summary": [], "encrypted_content": "e" });
    let (deltas, end) = decoded(&[
        json!({ "type": "response.created", "response": { "id": "r1", "status": "in_progress" } }),
        added(0, json!({ "id": "rs_8", "type": "reasoning", "summary": [] })),
        piece("reasoning_summary_text", 0, "hm"),
        done(0, reasoning.clone()),
        added(1, json!({ "id": "a", "type": "message", "content": [] })),
        piece("output_text", 1, "so"),
        done(
            1,
            json!({
                "id": "msg_2", "type": "message", "phase": "final_answer", "content": [{ "type": "output_text", "text": "so" }],
            }),
        ),
        added(2, json!({ "id": "fc_0", "type": "function_call", "call_id": "call_1", "name": "f", "arguments": "" })),
        piece("function_call_arguments", 2, "{\"x\":1}"),
        done(2, json!({ "id": "fc_3", "type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{\"x\":1}" })),
        completed(json!([])),
        piece("output_text", 1, "never read"),
    ]);
    assert!(end.is_ok());
    let expected = [
        Delta::ResponseId("r1".into()),
        Delta::Start { key: 0, block: BlockStart::Thinking { redacted: false } },
        Delta::Append { key: 0, text: "hm".into() },
        Delta::Signature { key: 0, signature: reasoning.to_string() },
        Delta::End { key: 0 },
        Delta::Start { key: 1, block: BlockStart::Text },
        Delta::Append { key: 1, text: "so".into() },
        Delta::Signature { key: 1, signature: "{\"id\":\"msg_2\",\"phase\":\"final_answer\"}".into() },
        Delta::End { key: 1 },
        Delta::Start { key: 2, block: BlockStart::ToolCall { id: "call_1".into(), name: "f".into() } },
        Delta::Append { key: 2, text: "{\"x\":1}".into() },
        Delta::Signature { key: 2, signature: "fc_3".into() },
        Delta::End { key: 2 },
        Delta::ResponseId("r".into()),
        Delta::Stop { reason: StopReason::ToolUse, raw: Some("completed".into()) },
    ];
    assert_eq!(deltas, expected, "ids change from event to event; the last of an item is its own");
}

#[test]
fn what_is_missing_comes_from_the_events_that_have_it_whole() {
    let call = || added(0, function_call(""));
    let arguments = |text: &str| json!({ "type": "response.function_call_arguments.done", "output_index": 0, "arguments": text });
    let end = || completed(json!([]));
    for (what, events) in [
        (
            "streamed",
            vec![call(), piece("function_call_arguments", 0, "{\"x\":"), piece("function_call_arguments", 0, "1}"), end()],
        ),
        ("in its own event", vec![call(), arguments("{\"x\":1}"), end()]),
        ("the rest there", vec![call(), piece("function_call_arguments", 0, "{\"x\""), arguments("{\"x\":1}"), end()]),
        ("and a piece too late", vec![call(), arguments("{\"x\":1}"), piece("function_call_arguments", 0, "1}"), end()]),
        ("which says nothing", vec![call(), arguments(""), piece("function_call_arguments", 0, "{\"x\":1}"), end()]),
        ("in the item", vec![call(), done(0, function_call("{\"x\":1}")), end()]),
        ("the item alone", vec![done(0, function_call("{\"x\":1}")), end()]),
        (
            "before the item",
            vec![piece("function_call_arguments", 0, "{\"x\":"), call(), piece("function_call_arguments", 0, "1}"), end()],
        ),
        ("in the closing event", vec![completed(json!([function_call("{\"x\":1}")]))]),
        ("never ended", vec![call(), completed(json!([function_call("{\"x\":1}")]))]),
        ("as an object", vec![done(0, json!({ "type": "function_call", "name": "f", "arguments": { "x": 1 } })), end()]),
    ] {
        assert_eq!(text_of(&events, is_call), "{\"x\":1}", "{what}");
    }
    let again = [call(), done(0, function_call("{\"x\":1}")), completed(json!([function_call("{\"x\":1}")]))];
    assert_eq!(text_of(&again, is_call), "{\"x\":1}", "the closing event repeats what was there");
    let differs = [call(), piece("function_call_arguments", 0, "{\"x\":1}"), done(0, function_call("{ \"x\": 1 }")), end()];
    assert_eq!(text_of(&differs, is_call), "{\"x\":1}", "what was streamed stands");
    let text = [added(0, message("")), piece("output_text", 0, "so "), done(0, message("so it is")), end()];
    assert_eq!(text_of(&text, is_text), "so it is");
    let more = [done(0, message("so ")), completed(json!([message("so "), message("it is")]))];
    assert_eq!(text_of(&more, is_text), "so it is", "the closing event has one more");
}

#[test]
fn text_may_come_before_its_item_and_from_servers_that_do_not_count() {
    let early = [piece("output_text", 0, "so "), added(0, message("")), piece("output_text", 0, "it is"), completed(json!([]))];
    assert_eq!(text_of(&early, is_text), "so it is");
    let calls = [done(0, function_call("{}")), done(0, function_call("{}")), completed(json!([]))];
    let begun = decoded(&calls).0.iter().filter(|delta| matches!(delta, Delta::Start { .. })).count();
    assert_eq!(begun, 2, "an item that has ended does not go on");
    let reasoning = json!({ "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": "hm" }] });
    let uncounted = [
        added(-1, json!({ "type": "reasoning", "summary": [] })),
        piece("reasoning_text", -1, "hm"),
        done(-1, reasoning.clone()),
        added(-1, message("")),
        piece("output_text", -1, "so"),
        done(-1, message("so")),
        completed(json!([reasoning, message("so")])),
    ];
    assert_eq!((text_of(&uncounted, is_thinking), text_of(&uncounted, is_text)), ("hm".into(), "so".into()));
}

#[test]
fn items_may_end_in_another_order() {
    let events = [
        added(0, json!({ "type": "reasoning" })),
        piece("reasoning_text", 0, "h"),
        added(1, message("")),
        piece("output_text", 1, "so"),
        piece("reasoning_text", 0, "m"),
        done(1, message("so")),
        done(0, json!({ "type": "reasoning", "content": [{ "type": "reasoning_text", "text": "hm" }] })),
        completed(json!([])),
    ];
    assert_eq!((text_of(&events, is_thinking), text_of(&events, is_text)), ("hm".into(), "so".into()));
}

#[test]
fn where_nothing_is_numbered_the_ids_of_items_count() {
    let item = |id: &str, mut item: Value| {
        item["id"] = id.into();
        item
    };
    let call = |id: &str, arguments: &str| {
        item(id, json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": arguments }))
    };
    let piece = |id: &str, text: &str| json!({ "type": "response.function_call_arguments.delta", "item_id": id, "delta": text });
    let event = |kind: &str, item: Value| json!({ "type": kind, "item": item });
    let events = [
        event("response.output_item.added", call("a", "")),
        event("response.output_item.added", call("b", "")),
        piece("b", "{\"b\":"),
        piece("a", "{\"a\":"),
        piece("b", "2}"),
        json!({ "type": "response.function_call_arguments.done", "item_id": "a", "arguments": "{\"a\":1}" }),
        event("response.output_item.done", call("b", "{\"b\":2}")),
        event("response.output_item.done", call("a", "{\"a\":1}")),
        completed(json!([])),
    ];
    assert_eq!(text_of(&events, |start| matches!(start, BlockStart::ToolCall { id, .. } if id == "a")), "{\"a\":1}");
    assert_eq!(text_of(&events, |start| matches!(start, BlockStart::ToolCall { id, .. } if id == "b")), "{\"b\":2}");
}

#[test]
fn found_w10_the_parts_of_a_thought_are_paragraphs() {
    let part = |index: u32, delta: &str| {
        json!({
            "type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": index, "delta": delta,
        })
    };
    let item = json!({ "type": "reasoning", "summary": [{ "text": "one thing" }, { "text": "another" }] });
    let streamed = [part(0, "one "), part(0, "thing"), part(1, "another"), done(0, item.clone()), completed(json!([]))];
    assert_eq!(text_of(&streamed, is_thinking), "one thing\n\nanother");
    assert_eq!(text_of(&[done(0, item), completed(json!([]))], is_thinking), "one thing\n\nanother");
    // The reasoning itself, read in general, with an empty part, and with more of it in the last event.
    let text = |index: u32, delta: &str| {
        let kind = "response.reasoning_text.delta";
        json!({ "type": kind, "output_index": 0, "summary_index": null, "content_index": index, "delta": delta })
    };
    let texts = json!([{ "text": "one thing" }, { "text": "" }, { "text": "another" }, { "text": "a third" }]);
    let item = json!({ "type": "reasoning", "summary": [], "content": texts });
    let streamed =
        [text(0, "one "), text(0, "thing"), text(1, ""), text(2, "another"), done(0, item.clone()), completed(json!([]))];
    assert_eq!(text_of(&streamed, is_thinking), "one thing\n\nanother\n\na third");
    assert_eq!(text_of(&[done(0, item), completed(json!([]))], is_thinking), "one thing\n\nanother\n\na third");
    let both = [part(0, "short"), piece("reasoning_text", 0, "the whole of it"), part(0, "ened"), completed(json!([]))];
    assert_eq!(text_of(&both, is_thinking), "shortened", "of summary and reasoning, what came first");
}

#[test]
fn a_call_that_is_complete_when_announced_counts_only_when_it_ends_as_one() {
    let call = json!({
        "type": "function_call", "id": "fc_1", "call_id": "c", "name": "search", "arguments": "{}", "status": "completed",
    });
    let results = json!({ "type": "search_results", "results": [] });
    let (deltas, end) = decoded(&[added(0, call.clone()), done(0, results), completed(json!([]))]);
    assert_eq!(end, Ok(()));
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Start { block: BlockStart::ToolCall { .. }, .. })), "{deltas:?}");
    assert!(deltas.contains(&Delta::Stop { reason: StopReason::Stop, raw: Some("completed".into()) }));
    let (deltas, _) = decoded(&[added(0, call.clone()), done(0, call), completed(json!([]))]);
    assert!(deltas.contains(&Delta::Stop { reason: StopReason::ToolUse, raw: Some("completed".into()) }));
}

#[test]
fn an_error_may_come_without_a_type_and_an_index_may_be_null() {
    let error = decoded(&[json!({ "error": { "message": "slow down", "code": "rate_limit_exceeded" } })]).1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    let text = json!({ "type": "response.output_text.delta", "output_index": null, "delta": "hi" });
    assert!(decoded(&[text, completed(json!([]))]).0.contains(&Delta::Append { key: 0, text: "hi".into() }));
}

#[test]
fn what_is_not_known_is_kept_quietly() {
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed", "action": { "query": "q" } });
    let (deltas, end) = decoded(&[
        added(0, json!({ "type": "web_search_call", "id": "ws_1" })),
        json!({ "type": "response.web_search_call.searching", "output_index": 0 }),
        json!({ "type": "response.code_interpreter_call_code.delta", "output_index": 0, "delta": "x" }),
        json!({ "type": "response.new.delta", "output_index": 0, "delta": { "x": 1 } }),
        json!({ "type": "response.output_text.annotation.added", "output_index": 1, "annotation": { "type": "url_citation" } }),
        json!({ "type": "response.rate_limits" }),
        json!({ "no": "type" }),
        done(0, search.clone()),
        completed(json!([search])),
        json!("[DONE]"),
    ]);
    assert!(end.is_ok());
    let message = "an item of type \"web_search_call\" is kept and sent back as it came".into();
    let expected = [
        Delta::Start { key: 0, block: BlockStart::Opaque { protocol: "openai_responses".into(), data: Box::new(search) } },
        Delta::Diagnostic { code: "opaque_block".into(), message, data: Box::new(json!({ "type": "web_search_call" })) },
        Delta::End { key: 0 },
        Delta::ResponseId("r".into()),
        Delta::Stop { reason: StopReason::Stop, raw: Some("completed".into()) },
    ];
    assert_eq!(deltas, expected);
}

#[test]
fn stop_reasons() {
    let call = || vec![done(0, function_call("{}"))];
    let refusal = json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "no" }] });
    let close = |name: &str, response: Value| json!({ "type": format!("response.{name}"), "response": response });
    let cut = |reason: &str| close("incomplete", json!({ "status": "incomplete", "incomplete_details": { "reason": reason } }));
    let whole = || close("completed", json!({ "status": "completed", "incomplete_details": null }));
    for (mut events, end, reason, raw) in [
        (vec![], whole(), StopReason::Stop, "completed"),
        (vec![], close("completed", Value::Null), StopReason::Stop, "completed"),
        (call(), whole(), StopReason::ToolUse, "completed"),
        (vec![added(0, function_call("{}"))], whole(), StopReason::ToolUse, "completed"),
        (vec![], cut("max_output_tokens"), StopReason::Length, "max_output_tokens"),
        (call(), cut("max_output_tokens"), StopReason::Length, "max_output_tokens"),
        (vec![], close("incomplete", json!({})), StopReason::Length, "incomplete"),
        (vec![], close("completed", json!({ "status": "incomplete" })), StopReason::Length, "incomplete"),
        (vec![], cut("content_filter"), StopReason::Refusal, "content_filter"),
        (vec![piece("refusal", 0, "no")], whole(), StopReason::Refusal, "completed"),
        (vec![done(0, refusal.clone())], whole(), StopReason::Refusal, "completed"),
    ] {
        events.push(end);
        let (deltas, end) = decoded(&events);
        assert!(end.is_ok());
        assert_eq!(deltas.last(), Some(&Delta::Stop { reason, raw: Some(raw.into()) }), "{events:?}");
    }
    assert_eq!(text_of(&[done(0, refusal), whole()], is_text), "no", "its words are text");
}

#[test]
fn found_e11_a_message_without_a_text_is_no_content() {
    let empty = json!({ "type": "message", "id": "msg_1", "content": [{ "type": "output_text", "text": "" }] });
    let (deltas, end) =
        decoded(&[added(0, empty.clone()), piece("output_text", 0, ""), done(0, empty.clone()), completed(json!([empty]))]);
    assert_eq!(end, Ok(()));
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Append { .. } | Delta::Signature { .. })), "{deltas:?}");
    let (deltas, _) = decoded(&[done(0, function_call("{}")), done(1, empty), completed(json!([]))]);
    assert!(
        deltas.iter().any(|delta| matches!(delta, Delta::Signature { key: 1, .. })),
        "what belongs to more goes back with it"
    );
}

#[test]
fn found_w11_sources_are_reported() {
    let reported = |events: &[Value]| {
        let (deltas, end) = decoded(events);
        assert_eq!(end, Ok(()));
        let found = deltas.into_iter().filter_map(|delta| match delta {
            Delta::Diagnostic { code, message, data } if code == "citations" => Some((message, data["citations"].clone())),
            _ => None,
        });
        found.collect::<Vec<_>>()
    };
    let source = |url: &str| json!({ "type": "url_citation", "url": url, "title": "t", "start_index": 0, "end_index": 1 });
    let announced =
        |url: &str| json!({ "type": "response.output_text.annotation.added", "output_index": 0, "annotation": source(url) });
    let with = |annotations: Value| {
        let part = json!({ "type": "output_text", "text": "x", "annotations": annotations });
        json!({ "type": "message", "id": "msg_1", "content": [part] })
    };
    let two = || json!([source("http://a"), source("http://b")]);
    let expected = [("a text names 2 sources".to_owned(), two())];
    let begun = || vec![piece("output_text", 0, "x"), announced("http://a"), announced("http://b")];
    for rest in [
        vec![done(0, with(two())), completed(json!([with(two())]))],
        vec![done(0, with(json!([]))), completed(json!([]))],
        vec![completed(json!([with(two())]))],
        vec![completed(json!([]))],
    ] {
        assert_eq!(reported(&[begun(), rest].concat()), expected);
    }
    assert_eq!(reported(&[done(0, with(two())), completed(json!([]))]), expected, "not announced");
    assert_eq!(reported(&[done(0, with(json!(null))), completed(json!([]))]), []);
}

#[test]
fn found_w6_an_unknown_status_or_reason_keeps_the_answer() {
    let close = |name: &str, response: Value| json!({ "type": format!("response.{name}"), "response": response });
    let call = || vec![done(0, function_call("{}"))];
    let text = || vec![done(0, message("x"))];
    let cut = |reason: &str| close("incomplete", json!({ "status": "incomplete", "incomplete_details": { "reason": reason } }));
    for (mut events, end, reason, raw) in [
        (text(), close("completed", json!({ "status": "finished" })), StopReason::Stop, "finished"),
        (call(), close("completed", json!({ "status": "finished" })), StopReason::ToolUse, "finished"),
        (call(), cut("from_the_future"), StopReason::Length, "from_the_future"),
    ] {
        events.push(end);
        let (deltas, end) = decoded(&events);
        assert_eq!(end, Ok(()));
        let [.., Delta::Diagnostic { code, data, .. }, stop] = &deltas[..] else { panic!("{deltas:?}") };
        assert_eq!(stop, &Delta::Stop { reason, raw: Some(raw.into()) });
        assert_eq!((&code[..], &data["raw_stop_reason"]), ("unknown_stop_reason", &json!(raw)));
    }
    // A closing event under another name, and one that repeats the status of the first event: nothing is unknown there.
    for end in [close("done", json!({ "status": "completed" })), close("completed", json!({ "status": "in_progress" }))] {
        let (deltas, _) = decoded(&[text(), vec![end]].concat());
        assert_eq!(deltas.last(), Some(&Delta::Stop { reason: StopReason::Stop, raw: Some("completed".into()) }));
        assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Diagnostic { .. })), "{deltas:?}");
    }
}

#[test]
fn usage_is_split_into_buckets_that_do_not_overlap() {
    let used = |usage: Value| {
        let response = json!({ "status": "completed", "usage": usage });
        let (deltas, _) = decoded(&[json!({ "type": "response.completed", "response": response })]);
        deltas.into_iter().find_map(|delta| if let Delta::Usage(usage) = delta { Some(*usage) } else { None })
    };
    let details = json!({ "cached_tokens": 4, "cache_write_tokens": 1 });
    let given = json!({ "input_tokens": 10, "input_tokens_details": details, "output_tokens": 5,
        "output_tokens_details": { "reasoning_tokens": 3 }, "total_tokens": 15 });
    let expected = Usage { input: 5, cache_read: 4, cache_write: 1, output: 5, reasoning: 3, ..Usage::default() };
    assert_eq!(used(given), Some(expected), "reasoning is part of the output");
    let odd = json!({ "input_tokens": 3, "input_tokens_details": { "cached_tokens": 4 }, "output_tokens": 5,
        "output_tokens_details": { "reasoning_tokens": 9 } });
    let expected = Usage { input: 0, cache_read: 4, output: 5, reasoning: 5, ..Usage::default() };
    assert_eq!(used(odd), Some(expected), "never below zero, never more than the output");
    assert_eq!(used(Value::Null), None);
}

#[test]
fn how_a_stream_may_fail() {
    let said = |kind: ErrorKind, text: &str| format!("{}: openai sent an error in its stream: {text}", kind.as_str());
    let limited = said(ErrorKind::RateLimited, "slow down");
    for event in [
        json!({ "type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": null }),
        json!({ "type": "error", "error": { "type": "rate_limit_exceeded", "code": null, "message": "slow down" } }),
        json!({
            "type": "response.failed",
            "response": { "status": "failed", "error": { "code": "rate_limit_exceeded", "message": "slow down" } },
        }),
    ] {
        assert_eq!(decoded(&[event]).1.unwrap_err().to_string(), limited);
    }
    let cancelled = json!({
        "type": "response.cancelled", "response": { "status": "cancelled", "error": null, "usage": { "input_tokens": 3 } },
    });
    let (deltas, end) = decoded(&[piece("output_text", 0, "x"), cancelled]);
    assert_eq!(end.unwrap_err().to_string(), "server: openai broke the answer off itself (status \"cancelled\")");
    assert!(matches!(&deltas[2], Delta::Usage(usage) if usage.input == 3), "what it cost is known all the same");
    let (deltas, end) = decoded(&[piece("output_text", 0, "x"), done(0, message("x")), json!(""), json!("[DONE]")]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::StreamTruncated, "without a closing event");
    assert_eq!(deltas.len(), 3, "what came is kept");
    assert_eq!(decoded(&[json!("{")]).1.unwrap_err().kind(), ErrorKind::Protocol);
}

#[test]
fn half_a_surrogate_pair_is_a_replacement_character() {
    let half = json!(r#"{"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}"#);
    let pair = json!(r#"{"type":"response.output_text.delta","output_index":0,"delta":"\ud83d\ude00"}"#);
    let item =
        json!(r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"text":"\ude00"}]}}"#);
    assert_eq!(text_of(&[half, pair, item, completed(json!([]))], is_text), "a\u{FFFD}\u{1F600}\u{FFFD}");
}

#[test]
fn pieces_are_read_quickly_and_nothing_else() {
    let read = |kind: &str| {
        let event =
            json!({ "type": kind, "sequence_number": 9, "item_id": "i", "output_index": 2, "delta": "a", "logprobs": [] });
        super::super::wire::piece(&event.to_string()).map(|piece| (piece.output_index, piece.delta.into_owned()))
    };
    for kind in ["output_text", "refusal", "reasoning_summary_text", "reasoning_text", "function_call_arguments"] {
        assert_eq!(read(&format!("response.{kind}.delta")), Some((2, "a".to_owned())));
    }
    assert_eq!(read("error"), None);
}
