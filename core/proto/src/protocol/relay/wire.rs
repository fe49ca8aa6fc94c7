//! The events of a stream, as they are read.

use serde::Deserialize;
use serde_json::Value;

/// Any event: one flat struct, read without a JSON tree but for the last event's parts.
#[derive(Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default, alias = "contentIndex")]
    pub(super) content_index: u32,
    #[serde(default)]
    pub(super) delta: String,
    #[serde(default)]
    pub(super) id: String,
    #[serde(default, alias = "toolName")]
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) proof: Proof,
    /// Of an `…_end` as a run emits it.
    #[serde(default)]
    pub(super) block: Option<Proof>,
    #[serde(default, alias = "stopReason", alias = "reason")]
    pub(super) stop_reason: Option<String>,
    #[serde(default, alias = "rawStopReason")]
    pub(super) raw_stop_reason: Option<String>,
    #[serde(default, alias = "responseId")]
    pub(super) response_id: Option<String>,
    #[serde(default, alias = "responseModel")]
    pub(super) response_model: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
    #[serde(default, alias = "errorMessage")]
    pub(super) error_message: Option<String>,
}

#[derive(Deserialize, Default)]
pub(super) struct Proof {
    #[serde(default, alias = "contentSignature")]
    pub(super) signature: Option<String>,
    #[serde(default)]
    pub(super) redacted: bool,
}
