//! A conversation goes on with a model of another format, and comes back: nothing is lost that the other format can express, and
//! what only its maker understands is there again, byte for byte.

use std::sync::Arc;

use serde_json::{Value, json};

use super::service_rules::{Service, services};
use super::transcripts::Asked;
use crate::message::Message;

/// What the models of a format say in one turn, each part with what only its maker understands: the blocks, and the texts in
/// which that stands.
pub(super) fn made(protocol: &str, turn: &str, calls: usize) -> (Vec<Value>, Vec<String>) {
    let (thought, said) = (format!("Thought {turn}."), format!("Text {turn}."));
    let mut thinking = json!({ "type": "thinking", "thinking": thought });
    let mut text = json!({ "type": "text", "text": said });
    let call = |index: usize| {
        let id = match protocol {
            "anthropic" => format!("toolu_{turn}{index}"),
            _ => format!("call_{turn}{index}|+/={}", "x".repeat(9)),
        };
        let arguments = json!({ "what": format!("roof {turn}"), "at": [index, 2.5, { "é": "\"" }] });
        json!({ "type": "tool_call", "id": id, "name": "look", "arguments": arguments })
    };
    let mut calls: Vec<Value> = (0..calls).map(call).collect();
    let mut opaque: Vec<Value> = Vec::new();
    match protocol {
        "anthropic" => {
            thinking["signature"] = format!("EqoB{turn}+/==").into();
            let id = format!("srvtoolu_{turn}");
            opaque.push(json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": { "query": "q" } }));
            opaque.push(json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [] }));
        }
        "openai_responses" => {
            let item = json!({
                "id": format!("rs_{turn}"), "type": "reasoning", "summary": [{ "type": "summary_text", "text": thought }],
                "encrypted_content": format!("gAAA{turn}"),
            });
            thinking["signature"] = item.to_string().into();
            text["signature"] = json!({ "id": format!("msg_{turn}"), "phase": "commentary" }).to_string().into();
            calls.iter_mut().enumerate().for_each(|(index, call)| call["signature"] = format!("fc_{turn}{index}").into());
            opaque.push(json!({ "type": "web_search_call", "id": format!("ws_{turn}"), "status": "completed" }));
        }
        "gemini" => {
            text["signature"] = format!("VGV4{turn}").into();
            // Of calls side by side only the first is signed.
            calls.iter_mut().take(1).for_each(|call| call["signature"] = format!("Q2Fs{turn}").into());
            opaque.push(json!({ "executableCode": { "language": "PYTHON", "code": format!("print({turn:?})") } }));
        }
        _ => thinking["signature"] = "reasoning_content".into(),
    }
    let opaque = opaque.into_iter().map(|data| json!({ "type": "opaque", "protocol": protocol, "data": data }));
    let blocks: Vec<Value> = [thinking].into_iter().chain(opaque).chain([text]).chain(calls).collect();
    let own = blocks.iter().filter_map(|block| match (&block["signature"], &block["data"]) {
        (Value::String(signature), _) => Some(signature.clone()),
        (_, Value::Null) => None,
        (_, data) => Some(data.to_string()),
    });
    // An object's fields may stand among others.
    let own = own.map(|text| text.trim_start_matches('{').strip_suffix('}').unwrap_or(&text).to_owned());
    let own = own.collect();
    (blocks, own)
}

pub(super) fn answer(service: &Service, content: Value) -> Value {
    let spec = service.fixture.spec();
    json!({
        "role": "assistant", "provider": spec.provider, "protocol": service.fixture.protocol(), "model": spec.id,
        "content": content,
    })
}

pub(super) fn result(call: &Value, content: Value) -> Value {
    json!({ "role": "tool_result", "tool_call_id": call["id"], "tool_name": call["name"], "content": content })
}

/// The user's text and image, the model's thinking, text and call, the tool's text and image, and the final answer;
/// and what of it only its maker understands.
fn conversation(service: &Service, turn: &str) -> (Vec<Value>, Vec<String>) {
    let (blocks, own) = made(service.fixture.protocol(), turn, 1);
    let image = |data: String| json!({ "type": "image", "mime_type": "image/png", "data": data });
    let text = |text: &str| json!({ "type": "text", "text": format!("{text} {turn}.") });
    let result = result(blocks.last().unwrap(), json!([text("Result"), image(format!("UmVz{turn}"))]));
    let shown = json!({ "role": "user", "content": [text("Question"), image(format!("UXVl{turn}"))] });
    (vec![shown, answer(service, blocks.into()), result, answer(service, json!([text("Answer")]))], own)
}

fn read(messages: &[Value]) -> Vec<Arc<Message>> {
    serde_json::from_value(messages.to_vec().into()).unwrap()
}

/// The first models of each format that take their own thinking back.
fn makers() -> Vec<Service> {
    let names = ["anthropic, budget", "deepseek", "responses", "gemini 3"];
    let mut services = services();
    services.retain(|service| names.contains(&service.name));
    assert_eq!(services.len(), names.len());
    services
}

#[test]
fn a_conversation_goes_from_any_format_to_any_other_and_back() {
    let next = json!({ "role": "user", "content": "And now?" });
    let asked = Asked::thinking();
    for a in makers() {
        let (begun, own) = conversation(&a, "Aaaa");
        let mut at_first = begun.clone();
        at_first.push(next.clone());
        let at_first = a.body(&read(&at_first), &asked);
        a.judge(&at_first).unwrap();
        for b in makers().iter().filter(|b| b.name != a.name) {
            let from_to = format!("{} to {}", a.name, b.name);
            let mut transcript = [begun.clone(), vec![next.clone()]].concat();
            let body = b.body(&read(&transcript), &asked);
            b.judge(&body).unwrap();
            let body = body.to_string();
            for text in
                ["Question Aaaa.", "Thought Aaaa.", "Text Aaaa.", "Result Aaaa.", "Answer Aaaa.", "look", "UXVlAaaa", "UmVzAaaa"]
            {
                assert!(body.contains(text), "{from_to}: {text} in {body}");
            }
            let arguments = json!({ "what": "roof Aaaa", "at": [0, 2.5, { "é": "\"" }] }).to_string();
            let as_text = json!(arguments).to_string();
            assert!(body.contains(&arguments) || body.contains(&as_text), "{from_to}: {arguments} in {body}");
            for signature in &own {
                assert!(!body.contains(signature.as_str()), "{from_to}: {signature} in {body}");
            }

            let (more, of_b) = conversation(b, "Bbbb");
            transcript.pop();
            transcript.extend(more);
            transcript.push(next.clone());
            let again = a.body(&read(&transcript), &asked);
            a.judge(&again).unwrap();
            // All but the question at the end.
            let mut before = a.pieces(&at_first);
            before.pop();
            assert!(a.pieces(&again).starts_with(&before), "{from_to} and back: {before:#?}\n{again:#}");
            let again = again.to_string();
            for signature in &own {
                assert!(again.contains(signature), "{from_to} and back: {signature} in {again}");
            }
            assert!(of_b.iter().all(|signature| !again.contains(signature.as_str())), "{from_to} and back: {again}");
            assert!(["Thought Bbbb.", "Text Bbbb.", "Result Bbbb.", "Answer Bbbb."].iter().all(|text| again.contains(text)));
        }
    }
}
