//! A message as Gemini streams it: each chunk a whole response with some more parts, calls in one piece, no end marker.

use serde_json::{Value, json};

use super::{Asked, SIGNATURE};
use crate::answer::Frame;
use crate::refusal::Complaint;
use crate::speech::{Said, Speech, Stop};

pub(super) fn frames(speech: &Speech, asked: &Asked) -> Vec<Frame> {
    let mut parts = parts(speech);
    // A text of nothing still ends with a chunk, which then has an empty part.
    let last = parts.pop().unwrap_or_else(|| json!({"text": ""}));
    let chunk = |part: Value, finish: Option<&str>| {
        let mut candidate = json!({"content": {"parts": [part], "role": "model"}, "index": 0});
        if let Some(reason) = finish {
            candidate["finishReason"] = reason.into();
        }
        Frame::data(json!({
            "candidates": [candidate],
            "usageMetadata": usage(speech, finish.is_some()),
            "modelVersion": speech.model,
            "responseId": asked.serial(),
        }))
    };
    let reason = match speech.stop_reason() {
        Stop::Stop | Stop::ToolUse => "STOP",
        Stop::Length => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    };
    let mut frames: Vec<Frame> = parts.into_iter().map(|part| chunk(part, None)).collect();
    frames.push(chunk(last, Some(reason)));
    frames
}

/// The signature stands on the first call, without calls on an empty text at the end; thoughts themselves have none.
fn parts(speech: &Speech) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut signature = None;
    for said in &speech.said {
        match said {
            Said::Text { text } => parts.extend(speech.pieces(text).map(|piece| json!({"text": piece}))),
            Said::Thinking { thinking, signature: own } => {
                parts.extend(speech.pieces(thinking).map(|piece| json!({"text": piece, "thought": true})));
                signature = Some(own.as_deref().unwrap_or(SIGNATURE));
            }
            Said::RedactedThinking { .. } => {}
            Said::ToolCall(call) => {
                let arguments = match &call.arguments {
                    Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| json!({})),
                    value => value.clone(),
                };
                let mut function = json!({"name": call.name, "args": arguments});
                if let Some(id) = &call.id {
                    function["id"] = id.as_str().into();
                }
                let mut part = json!({"functionCall": function});
                if parts.iter().all(|part: &Value| part.get("functionCall").is_none()) {
                    part["thoughtSignature"] = signature.take().unwrap_or(SIGNATURE).into();
                }
                parts.push(part);
            }
        }
    }
    parts.extend(signature.map(|signature| json!({"text": "", "thoughtSignature": signature})));
    parts
}

/// Prompt tokens contain the cached ones; candidate tokens do not contain the thoughts.
fn usage(speech: &Speech, last: bool) -> Value {
    let tokens = speech.usage;
    let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
    let mut usage = json!({"promptTokenCount": prompt, "totalTokenCount": prompt});
    if tokens.cache_read > 0 {
        usage["cachedContentTokenCount"] = tokens.cache_read.into();
    }
    if last {
        usage["candidatesTokenCount"] = tokens.output.saturating_sub(tokens.reasoning).into();
        usage["totalTokenCount"] = (prompt + tokens.output).into();
        if tokens.reasoning > 0 {
            usage["thoughtsTokenCount"] = tokens.reasoning.into();
        }
    }
    usage
}

pub(super) fn error(complaint: &Complaint) -> Vec<Frame> {
    vec![Frame::data(complaint.google())]
}
