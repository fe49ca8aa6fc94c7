//! A call on its way: what a tool gets, and how it answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::clock::{Busy, Clock};
use crate::scope::Scope;

/// What comes back from a call in flight.
#[derive(Debug)]
pub(crate) enum Reply {
    /// How far it is.
    Update(Value),
    /// The answer, or why there is none.
    Done(Result<Value, String>),
}

/// Replies of a batch, each with the number of its call.
pub(crate) type Replies = mpsc::UnboundedSender<(usize, Reply)>;

#[derive(Debug)]
struct Inner {
    number: usize,
    id: Arc<str>,
    name: Arc<str>,
    cancel: CancellationToken,
    /// Cancelled when the run no longer waits for the call.
    over: CancellationToken,
    replies: Replies,
    clock: Clock,
    /// Whose timers a blocking sleep uses.
    engine: Option<Handle>,
    work: Mutex<Work>,
}

/// Whether a call is at work. A virtual clock stands still as long.
#[derive(Debug)]
enum Work {
    Working {
        _busy: Busy,
    },
    /// In the context's `sleep`, in this many at once.
    Resting(usize),
    /// Answered, or given up.
    Over,
}

/// What a running tool may use beside its arguments: the call's id, the cancel token, `update`, `sleep`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext(Arc<Inner>);

impl ToolContext {
    /// The call's id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Cancelled when the run is aborted.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.0.cancel
    }

    /// Cancelled when the run no longer waits for the call: it has its answer, or it was given up after the grace time of an
    /// abort. For hosts that then stop what the tool still does.
    pub fn over_token(&self) -> &CancellationToken {
        &self.0.over
    }

    /// Whether the answer is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Tells how far the tool is; read like a result. After the answer it is dropped with a `diagnostic`.
    pub fn update(&self, partial: Value) {
        // Nobody listens any more when the run has given the call up.
        let _ = self.0.replies.send((self.0.number, Reply::Update(partial)));
    }

    /// Waits in the engine's time; ends at once when the call is cancelled. True when the whole time passed.
    pub async fn sleep(&self, ms: u64) -> bool {
        let sleep = self.0.clock.sleep(ms);
        // The wait is registered before we stop counting as working, so that the clock cannot pass it by.
        let mut sleep = Waiting { sleep, context: self, resting: false };
        tokio::select! {
            biased;
            () = self.0.cancel.cancelled() => false,
            () = &mut sleep => true,
        }
    }

    /// The same for a thread that may block: one of the tool's own, not one that runs async code.
    pub fn sleep_blocking(&self, ms: u64) -> bool {
        match &self.0.engine {
            Some(engine) => engine.block_on(self.sleep(ms)),
            // No call is made outside of the engine; if it were, there would be nothing to wait in.
            None => false,
        }
    }

    /// The tool panicked while it took up the call. First come, first served: an answer it gave before stands.
    pub(crate) fn panicked(&self, message: &str) {
        let _ = self.0.replies.send((self.0.number, Reply::Done(Err(format!("the tool panicked: {message}")))));
        self.finish();
    }

    /// The run no longer waits for the call.
    pub(crate) fn close(&self) {
        self.finish();
        self.0.over.cancel();
    }

    /// Counts a sleeping call as working again. After an abort its sleeps end, but it may not have noticed yet.
    pub(crate) fn rouse(&self) {
        let mut work = self.work();
        if matches!(*work, Work::Resting(_)) {
            *work = Work::Working { _busy: self.0.clock.busy() };
        }
    }

    /// One sleep begins.
    fn rest(&self) {
        let mut work = self.work();
        let resting = match &*work {
            Work::Working { .. } => Work::Resting(1),
            Work::Resting(sleeps) => Work::Resting(sleeps + 1),
            Work::Over => return,
        };
        let before = std::mem::replace(&mut *work, resting);
        // Time may go on now, and whom it wakes may want the lock.
        drop(work);
        drop(before);
    }

    /// One sleep ends: the call works again unless it is in another, too.
    fn wake(&self) {
        let mut work = self.work();
        match &mut *work {
            Work::Resting(sleeps) if *sleeps > 1 => *sleeps -= 1,
            Work::Resting(_) => *work = Work::Working { _busy: self.0.clock.busy() },
            Work::Working { .. } | Work::Over => {}
        }
    }

    fn finish(&self) {
        let before = std::mem::replace(&mut *self.work(), Work::Over);
        drop(before);
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.0.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sleep during which the call does not count as working.
struct Waiting<'a> {
    sleep: crate::clock::Sleep,
    context: &'a ToolContext,
    resting: bool,
}

impl Future for Waiting<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Held while polling: the clock may not jump between the deadline and our taking up work again.
        let _working = self.context.0.clock.busy();
        match Pin::new(&mut self.sleep).poll(cx) {
            Poll::Ready(()) => {
                self.end();
                Poll::Ready(())
            }
            Poll::Pending => {
                if !self.resting {
                    self.resting = true;
                    self.context.rest();
                }
                Poll::Pending
            }
        }
    }
}

impl Waiting<'_> {
    fn end(&mut self) {
        if std::mem::take(&mut self.resting) {
            self.context.wake();
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// A call that waits for its answer. Dropping it unanswered fails the call.
#[derive(Debug)]
pub struct PendingCall {
    context: ToolContext,
    arguments: Map<String, Value>,
    scope: Scope,
    answered: bool,
}

impl PendingCall {
    #[allow(clippy::too_many_arguments)] // the batch hands over all it knows of a call, once
    pub(crate) fn new(
        number: usize,
        id: Arc<str>,
        name: Arc<str>,
        arguments: Map<String, Value>,
        cancel: CancellationToken,
        replies: Replies,
        clock: Clock,
        scope: Scope,
    ) -> PendingCall {
        let work = Mutex::new(Work::Working { _busy: clock.busy() });
        let (engine, over) = (Handle::try_current().ok(), CancellationToken::new());
        let context = ToolContext(Arc::new(Inner { number, id, name, cancel, over, replies, clock, engine, work }));
        PendingCall { context, arguments, scope, answered: false }
    }

    /// The call's id.
    pub fn id(&self) -> &str {
        self.context.id()
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        self.context.name()
    }

    /// The arguments, checked.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Id, cancel token, `update` and `sleep`, to be handed around.
    pub fn context(&self) -> &ToolContext {
        &self.context
    }

    /// Marks work done for this call as inside its agent's callback.
    pub fn scope(&self) -> Scope {
        self.scope.clone()
    }

    /// Answers with a JSON value: a full result, or anything plain (see `ToolOutput`).
    pub fn respond(mut self, value: Value) {
        self.answer(Ok(value));
    }

    /// Answers that the call failed; the text goes to the model.
    pub fn fail(mut self, message: impl Into<String>) {
        self.answer(Err(message.into()));
    }

    fn answer(&mut self, answer: Result<Value, String>) {
        self.answered = true;
        // Nobody listens any more when the run has given the call up.
        let _ = self.context.0.replies.send((self.context.0.number, Reply::Done(answer)));
        self.context.finish();
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        // A panic on the thread that took up the call is told by its catcher, with its message.
        let told_elsewhere = std::thread::panicking() && self.scope.is_inside();
        if !self.answered && !told_elsewhere {
            self.answer(Err(format!("the tool {} dropped the call without an answer", self.name())));
        }
    }
}
