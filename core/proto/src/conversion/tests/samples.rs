//! Messages as programs have them: they come back as they were.

use serde_json::{Value, json};

use super::{canonical, codes, read, written};
use crate::conversion::Format;

fn sample(text: &str) -> Value {
    text.parse().unwrap()
}

/// They come back, and nothing is lost either way.
fn comes_back(format: Format, theirs: &Value) {
    let imported = read(format, theirs);
    assert_eq!(codes(&imported.losses), [], "{imported:#?}");
    let exported = written(format, &imported);
    assert_eq!(codes(&exported.losses), [], "{exported:#?}");
    assert_eq!(exported.messages, *theirs, "{:#}", canonical(&imported));
}

#[test]
fn openai_chat() {
    let theirs = sample(include_str!("samples/openai_chat.json"));
    let imported = read(Format::OpenaiChat, &theirs);
    assert_eq!(codes(&imported.losses), []);
    let messages = canonical(&imported);
    assert_eq!(messages[0]["metadata"], json!({ "openai_chat": { "name": "Ann" } }));
    assert_eq!(messages[1]["stop_reason"], "tool_use");
    assert_eq!(messages[1]["content"][1]["raw_arguments"], "{\"at\": [1,");
    assert_eq!(messages[2]["tool_name"], "look");
    assert_eq!(
        messages[4]["content"][0],
        json!({ "type": "thinking", "thinking": "It has whiskers.", "signature": "reasoning_content" })
    );
    assert_eq!(messages[8]["stop_reason"], "refusal");
    comes_back(Format::OpenaiChat, &theirs);
}

#[test]
fn openai_chat_in_its_older_shapes() {
    let theirs = json!([
        { "role": "user", "content": "hi" },
        {
            "role": "assistant", "content": "", "function_call": { "name": "t", "arguments": "{}" },
            "refusal": null, "annotations": [],
        },
        { "role": "function", "name": "t", "content": "r" },
    ]);
    let imported = read(Format::OpenaiChat, &theirs);
    assert_eq!(codes(&imported.losses), []);
    assert_eq!(canonical(&imported)[2]["tool_call_id"], canonical(&imported)[1]["content"][0]["id"]);
}

#[test]
fn openai_responses() {
    comes_back(Format::OpenaiResponses, &sample(include_str!("samples/openai_responses.json")));
}

#[test]
fn anthropic() {
    comes_back(Format::Anthropic, &sample(include_str!("samples/anthropic.json")));
    let answer = json!([{
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{ "type": "text", "text": "Hello", "citations": null }],
        "stop_reason": "max_tokens", "stop_sequence": null,
        "usage": { "input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 3 },
    }]);
    let message = &canonical(&read(Format::Anthropic, &answer))[0];
    let got = ["provider", "model", "response_id", "stop_reason", "raw_stop_reason"].map(|name| &message[name]);
    assert_eq!(got, ["anthropic", "claude-sonnet-4-5", "msg_1", "length", "max_tokens"]);
    assert_eq!((&message["usage"]["cache_read"], &message["usage"]["total"]), (&json!(3), &json!(10)));
}

#[test]
fn gemini() {
    let theirs = sample(include_str!("samples/gemini.json"));
    comes_back(Format::Gemini, &theirs);
    assert_eq!(canonical(&read(Format::Gemini, &theirs))[3]["content"][0]["text"], "{\"rain\":[1,2]}");

    // As its Python package dumps them, and without ids.
    let dumped = json!([
        { "role": "user", "parts": [{ "text": "hi" }, { "inline_data": { "mime_type": "image/png", "data": "_-g=" } }] },
        { "role": "model", "parts": [
            { "function_call": { "name": "a", "args": {} }, "thought_signature": "c2ln" },
            { "function_call": { "name": "b" } },
        ] },
        { "role": "tool", "parts": [
            { "function_response": { "name": "b", "response": { "result": "second" } } },
            { "function_response": { "name": "a", "response": { "error": "first" } } },
        ] },
    ]);
    let imported = read(Format::Gemini, &dumped);
    assert_eq!(codes(&imported.losses), []);
    let messages = canonical(&imported);
    assert_eq!(messages[0]["content"][1]["data"], "/+g=");
    let ids = [&messages[1]["content"][1]["id"], &messages[1]["content"][0]["id"]];
    assert_eq!([&messages[2]["tool_call_id"], &messages[3]["tool_call_id"]], ids);
    assert_eq!((&messages[2]["content"][0]["text"], &messages[3]["is_error"]), (&json!("second"), &json!(true)));
}

