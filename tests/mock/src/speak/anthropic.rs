//! A message as Anthropic streams it: <https://docs.claude.com/en/docs/build-with-claude/streaming>.

use serde_json::{Value, json};

use super::{Asked, SIGNATURE};
use crate::answer::Frame;
use crate::refusal::Complaint;
use crate::speech::{Said, Speech, Stop};

fn event(data: Value) -> Frame {
    Frame::event(data["type"].as_str().unwrap_or_default().to_owned(), data)
}

pub(super) fn frames(speech: &Speech, asked: &Asked) -> Vec<Frame> {
    let usage = |output: u64| {
        json!({
            "input_tokens": speech.usage.input,
            "cache_creation_input_tokens": speech.usage.cache_write,
            "cache_read_input_tokens": speech.usage.cache_read,
            "output_tokens": output,
        })
    };
    let mut frames = vec![event(json!({"type": "message_start", "message": {
        "model": speech.model, "id": format!("msg_{}", asked.serial()), "type": "message", "role": "assistant", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(1),
    }}))];
    for (index, said) in speech.said.iter().enumerate() {
        let (block, deltas) = block(speech, said, asked.serial, index);
        frames.push(event(json!({"type": "content_block_start", "index": index, "content_block": block})));
        if index == 0 {
            frames.push(event(json!({"type": "ping"})));
        }
        let delta = |delta| event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        frames.extend(deltas.into_iter().map(delta));
        frames.push(event(json!({"type": "content_block_stop", "index": index})));
    }
    let reason = match speech.stop_reason() {
        Stop::Stop => "end_turn",
        Stop::Length => "max_tokens",
        Stop::ToolUse => "tool_use",
        Stop::Refusal => "refusal",
    };
    frames.push(event(json!({
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": usage(speech.usage.output),
    })));
    frames.push(event(json!({"type": "message_stop"})));
    frames
}

/// A block as it starts, and what is added to it.
fn block(speech: &Speech, said: &Said, serial: usize, index: usize) -> (Value, Vec<Value>) {
    match said {
        Said::Text { text } => {
            let deltas = speech.pieces(text).map(|piece| json!({"type": "text_delta", "text": piece}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Said::Thinking { thinking, signature } => {
            let signature = signature.as_deref().unwrap_or(SIGNATURE);
            let deltas = speech.pieces(thinking).map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            let signed = json!({"type": "signature_delta", "signature": signature});
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas.chain([signed]).collect())
        }
        Said::RedactedThinking { data } => (json!({"type": "redacted_thinking", "data": data}), Vec::new()),
        Said::ToolCall(call) => {
            let start = json!({"type": "tool_use", "id": call.id(serial, index), "name": call.name, "input": {}});
            let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
            let arguments = match call.arguments_text() {
                // Without arguments the service sends one empty piece.
                text if text == "{}" => String::new(),
                text => text,
            };
            (start, std::iter::once(delta("")).chain(speech.pieces(&arguments).map(delta)).collect())
        }
    }
}

pub(super) fn error(complaint: &Complaint) -> Vec<Frame> {
    let error = json!({"type": complaint.anthropic_kind(), "message": complaint.message});
    vec![event(json!({"type": "error", "error": error}))]
}
