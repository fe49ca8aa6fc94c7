use serde_json::{Value, json};

use super::*;
use crate::media::Media;
use crate::message::ContentBlock;
use crate::model_spec::ModelSpec;
use crate::provider::Served;
use crate::quirks::CallIds;

fn read(messages: Value) -> Vec<Arc<Message>> {
    serde_json::from_value(messages).unwrap()
}

/// A model `p/m` of this wire format.
fn of(spec: Value) -> Constraints {
    let spec = ModelSpec::from_json(spec).unwrap();
    Served::of(&spec, None, &|_| None).unwrap().constraints(&spec)
}

fn fit(protocol: &str) -> Constraints {
    let spec = json!({ "provider": "p", "id": "m", "protocol": protocol, "base_url": "http://h" });
    of(spec)
}

fn prepared(messages: Value) -> Value {
    let kept: Vec<Value> = repair(&read(messages), &Constraints::new("p", "own", "m"))
        .messages
        .iter()
        .map(|message| match &**message {
            Message::ToolResult(result) => {
                json!([result.tool_call_id, result.model_text(), result.is_error])
            }
            other => json!([other.role(), other.text()]),
        })
        .collect();
    Value::Array(kept)
}

/// The code and place of each repair.
fn codes(messages: &Value, fit: &Constraints) -> Vec<String> {
    let place = |r: &Repair| match r.content_index {
        Some(block) => format!("{} {}.{block}", r.code, r.message_index),
        None => format!("{} {}", r.code, r.message_index),
    };
    check(&read(messages.clone()), fit).iter().map(place).collect()
}

/// What the blocks of a message by `p/m` in this format become.
fn blocks(content: Value, protocol: &str, fit: &Constraints) -> Value {
    let message = json!([{ "role": "assistant", "provider": "p", "protocol": protocol, "model": "m", "content": content }]);
    let repaired = repair(&read(message), fit);
    repaired.messages.first().map_or(Value::Null, |message| json!(message)["content"].clone())
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_call", "id": id, "name": "t", "arguments": {} })
}

fn result(id: &str, text: &str) -> Value {
    json!({ "role": "tool_result", "tool_call_id": id, "content": text })
}

#[test]
fn failed_messages_and_application_roles_stay_behind() {
    let kept = prepared(json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "half", "stop_reason": "aborted" },
        { "role": "note", "anything": 1 },
        { "role": "assistant", "content": "none", "stop_reason": "error" },
        { "role": "user", "content": "again" },
    ]));
    assert_eq!(kept, json!([["user", "hi"], ["user", "again"]]));
}

#[test]
fn roles_of_other_formats_are_refused_with_what_to_write() {
    let messages = read(json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "hi" },
        { "role": "tool", "tool_call_id": "a", "content": "A" },
        { "role": "note", "content": "the application's own" },
    ]));
    let reported: Vec<_> =
        check(&messages, &fit("openai_chat")).into_iter().map(|it| (it.code, it.message_index, it.text)).collect();
    let left_out = |at, role: &str, advice: &str| {
        ("foreign_role", at, format!("the role {role:?} is another format's; the message was left out; {advice}"))
    };
    let expected = [
        left_out(0, "system", "use the system prompt for instructions"),
        left_out(2, "tool", "a tool's result has the role \"tool_result\", with tool_call_id and tool_name"),
    ];
    assert_eq!(reported, expected);
}

#[test]
fn results_stand_behind_their_calls_in_call_order_once() {
    let kept = prepared(json!([
        { "role": "assistant", "content": [call("a"), call("b"), call("c")], "stop_reason": "tool_use" },
        { "role": "user", "content": "meanwhile" },
        result("b", "B"), result("a", "A"), result("a", "A again"), result("x", "without a call"),
        { "role": "assistant", "content": "done" },
    ]));
    let expected = json!([
        ["assistant", ""],
        ["a", "A", false],
        ["b", "B", false],
        ["c", "no result was recorded for this call", true],
        ["user", "meanwhile"],
        ["assistant", "done"],
    ]);
    assert_eq!(kept, expected);
}

fn calls(blocks: Value) -> Value {
    json!({ "role": "assistant", "content": blocks, "stop_reason": "tool_use" })
}

