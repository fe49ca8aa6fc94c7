//! JSON-RPC, as MCP has it: a message on each line.

use serde_json::{Map, Value, json};

/// The versions of the protocol that have all that this server does, the latest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Codes of JSON-RPC.
pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;

/// What a client sends.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// The response to a request, of which there is none.
    Response,
    /// What is to be sent back, as it is no message.
    Wrong(Value),
}

impl Message {
    pub(super) fn read(line: &[u8]) -> Message {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return Message::Wrong(error(&Value::Null, PARSE_ERROR, "expected a message in JSON on each line"));
        };
        let Value::Object(mut map) = value else {
            return Message::Wrong(error(&Value::Null, INVALID_REQUEST, "expected an object; batches are not taken"));
        };
        let id = map.remove("id");
        let params = match map.remove("params") {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        match (map.remove("method"), id) {
            (Some(Value::String(method)), None) => Message::Notification { method, params },
            (Some(Value::String(method)), Some(id)) if id.is_string() || id.is_number() => {
                Message::Request { id, method, params }
            }
            (None, Some(_)) if map.contains_key("result") || map.contains_key("error") => Message::Response,
            (_, id) => {
                let text = "expected method, a text, and id, a text or a number";
                Message::Wrong(error(&id.unwrap_or_default(), INVALID_REQUEST, text))
            }
        }
    }
}

/// The version that the connection has, if a client asks for this one.
pub(super) fn version(asked: Option<&str>) -> &'static str {
    let known = VERSIONS.iter().find(|known| Some(**known) == asked);
    known.copied().unwrap_or(VERSIONS[0])
}

pub(super) fn response(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(super) fn error(id: &Value, code: i32, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } })
}

pub(super) fn progress(token: &Value, progress: u64, text: &str) -> Value {
    let params = json!({ "progressToken": token, "progress": progress, "message": text });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

/// The result of a tool that has failed.
pub(super) fn failed(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": true })
}

/// The result of a tool of ours, as MCP has it.
pub(super) fn result(content: &Value, is_error: bool, structured: Option<Value>) -> Value {
    let blocks: Vec<Value> = content.as_array().into_iter().flatten().map(block).collect();
    match structured {
        Some(structured) => json!({ "content": blocks, "isError": is_error, "structuredContent": structured }),
        None => json!({ "content": blocks, "isError": is_error }),
    }
}

/// A block of a result, as MCP has it.
fn block(block: &Value) -> Value {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    let (kind, mime_type) = (text("type").unwrap_or_default(), text("mime_type").unwrap_or_default());
    match (kind, text("data"), text("url")) {
        (_, _, Some(url)) => json!({ "type": "resource_link", "uri": url, "name": text("name").unwrap_or(url) }),
        ("image" | "audio", Some(data), None) => json!({ "type": kind, "data": data, "mimeType": mime_type }),
        (_, Some(data), None) => {
            // With a scheme: clients check that it is a URI.
            let uri = format!("document:{}", text("name").unwrap_or("document"));
            json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "blob": data } })
        }
        (_, None, None) => json!({ "type": "text", "text": text("text").unwrap_or_default() }),
    }
}
