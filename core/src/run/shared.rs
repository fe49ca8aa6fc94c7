//! What the handle of a run, its agent and its driver share of it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_loop_proto::machine::{Input, Loop};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::queue::EventQueue;
use crate::event::Event;
use crate::result::RunResult;

/// What the handle, the agent and the driver share of a run.
#[derive(Debug)]
pub(crate) struct RunShared {
    pub(crate) id: Arc<str>,
    pub(crate) queue: Option<EventQueue>,
    pub(crate) abort: CancellationToken,
    core: Mutex<Loop>,
    pub(super) result: OnceLock<RunResult>,
    finished: Notify,
}

impl RunShared {
    pub(crate) fn new(id: Arc<str>, with_queue: bool, abort: CancellationToken, core: Loop) -> RunShared {
        let queue = with_queue.then(EventQueue::default);
        RunShared { id, queue, abort, core: Mutex::new(core), result: OnceLock::new(), finished: Notify::new() }
    }

    /// The run's decisions. Never held while a function of the host is called.
    pub(crate) fn core(&self) -> MutexGuard<'_, Loop> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn abort(&self) {
        self.core().handle(Input::Abort);
        self.abort.cancel();
        if let Some(queue) = &self.queue {
            queue.unbound();
        }
    }

    /// The last act of a run: its result can be had, and its reader gets the last events and the end.
    pub(crate) fn finish(&self, result: RunResult, last: &mut Vec<Event>) {
        // Set once: a run ends once.
        let _ = self.result.set(result);
        if let Some(queue) = &self.queue {
            queue.close(last);
        }
        self.finished.notify_waiters();
    }

    pub(crate) async fn wait(&self) -> RunResult {
        loop {
            let finished = self.finished.notified();
            let mut finished = std::pin::pin!(finished);
            finished.as_mut().enable();
            if let Some(result) = self.result.get() {
                return result.clone();
            }
            finished.await;
        }
    }
}

/// Aborts a run; see [`Run::abort_handle`].
#[derive(Debug, Clone)]
pub struct AbortHandle(Arc<RunShared>);

impl AbortHandle {
    pub(crate) fn new(run: Arc<RunShared>) -> AbortHandle {
        AbortHandle(run)
    }

    /// Aborts the run. From any thread, any number of times; returns at once.
    pub fn abort(&self) {
        self.0.abort();
    }
}