/// The texts of the results, each behind the id of its call.
fn results(messages: Value) -> Vec<String> {
    let repaired = repair(&read(messages), &Constraints::new("p", "own", "m")).messages;
    let of = |message: &Arc<Message>| match &**message {
        Message::ToolResult(result) => Some(format!("{}: {}", result.tool_call_id, result.model_text())),
        other => (other.as_assistant().is_none()).then(|| other.text()),
    };
    repaired.iter().filter_map(of).collect()
}

#[test]
fn found_e5_results_find_their_calls_behind_other_answers() {
    let user = json!({ "role": "user", "content": "meanwhile" });
    let both = [calls(json!([call("a")])), calls(json!([call("b")]))];
    let [first, second] = both.clone();
    let expected = ["a: A", "b: B", "meanwhile"];
    for order in [
        json!([first, second, user, result("a", "A"), result("b", "B")]),
        json!([first, second, result("b", "B"), user, result("a", "A")]),
    ] {
        let found = results(order);
        assert_eq!(found, expected);
    }
    assert_eq!(results(json!([first, user, second, result("a", "A"), result("b", "B")])), ["a: A", "meanwhile", "b: B"]);
    // Parallel calls, their results behind the user and behind the answer.
    let parallel = calls(json!([call("a"), call("b"), call("c")]));
    let answer = json!({ "role": "assistant", "content": "Wait." });
    let late = json!([parallel, user, result("c", "C"), answer, result("b", "B")]);
    assert_eq!(results(late), ["a: no result was recorded for this call", "b: B", "c: C", "meanwhile"]);
    // A result is never of a call behind it.
    assert_eq!(results(json!([result("a", "A"), first])), ["a: no result was recorded for this call"]);
}

#[test]
fn found_e5_repeated_ids_get_the_nearest_result_that_fits() {
    let x = || calls(json!([call("x")]));
    assert_eq!(results(json!([x(), result("x", "1"), x(), result("x", "2")])), ["x: 1", "x: 2"]);
    assert_eq!(results(json!([x(), x(), result("x", "2")])), ["x: no result was recorded for this call", "x: 2"]);
    assert_eq!(results(json!([x(), x(), result("x", "2"), result("x", "1"), result("x", "0")])), ["x: 1", "x: 2"]);
    assert_eq!(results(json!([calls(json!([call("x"), call("x")])), result("x", "1"), result("x", "2")])), ["x: 1", "x_2: 2"]);
    // The tool that the result names decides before the distance.
    let of = |tool: &str| json!({ "type": "tool_call", "id": "x", "name": tool });
    let by = |tool: &str| json!({ "role": "tool_result", "tool_call_id": "x", "tool_name": tool, "content": tool });
    let apart = [calls(json!([of("read")])), calls(json!([of("write")]))];
    for results_of in [["read", "write"], ["write", "read"]] {
        let [first, second] = results_of.map(by);
        assert_eq!(results(json!([apart[0], apart[1], first, second])), ["x: read", "x: write"]);
        let [first, second] = results_of.map(by);
        assert_eq!(results(json!([calls(json!([of("read"), of("write")])), first, second])), ["x: read", "x_2: write"]);
    }
    assert_eq!(results(json!([apart[0], by("renamed")])), ["x: renamed"]);
    // A failed message's results go with it.
    let failed = json!({ "role": "assistant", "content": [call("x")], "stop_reason": "error" });
    assert_eq!(results(json!([x(), failed, result("x", "of the failed"), result("x", "1")])), ["x: 1"]);
}

#[test]
fn found_e5_what_comes_later_is_repaired_as_if_it_had_been_there() {
    let mut transcript = Vec::new();
    for turn in 0..12 {
        transcript.push(calls(json!([call(&format!("c{}", turn % 5)), call("same")])));
        if turn % 3 == 2 {
            transcript.extend([result("same", &format!("{turn}")), result(&format!("c{}", (turn + 4) % 5), "late")]);
        }
    }
    let all = read(json!(transcript));
    let fit = fit("anthropic");
    let mut cache = RepairCache::default();
    for end in 0..=all.len() {
        assert_eq!(repair_with(&mut cache, &all[..end], &fit), repair(&all[..end], &fit), "{end}");
    }
}

