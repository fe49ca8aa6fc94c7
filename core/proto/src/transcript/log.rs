//! The list of repairs.

use serde::Serialize;

/// What was done. Canonical JSON: the fields in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// A short word for programs, for example `call_id`.
    pub code: &'static str,
    /// Which message of the transcript, from 0.
    pub message_index: usize,
    /// Which of its blocks, from 0, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_index: Option<usize>,
    /// A sentence for a person to read.
    pub text: String,
}

/// The repairs so far, in the order of the messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(pub(super) Vec<Repair>);

impl Log {
    pub(super) fn note(
        &mut self,
        code: &'static str,
        message_index: usize,
        content_index: Option<usize>,
        text: impl FnOnce() -> String,
    ) {
        self.0.push(Repair { code, message_index, content_index, text: text() });
    }
}