#[test]
fn ai_sdk() {
    let theirs = sample(include_str!("samples/ai_sdk.json"));
    let imported = read(Format::AiSdk, &theirs);
    assert_eq!(codes(&imported.losses), []);
    let messages = canonical(&imported);
    let roles: Vec<&str> = messages.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool_result", "tool_result", "tool_result", "assistant"]);
    assert_eq!((&messages[1]["id"], &messages[1]["protocol"]), (&json!("a1"), &json!("anthropic")));
    assert_eq!((&messages[4]["content"][0]["text"], &messages[4]["is_error"]), (&json!("not now"), &json!(true)));
    let exported = written(Format::AiSdk, &imported);
    assert_eq!(codes(&exported.losses), []);
    let mut expected = theirs;
    expected[0]["id"] = json!("system");
    // The order of an object's fields says nothing.
    assert_eq!(exported.messages, expected);
}

#[test]
fn pi() {
    let theirs = sample(include_str!("samples/pi.json"));
    let theirs = theirs.as_array().unwrap().clone();
    let lines: String = theirs.iter().map(|entry| format!("{entry}\n")).collect();
    let imported = read(Format::Pi, &json!(lines));
    assert_eq!(codes(&imported.losses), []);
    assert_eq!(imported, read(Format::Pi, &json!(theirs)));
    let messages = canonical(&imported);
    assert_eq!((&messages[1]["protocol"], &messages[1]["usage"]["cost"]["total"]), (&json!("openai_responses"), &json!(0.75)));
    assert_eq!(messages[1]["content"][2]["signature"], "fc_1");
    assert_eq!((&messages[2]["tool_call_id"], &messages[2]["id"]), (&json!("call_1"), &json!("c")));
    assert_eq!(messages[3]["error"]["message"], "529");
    let exported = written(Format::Pi, &imported);
    assert_eq!(codes(&exported.losses), []);
    let (header, rest) = exported.messages.as_array().unwrap().split_first().unwrap();
    assert_eq!((&header["version"], &header["timestamp"]), (&json!(3), &json!("2024-12-03T14:00:01.000Z")));
    assert_eq!(header["id"].as_str().unwrap().len(), 36);
    assert_eq!(rest, &theirs[1..]);
    assert_eq!(exported.text(Format::Pi).lines().count(), 5);
}

#[test]
fn pi_reads_the_branch_of_the_last_entry() {
    let user = |id: &str, parent: Value| {
        let message = json!({ "role": "user", "content": id });
        json!({ "type": "message", "id": id, "parentId": parent, "message": message })
    };
    let entries = json!([
        { "type": "session", "version": 3, "id": "s" },
        { "type": "model_change", "id": "m", "parentId": null, "provider": "openai", "modelId": "gpt-5" },
        user("a", json!("m")),
        user("b", json!("a")),
        { "type": "compaction", "id": "k", "parentId": "a", "summary": "so far", "firstKeptEntryId": "a", "tokensBefore": 9 },
        { "type": "message", "id": "x", "parentId": "k", "message": { "role": "bashExecution", "command": "ls", "output": "" } },
        user("c", json!("x")),
    ]);
    let imported = read(Format::Pi, &entries);
    let expected = [(1, "entry"), (3, "branch"), (4, "custom_message"), (5, "custom_message")];
    assert_eq!(codes(&imported.losses), expected);
    let roles: Vec<&str> = imported.messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, ["user", "compactionSummary", "bashExecution", "user"]);
    // As pi's agent has them, and as version 1 wrote them.
    let alone = json!([{ "role": "user", "content": "a" }, { "type": "message", "message": { "role": "user", "content": "b" } }]);
    assert_eq!(read(Format::Pi, &alone).messages.len(), 2);
}
