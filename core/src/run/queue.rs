//! The events of a run on their way to one reader: bounded, with one wakeup per batch.
//!
//! All languages use it: Rust and the bindings through a waker, C through a blocking wait, a callback or a descriptor (both
//! called by the ready callback).

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};

use crate::event::Event;

/// How many events are gathered before they go to the queue.
pub(super) const BATCH: usize = 256;

/// How many events may wait before the run does.
const BOUND: usize = 1024;

/// Called, under the queue's lock, when it becomes ready (events wait, or the run is over) or stops being so.
#[cfg_attr(not(feature = "__bindings"), allow(unreachable_pub))]
pub type ReadyCallback = Box<dyn Fn(bool) + Send>;

/// A bounded queue with one writer (the run) and one reader.
#[derive(Default)]
pub(crate) struct EventQueue {
    state: Mutex<EventQueueState>,
    readable: Condvar,
}

#[derive(Default)]
struct EventQueueState {
    events: VecDeque<Event>,
    closed: bool,
    /// There is no reader any more.
    discarding: bool,
    /// The reader gets all events, also while another waits for the result.
    #[cfg(feature = "__bindings")]
    kept: bool,
    /// The bound does not hold any more.
    unbounded: bool,
    reader: Option<Waker>,
    /// A thread that does the run's work until it is readable.
    #[cfg(feature = "__bindings")]
    driver: Option<Waker>,
    /// How many threads block in `wait`: a notification is a system call even where none does.
    blocked: usize,
    writer: Option<Waker>,
    on_ready: Option<ReadyCallback>,
}

impl EventQueueState {
    fn ready(&self) -> bool {
        self.closed || !self.events.is_empty()
    }

    fn has_capacity(&self) -> bool {
        self.discarding || self.unbounded || self.events.len() < BOUND
    }

    /// Takes the events in. Their buffer, too, if there is none to append to: a run that waits holds no memory for events.
    fn append(&mut self, events: &mut Vec<Event>) {
        if self.events.is_empty() {
            self.events = std::mem::take(events).into();
        } else {
            self.events.extend(events.drain(..));
        }
    }

    /// After reading: the run may go on, and the ready callback is called if nothing is left.
    fn after_read(&mut self) -> Option<Waker> {
        if !self.ready()
            && let Some(on_ready) = &self.on_ready
        {
            on_ready(false);
        }
        if self.has_capacity() { self.writer.take() } else { None }
    }
}

impl EventQueue {
    fn lock(&self) -> MutexGuard<'_, EventQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends all events, then asks for capacity: pending while the queue is full.
    pub(crate) fn poll_push(&self, events: &mut Vec<Event>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        let was_ready = state.ready();
        if state.discarding {
            *events = Vec::new();
        } else {
            state.append(events);
        }
        let (capacity, before) = if state.has_capacity() {
            (Poll::Ready(()), None)
        } else {
            (Poll::Pending, state.writer.replace(cx.waker().clone()))
        };
        self.notify(state, was_ready);
        drop(before);
        capacity
    }

    /// Appends the last events and closes: the reader gets them, then the end.
    pub(crate) fn close(&self, events: &mut Vec<Event>) {
        let mut state = self.lock();
        let was_ready = state.ready();
        if !state.discarding {
            state.append(events);
        }
        state.closed = true;
        self.notify(state, was_ready);
    }

    /// Closes it without last events, unless a thread that did not come into a forked child has locked it.
    pub(crate) fn close_if_free(&self) {
        let state = match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(mut state) = state {
            let was_ready = state.ready();
            state.closed = true;
            self.notify(state, was_ready);
        }
    }

