//! What a provider has cached stays valid: each request of a run extends the one before, byte for byte.

use std::sync::Arc;

use serde_json::{Value, json};

use super::model_switch::{answer, made, result};
use super::service_rules::{Service, services, unmarked};
use super::transcripts::Asked;
use crate::message::Message;

/// The requests of a run of 20 turns, each with thinking, a text and calls, with results that are long, empty, failed or have
/// images.
fn requests(service: &Service) -> Vec<Value> {
    let mut transcript = vec![json!({ "role": "user", "content": "go" })];
    let turns = (0..20).map(|turn| {
        let messages: Vec<Arc<Message>> = serde_json::from_value(transcript.clone().into()).unwrap();
        let body = service.body(&messages, &Asked::thinking());
        service.judge(&body).unwrap();
        let (blocks, _) = made(service.fixture.protocol(), &format!("aaa{}", char::from(b'a' + turn)), 1 + usize::from(turn) % 3);
        transcript.push(answer(service, blocks.clone().into()));
        for (index, call) in blocks.iter().filter(|block| block["type"] == "tool_call").enumerate() {
            let image = json!({ "type": "image", "mime_type": "image/png", "data": "QQ==" });
            let content = [json!("so"), json!([]), json!([{ "type": "text", "text": "see" }, image]), json!("é".repeat(300))];
            let mut result = result(call, content[(usize::from(turn) + index) % 4].clone());
            result["is_error"] = (turn % 5 == 0).into();
            transcript.push(result);
        }
        if turn % 7 == 3 {
            transcript.push(json!({ "role": "user", "content": "and look at the wall" }));
        }
        body
    });
    turns.collect()
}

/// The field that grows, taken out of a body.
fn grown(body: &mut Value) -> Value {
    let name = ["messages", "contents", "input"].into_iter().find(|name| body.get(name).is_some()).unwrap();
    body.as_object_mut().unwrap().shift_remove(name).unwrap()
}

#[test]
fn each_request_of_a_run_extends_the_one_before_byte_for_byte() {
    for service in services() {
        let requests = requests(&service);
        assert_eq!(requests.len(), 20);
        let mut grew = 0;
        for pair in requests.windows(2) {
            let mut pair = [unmarked(pair[0].clone()), unmarked(pair[1].clone())];
            let [before, after] = pair.each_mut().map(|body| grown(body).to_string());
            let open = before.strip_suffix(']').unwrap();
            assert!(after.starts_with(&format!("{open},")), "{}:\n{before}\n{after}", service.name);
            assert_eq!(pair[0].to_string(), pair[1].to_string(), "{}: all else stays as it was", service.name);
            grew += after.len() - before.len();
        }
        assert!(grew > 20 * 300, "{}: {grew} bytes", service.name);
    }
}

/// The places of a body's cache markers, as JSON pointers.
fn markers(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if map.contains_key("cache_control") {
                found.push(place.to_owned());
            }
            map.iter().for_each(|(name, value)| markers(value, &format!("{place}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| markers(value, &format!("{place}/{index}"), found));
        }
        _ => {}
    }
}

#[test]
fn markers_stand_at_the_tools_the_system_and_where_this_request_and_the_one_before_end() {
    let services = services();
    for service in
        services.iter().filter(|service| service.fixture.protocol() == "anthropic" && service.fixture.spec().provider != "p")
    {
        let mut end_before = None;
        for body in requests(service) {
            let mut found = Vec::new();
            markers(&body, "", &mut found);
            let messages = body["messages"].as_array().unwrap();
            let last = messages.last().unwrap();
            assert_eq!(last["role"], "user");
            let end = format!("/messages/{}/content/{}", messages.len() - 1, last["content"].as_array().unwrap().len() - 1);
            let mut expected = vec!["/system/0".to_owned()];
            expected.extend(end_before.replace(end.clone()));
            expected.extend([end, format!("/tools/{}", body["tools"].as_array().unwrap().len() - 1)]);
            assert_eq!(found, expected, "{}: at most four", service.name);
        }
    }
}
