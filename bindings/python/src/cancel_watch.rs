//! Wakes an event loop when a cancellation token is cancelled.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::Context;

use agent_loop::CancellationToken;
use pyo3::prelude::*;

use crate::job_queue::JobQueue;

/// A future of a token's cancellation that wakes a number of a job queue.
#[derive(Default)]
pub(crate) struct CancelWatch(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl CancelWatch {
    /// Wakes the number in the queue when the token is cancelled; returns true when it already is.
    pub(crate) fn begin(&self, token: &CancellationToken, queue: &Bound<'_, JobQueue>, number: u64) -> bool {
        let mut cancelled = Box::pin(token.clone().cancelled_owned());
        let waker = queue.get().waker(number);
        let polled = cancelled.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancelled);
        }
        polled.is_ready()
    }

    /// Stops watching.
    pub(crate) fn end(&self) {
        let cancelled = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(cancelled);
    }
}
