//! What frames look like: whether they are of the format that was asked for, of another one, or a whole answer that was not
//! streamed.

use serde_json::{Value, json};

/// What a frame is.
#[derive(Debug, PartialEq)]
pub(crate) enum Shape {
    /// A frame of the format.
    Own,
    /// A whole answer of the format.
    Whole,
    /// Of another format.
    Other(Format),
    /// Nothing that says anything: a sign of life.
    Silent,
    /// Like nothing that is known.
    Unknown,
}

/// A format whose frames are recognised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Format {
    /// The value of a model's `protocol`; empty for a format that is not spoken here.
    pub(crate) protocol: &'static str,
    /// How its vendor calls it.
    pub(crate) label: &'static str,
}

const ANTHROPIC: Format = Format { protocol: "anthropic", label: "Anthropic Messages" };
const CHAT: Format = Format { protocol: "openai_chat", label: "Chat Completions" };
const RESPONSES: Format = Format { protocol: "openai_responses", label: "OpenAI Responses" };
const GEMINI: Format = Format { protocol: "gemini", label: "Gemini" };
const RELAY: Format = Format { protocol: "relay", label: "the relay's events" };
/// <https://platform.openai.com/docs/api-reference/completions>
const COMPLETIONS: Format = Format { protocol: "", label: "the older Completions API" };

/// Whether a frame's text has the mark of its format, so that its shape need not be looked at.
pub(crate) fn is_marked(protocol: &str, frame: &str) -> bool {
    let has = |mark: &str| frame.contains(mark);
    match protocol {
        "anthropic" => has("\"message_start\"") || has("\"content_block_"),
        // A message is a whole answer, or stands beside the deltas (Perplexity).
        "openai_chat" => has("\"choices\"") && has("\"delta\"") && !has("\"message\""),
        "openai_responses" => has("\"response."),
        "gemini" => has("\"candidates\""),
        _ => false,
    }
}

/// What a frame is to a reader of this format.
pub(crate) fn of(protocol: &str, frame: &Value) -> Shape {
    let word = |name: &str| frame.get(name).and_then(Value::as_str).unwrap_or_default();
    let list = |name: &str| frame.get(name).and_then(Value::as_array);
    let kind = word("type");
    let (format, is_whole) = if let Some(choices) = list("choices") {
        let has = |name: &str| choices.first().and_then(|choice| choice.get(name)).is_some_and(|value| !value.is_null());
        match (has("delta"), has("message"), has("text")) {
            (false, true, _) => (CHAT, true),
            (false, false, true) => (COMPLETIONS, false),
            _ => (CHAT, false),
        }
    } else if ["candidates", "usageMetadata", "promptFeedback"].iter().any(|name| frame.get(name).is_some()) {
        (GEMINI, false)
    } else if list("output").is_some() && (kind.is_empty() || word("object") == "response") {
        match word("status") {
            // Promised, and not there yet.
            "queued" | "in_progress" => return Shape::Unknown,
            _ => (RESPONSES, true),
        }
    } else if list("content").is_some() && (kind == "message" || kind.is_empty() && frame.get("stop_reason").is_some()) {
        (ANTHROPIC, true)
    } else {
        match kind {
            "message_start" | "message_delta" | "message_stop" => (ANTHROPIC, false),
            "ping" | "keepalive" | "keep-alive" | "heartbeat" => return Shape::Silent,
            "start" | "done" => (RELAY, false),
            _ if kind.starts_with("content_block_") => (ANTHROPIC, false),
            _ if kind.starts_with("response.") => (RESPONSES, false),
            _ if ["text_", "thinking_", "tool_call_", "toolcall_"].iter().any(|start| kind.starts_with(start)) => (RELAY, false),
            _ => return Shape::Unknown,
        }
    };
    match (format.protocol == protocol, is_whole) {
        (true, true) => Shape::Whole,
        (true, false) => Shape::Own,
        (false, _) => Shape::Other(format),
    }
}

/// Whether nothing follows such a frame.
pub(crate) fn is_last(frame: &Value) -> bool {
    let kind = frame.get("type").and_then(Value::as_str).unwrap_or_default();
    matches!(kind, "message_stop" | "response.completed" | "response.incomplete" | "response.failed" | "done")
}

/// The frames in which a whole answer would have been streamed.
pub(crate) fn frames_of(protocol: &str, mut answer: Value) -> Vec<Value> {
    match protocol {
        "anthropic" => {
            let of = |name: &str| answer.get(name).cloned().unwrap_or_default();
            let end = json!({ "stop_reason": of("stop_reason"), "stop_details": of("stop_details") });
            let start = json!({ "type": "message_start", "message": answer });
            vec![start, json!({ "type": "message_delta", "delta": end }), json!({ "type": "message_stop" })]
        }
        "openai_chat" => {
            for choice in answer.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(choice) = choice.as_object_mut()
                    && let Some(message) = choice.remove("message")
                {
                    choice.insert("delta".into(), message);
                }
            }
            vec![answer, "[DONE]".into()]
        }
        "openai_responses" => vec![json!({ "type": "response.completed", "response": answer })],
        _ => vec![answer],
    }
}
