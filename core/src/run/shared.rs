//! What the handle of a run, its agent and its driver share of it.

use std::any::Any;
use std::ops::DerefMut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use agent_loop_proto::conversation::ActiveRun;
use agent_loop_proto::machine::{Input, Loop};
use tokio::sync::Notify;

use super::parent::Parent;
use super::queue::EventQueue;
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::event::Event;
use crate::log::{LogLevel, RunLog, RunLogFunction};
use crate::recording::{ReplayedRun, RunRecording};
use crate::result::RunResult;
use crate::runtime::Runtime;
use crate::tool::run_of_call::{HandOff, RunOfCall};
use crate::trace::run_trace::RunTrace;
use crate::trace::sink::Sink;
use crate::usage::{Outcome, Usage};

/// What the handle, the agent and the driver share of a run.
#[derive(Debug)]
pub(crate) struct RunShared {
    pub(crate) id: Arc<str>,
    pub(crate) queue: Option<EventQueue>,
    pub(crate) abort: CancelToken,
    /// Where it lives.
    pub(super) runtime: Runtime,
    pub(super) log: RunLog,
    /// Where it is recorded.
    pub(crate) recording: Option<RunRecording>,
    /// What its models answer from, instead of their servers.
    pub(crate) replayed: Option<ReplayedRun>,
    /// What is recorded of it for OpenTelemetry.
    pub(crate) trace: Option<RunTrace>,
    /// The tool call that it works for.
    pub(crate) parent: Option<Parent>,
    /// What answers its built-in tool `oracle`.
    pub(crate) oracle: Option<Arc<dyn Any + Send + Sync>>,
    /// Who is to go on with it, and whether there is one that the driver does not know of.
    handoff: Mutex<Option<HandOff>>,
    has_handoff: AtomicBool,
    /// Whether it is a recorded run that is played: what comes from outside is not for its loop.
    pub(crate) is_replay: bool,
    machine: Mutex<Loop>,
    reports: Mutex<ReportSignal>,
    /// Wakes who waits until the driver has handed what the loop has asked for to the store.
    recorded: Notify,
    pub(crate) result: OnceLock<RunResult>,
    finished: Notify,
}

/// Whether the loop has got reports that its driver does not know of.
#[derive(Debug, Default)]
struct ReportSignal {
    is_new: bool,
    driver: Option<Waker>,
}

impl RunShared {
    pub(crate) fn new(
        id: Arc<str>,
        with_queue: bool,
        runtime: Runtime,
        log: Option<(LogLevel, RunLogFunction)>,
        machine: Loop,
    ) -> RunShared {
        let queue = with_queue.then(EventQueue::default);
        RunShared {
            log: RunLog {
                run_id: Arc::clone(&id),
                conversation_id: machine.origin().into(),
                turn: Arc::default(),
                runtime: runtime.log().clone(),
                own: log,
            },
            id,
            queue,
            abort: runtime.token(),
            runtime,
            recording: None,
            replayed: None,
            trace: None,
            parent: None,
            oracle: None,
            handoff: Mutex::default(),
            has_handoff: AtomicBool::new(false),
            is_replay: false,
            machine: Mutex::new(machine),
            reports: Mutex::default(),
            recorded: Notify::new(),
            result: OnceLock::new(),
            finished: Notify::new(),
        }
    }

    /// The state machine that decides what the run does, locked. Never held while a function of the host is called.
    pub(crate) fn machine(&self) -> MutexGuard<'_, Loop> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it goes on in another process, which this one was forked from.
    pub(crate) fn is_in_parent(&self) -> bool {
        self.runtime.is_forked()
    }

    /// Reports to the loop from another thread than its driver's, which takes notice.
    pub(crate) fn report(&self, input: Input) {
        self.machine().handle(input);
        self.notice();
    }

