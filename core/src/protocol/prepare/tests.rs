use serde_json::{Value, json};

use super::*;

fn prepared(messages: Value) -> Value {
    let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
    let kept: Vec<Value> = prepare(&messages, 50_000)
        .iter()
        .map(|message| match &**message {
            Message::ToolResult(result) => {
                json!([result.tool_call_id, result_text(result), result.is_error])
            }
            other => json!([other.role(), other.text()]),
        })
        .collect();
    Value::Array(kept)
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
fn results_stand_behind_their_calls_in_call_order_once() {
    let kept = prepared(json!([
        { "role": "assistant", "content": [call("a"), call("b"), call("c")], "stop_reason": "tool_use" },
        { "role": "user", "content": "meanwhile" },
        result("b", "B"), result("a", "A"), result("a", "A again"), result("x", "nobody's"),
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

#[test]
fn empty_blocks_and_messages_are_dropped_and_signed_ones_kept() {
    let kept = prepared(json!([
        { "role": "user", "content": [{ "type": "text", "text": " \n" }, { "type": "text", "text": "x" }] },
        { "role": "user", "content": "" },
        { "role": "assistant", "content": [{ "type": "thinking", "thinking": "", "signature": "s" }] },
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
    let messages: Vec<Arc<Message>> = serde_json::from_value(json!([
        { "role": "assistant", "content": [call("a")] }, result("a", "éé1234567890éé"),
    ]))
    .unwrap();
    assert_eq!(prepare(&messages, 8)[1].text(), "éé\n[… 10 bytes left out …]\néé");
    assert_eq!(prepare(&messages, 18)[1].text(), "éé1234567890éé");
}
