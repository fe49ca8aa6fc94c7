//! The steering and follow-up queues: messages that wait for a turn of a run. None is lost: a poll marks what the next turn
//! begins with, and a message leaves its queue only when it is in the transcript.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::Message;

/// How much of a queue one poll takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum QueueMode {
    /// The oldest message.
    #[default]
    OneAtATime,
    /// All of it.
    All,
}

/// What steering does to the calls of a batch that do not run yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum SteeringPolicy {
    /// They are skipped.
    #[default]
    SkipRemaining,
    /// They run first.
    AfterBatch,
}

/// Which queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Queue {
    /// Messages that join the running run as soon as they can.
    Steering,
    /// Messages that start another turn when the run would have ended.
    FollowUp,
}

/// What becomes of a message that was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// A run is active: it takes the message up, or counts it in its `agent_end` as queued.
    Joined,
    /// No run is active, or it has ended: the message waits for the next run.
    Queued,
}

impl Delivery {
    /// The canonical word, `joined` or `queued`.
    pub fn as_str(self) -> &'static str {
        match self {
            Delivery::Joined => "joined",
            Delivery::Queued => "queued",
        }
    }
}

/// Both queues of an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Queues {
    steering: VecDeque<Queued>,
    follow_up: VecDeque<Queued>,
    next: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Queued {
    number: u64,
    message: Arc<Message>,
    state: QueuedState,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum QueuedState {
    Waiting,
    /// Found by a poll; can still be cleared.
    Marked,
    /// Part of a turn that has begun.
    Committed,
}

impl Queues {
    fn queue(&mut self, which: Queue) -> &mut VecDeque<Queued> {
        match which {
            Queue::Steering => &mut self.steering,
            Queue::FollowUp => &mut self.follow_up,
        }
    }

    fn of(&self, which: Queue) -> &VecDeque<Queued> {
        match which {
            Queue::Steering => &self.steering,
            Queue::FollowUp => &self.follow_up,
        }
    }

    /// Appends messages.
    pub fn push(&mut self, which: Queue, messages: Vec<Message>) {
        for message in messages {
            self.next = self.next.saturating_add(1);
            let queued = Queued { number: self.next, message: Arc::new(message), state: QueuedState::Waiting };
            self.queue(which).push_back(queued);
        }
    }

    /// Marks what the next turn begins with; returns whether there is anything.
    pub fn mark(&mut self, which: Queue, mode: QueueMode) -> bool {
        let most = match mode {
            QueueMode::OneAtATime => 1,
            QueueMode::All => usize::MAX,
        };
        let mut found = false;
        for queued in self.queue(which).iter_mut().filter(|queued| queued.state == QueuedState::Waiting).take(most) {
            queued.state = QueuedState::Marked;
            found = true;
        }
        found
    }

    /// Puts a hook's messages, marked, behind what the same poll found in the queue.
    pub fn insert_marked(&mut self, which: Queue, messages: Vec<Message>) {
        let place = self.queue(which).iter().take_while(|queued| queued.state != QueuedState::Waiting).count();
        for (place, message) in (place..).zip(messages) {
            self.next = self.next.saturating_add(1);
            let queued = Queued { number: self.next, message: Arc::new(message), state: QueuedState::Marked };
            self.queue(which).insert(place, queued);
        }
    }

    /// Messages that a turn or a poll has taken and that were not appended wait again.
    pub fn reset_states(&mut self) {
        for queued in self.steering.iter_mut().chain(&mut self.follow_up) {
            queued.state = QueuedState::Waiting;
        }
    }

    /// Makes the marked messages part of a turn. Returns them in order, with the numbers for [`Queues::appended`].
    pub fn commit_marked(&mut self) -> Vec<(u64, Arc<Message>)> {
        let marked = self.steering.iter_mut().chain(&mut self.follow_up).filter(|queued| queued.state == QueuedState::Marked);
        marked
            .map(|queued| {
                queued.state = QueuedState::Committed;
                (queued.number, Arc::clone(&queued.message))
            })
            .collect()
    }

    /// A message of a turn is in the transcript.
    pub fn appended(&mut self, number: u64) {
        // What a turn has taken stands first, and is appended in its order.
        for queue in [&mut self.steering, &mut self.follow_up] {
            if let Some(place) = queue.iter().position(|queued| queued.number == number) {
                queue.remove(place);
                return;
            }
        }
    }

    /// Appends a message that has waited before, under its number.
    pub(crate) fn restore(&mut self, which: Queue, number: u64, message: Arc<Message>) {
        self.next = self.next.max(number);
        self.queue(which).push_back(Queued { number, message, state: QueuedState::Waiting });
    }

    /// The number of the last message that was appended; 0 for none.
    pub(crate) fn last_number(&self) -> u64 {
        self.next
    }

    /// The numbers up to this one were given before.
    pub(crate) fn count_from(&mut self, number: u64) {
        self.next = self.next.max(number);
    }

    /// The messages of a queue that were appended after this number was given, with theirs.
    pub(crate) fn since(&self, which: Queue, number: u64) -> impl Iterator<Item = (u64, &Arc<Message>)> {
        self.of(which).iter().filter(move |queued| queued.number > number).map(|queued| (queued.number, &queued.message))
    }

    /// The queue in which the message of this number stands.
    pub(crate) fn queue_of(&self, number: u64) -> Option<Queue> {
        let has = |which: &Queue| self.of(*which).iter().any(|queued| queued.number == number);
        [Queue::Steering, Queue::FollowUp].into_iter().find(has)
    }

    /// The numbers of the messages that [`Queues::clear`] removes.
    pub(crate) fn clearable(&self, which: Queue) -> Vec<u64> {
        let goes = |queued: &&Queued| queued.state != QueuedState::Committed;
        self.of(which).iter().filter(goes).map(|queued| queued.number).collect()
    }

    /// Removes and returns the messages that no turn has begun with.
    pub fn clear(&mut self, which: Queue) -> Vec<Arc<Message>> {
        let queue = self.queue(which);
        let (kept, cleared) = std::mem::take(queue).into_iter().partition(|queued| queued.state == QueuedState::Committed);
        *queue = kept;
        let cleared: VecDeque<Queued> = cleared;
        cleared.into_iter().map(|queued| queued.message).collect()
    }

    /// How many messages wait or are about to be appended.
    pub fn count(&self) -> usize {
        self.steering.len() + self.follow_up.len()
    }

    /// Whether no message waits or is about to be appended.
    pub fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    /// All messages of both queues.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Message> {
        self.steering.iter().chain(&self.follow_up).map(|queued| &*queued.message)
    }

    /// All of a queue, in order.
    pub fn messages(&self, which: Queue) -> Vec<Arc<Message>> {
        self.of(which).iter().map(|queued| Arc::clone(&queued.message)).collect()
    }
}
