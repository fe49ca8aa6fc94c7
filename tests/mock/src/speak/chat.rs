//! A message as OpenAI's Chat Completions streams it; thinking in `reasoning_content`, as the servers do that show it.

use serde_json::{Value, json};

use super::Asked;
use crate::answer::Frame;
use crate::check::Flavour;
use crate::refusal::Complaint;
use crate::speech::{Said, Speech, Stop};

pub(super) fn frames(speech: &Speech, asked: &Asked) -> Vec<Frame> {
    let chunk = |choices: Value, usage: Value| {
        Frame::data(json!({
            "id": format!("chatcmpl-{}", asked.serial()), "object": "chat.completion.chunk", "created": 1_760_000_000,
            "model": speech.model, "choices": choices, "usage": usage,
        }))
    };
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for (index, said) in speech.said.iter().enumerate() {
        match said {
            Said::Text { text } => frames.extend(speech.pieces(text).map(|piece| delta(json!({"content": piece})))),
            Said::Thinking { thinking, .. } => {
                frames.extend(speech.pieces(thinking).map(|piece| delta(json!({"reasoning_content": piece}))));
            }
            Said::RedactedThinking { .. } => {}
            Said::ToolCall(call) => {
                let function = json!({"name": call.name, "arguments": ""});
                let start = json!({"index": calls, "id": call.id(asked.serial, index), "type": "function", "function": function});
                frames.push(delta(json!({"tool_calls": [start]})));
                let more = |piece: &str| delta(json!({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]}));
                frames.extend(speech.pieces(&call.arguments_text()).map(more));
                calls += 1;
            }
        }
    }
    let reason = match speech.stop_reason() {
        Stop::Stop => "stop",
        Stop::Length => "length",
        Stop::ToolUse => "tool_calls",
        Stop::Refusal => "content_filter",
    };
    let last = json!([{"index": 0, "delta": {}, "finish_reason": reason}]);
    let usage = usage(speech);
    if asked.flavour == Flavour::Mistral {
        frames.push(chunk(last, usage));
    } else {
        frames.push(chunk(last, Value::Null));
        if asked.usage {
            frames.push(chunk(json!([]), usage));
        }
    }
    frames.push(Frame::data("[DONE]"));
    frames
}

/// The prompt's tokens contain the cached ones.
fn usage(speech: &Speech) -> Value {
    let tokens = speech.usage;
    let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": tokens.output,
        "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    })
}

/// A top-level `error` where the next chunk would be; nothing follows it.
pub(super) fn error(complaint: &Complaint) -> Vec<Frame> {
    let (kind, code) = (complaint.openai_kind(), complaint.code);
    vec![Frame::data(json!({"error": {"message": complaint.message, "type": kind, "param": null, "code": code}}))]
}
