//! The Responses format, as api.openai.com writes it: `event:` lines, numbered events, item ids and padding in every delta, and
//! the whole text or arguments again in each closing event.

use serde_json::{Value, json};

use super::{Part, quoted};

const RESPONSE: &str = "resp_0dd65ac660ad00e6016a3c1230cfa4819eb070eaf590b21379";
const MESSAGE: &str = "msg_0dd65ac660ad00e6016a3c1231c5f0819eb6adc3d7b061a6f2";
const CALL: &str = "fc_0a7836d50cf181dd016a3c12307fa481a1a06adb8b03345a43";
/// A delta and its padding have this length together, where the delta is not longer.
const PADDED: &str = "uP9kpCBEtC4RxRmS";

pub(super) fn events(model: &str, parts: &[Part]) -> Vec<String> {
    let mut out = Events(Vec::new());
    let begun = response(model, "in_progress", json!([]), Value::Null);
    out.push("response.created", &format!(r#""response":{begun}"#));
    out.push("response.in_progress", &format!(r#""response":{begun}"#));
    let mut pieces_sent = 0;
    let mut items = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        pieces_sent += match part {
            Part::Text(pieces) => {
                items.push(message(index, pieces, &mut out));
                pieces.len()
            }
            Part::Call { name, number, arguments } => {
                items.push(call(index, name, *number, arguments, &mut out));
                arguments.len()
            }
        };
    }
    let usage = json!({
        "input_tokens": 599, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": pieces_sent, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 599 + pieces_sent,
    });
    let ended = response(model, "completed", items.into(), usage);
    out.push("response.completed", &format!(r#""response":{ended}"#));
    out.0
}

/// The answer as a whole, as in the first events and in the last.
fn response(model: &str, status: &str, output: Value, usage: Value) -> Value {
    json!({
        "id": RESPONSE, "object": "response", "created_at": 1_782_321_712, "status": status, "background": false,
        "completed_at": null, "error": null, "frequency_penalty": 0.0, "incomplete_details": null, "instructions": null,
        "max_output_tokens": 4000, "max_tool_calls": null, "model": model, "output": output, "parallel_tool_calls": true,
        "presence_penalty": 0.0, "previous_response_id": null, "reasoning": { "effort": null, "summary": null },
        "service_tier": "auto", "store": false, "temperature": 1.0, "text": { "format": { "type": "text" } },
        "tool_choice": "auto", "tools": [], "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "usage": usage,
        "user": null, "metadata": {},
    })
}

fn message(index: usize, pieces: &[String], out: &mut Events) -> Value {
    let item = |status: &str, content: Value| {
        json!({
            "id": MESSAGE, "type": "message", "status": status, "content": content, "role": "assistant",
        })
    };
    let part = |text: &str| json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text });
    let place = format!(r#""content_index":0,"item_id":"{MESSAGE}","output_index":{index}"#);
    out.push("response.output_item.added", &format!(r#""item":{},"output_index":{index}"#, item("in_progress", json!([]))));
    out.push("response.content_part.added", &format!(r#"{place},"part":{}"#, part("")));
    for piece in pieces {
        let body = format!(
            r#""content_index":0,"delta":{},"item_id":"{MESSAGE}","logprobs":[],"obfuscation":"{}","output_index":{index}"#,
            quoted(piece),
            padding(piece)
        );
        out.push("response.output_text.delta", &body);
    }
    let text = pieces.concat();
    out.push("response.output_text.done", &format!(r#"{place},"logprobs":[],"text":{}"#, quoted(&text)));
    out.push("response.content_part.done", &format!(r#"{place},"part":{}"#, part(&text)));
    let done = item("completed", json!([part(&text)]));
    out.push("response.output_item.done", &format!(r#""item":{done},"output_index":{index}"#));
    done
}

fn call(index: usize, name: &str, number: usize, pieces: &[String], out: &mut Events) -> Value {
    let item = |status: &str, arguments: &str| {
        json!({
            "id": CALL, "type": "function_call", "status": status, "arguments": arguments,
            "call_id": format!("call_inViAUr9eV0GDtyOywkCxp{number}"), "name": name,
        })
    };
    out.push("response.output_item.added", &format!(r#""item":{},"output_index":{index}"#, item("in_progress", "")));
    for piece in pieces {
        let body =
            format!(r#""delta":{},"item_id":"{CALL}","obfuscation":"{}","output_index":{index}"#, quoted(piece), padding(piece));
        out.push("response.function_call_arguments.delta", &body);
    }
    let arguments = pieces.concat();
    let body = format!(r#""arguments":{},"item_id":"{CALL}","output_index":{index}"#, quoted(&arguments));
    out.push("response.function_call_arguments.done", &body);
    let done = item("completed", &arguments);
    out.push("response.output_item.done", &format!(r#""item":{done},"output_index":{index}"#));
    done
}

fn padding(piece: &str) -> &str {
    PADDED.get(piece.len()..).unwrap_or_default()
}

struct Events(Vec<String>);

impl Events {
    fn push(&mut self, name: &str, body: &str) {
        let number = self.0.len();
        self.0.push(format!("event: {name}\ndata: {{\"type\":\"{name}\",{body},\"sequence_number\":{number}}}\n\n"));
    }
}
