//! The streams recorded from the real server, played back: `tests/llama/recorded`.

use std::path::PathBuf;

use agent_mock::{Mock, Script};
use serde_json::{Value, json};

use crate::client::{get, post};

fn recorded(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../llama/recorded").join(file)
}

/// The five states of the conversation, each with what goes into a request.
fn states(tool_result: Value) -> [(&'static str, Value); 5] {
    let user = json!({"role": "user", "content": "…"});
    let assistant = json!({"role": "assistant", "content": "…"});
    let tools = json!([{"name": "calculator"}]);
    let first = [user.clone(), assistant.clone(), tool_result.clone()];
    let second = [&first[..], &[assistant.clone(), user.clone(), assistant, tool_result]].concat();
    [
        ("hello", json!({"messages": [user]})),
        ("1_call", json!({"messages": first[..1], "tools": tools})),
        ("1_tell", json!({"messages": first, "tools": tools})),
        ("2_call", json!({"messages": second[..5], "tools": tools})),
        ("2_tell", json!({"messages": second, "tools": tools})),
    ]
}

#[test]
fn both_endpoints_play_the_conversation() {
    let mock = Mock::start(Script::load(recorded("scenario.json")).unwrap());
    for (api, path, tool_result) in [
        ("chat", "/v1/chat/completions", json!({"role": "tool", "tool_call_id": "1", "content": "345"})),
        ("messages", "/v1/messages", json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]})),
    ] {
        for (state, request) in states(tool_result) {
            let expected = std::fs::read_to_string(recorded(&format!("{api}_{state}.sse"))).unwrap();
            let reply = post(&mock.url(), path, &request);
            assert_eq!(reply.status, 200, "{api} {state}: {}", reply.body());
            assert!(reply.has_header("content-type: text/event-stream"), "{}", reply.head);
            assert_eq!(reply.body(), expected, "{api} {state}");
            assert!(reply.chunks.len() > 5, "{api} {state}: an HTTP chunk for each event");
        }
    }
    assert_eq!(get(&mock.url(), "/health").status, 200);
}
