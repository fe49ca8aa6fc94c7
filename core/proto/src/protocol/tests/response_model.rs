//! Which model has answered is kept, in all formats, where the server names another one than was asked for.

use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::delta::MessageBuilder;
use crate::message::AssistantMessage;

/// What a message of a model says of the model that has answered, when the server names this one.
fn named(protocol: &str, asked: &str, answered: &Value) -> Option<String> {
    let frames = match protocol {
        "anthropic" => vec![
            json!({ "type": "message_start", "message": { "id": "m", "model": answered } }),
            json!({ "type": "message_stop" }),
        ],
        "openai_chat" => vec![
            json!({ "id": "", "model": "", "choices": [] }),
            json!({ "id": "c", "model": answered, "choices": [{ "index": 0, "delta": { "content": "Hi" } }] }),
            json!({ "model": answered, "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
        ],
        "openai_responses" => vec![
            json!({ "type": "response.created", "response": { "id": "r", "model": answered } }),
            json!({ "type": "response.completed", "response": { "id": "r", "model": answered, "status": "completed" } }),
        ],
        "gemini" => vec![
            json!({
                "candidates": [{ "content": { "parts": [{ "text": "Hi" }] } }], "modelVersion": answered, "responseId": "r",
            }),
            json!({ "candidates": [{ "finishReason": "STOP" }], "modelVersion": answered }),
        ],
        _ => vec![json!({ "type": "done", "stop_reason": "stop", "responseModel": answered })],
    };
    let (deltas, _) = Fixture::of_protocol(protocol).decode(&frames);
    let head = AssistantMessage { model: asked.to_owned(), ..AssistantMessage::new(Vec::new()) };
    let mut builder = MessageBuilder::new(head, 1, None, usize::MAX);
    for delta in deltas {
        builder.apply(delta).unwrap();
    }
    builder.finish(None).response_model
}

#[test]
fn found_e20_the_model_that_has_answered_is_kept_where_it_is_another() {
    for protocol in ["anthropic", "openai_chat", "openai_responses", "gemini", "relay"] {
        let named = |asked, answered| named(protocol, asked, &answered);
        assert_eq!(named("gpt-5.5", json!("gpt-5.5-2026-04-23")).as_deref(), Some("gpt-5.5-2026-04-23"), "{protocol}");
        assert_eq!(named("auto", json!("vendor/large")).as_deref(), Some("vendor/large"), "{protocol}");
        assert_eq!(named("gpt-5.5", json!("gpt-5.5")), None, "{protocol}");
        assert_eq!(named("models/gemini-3", json!("gemini-3")), None, "{protocol}");
        assert_eq!(named("gpt-5.5", json!("")), None, "{protocol}");
        assert_eq!(named("gpt-5.5", json!(null)), None, "{protocol}");
    }
}
