//! What comes back from a run's tools, on its way to the run. Smaller than a channel, of which the first block alone has some
//! kilobytes: a process may have thousands of runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use serde_json::Value;

/// What comes back from a call in flight.
#[derive(Debug)]
pub(crate) enum Reply {
    /// How far it is.
    Update(Value),
    /// The answer, or why there is none.
    Done(Result<Value, String>),
}

/// The replies of a run's tools in the order they came, each with the number of its call. Clones are the same queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replies(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<(u32, Reply)>,
    run: Option<Waker>,
    is_closed: bool,
}

impl Replies {
    /// Adds a reply and wakes the run; drops it when the run is over.
    pub(crate) fn push(&self, call: u32, reply: Reply) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        state.replies.push_back((call, reply));
        let run = state.run.take();
        // Not under the lock, which the run takes.
        drop(state);
        if let Some(run) = run {
            run.wake();
        }
    }

    /// The oldest reply, if there is one.
    pub(crate) fn take(&self) -> Option<(u32, Reply)> {
        self.lock().take()
    }

    /// The oldest reply; the run is woken when there is one.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<(u32, Reply)> {
        let mut state = self.lock();
        if let Some(reply) = state.take() {
            return Poll::Ready(reply);
        }
        if state.run.as_ref().is_some_and(|run| run.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        let before = state.run.replace(cx.waker().clone());
        // Not under the lock: a waker may own what its end calls back.
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// The run is over: nobody takes replies any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let rest = (state.run.take(), std::mem::take(&mut state.replies));
        drop(state);
        drop(rest);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self) -> Option<(u32, Reply)> {
        let reply = self.replies.pop_front();
        if self.replies.is_empty() {
            self.replies = VecDeque::new();
        }
        reply
    }
}
