//! The events of a session's run, for followers in the process of the run: those that say what no record says.
//!
//! A run publishes them, and never waits for who reads. A follower that joins in the middle of an answer, or that is too slow for
//! its queue, begins with the message so far. The end of a run that no record says is lost to none: it comes in place of what a
//! slow follower has missed, and to those who join later.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use crate::event::{Event, EventData};
use crate::message::Message;

/// How many events may wait for one follower.
const QUEUED: usize = 1_024;

/// The events of a session's run, and who follows them.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// The number of the last record that the store has, as far as the session is open here.
    last: AtomicU64,
    /// How many sessions of this id were begun here: one may be deleted, and the next one have the same followers.
    begun: AtomicU64,
    /// How many follow: mostly none, which costs a run nothing else than to read this.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The `message_start` of the assistant's message that is being streamed.
    message: Option<Event>,
    /// The end of the last run, where no record says it.
    end: Option<Published>,
    queues: Vec<Arc<Mutex<Queue>>>,
}

/// An event, with the number of the last record before it.
#[derive(Debug, Clone)]
pub(super) struct Published {
    pub(super) after: u64,
    event: Arc<Event>,
}

/// The events that wait for one follower.
#[derive(Debug)]
struct Queue {
    events: VecDeque<Published>,
    /// It has missed events, and is to begin anew. Nothing is queued until then.
    is_behind: bool,
    /// How many steps of the current message it has got at once.
    steps: usize,
    waker: Option<Waker>,
}

/// One that follows the events of a session's runs.
#[derive(Debug)]
pub(super) struct LiveReader {
    live: Arc<Live>,
    queue: Arc<Mutex<Queue>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    /// The store has all records up to this one. Whoever appended it must not know yet: the events that follow it are published
    /// with its number.
    pub(super) fn set_last(&self, last: u64) {
        self.last.store(last, Ordering::Release);
    }

