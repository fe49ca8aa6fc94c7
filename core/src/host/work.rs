//! A host's callback (a tool's call, a hook) at work: its cancel token, its waits in the engine's time, and the virtual clock
//! that stands still meanwhile.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use crate::cancel::CancelToken;
use tokio::runtime::Handle;

use crate::clock::{Busy, Clock, Sleep};

/// One callback's work, from its call to its answer. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct HostWork(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cancel: CancelToken,
    clock: Clock,
    /// Whose timers a blocking sleep uses.
    engine: Option<Handle>,
    state: Mutex<WorkState>,
}

/// Whether a callback is at work. A virtual clock stands still as long.
#[derive(Debug)]
enum WorkState {
    Working {
        _busy: Busy,
    },
    /// In `sleep`, in this many concurrently.
    Sleeping(usize),
    /// Answered, or given up.
    Finished,
}

impl HostWork {
    /// Work that begins now.
    pub(crate) fn new(cancel: CancelToken, clock: Clock) -> HostWork {
        let state = Mutex::new(WorkState::Working { _busy: clock.busy() });
        HostWork(Arc::new(Inner { cancel, clock, engine: Handle::try_current().ok(), state }))
    }

    pub(crate) fn cancel_token(&self) -> &CancelToken {
        &self.0.cancel
    }

    /// Waits in the engine's time; ends immediately when the work is cancelled. True when the whole time passed.
    pub(crate) async fn sleep(&self, ms: u64) -> bool {
        if self.0.cancel.is_cancelled() {
            return false;
        }
        let sleep = self.0.clock.sleep(ms);
        // The wait is registered before we stop counting as working, so that the clock cannot pass it by.
        let mut sleep = CallbackSleep { sleep, work: self, has_begun: false };
        tokio::select! {
            biased;
            () = self.0.cancel.wait() => false,
            () = &mut sleep => true,
        }
    }

    /// The same for a thread that may block: not one that runs async code.
    pub(crate) fn sleep_blocking(&self, ms: u64) -> bool {
        match &self.0.engine {
            Some(engine) => engine.block_on(self.sleep(ms)),
            // No callback is called outside of the engine; if one were, there would be nothing to wait in.
            None => false,
        }
    }

    /// Counts sleeping work as working again. After an abort its sleeps end, but it may not have noticed yet.
    pub(crate) fn mark_working(&self) {
        // A hook that an abort does not cancel sleeps on.
        if !self.0.cancel.is_cancelled() {
            return;
        }
        let mut state = self.state();
        if matches!(*state, WorkState::Sleeping(_)) {
            *state = WorkState::Working { _busy: self.0.clock.busy() };
        }
    }

    /// The callback has answered, or is no longer waited for.
    pub(crate) fn finish(&self) {
        let before = std::mem::replace(&mut *self.state(), WorkState::Finished);
        // Not under the lock: time may go on now, and whom it wakes may want it.
        drop(before);
    }

    /// What the work waits for holds up the clock itself, until the value is dropped.
    pub(crate) fn delegate(&self) -> Delegated {
        self.begin_sleep();
        Delegated(self.clone())
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// One sleep begins.
    fn begin_sleep(&self) {
        let mut state = self.state();
        let sleeping = match &*state {
            WorkState::Working { .. } => WorkState::Sleeping(1),
            WorkState::Sleeping(sleeps) => WorkState::Sleeping(sleeps + 1),
            WorkState::Finished => return,
        };
        let before = std::mem::replace(&mut *state, sleeping);
        drop(state);
        drop(before);
    }

    /// One sleep ends: the callback works again unless it is in another, too.
    fn end_sleep(&self) {
        let mut state = self.state();
        match &mut *state {
            WorkState::Sleeping(sleeps) if *sleeps > 1 => *sleeps -= 1,
            WorkState::Sleeping(_) => *state = WorkState::Working { _busy: self.0.clock.busy() },
            WorkState::Working { .. } | WorkState::Finished => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, WorkState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held while a callback waits for work that holds up the clock itself.
#[derive(Debug)]
pub(crate) struct Delegated(HostWork);

impl Drop for Delegated {
    fn drop(&mut self) {
        self.0.end_sleep();
    }
}

/// A sleep during which the callback does not count as working.
struct CallbackSleep<'a> {
    sleep: Sleep,
    work: &'a HostWork,
    has_begun: bool,
}

impl Future for CallbackSleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Held while polling: the clock may not jump between the deadline and our taking up work again.
        let _working = self.work.0.clock.busy();
        match Pin::new(&mut self.sleep).poll(cx) {
            Poll::Ready(()) => {
                self.end();
                Poll::Ready(())
            }
            Poll::Pending => {
                if !self.has_begun {
                    self.has_begun = true;
                    self.work.begin_sleep();
                }
                Poll::Pending
            }
        }
    }
}

impl CallbackSleep<'_> {
    fn end(&mut self) {
        if std::mem::take(&mut self.has_begun) {
            self.work.end_sleep();
        }
    }
}

impl Drop for CallbackSleep<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
