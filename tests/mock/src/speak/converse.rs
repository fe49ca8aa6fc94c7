//! A message as Bedrock streams it: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.
//! Its events are messages of AWS's binary event stream: <https://smithy.io/2.0/aws/amazon-eventstream.html>.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Asked, SIGNATURE};
use crate::answer::Frame;
use crate::refusal::Complaint;
use crate::speech::{Said, Speech, Stop};

fn event(name: &str, data: Value) -> Frame {
    Frame::event(name.to_owned(), data)
}

pub(super) fn frames(speech: &Speech, asked: &Asked) -> Vec<Frame> {
    let mut frames = vec![event("messageStart", json!({"role": "assistant", "p": "abcd"}))];
    for (index, said) in speech.said.iter().enumerate() {
        let (start, deltas) = block(speech, said, asked.serial, index);
        let start = start.map(|start| json!({"contentBlockIndex": index, "start": start, "p": "ab"}));
        frames.extend(start.map(|start| event("contentBlockStart", start)));
        let delta = |delta| event("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta, "p": "abcdefgh"}));
        frames.extend(deltas.into_iter().map(delta));
        frames.push(event("contentBlockStop", json!({"contentBlockIndex": index, "p": "abc"})));
    }
    let reason = match speech.stop_reason() {
        Stop::Stop => "end_turn",
        Stop::Length => "max_tokens",
        Stop::ToolUse => "tool_use",
        Stop::Refusal => "content_filtered",
    };
    frames.push(event("messageStop", json!({"stopReason": reason, "p": "abcdef"})));
    let usage = speech.usage;
    frames.push(event(
        "metadata",
        json!({
            "metrics": {"latencyMs": 551},
            "usage": {
                "inputTokens": usage.input,
                "outputTokens": usage.output,
                "totalTokens": usage.input + usage.output + usage.cache_read + usage.cache_write,
                "cacheReadInputTokens": usage.cache_read,
                "cacheWriteInputTokens": usage.cache_write,
            },
            "p": "abcdefghijk",
        }),
    ));
    frames
}

/// A block as it is announced, if it is, and what is added to it.
fn block(speech: &Speech, said: &Said, serial: usize, index: usize) -> (Option<Value>, Vec<Value>) {
    match said {
        Said::Text { text } => (None, speech.pieces(text).map(|piece| json!({"text": piece})).collect()),
        Said::Thinking { thinking, signature } => {
            let signature = signature.as_deref().unwrap_or(SIGNATURE);
            let deltas = speech.pieces(thinking).map(|piece| json!({"reasoningContent": {"text": piece}}));
            let signed = json!({"reasoningContent": {"signature": signature}});
            (None, deltas.chain([signed]).collect())
        }
        // Bytes, so base64.
        Said::RedactedThinking { data } => {
            let data = BASE64_STANDARD.decode(data).map_or_else(|_| BASE64_STANDARD.encode(data), |_| data.clone());
            (None, vec![json!({"reasoningContent": {"redactedContent": data}})])
        }
        Said::ToolCall(call) => {
            let start = json!({"toolUse": {"toolUseId": call.id(serial, index), "name": call.name}});
            let text = call.arguments_text();
            let arguments = if text == "{}" { String::new() } else { text };
            (Some(start), speech.pieces(&arguments).map(|piece| json!({"toolUse": {"input": piece}})).collect())
        }
    }
}

/// The exception of this complaint, named as an error before the stream is in `x-amzn-errortype`.
pub(super) fn error(complaint: &Complaint) -> Vec<Frame> {
    let mut kind = complaint.aws_kind().to_owned();
    if let Some(first) = kind.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    vec![event(&kind, json!({"message": complaint.message}))]
}

/// The bytes of these events.
pub(super) fn bytes(frames: &[Frame]) -> Vec<u8> {
    let message = |frame: &Frame| {
        let (event, data) = frame.parts();
        let (kind, name) = if event.ends_with("Exception") { ("exception", ":exception-type") } else { ("event", ":event-type") };
        let mut headers = Vec::new();
        for (name, value) in [(name, event), (":content-type", "application/json"), (":message-type", kind)] {
            headers.push(name.len() as u8);
            headers.extend_from_slice(name.as_bytes());
            headers.push(7);
            headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
            headers.extend_from_slice(value.as_bytes());
        }
        let mut message = ((headers.len() + data.len() + 16) as u32).to_be_bytes().to_vec();
        message.extend_from_slice(&(headers.len() as u32).to_be_bytes());
        message.extend_from_slice(&crc32(&message).to_be_bytes());
        message.extend_from_slice(&headers);
        message.extend_from_slice(data.as_bytes());
        message.extend_from_slice(&crc32(&message).to_be_bytes());
        message
    };
    frames.iter().flat_map(message).collect()
}

/// Bit by bit: slow, and not the client's own.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc: u32, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