#[test]
fn empty_blocks_and_messages_are_dropped_and_signed_ones_kept() {
    let kept = prepared(json!([
        { "role": "user", "content": [{ "type": "text", "text": " \n" }, { "type": "text", "text": "x" }] },
        { "role": "user", "content": "" },
        { "role": "assistant", "provider": "p", "protocol": "own", "model": "m", "content": [
            { "type": "thinking", "thinking": "", "signature": "s" },
        ] },
        { "role": "assistant", "content": [{ "type": "thinking", "thinking": "" }] },
    ]));
    assert_eq!(kept, json!([["user", "x"], ["assistant", ""]]));
}

#[test]
fn a_result_with_nothing_in_it_says_so() {
    let kept = prepared(json!([{ "role": "assistant", "content": [call("a")] }, result("a", "")]));
    assert_eq!(kept, json!([["assistant", ""], ["a", "no output", false]]));
}

#[test]
fn a_long_result_goes_as_head_and_tail() {
    let messages = read(json!([{ "role": "assistant", "content": [call("a")] }, result("a", "éé1234567890éé")]));
    let within = |most| {
        let fit = Constraints { max_result_bytes: most, ..Constraints::new("p", "own", "m") };
        repair(&messages, &fit).messages[1].text()
    };
    assert_eq!(within(8), "éé\n[… 10 bytes left out …]\néé");
    assert_eq!(within(18), "éé1234567890éé");
}

#[test]
fn each_repair_is_reported_with_its_place() {
    let messages = json!([
        { "role": "user", "content": [{ "type": "text", "text": "" }, { "type": "text", "text": "x" }] },
        { "role": "assistant", "content": [call("a")], "stop_reason": "error" },
        result("a", "of the failed call"),
        { "role": "assistant", "content": [call("a"), call("a"), call("b c")] },
        result("a", "first"), result("a", "second"), result("a", "third"), result("z", ""),
        { "role": "user", "content": "" },
        { "role": "note" },
    ]);
    let expected = [
        "empty_block 0.0",
        "failed_message 1",
        "stray_result 2",
        "call_id 3.1",
        "call_id 3.2",
        "missing_result 3.2",
        "stray_result 6",
        "stray_result 7",
        "empty_block 8.0",
        "empty_message 8",
    ];
    assert_eq!(codes(&messages, &fit("anthropic")), expected);
    let repaired = repair(&read(messages), &fit("anthropic")).messages;
    let again = codes(&json!(repaired), &fit("anthropic"));
    assert!(again.is_empty(), "what was repaired fits: {again:?}");
    let texts: Vec<String> = repaired.iter().map(|m| m.text()).collect();
    assert_eq!(texts, ["x", "", "first", "second", "no result was recorded for this call"], "each call with its own result");
}

#[test]
fn messages_that_fit_are_shared_and_not_reported() {
    let messages = read(json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "provider": "p", "protocol": "anthropic", "model": "m", "content": [
            { "type": "thinking", "thinking": "hm", "signature": "s" },
            { "type": "thinking", "thinking": "", "signature": "only" },
            { "type": "text", "text": "yes" }, { "type": "tool_call", "id": "a", "name": "t", "signature": "s" },
        ] },
        { "role": "tool_result", "tool_call_id": "a", "tool_name": "t", "content": [] },
    ]));
    let repaired = repair(&messages, &fit("anthropic"));
    assert_eq!(repaired.repairs, []);
    assert!(repaired.messages.iter().zip(&messages).all(|(a, b)| Arc::ptr_eq(a, b)), "no message was copied");
}

#[test]
fn thinking_and_signatures_go_only_to_their_own_model() {
    let content = json!([
        { "type": "thinking", "thinking": "hm", "signature": "s" },
        { "type": "thinking", "thinking": "", "signature": "data", "redacted": true },
        { "type": "text", "text": "yes", "signature": "s" },
        { "type": "tool_call", "id": "a", "name": "t", "arguments": {}, "signature": "s" },
        { "type": "opaque", "protocol": "anthropic", "data": { "type": "server_tool_use" } },
    ]);
    assert_eq!(blocks(content.clone(), "anthropic", &fit("anthropic")), content);
    let elsewhere = json!([
        { "type": "text", "text": "hm" },
        { "type": "text", "text": "yes" },
        { "type": "tool_call", "id": "a", "name": "t", "arguments": {} },
    ]);
    for protocol in ["openai_chat", "anthropic"] {
        let other = Constraints { model: "n".into(), ..fit(protocol) };
        assert_eq!(blocks(content.clone(), "anthropic", &other), elsewhere, "{protocol}");
    }
}

