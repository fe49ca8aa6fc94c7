//! What the page shows: runs with their entries in time.

use serde::Serialize;
use serde_json::{Map, Value};

/// What was read from one source. Times are milliseconds since the epoch.
#[derive(Debug, Default, Serialize)]
pub(super) struct Document {
    /// What it was read from: `session`, `recording`, `events` or `messages`.
    pub(super) source: &'static str,
    /// The session's id, or the name of the file.
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    /// Whether a process works on it; `None` where that is not known.
    pub(super) is_running: Option<bool>,
    pub(super) runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Default, Serialize)]
pub(super) struct Run {
    pub(super) id: String,
    /// What it was begun with; empty where only messages are known.
    pub(super) of: String,
    pub(super) start: u64,
    pub(super) end: Option<u64>,
    pub(super) outcome: Option<String>,
    pub(super) error: Option<Value>,
    pub(super) turns: u64,
    pub(super) usage: Option<Value>,
    pub(super) entries: Vec<Entry>,
}

impl Run {
    /// Whether anything is known of it.
    pub(super) fn is_known(&self) -> bool {
        !self.id.is_empty() || !self.entries.is_empty()
    }
}

/// Something that a call waited for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Wait {
    /// `approval`, `slot` (other calls of the turn had all places), `limiter`, `before` (what came before a
    /// request and is not known), or the name of a hook.
    pub(super) reason: String,
    pub(super) start: u64,
    pub(super) end: Option<u64>,
}

/// A part of a run.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Entry {
    Message { at: u64, turn: u64, message: Value, queue: Option<String> },
    Model(ModelCall),
    Tool(ToolCall),
    Retry { at: u64, turn: u64, attempt: Value, delay_ms: u64, error: Value },
    Queued { at: u64, turn: u64, queue: String, message: Value },
    Approval { at: u64, turn: u64, calls: Value },
    Decisions { at: u64, turn: u64, decisions: Value },
    Note { at: u64, turn: u64, code: String, text: String },
}

/// One attempt of a model call.
#[derive(Debug, Default, Serialize)]
pub(super) struct ModelCall {
    pub(super) turn: u64,
    pub(super) model: Option<String>,
    pub(super) start: u64,
    /// The first piece of the answer.
    pub(super) first: Option<u64>,
    pub(super) end: Option<u64>,
    pub(super) waits: Vec<Wait>,
    pub(super) usage: Option<Value>,
    pub(super) stop_reason: Option<String>,
    pub(super) error: Option<Value>,
    /// Whether it wrote a summary or the like, and no message of the conversation.
    pub(super) is_helper: bool,
}

/// One tool call.
#[derive(Debug, Default, Serialize)]
pub(super) struct ToolCall {
    pub(super) turn: u64,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
    /// When the model had asked for it.
    pub(super) start: u64,
    /// When the tool was called. One that is denied or skipped never is.
    pub(super) called: Option<u64>,
    pub(super) end: Option<u64>,
    pub(super) is_error: Option<bool>,
    pub(super) waits: Vec<Wait>,
}

/// A text of an object; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The only key of an object, with its value.
pub(super) fn only(value: &Value) -> Option<(&str, &Value)> {
    value.as_object().and_then(|map: &Map<String, Value>| map.iter().next()).map(|(name, value)| (name.as_str(), value))
}