    /// A session without a record is about to get its first one.
    pub(super) fn begin_session(&self) {
        self.begun.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether somebody follows the events of the session's runs.
    pub(crate) fn is_followed(&self) -> bool {
        // With the lock of a message's text: either this sees a follower, or the follower sees what was added to the text before.
        self.count.load(Ordering::Acquire) > 0
    }

    /// Hands an event to the followers if it says what no record says. The end of a run is for the caller to decide about.
    pub(crate) fn publish(&self, event: &Event) {
        let begins = match &event.data {
            EventData::MessageStart { message } if message.as_assistant().is_some() => true,
            EventData::MessageUpdate(_)
            | EventData::ToolExecutionUpdate { .. }
            | EventData::SubagentEvent { .. }
            | EventData::Retry { .. }
            | EventData::Diagnostic { .. }
            | EventData::AgentEnd { .. } => false,
            _ => return,
        };
        let is_end = matches!(event.data, EventData::AgentEnd { .. });
        if !begins && !is_end && !self.is_followed() {
            return;
        }
        let mut state = lock(&self.state);
        if begins {
            (state.message, state.end) = (Some(event.clone()), None);
        }
        if state.queues.is_empty() && !is_end {
            return;
        }
        let (after, event) = (self.last.load(Ordering::Acquire), Arc::new(event.clone()));
        if is_end {
            // Nothing is added to the message, and no record will have it.
            state.message = None;
            state.end = Some(Published { after, event: Arc::clone(&event) });
        }
        let push = |queue: &Arc<Mutex<Queue>>| lock(queue).push(after, &event, begins);
        let wakers: Vec<Waker> = state.queues.iter().filter_map(push).collect();
        drop(state);
        // Not under the lock: whoever wakes an event loop of the host may have to wait for it.
        wakers.into_iter().for_each(Waker::wake);
    }

    /// No message is streamed any more: it is about to be recorded, or its run is over. Who joins from now on gets the record.
    pub(crate) fn end_message(&self) {
        let ended = lock(&self.state).message.take();
        drop(ended);
    }

    /// Begins anew, with the message so far, or with the end of the run if no record says it, for one that has read the record
    /// `read`.
    fn begin(&self, queue: &Mutex<Queue>, read: u64) {
        let state = lock(&self.state);
        let mut queue = lock(queue);
        queue.events.clear();
        (queue.is_behind, queue.steps) = (false, 0);
        let last = self.last.load(Ordering::Acquire);
        // What was recorded behind it says more.
        if let Some(end) = state.end.as_ref().filter(|end| end.after == last && read <= last) {
            queue.events.push_back(end.clone());
        } else if let Some(start) = &state.message {
            let partial = start.partial_handle().map(|partial| partial.latest());
            queue.steps = partial.as_ref().map_or(0, |partial| partial.steps());
            let event = Event::new(Arc::clone(&start.run_id), start.seq, start.turn, start.data.clone(), partial);
            queue.events.push_back(Published { after: last, event: Arc::new(event) });
        }
    }
}

impl Queue {
    /// Queues an event; returns who is to be woken.
    fn push(&mut self, after: u64, event: &Arc<Event>, begins: bool) -> Option<Waker> {
        if begins {
            self.steps = 0;
        }
        let is_end = matches!(event.data, EventData::AgentEnd { .. });
        if is_end && (self.is_behind || self.events.len() >= QUEUED) {
            // The last one of its run: what it has missed before is in records, or over.
            self.events.clear();
            self.is_behind = false;
        }
        if self.is_behind {
            return None;
        }
        let is_update = matches!(event.data, EventData::MessageUpdate(_));
        if is_update && event.partial_handle().is_some_and(|partial| partial.steps() <= self.steps) {
            return None;
        }
        if self.events.len() < QUEUED {
            self.events.push_back(Published { after, event: Arc::clone(event) });
        } else {
            self.events.clear();
            self.is_behind = true;
        }
        self.waker.take()
    }
}

impl LiveReader {
    pub(super) fn new(live: Arc<Live>) -> LiveReader {
        // What there is, it gets with the first read.
        let queue = Queue { events: VecDeque::new(), is_behind: true, steps: 0, waker: None };
        let queue = Arc::new(Mutex::new(queue));
        let mut state = lock(&live.state);
        state.queues.push(Arc::clone(&queue));
        live.count.store(state.queues.len(), Ordering::Release);
        drop(state);
        LiveReader { live, queue }
    }

    /// How many sessions of this id were begun here.
    pub(super) fn begun(&self) -> u64 {
        self.live.begun.load(Ordering::Acquire)
    }

    /// Takes the events that wait, for one that has read the record `read`. If there are none, the task is woken when there are.
    pub(super) fn take(&self, read: u64, cx: &mut Context<'_>) -> VecDeque<Published> {
        let mut queue = lock(&self.queue);
        // It may fall behind again between the locks.
        while queue.is_behind {
            drop(queue);
            self.live.begin(&self.queue, read);
            queue = lock(&self.queue);
        }
        let events = std::mem::take(&mut queue.events);
        if events.is_empty() {
            let before = queue.waker.replace(cx.waker().clone());
            drop(queue);
            // Not under the lock: dropping a waker may call the host.
            drop(before);
        }
        events
    }
}

impl Drop for LiveReader {
    fn drop(&mut self) {
        let mut state = lock(&self.live.state);
        state.queues.retain(|queue| !Arc::ptr_eq(queue, &self.queue));
        self.live.count.store(state.queues.len(), Ordering::Release);
    }
}

impl Published {
    /// The event. The start of an assistant's message has what was there of it when its reader began.
    pub(super) fn event(self) -> Event {
        let mut event = Arc::unwrap_or_clone(self.event);
        let partial = event.partial_handle().filter(|partial| partial.steps() > 0).map(|partial| partial.message());
        if let (EventData::MessageStart { message }, Some(partial)) = (&mut event.data, partial) {
            *message = Arc::new(Message::Assistant(partial));
        }
        event
    }
}
