//! Which answer a request gets.

use agent_mock::{Answer, Last, Mock, Script, When};
use serde_json::{Value, json};

use crate::client::{get, post};

#[test]
fn status_headers_and_body_are_the_scripts() {
    let mock = Mock::start(
        Script::new()
            .answer(Answer::json(json!({"error": {"message": "slow down"}})).status(429).header("Retry-After", "2"))
            .answer(Answer::text("<html>").status(502).header("content-type", "text/html")),
    );
    let reply = get(&mock.url(), "/v1/messages");
    assert_eq!(reply.status, 429);
    assert!(reply.has_header("retry-after: 2"), "{}", reply.head);
    assert!(reply.has_header("content-type: application/json"), "{}", reply.head);
    assert_eq!(reply.body(), r#"{"error":{"message":"slow down"}}"#);
    let reply = get(&mock.url(), "/v1/messages");
    assert_eq!((reply.status, reply.body().as_str()), (502, "<html>"));
    assert!(reply.has_header("content-type: text/html"), "{}", reply.head);
}

#[test]
fn without_conditions_answers_are_given_in_order_and_once() {
    let mock = Mock::start(Script::new().answer(Answer::text("first").times(2)).answer(Answer::text("second")));
    let bodies: Vec<String> = (0..3).map(|_| get(&mock.url(), "/any").body()).collect();
    assert_eq!(bodies, ["first", "first", "second"]);
    let reply = get(&mock.url(), "/any");
    assert_eq!(reply.status, 500);
    assert_eq!(
        reply.json(),
        json!({"type": "error", "error": {
            "type": "no_scripted_answer",
            "message": "agent-mock has no answer for GET /any: answer 1 is used up (2 of 2); answer 2 is used up (1 of 1)",
        }})
    );
}

#[test]
fn a_condition_fits_or_the_next_answer_is_asked() {
    let mock = Mock::start(
        Script::new()
            .answer(Answer::text("get").when(When::new().method("get")))
            .answer(Answer::text("with query").when(When::new().path("/a?alt=sse")))
            .answer(Answer::text("path").when(When::new().path("/a")))
            .answer(Answer::text("twice").when(When::new().path("/b")).times(2)),
    );
    let ask = |path: &str| post(&mock.url(), path, &json!({}));
    assert_eq!(get(&mock.url(), "/a").body(), "get");
    for _ in 0..3 {
        assert_eq!(ask("/a?alt=sse").body(), "with query");
        assert_eq!(ask("/a?alt=json").body(), "path");
    }
    assert_eq!(ask("/b").body(), "twice");
    assert_eq!(ask("/b").body(), "twice");
    let reply = ask("/b");
    assert_eq!(reply.status, 500);
    assert_eq!(
        reply.json()["error"]["message"],
        "agent-mock has no answer for POST /b: answer 1 is for method get; answer 2 is for path /a?alt=sse; \
         answer 3 is for path /a; answer 4 is used up (2 of 2)"
    );
}

/// What a calculator conversation sends in either format, and the state it is in.
fn conversation_states() -> Vec<(&'static str, Value)> {
    let question = json!({"role": "user", "content": "What is 15 multiplied by 23?"});
    let chat = [
        question.clone(),
        json!({"role": "assistant", "tool_calls": [{"id": "1"}]}),
        json!({"role": "tool", "tool_call_id": "1", "content": "345"}),
        json!({"role": "assistant", "content": "345"}),
        json!({"role": "user", "content": "Now divide that by 5"}),
    ];
    let mut messages = chat.clone();
    messages[2] = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "345"}]});
    let request = |messages: &[Value]| json!({"messages": messages, "tools": [{"name": "calculator"}]});
    vec![
        ("call 1", request(&chat[..1])),
        ("tell 1", request(&chat[..3])),
        ("call 2", request(&chat)),
        ("call 1", request(&messages[..1])),
        ("tell 1", request(&messages[..3])),
        ("call 2", request(&messages)),
        ("hello", json!({"messages": [question], "tools": []})),
        ("hello", json!({"messages": messages})),
    ]
}

#[test]
fn one_script_plays_a_conversation_for_any_number_of_clients() {
    let with_tools = |users, last| When::new().tools(true).user_messages(users).last(last);
    let mock = Mock::start(
        Script::new()
            .answer(Answer::text("call 1").when(with_tools(1, Last::User)))
            .answer(Answer::text("tell 1").when(with_tools(1, Last::ToolResult)))
            .answer(Answer::text("call 2").when(with_tools(2, Last::User)))
            .answer(Answer::text("hello").when(When::new().tools(false))),
    );
    for (expected, request) in conversation_states().into_iter().chain(conversation_states()) {
        assert_eq!(post(&mock.url(), "/v1/x", &request).body(), expected, "{request}");
    }
    let reply = post(&mock.url(), "/v1/x", &json!({"messages": [{"role": "assistant"}], "tools": [{}]}));
    assert_eq!(reply.status, 500);
    assert_eq!(
        reply.json()["error"]["message"],
        "agent-mock has no answer for POST /v1/x (user_messages 0, last assistant, tools true): answer 1 is for user_messages 1; \
         answer 2 is for user_messages 1; answer 3 is for user_messages 2; answer 4 is for tools false"
    );
}

#[test]
fn a_script_without_answers_says_so() {
    let mock = Mock::start(Script::new());
    let reply = get(&mock.url(), "/");
    assert_eq!(reply.status, 500);
    assert_eq!(reply.json()["error"]["message"], "agent-mock has no answer for GET /: the script has no answers");
}
