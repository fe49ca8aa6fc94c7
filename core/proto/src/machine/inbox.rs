//! The run's queues: steering and follow-ups until they join the transcript, or are given back at the end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::Message;
use crate::queues::{Queue, QueueMode, Queues};
use crate::result::Undelivered;

/// The queues of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inbox {
    queues: Queues,
    /// Of a run without an agent, at its end: what it gave back. No message can be queued any more.
    undelivered: Option<Undelivered>,
}

impl Inbox {
    pub(super) fn new(queues: Queues) -> Inbox {
        Inbox { queues, undelivered: None }
    }

    pub(super) fn queues(&self) -> &Queues {
        &self.queues
    }

    pub(super) fn push(&mut self, queue: Queue, messages: Vec<Message>) {
        self.queues.push(queue, messages);
    }

    pub(super) fn clear(&mut self, queue: Queue) {
        self.queues.clear(queue);
    }

    /// Marks what the next turn begins with; whether there is anything.
    pub(super) fn mark(&mut self, queue: Queue, mode: QueueMode) -> bool {
        self.queues.mark(queue, mode)
    }

    /// A hook's messages come behind what the same poll found.
    pub(super) fn insert_marked(&mut self, queue: Queue, messages: Vec<Message>) {
        self.queues.insert_marked(queue, messages);
    }

    /// What was marked waits again.
    pub(super) fn reset_states(&mut self) {
        self.queues.reset_states();
    }

    /// What was marked is part of the turn.
    pub(super) fn commit_marked(&mut self) -> Vec<(u64, Arc<Message>)> {
        self.queues.commit_marked()
    }

    pub(super) fn appended(&mut self, number: u64) {
        self.queues.appended(number);
    }

    pub(super) fn take(&mut self) -> Queues {
        let mut queues = std::mem::take(&mut self.queues);
        queues.reset_states();
        queues
    }

    pub(super) fn is_closed(&self) -> bool {
        self.undelivered.is_some()
    }

    /// Gives the queues back.
    pub(super) fn close(&mut self) {
        if self.undelivered.is_none() {
            let queues = std::mem::take(&mut self.queues);
            let (steering, follow_up) = (queues.messages(Queue::Steering), queues.messages(Queue::FollowUp));
            self.undelivered = Some(Undelivered { steering, follow_up });
        }
    }

    pub(super) fn undelivered(&self) -> Option<&Undelivered> {
        self.undelivered.as_ref()
    }
}
