//! One run: its handle for the host, its decisions ([`machine`]), its driver (with `request` and `answer`,
//! `taking_up` and `batch`, `hooks` and `telling`), its queue of events, and the queues of messages for it (`inbox`).

mod answer;
mod batch;
pub(crate) mod driver;
mod hooks;
mod machine;
pub(crate) mod queue;
mod request;
mod taking_up;
mod telling;
mod watch;

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::clock::Busy;
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::message::Prompt;
use crate::result::RunResult;
use crate::usage::{Outcome, StopReason};
use queue::{EventQueue, Observer};

/// What the handle, the agent and the driver share of a run.
#[derive(Debug)]
pub(crate) struct RunShared {
    pub(crate) id: Arc<str>,
    pub(crate) queue: Option<EventQueue>,
    pub(crate) abort: CancellationToken,
    /// The time limit that ended the run, if it was that and not an abort.
    timed_out: OnceLock<u64>,
    result: OnceLock<RunResult>,
    finished: Notify,
}

impl RunShared {
    pub(crate) fn new(id: Arc<str>, with_queue: bool, abort: CancellationToken) -> RunShared {
        let queue = with_queue.then(EventQueue::default);
        RunShared { id, queue, abort, timed_out: OnceLock::new(), result: OnceLock::new(), finished: Notify::new() }
    }

    pub(crate) fn abort(&self) {
        self.abort.cancel();
        if let Some(queue) = &self.queue {
            queue.unbound();
        }
    }

    /// The run has taken this many milliseconds, which is too long.
    fn time_out(&self, limit_ms: u64) {
        if !self.abort.is_cancelled() {
            let _ = self.timed_out.set(limit_ms);
            self.abort();
        }
    }

    /// How the run ends if it was aborted or timed out.
    fn interruption(&self) -> Option<Interruption> {
        if !self.abort.is_cancelled() {
            return None;
        }
        Some(match self.timed_out.get() {
            Some(limit_ms) => {
                let text = format!("the run took longer than run_timeout_ms ({limit_ms}) and was ended");
                let error = Error::new(ErrorKind::Timeout, text).with_retryable(false);
                Interruption { stop_reason: StopReason::Error, outcome: Outcome::Error, error }
            }
            None => {
                let error = Error::new(ErrorKind::Aborted, "the run was aborted");
                Interruption { stop_reason: StopReason::Aborted, outcome: Outcome::Aborted, error }
            }
        })
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

/// How a run ends that did not end by itself.
#[derive(Debug)]
struct Interruption {
    /// Of a message that was under way.
    stop_reason: StopReason,
    outcome: Outcome,
    error: Error,
}

/// A run that goes on by itself: a stream of events for one reader, and a result. Dropping it while it is active aborts it.
#[derive(Debug)]
pub struct Run {
    shared: Arc<RunShared>,
    agent: Agent,
    detached: bool,
}

impl Run {
    pub(crate) fn new(shared: Arc<RunShared>, agent: Agent) -> Run {
        Run { shared, agent, detached: false }
    }

    /// The id that all its events have.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// The next event; `None` when the run is over and the agent idle.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The next event, for those who write their own futures.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match &self.shared.queue {
            Some(queue) => queue.poll_next(cx),
            None => Poll::Ready(None),
        }
    }

    /// All events that wait now, at most `most`; `None` when the run is over and all is read. When there are none, the waker
    /// is kept and woken, once, when there are. For hosts that cross into their language once per batch.
    pub fn drain(&self, most: usize, waker: Option<&Waker>) -> Option<Vec<Event>> {
        self.shared.queue.as_ref().and_then(|queue| queue.drain(most, waker))
    }

    /// Blocks until events wait or the run is over, at most this long (`None`: without limit). False when the time passed.
    pub fn wait_readable(&self, timeout: Option<Duration>) -> bool {
        self.shared.queue.as_ref().is_none_or(|queue| queue.wait(timeout))
    }

    /// Sets who is told, under the queue's lock, when there begin or cease to be events to read (the end of the run counts as
    /// one). It may not call back into the run.
    pub fn observe(&self, observer: Option<Observer>) {
        if let Some(queue) = &self.shared.queue {
            queue.observe(observer);
        }
    }

    /// Waits for the end and gives the run's result. Events that are not read are thrown away.
    ///
    /// # Errors
    /// The run's error (with the result inside) when the outcome is `error`; `invalid_state` inside a callback of its agent.
    pub async fn result(&self) -> Result<RunResult, Error> {
        self.outcome().await?.into_ok()
    }

    /// As [`Run::result`], but a failed run too is a result.
    ///
    /// # Errors
    /// `invalid_state` inside a callback of its agent.
    pub async fn outcome(&self) -> Result<RunResult, Error> {
        self.agent.check_outside("waiting for the run")?;
        if let Some(queue) = &self.shared.queue {
            queue.discard();
        }
        Ok(self.shared.wait().await)
    }

    /// The result, once the run is over.
    pub fn finished(&self) -> Option<&RunResult> {
        self.shared.result.get()
    }

    /// Queues a message that joins the run as soon as it can; see [`Agent::steer`]. After the run's end it waits in the agent's
    /// queue.
    ///
    /// # Errors
    /// `invalid_state` after the end of a run without an agent, which has no queue any more.
    pub fn steer(&self, message: impl Into<Prompt>) -> Result<(), Error> {
        self.agent.queue(crate::queues::Queue::Steering, message.into())
    }

    /// Queues a message for when the run would have ended; see [`Agent::follow_up`]. After the run's end it waits in the agent's
    /// queue.
    ///
    /// # Errors
    /// As [`Run::steer`].
    pub fn follow_up(&self, message: impl Into<Prompt>) -> Result<(), Error> {
        self.agent.queue(crate::queues::Queue::FollowUp, message.into())
    }

    /// The agent whose run it is; of a run without one, what stands in for it, with the transcript as it stands.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Aborts the run. From any thread, any number of times; returns at once.
    pub fn abort(&self) {
        self.shared.abort();
    }

    /// A handle that can abort the run from anywhere, without keeping it alive.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(Arc::clone(&self.shared))
    }

    /// Lets the run go on without its handle: for listeners alone.
    pub fn detach(mut self) {
        self.detached = true;
    }

    /// Aborts the run if it is active and waits until the agent is idle.
    ///
    /// # Errors
    /// `invalid_state` inside a callback of its agent.
    pub async fn close(&self) -> Result<(), Error> {
        if self.finished().is_none() {
            self.abort();
        }
        self.outcome().await.map(drop)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.finished().is_none() && !self.detached {
            self.abort();
        }
        if let Some(queue) = &self.shared.queue {
            queue.observe(None);
            queue.discard();
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

/// Pushes what waits in the outbox, and waits for room, during which a virtual clock stands still. From an abort on, whoever
/// asked for it (a shutdown of the runtime too), there is room.
pub(crate) async fn flush(run: &RunShared, queue: &EventQueue, outbox: &mut Vec<Event>, busy: impl FnOnce() -> Busy) {
    let mut busy = Some(busy);
    let mut held = None;
    let mut abort = std::pin::pin!(run.abort.cancelled());
    std::future::poll_fn(|cx| {
        let mut room = queue.poll_push(outbox, cx);
        if room.is_pending() && abort.as_mut().poll(cx).is_ready() {
            queue.unbound();
            room = queue.poll_push(outbox, cx);
        }
        if room.is_pending()
            && let Some(busy) = busy.take()
        {
            held = Some(busy());
        }
        room
    })
    .await;
    drop(held);
}
