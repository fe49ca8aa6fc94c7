//! The way from the engine's threads to an event loop of the host.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::cancel::CancelToken;

use super::answer::Answer;
use super::call::HostCall;

/// Wakes an event loop of the host, from any thread.
pub trait Wakeup: Send + Sync {
    /// Has the loop take the jobs soon. False: the loop is gone, and the queue is closed.
    fn wake(&self) -> bool;

    /// The loop has noticed the wakeup and takes the jobs.
    fn noticed(&self) {}

    /// The queue was closed: there are no more jobs.
    fn closed(&self) {}
}

/// Jobs for an event loop, which is woken once for all jobs that came since it last took them. Once it is closed, its calls fail:
/// those in it, those that were taken and not answered yet, and those that come.
#[derive(Debug)]
pub struct JobQueue<J, W> {
    state: Mutex<JobQueueState<J>>,
    wakeup: W,
    /// The error of a call whose loop no longer runs.
    closed: &'static str,
    closing: CancelToken,
}

#[derive(Debug)]
struct JobQueueState<J> {
    jobs: VecDeque<J>,
    /// The loop was woken and has not taken the jobs yet.
    woken: bool,
    /// The calls that went through here, some of them answered.
    calls: Vec<Weak<Answer>>,
}

impl<J, W: Wakeup> JobQueue<J, W> {
    /// A queue. `closed` is the error of a call whose loop no longer runs.
    pub fn new(wakeup: W, closed: &'static str) -> JobQueue<J, W> {
        let state = JobQueueState { jobs: VecDeque::new(), woken: false, calls: Vec::new() };
        JobQueue { state: Mutex::new(state), wakeup, closed, closing: CancelToken::new() }
    }

    /// How the loop is woken.
    pub fn wakeup(&self) -> &W {
        &self.wakeup
    }

    /// Cancelled when the queue is closed.
    pub fn closing(&self) -> &CancelToken {
        &self.closing
    }

    /// Adds a job; drops it when the queue is closed.
    pub fn push(&self, job: J) {
        // Not under the lock: what a job owns may use the queue.
        drop(self.try_push(job));
    }

    /// Adds a job.
    ///
    /// # Errors
    /// The job, when the queue is closed.
    pub fn try_push(&self, job: J) -> Result<(), J> {
        let mut state = self.lock();
        if self.closing.is_cancelled() {
            return Err(job);
        }
        state.jobs.push_back(job);
        let woken = std::mem::replace(&mut state.woken, true);
        drop(state);
        if !woken && !self.wakeup.wake() {
            self.close();
        }
        Ok(())
    }

    /// Adds the job of a call; fails the call when the queue is closed.
    pub fn call(&self, call: HostCall, job: impl FnOnce(HostCall) -> J) {
        let answer = call.answer();
        {
            let mut state = self.lock();
            if state.calls.len() == state.calls.capacity() {
                // Before it grows: most of them are over.
                state.calls.retain(|call| call.strong_count() > 0);
                let live = state.calls.len();
                state.calls.reserve(live.max(16));
            }
            state.calls.push(Arc::downgrade(answer));
        }
        // Not under the lock: whom the answer wakes may use the queue. Whoever closes it after this finds the call above.
        if self.closing.is_cancelled() {
            answer.fail(self.closed);
        }
        self.push(job(call));
    }

    /// Takes the oldest jobs. If there are more, another wakeup follows.
    pub fn take(&self, most: usize) -> Vec<J> {
        if !self.lock().woken {
            return Vec::new();
        }
        self.wakeup.noticed();
        let mut state = self.lock();
        let count = state.jobs.len().min(most);
        let jobs = state.jobs.drain(..count).collect();
        state.woken = !state.jobs.is_empty();
        let more = state.woken;
        drop(state);
        if more && !self.wakeup.wake() {
            self.close();
        }
        jobs
    }

    /// The loop no longer runs.
    pub fn close(&self) {
        let (jobs, calls) = {
            let mut state = self.lock();
            self.closing.cancel();
            (std::mem::take(&mut state.jobs), std::mem::take(&mut state.calls))
        };
        for call in calls.iter().filter_map(Weak::upgrade) {
            call.fail(self.closed);
        }
        drop(jobs);
        self.wakeup.closed();
    }

    fn lock(&self) -> MutexGuard<'_, JobQueueState<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