#[test]
fn unsigned_thinking_of_the_own_model_goes_where_signatures_are_not_demanded() {
    let thought = json!([{ "type": "thinking", "thinking": "hm" }]);
    assert_eq!(blocks(thought.clone(), "anthropic", &fit("anthropic")), json!([{ "type": "text", "text": "hm" }]));
    let lenient = json!({
        "provider": "p", "id": "m", "protocol": "anthropic", "base_url": "http://h", "quirks": { "empty_signatures": true },
    });
    let lenient = of(lenient);
    assert_eq!(blocks(thought.clone(), "anthropic", &lenient), thought);
    let none = json!({ "provider": "p", "id": "m", "base_url": "http://h", "quirks": { "reasoning_field": null } });
    assert_eq!(blocks(thought.clone(), "openai_chat", &of(none)), Value::Null, "it has no field to go back in");
    let field = json!({ "provider": "deepseek", "id": "m" });
    let field = Constraints { provider: "p".into(), ..of(field) };
    assert_eq!(blocks(thought.clone(), "openai_chat", &field), thought);
}

#[test]
fn images_become_a_line_for_each_row_where_the_model_reads_none() {
    let image = json!({ "type": "image", "data": "QQ==", "mime_type": "image/png" });
    let messages = read(json!([{ "role": "user", "content": [image, image, { "type": "text", "text": "?" }, image] }]));
    let blind = Constraints { images: false, ..fit("openai_chat") };
    let repaired = repair(&messages, &blind);
    assert_eq!(
        repaired.messages[0].text(),
        "(an image was here; this model cannot read images)?(an image was here; this model cannot read images)"
    );
    assert_eq!(repaired.repairs.len(), 3);
    assert!(check(&messages, &fit("openai_chat")).is_empty());
}

#[test]
fn images_of_a_kind_that_the_server_refuses_become_a_line() {
    let image = |kind: &str| json!({ "type": "image", "data": "QQ==", "mime_type": kind });
    let messages =
        json!([{ "role": "user", "content": [image("image/png"), image("image/gif"), image("image/bmp"), image("image/heic")] }]);
    let line = json!({ "type": "text", "text": "(an image was here, of a kind that this model cannot read)" });
    let content = |protocol: &str| json!(repair(&read(messages.clone()), &fit(protocol)).messages[0])["content"].clone();
    assert_eq!(content("anthropic"), json!([image("image/png"), image("image/gif"), line]));
    assert_eq!(content("gemini"), json!([image("image/png"), line, image("image/heic")]));
    assert_eq!(codes(&messages, &fit("gemini")), ["image_replaced 0.1", "image_replaced 0.2"]);
    assert!(
        codes(&messages, &Constraints::new("p", "own", "m")).is_empty(),
        "of a server that is not known, nothing is taken to be so"
    );
}

#[test]
fn an_image_gets_the_registered_name_of_its_kind() {
    let image = |kind: &str| json!([{ "role": "user", "content": [{ "type": "image", "data": "QQ==", "mime_type": kind }] }]);
    let repaired = repair(&read(image("image/jpg")), &fit("anthropic"));
    assert_eq!(json!(repaired.messages)[0]["content"], image("image/jpeg")[0]["content"]);
    assert_eq!(repaired.repairs, [], "the image is the same");
}

