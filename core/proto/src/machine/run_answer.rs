//! What a run has of its typed final answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::json_reader::present;
use crate::message::{ContentBlock, Message, OUTPUT_RETRY, UserMessage};

/// The answer of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FinalAnswer {
    /// The answer that was taken; null is one, too.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub(super) taken: Option<Value>,
    /// How many wrong ones there were.
    pub(super) wrong: u32,
    /// What is wrong with the last one: the next turn begins with it.
    pub(super) correction: Option<String>,
}

impl FinalAnswer {
    /// A turn begins: what it leads to is the answer. Gives the correction that it begins with.
    pub(super) fn begin_turn(&mut self, now_ms: u64) -> Option<Arc<Message>> {
        self.taken = None;
        let why = self.correction.take()?;
        let metadata = Some(json!({ OUTPUT_RETRY: self.wrong }));
        let user = UserMessage { metadata, timestamp: now_ms, ..UserMessage::new(vec![ContentBlock::text(why)]) };
        Some(Arc::new(Message::User(user)))
    }

    pub(super) fn value(&self) -> Option<&Value> {
        self.taken.as_ref()
    }
}