    fn notify(&self, mut state: MutexGuard<'_, EventQueueState>, was_ready: bool) {
        let mut is_awaited = false;
        if !was_ready && state.ready() {
            if let Some(on_ready) = &state.on_ready {
                on_ready(true);
            }
            is_awaited = state.blocked > 0;
        }
        let reader = if state.ready() { state.reader.take() } else { None };
        #[cfg(feature = "__bindings")]
        let driver = if state.ready() { state.driver.take() } else { None };
        drop(state);
        #[cfg(feature = "__bindings")]
        if let Some(driver) = driver {
            driver.wake();
        }
        // Not under the lock, which the woken thread takes.
        if is_awaited {
            self.readable.notify_all();
        }
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// From now on the bound does not hold.
    pub(crate) fn unbound(&self) {
        let mut state = self.lock();
        state.unbounded = true;
        wake(state.writer.take(), state);
    }

    /// The reader gets all events, also while another waits for the result.
    #[cfg(feature = "__bindings")]
    pub(crate) fn keep(&self) {
        self.lock().kept = true;
    }

    /// Throws away what is unread and what comes, as whoever waits for the result reads nothing; unless another does.
    pub(crate) fn discard_unless_kept(&self) {
        #[cfg(feature = "__bindings")]
        if self.lock().kept {
            return;
        }
        self.discard();
    }

    /// Throws away what is unread and what comes.
    pub(crate) fn discard(&self) {
        let mut state = self.lock();
        state.discarding = true;
        state.events.clear();
        let writer = state.after_read();
        wake(writer, state);
    }

    /// The next event; `None` when the run is over and all is read.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut state = self.lock();
        if let Some(event) = state.events.pop_front() {
            if state.events.is_empty() {
                state.events = VecDeque::new();
            }
            let writer = state.after_read();
            wake(writer, state);
            return Poll::Ready(Some(event));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        let before = state.reader.replace(cx.waker().clone());
        drop_unlocked(before, state);
        Poll::Pending
    }

    /// All waiting events, at most `most` of them, without waiting. `None` when the run is over and all is read. When there
    /// are none, the waker is kept and woken once there are (or the run is over).
    #[cfg(feature = "__bindings")]
    pub(crate) fn drain(&self, most: usize, waker: Option<&Waker>) -> Option<Vec<Event>> {
        let mut state = self.lock();
        if state.events.is_empty() {
            if state.closed {
                return None;
            }
            let before = std::mem::replace(&mut state.reader, waker.cloned());
            drop_unlocked(before, state);
            return Some(Vec::new());
        }
        let events = if state.events.len() <= most {
            Vec::from(std::mem::take(&mut state.events))
        } else {
            state.events.drain(..most).collect()
        };
        let writer = state.after_read();
        wake(writer, state);
        Some(events)
    }

    /// Ready when events wait or the run is over. Not instead of `poll_next` and `drain`, whose wakers are kept as well.
    #[cfg(feature = "__bindings")]
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.ready() {
            return Poll::Ready(());
        }
        if state.driver.as_ref().is_none_or(|driver| !driver.will_wake(cx.waker())) {
            let before = state.driver.replace(cx.waker().clone());
            drop_unlocked(before, state);
        }
        Poll::Pending
    }

    /// Blocks until events wait or the run is over, at most until the deadline. False when it passed.
    #[cfg(feature = "__bindings")]
    pub(crate) fn wait(&self, deadline: Option<std::time::Instant>) -> bool {
        use std::time::Instant;

        let mut state = self.lock();
        state.blocked += 1;
        while !state.ready() {
            state = match deadline {
                None => self.readable.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    self.readable.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state.blocked -= 1;
        state.ready()
    }

    /// Sets the function that is called on changes, and calls it with the present state.
    pub(crate) fn set_ready_callback(&self, on_ready: Option<ReadyCallback>) {
        let mut state = self.lock();
        if let Some(on_ready) = &on_ready {
            on_ready(state.ready());
        }
        let before = std::mem::replace(&mut state.on_ready, on_ready);
        drop_unlocked(before, state);
    }
}

/// Drops what a host gave before, not under the lock: it may own things whose end calls back.
fn drop_unlocked<T>(before: T, state: MutexGuard<'_, EventQueueState>) {
    drop(state);
    drop(before);
}

fn wake(waker: Option<Waker>, state: MutexGuard<'_, EventQueueState>) {
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl std::fmt::Debug for EventQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventQueue").finish_non_exhaustive()
    }
}
