//! A request's body.

use serde_json::{Map, Value, json};

use crate::message::Message;
use crate::protocol::format::Target;
use crate::request::Request;

pub(super) fn body(request: &Request, target: Target<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    let model = match target.spec.id.split_once('/') {
        Some((provider, id)) => json!({ "provider": provider, "id": id }),
        None => json!({ "id": target.spec.id }),
    };
    body.insert("model".into(), model);
    let messages: Vec<Value> = request.messages.iter().map(|message| said(message)).collect();
    let context = json!({ "system_prompt": request.system_prompt, "messages": messages, "tools": *request.tools });
    body.insert("context".into(), context);
    let mut options = json!(request.options);
    if let Some(options) = options.as_object_mut() {
        options.insert("thinking_level".into(), json!(request.thinking_level));
    }
    body.insert("options".into(), options);
    body
}

/// A message without what is only for the application.
fn said(message: &Message) -> Value {
    let mut message = json!(message);
    if let Some(details) = message.get_mut("details") {
        *details = Value::Null;
    }
    message
}