#[test]
fn files_that_the_model_does_not_take_become_a_line() {
    let messages = json!([{ "role": "user", "content": [
        { "type": "image", "url": "https://h/cat.png" },
        { "type": "document", "data": "JVBERi0=", "mime_type": "application/pdf", "name": "a \"b\".pdf" },
        { "type": "document", "url": "https://h/a.docx" },
        { "type": "audio", "data": "QQ==", "mime_type": "audio/mp3" },
        { "type": "document", "data": "aGk=", "mime_type": "text/plain", "name": "a.txt" },
    ] }]);
    let texts = |fit: &Constraints| {
        let content = json!(repair(&read(messages.clone()), fit).messages[0])["content"].clone();
        let text = |block: &Value| block["text"].as_str().unwrap_or_else(|| block["type"].as_str().unwrap()).to_owned();
        content.as_array().unwrap().iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(
        texts(&fit("openai_chat")),
        [
            "(an image was here: image/png, https://h/cat.png; this model reads images only by their data)",
            "(a document was here: \"a \\\"b\\\".pdf\", application/pdf; this model reads no documents of this type)",
            "(a document was here: application/vnd.openxmlformats-officedocument.wordprocessingml.document, https://h/a.docx; \
             this model reads no documents of this type)",
            "(audio was here: audio/mpeg; this model hears no audio)",
            "[document: a.txt]\nhi",
        ]
    );
    let codes_of = |fit: &Constraints| codes(&messages, fit);
    assert_eq!(
        codes_of(&fit("openai_chat")),
        ["file_replaced 0.0", "file_replaced 0.1", "file_replaced 0.2", "file_replaced 0.3"]
    );
    let claude = of(json!({ "provider": "anthropic", "id": "claude-sonnet-4-5" }));
    assert_eq!(codes_of(&claude), ["file_replaced 0.2", "file_replaced 0.3"]);
    assert_eq!(texts(&claude)[4], "document", "Anthropic has a block for it");
    let gpt = of(json!({ "provider": "openai", "id": "gpt-5" }));
    assert_eq!(codes_of(&gpt), ["file_replaced 0.3"]);
    let gemini = of(json!({ "provider": "google", "id": "gemini-2.5-pro" }));
    assert_eq!(codes_of(&gemini), ["file_replaced 0.2"]);
    assert!(codes_of(&Constraints::new("p", "own", "m")).is_empty(), "of another, nothing is taken to be so");
}

#[test]
fn a_document_that_is_no_text_is_not_taken_for_one() {
    let document = json!({ "type": "document", "data": "/w==", "mime_type": "text/plain", "name": "a.txt" });
    for fit in [of(json!({ "provider": "anthropic", "id": "claude-sonnet-4-5" })), fit("openai_chat")] {
        let repaired = repair(&read(json!([{ "role": "user", "content": [document] }])), &fit);
        let line = "(a document was here: \"a.txt\", text/plain; its data is not a text in UTF-8)";
        assert_eq!(json!(repaired.messages)[0]["content"][0]["text"], line);
    }
}

#[test]
fn what_a_model_lists_as_its_input_it_is_given() {
    let messages = json!([{ "role": "user", "content": [
        { "type": "document", "data": "JVBERi0=", "mime_type": "application/pdf" },
        { "type": "audio", "data": "QQ==", "mime_type": "audio/wav" },
    ] }]);
    let with = |provider: &str, id: &str, input: Value| {
        codes(&messages, &of(json!({ "provider": provider, "id": id, "base_url": "http://h", "input": input })))
    };
    let all = json!(["text", "image", "document", "audio"]);
    assert!(with("openai-compatible", "m", all).is_empty());
    assert_eq!(with("openai-compatible", "m", json!(["text", "image"])), ["file_replaced 0.0", "file_replaced 0.1"]);
    // The catalogue lists no documents. Where no images are read, neither are pages.
    assert_eq!(with("google", "gemini-2.5-pro", json!(["text", "image"])), [""; 0]);
    assert_eq!(with("google", "gemini-2.5-pro", json!(["text"])), ["file_replaced 0.0"]);
    let host = |input: Value| {
        let spec = ModelSpec::from_json(json!({ "provider": "own", "id": "m", "input": input })).unwrap();
        codes(&messages, &Constraints::of_spec(&spec, "own"))
    };
    assert_eq!(host(json!(["text", "image"])), ["file_replaced 0.0", "file_replaced 0.1"]);
    assert!(host(Value::Null).is_empty(), "a model of the host's own takes all, unless it says otherwise");
}

#[test]
fn a_text_in_a_result_is_its_text_and_cut_like_it() {
    let text = "a".repeat(100);
    let document = ContentBlock::Document(Media::bytes(text.as_bytes(), "text/plain"));
    let messages = json!([{ "role": "assistant", "content": [call("a")] }, result("a", "")]);
    let mut messages = read(messages);
    if let Message::ToolResult(result) = Arc::make_mut(&mut messages[1]) {
        result.content = vec![document];
    }
    let claude = of(json!({ "provider": "anthropic", "id": "claude-sonnet-4-5" }));
    let cut = Constraints { max_result_bytes: 20, ..claude.clone() };
    let content = |fit: &Constraints| json!(repair(&messages, fit).messages[1])["content"].clone();
    assert_eq!(content(&claude), json!([{ "type": "text", "text": format!("[document]\n{text}") }]));
    let short = content(&cut)[0]["text"].as_str().unwrap().to_owned();
    assert!(short.starts_with("[document]") && short.contains("91 bytes left out"), "{short}");
}

#[test]
fn names_that_no_server_takes_are_made_valid_in_call_and_result() {
    let mut call = call("a");
    call["name"] = "multi_tool_use.parallel".into();
    let messages = json!([{ "role": "assistant", "content": [call] }, result("a", "no such tool")]);
    assert_eq!(codes(&messages, &fit("anthropic")), ["call_name 0.0"]);
    let repaired = json!(repair(&read(messages), &fit("anthropic")).messages);
    assert_eq!(repaired[0]["content"][0]["name"], "multi_tool_use_parallel");
    assert_eq!(repaired[1]["tool_name"], "multi_tool_use_parallel");
}

#[test]
fn an_empty_image_is_dropped() {
    // Gemini refuses the whole request for it.
    let image = json!({ "type": "image", "data": "", "mime_type": "image/png" });
    let messages = json!([{ "role": "user", "content": [{ "type": "text", "text": "Look." }, image] }]);
    let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
    let repaired = repair(&messages, &fit("gemini"));
    assert_eq!(json!(repaired.messages[0])["content"], json!([{ "type": "text", "text": "Look." }]));
    assert_eq!(repaired.repairs[0].text, "the image is empty; it was dropped");
}

#[test]
fn an_empty_signature_is_none() {
    let empty = json!([{ "type": "text", "text": "", "signature": "" }]);
    assert_eq!(blocks(empty, "gemini", &fit("gemini")), Value::Null);
    let signed = json!([{ "type": "text", "text": "", "signature": "QQ==" }]);
    assert_eq!(blocks(signed.clone(), "gemini", &fit("gemini")), signed, "one that has something may sign nothing");
}

#[test]
fn a_longer_transcript_is_repaired_as_its_beginning_was() {
    let turn = |i: usize| {
        let id = format!("call {}", i % 3);
        [
            json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": "t" }, call(&id)] }),
            result(&id, &i.to_string()),
        ]
    };
    let messages: Vec<Value> = (0..20).flat_map(turn).collect();
    for form in [CallIds::Any, CallIds::Anthropic, CallIds::Openai, CallIds::Responses, CallIds::Mistral] {
        let fit = Constraints { call_ids: form, ..fit("anthropic") };
        let whole = repair(&read(json!(messages)), &fit).messages;
        for end in 0..20 {
            let part = repair(&read(json!(messages[..end * 2])), &fit).messages;
            assert_eq!(part[..], whole[..part.len()]);
        }
    }
}

#[test]
fn a_call_at_the_very_end_has_a_result_too() {
    let kept = prepared(json!([{ "role": "user", "content": "go" }, { "role": "assistant", "content": [call("a")] }]));
    assert_eq!(kept[2], json!(["a", "no result was recorded for this call", true]));
}

#[test]
fn null_content_of_an_imported_history_is_empty_content() {
    let kept = prepared(json!([
        { "role": "user", "content": null },
        { "role": "assistant", "content": null },
        { "role": "assistant", "content": [call("a")] },
        { "role": "tool_result", "tool_call_id": "a", "content": null },
    ]));
    assert_eq!(kept, json!([["assistant", ""], ["a", "no output", false]]));
}
