//! The handle of a run: its events for one reader, its result, steering and abort.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::shared::{AbortHandle, RunShared};
use crate::agent::handle::Agent;
use crate::error::Error;
use crate::event::Event;
use crate::message::Prompt;
use crate::queues::{Delivery, Queue};
use crate::result::RunResult;

/// A run that goes on by itself: a stream of events for one reader, and a result. Dropping it while it is active aborts it.
///
/// ```
/// use agent_loop::{Agent, Outcome};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
/// let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;
/// let mut run = Agent::new(model)?.stream("Say hello.")?;
/// while let Some(event) = run.next().await {
///     println!("{}", event.kind());
/// }
/// assert_eq!(run.result().await?.outcome, Outcome::Completed);
/// # Ok(()) }
/// ```
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

    /// A real pause, by the timers of the run's runtime, whoever polls it.
    #[cfg(feature = "ui")]
    pub(crate) fn sleep(&self, pause: std::time::Duration) -> Pin<Box<tokio::time::Sleep>> {
        self.shared.runtime.sleep(pause)
    }

    #[cfg(feature = "ui")]
    pub(crate) fn runtime(&self) -> &crate::runtime::Runtime {
        &self.shared.runtime
    }

    /// The next event; `None` when the run is over and the agent idle.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// From now on the reader gets all events, also while another waits for the result: for a host whose response reads them.
    #[cfg(feature = "__bindings")]
    pub fn keep_events(&self) {
        if let Some(queue) = &self.shared.queue {
            queue.keep();
        }
    }

    /// All events that wait now, at most `most`; `None` when the run is over and all is read. When there are none, the waker
    /// is kept and woken, once, when there are. For hosts that cross into their language once per batch.
    #[cfg(feature = "__bindings")]
    pub fn drain(&self, most: usize, waker: Option<&std::task::Waker>) -> Option<Vec<Event>> {
        self.agent.notice_fork(&self.shared);
        self.shared.queue.as_ref().and_then(|queue| queue.drain(most, waker))
    }

    /// Blocks until events wait or the run is over, at most this long (`None`: without limit). False when the time passed. If it
    /// `may_drive`, the thread does the work of the runtime's meanwhile where that is possible: it needs stack for it.
    #[cfg(feature = "__bindings")]
    pub fn wait_readable(&self, timeout: Option<std::time::Duration>, may_drive: bool) -> bool {
        let Some(queue) = &self.shared.queue else {
            return true;
        };
        let deadline = timeout.and_then(|timeout| std::time::Instant::now().checked_add(timeout));
        if may_drive {
            self.shared.runtime.drive(deadline, |cx| queue.poll_readable(cx));
        }
        queue.wait(deadline)
    }

    /// Whether it goes on in the process that this one was forked from: here it has ended.
    #[cfg(feature = "__bindings")]
    pub fn is_in_parent(&self) -> bool {
        self.shared.is_in_parent()
    }

    /// Sets the function that is called, under the queue's lock, when events begin or cease to wait (the run's end counts as
    /// one). It may not call back into the run.
    #[cfg(feature = "__bindings")]
    pub fn set_ready_callback(&self, on_ready: Option<super::queue::ReadyCallback>) {
        if let Some(queue) = &self.shared.queue {
            queue.set_ready_callback(on_ready);
        }
    }

    /// Waits for the end and gives the run's result. Events that are not read are thrown away.
    ///
    /// # Errors
    /// The run's error (with the result inside) when the outcome is `error`; `invalid_state` inside a callback of its agent.
    pub async fn result(&self) -> Result<RunResult, Error> {
        self.ended().await?.into_ok()
    }

    /// As [`Run::result`], but a run that failed has a result, too, whose `outcome` says so.
    ///
    /// # Errors
    /// `invalid_state` inside a callback of its agent.
    pub async fn ended(&self) -> Result<RunResult, Error> {
        self.agent.notice_fork(&self.shared);
        self.agent.check_outside("waiting for the run")?;
        if let Some(queue) = &self.shared.queue {
            queue.discard_unless_kept();
        }
        Ok(self.shared.wait().await.clone())
    }

    /// Ready when the run is over and the agent idle. Awaiting it keeps no run alive and takes no events away.
    #[cfg(feature = "__bindings")]
    pub fn over(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move {
            shared.wait().await;
        }
    }

    /// The result, once the run is over.
    pub fn finished(&self) -> Option<&RunResult> {
        self.agent.notice_fork(&self.shared);
        self.shared.result.get()
    }

    /// Queues a message that joins the run as soon as it can; see [`Agent::steer`]. After the run's end it waits in the agent's
    /// queue.
    ///
    /// # Errors
    /// As [`Agent::steer`]; `invalid_state` after the end of a run without an agent, which has no queue any more.
    pub fn steer(&self, message: impl Into<Prompt>) -> Result<Delivery, Error> {
        self.agent.queue(Queue::Steering, message.into())
    }

    /// Queues a message for when the run would have ended; see [`Agent::follow_up`]. After the run's end it waits in the agent's
    /// queue.
    ///
    /// # Errors
    /// As [`Run::steer`].
    pub fn follow_up(&self, message: impl Into<Prompt>) -> Result<Delivery, Error> {
        self.agent.queue(Queue::FollowUp, message.into())
    }

    /// The agent whose run it is; of a run without one, what stands in for it, with its current transcript.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Aborts the run. From any thread, any number of times; returns at once.
    pub fn abort(&self) {
        self.shared.abort();
    }

    /// Ends the run after its current turn, as the hook `should_stop_after_turn` does: the calls of the turn run, no queue is
    /// polled, and the outcome is `stopped`. `resume` goes on. Nothing happens to a run that is over.
    pub fn stop_after_turn(&self) {
        self.shared.stop_after_turn();
    }

    /// A handle that can abort the run from anywhere, without keeping it alive.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(Arc::clone(&self.shared))
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
        self.ended().await.map(drop)
    }
}

/// The events, as [`Run::next`] gives them: for the combinators of `futures` and for what takes a stream, such as an HTTP
/// response. It is empty where the run has no queue.
impl Stream for Run {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match &self.shared.queue {
            Some(queue) => queue.poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.finished().is_none() && !self.detached {
            self.abort();
        }
        if let Some(queue) = &self.shared.queue {
            queue.set_ready_callback(None);
            queue.discard();
        }
    }
}
