//! The run's transcript, and the messages that the model reads in its place when a hook has replaced them.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::delta::MADE_ID;
use crate::message::{AssistantMessage, Message};
use crate::size;

/// The transcript of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunTranscript {
    messages: Vec<Arc<Message>>,
    /// Where the conversation began: the same in all its runs.
    #[serde(default)]
    origin: String,
    /// How many messages the conversation had before this transcript.
    #[serde(default)]
    before: usize,
    /// How many messages stood there when the run began.
    base: usize,
    /// The messages that the model reads, replaced by `prepare_next_turn`; those that the run adds are appended.
    replaced: Option<Vec<Arc<Message>>>,
    /// How many messages were measured, and their bytes.
    measured: (usize, usize),
    /// The ids of the calls that were looked through, as far as they look like made ones.
    #[serde(skip)]
    call_ids: HashSet<String>,
    /// How many messages were looked through.
    #[serde(skip)]
    looked_through: usize,
}

impl RunTranscript {
    pub(super) fn new(messages: Vec<Arc<Message>>, origin: String, before: usize) -> RunTranscript {
        RunTranscript {
            base: messages.len(),
            messages,
            origin,
            before,
            replaced: None,
            measured: (0, 0),
            call_ids: HashSet::new(),
            looked_through: 0,
        }
    }

    pub(super) fn append(&mut self, message: &Arc<Message>) {
        self.messages.push(Arc::clone(message));
        if let Some(replaced) = &mut self.replaced {
            replaced.push(Arc::clone(message));
        }
    }

    /// The model reads these from now on.
    pub(super) fn replace(&mut self, messages: Vec<Arc<Message>>) {
        self.replaced = Some(messages);
    }

    /// The bytes of all messages, as JSON. Each is measured once.
    pub(super) fn bytes(&mut self) -> usize {
        let (count, bytes) = self.measured;
        let new = self.messages.get(count..).unwrap_or_default().iter().map(|message| size::of_message(message));
        self.measured = (self.messages.len(), bytes + new.sum::<usize>());
        self.measured.1
    }

    /// Whether a call has this id, which looks like a made one. Each message is looked through once, and none in a run whose
    /// model gives each call an id.
    pub(super) fn has_call(&mut self, id: &str) -> bool {
        let new = self.messages.get(self.looked_through..).unwrap_or_default();
        let calls = new.iter().filter_map(|message| message.as_assistant()).flat_map(AssistantMessage::tool_calls);
        let ids = calls.filter(|call| call.id.starts_with(MADE_ID)).map(|call| call.id.clone());
        self.call_ids.extend(ids);
        self.looked_through = self.messages.len();
        self.call_ids.contains(id)
    }

    /// The idempotency key of a call of the message that stands there. Ids of calls may repeat in a transcript.
    pub(super) fn key_of_call(&self, message_index: usize, call_id: &str) -> Arc<str> {
        format!("{}/{}/{call_id}", self.origin, self.before.saturating_add(message_index)).into()
    }

    /// Where the conversation began.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// What the model reads, before repair.
    pub(super) fn context(&self) -> &[Arc<Message>] {
        self.replaced.as_deref().unwrap_or(&self.messages)
    }

    /// All messages.
    pub(super) fn all(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The messages that the run has added.
    pub(super) fn added(&self) -> Vec<Arc<Message>> {
        self.messages.get(self.base..).unwrap_or_default().to_vec()
    }
}