    /// The driver is to poll the loop again.
    pub(crate) fn notice(&self) {
        let mut reported = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reported.is_new = true;
        let driver = reported.driver.take();
        drop(reported);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// The driver has handed what the loop has asked for to the store.
    pub(super) fn has_recorded(&self) {
        self.machine().records_handed_over();
        self.recorded.notify_waiters();
    }

    /// Ends when the driver has handed over something more.
    #[cfg(feature = "store")]
    pub(crate) fn recorded(&self) -> tokio::sync::futures::Notified<'_> {
        self.recorded.notified()
    }

    /// Whether another agent is to go on with the run.
    pub(super) fn has_handoff(&self) -> bool {
        self.has_handoff.load(Ordering::Acquire)
    }

    /// Which one, once.
    pub(super) fn take_handoff(&self) -> Option<HandOff> {
        self.has_handoff.store(false, Ordering::Release);
        self.handoff.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ready when there was a report since this was last ready.
    pub(super) fn poll_reports(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut reported = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut reported.is_new) {
            return Poll::Ready(());
        }
        if reported.driver.as_ref().is_none_or(|driver| !driver.will_wake(cx.waker())) {
            let before = reported.driver.replace(cx.waker().clone());
            // Not under the lock: dropping a waker may let time go on, and others report.
            drop(reported);
            drop(before);
        }
        Poll::Pending
    }

    pub(crate) fn stop_after_turn(&self) {
        if !self.is_replay {
            self.machine().handle(Input::StopAfterTurn);
        }
    }

    pub(crate) fn abort(&self) {
        if !self.is_replay {
            self.machine().handle(Input::Abort);
        }
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
        // The driver is over.
        let driver = self.reports.lock().unwrap_or_else(PoisonError::into_inner).driver.take();
        drop(driver);
        self.finished.notify_waiters();
        self.recorded.notify_waiters();
    }

    /// In a forked child, where it has no driver: its end, for who waits for it here.
    pub(crate) fn interrupt(&self, error: Error) {
        let result = RunResult::new(Outcome::Aborted, Vec::new(), Usage::default(), 0, Some(error));
        let _ = self.result.set(result);
        if let Some(queue) = &self.queue {
            queue.close_if_free();
        }
        self.finished.notify_waiters();
    }

    pub(crate) async fn wait(&self) -> &RunResult {
        loop {
            let finished = self.finished.notified();
            let mut finished = std::pin::pin!(finished);
            finished.as_mut().enable();
            if let Some(result) = self.result.get() {
                return result;
            }
            finished.await;
        }
    }
}

impl RunOfCall for RunShared {
    fn id(&self) -> &str {
        &self.id
    }

    fn machine(&self) -> MutexGuard<'_, Loop> {
        RunShared::machine(self)
    }

    fn report(&self, input: Input) {
        RunShared::report(self, input);
    }

    fn hand_off(&self, to: HandOff) {
        let before = self.handoff.lock().unwrap_or_else(PoisonError::into_inner).replace(to);
        drop(before);
        self.has_handoff.store(true, Ordering::Release);
        self.notice();
    }

    fn trace(&self) -> Option<Sink> {
        self.trace.as_ref().map(|trace| Arc::clone(trace.sink()))
    }

    fn oracle(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.oracle.clone()
    }

    fn around(&self) -> Option<Arc<dyn RunOfCall>> {
        self.parent.as_ref()?.run()
    }
}

/// The active run, as the agent's conversation has it.
#[derive(Debug)]
pub(crate) struct SharedRun(pub(crate) Arc<RunShared>);

impl ActiveRun for SharedRun {
    fn machine(&mut self) -> impl DerefMut<Target = Loop> {
        self.0.machine()
    }
}

/// Aborts a run; see [`Run::abort_handle`](crate::Run::abort_handle).
///
/// ```
/// use agent_loop::Agent;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
/// let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;
/// let run = Agent::new(model)?.stream("Say hello.")?;
/// let handle = run.abort_handle();
/// std::thread::spawn(move || handle.abort());
/// println!("{:?}", run.ended().await?.outcome);
/// # Ok(()) }
/// ```
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
