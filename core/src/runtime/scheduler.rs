//! The one thread of a runtime, and how a thread that waits for a run does its work instead.
//!
//! Runs and connections are tasks of a scheduler, which one thread at a time drives. Normally that is the runtime's own
//! thread. When a thread blocks until the only run has events, it borrows the scheduler and drives it itself: an event then
//! reaches it without a switch between threads, in memory of the same thread.
//!
//! The borrower leaves with its events and mostly comes back at once, so the runtime's thread does not take over at each return:
//! it looks after a pause whether the borrower stayed away. If so, it drives again. Until then (some milliseconds, once) no
//! thread drives. So that no other run is delayed by it, the scheduler is borrowed only while one run is active.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::threads::{self, Pool};

/// How long the runtime's thread leaves the scheduler to a borrower that comes and goes, before it looks.
const PAUSE: Duration = Duration::from_millis(15);
/// How long it waits for one that had left just when it looked.
const LAST_PAUSE: Duration = Duration::from_millis(1);

pub(super) struct Scheduler {
    state: Mutex<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Wakes the runtime's thread.
    reclaimed: Condvar,
    /// Wakes who waits to borrow, and who waits for the end.
    returned: Condvar,
}

struct State {
    /// Missing while a thread drives it, and after the end.
    scheduler: Option<Box<Runtime>>,
    borrower: Borrower,
    /// How many times it was borrowed.
    visits: u64,
    /// The runtime's thread sleeps until a borrower leaves.
    is_unwatched: bool,
    /// A borrower waits for the runtime's thread to leave.
    is_wanted: bool,
    /// Wakes the thread that drives.
    driver: Option<Waker>,
    /// Stop, and wait so long for blocking threads.
    stopping: Option<Duration>,
    has_stopped: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Borrower {
    /// The runtime's thread drives.
    None,
    /// It drives, or waits until the runtime's thread stops driving.
    Present,
    /// It left and may come back.
    Away,
}

impl Scheduler {
    /// Starts the runtime's thread.
    pub(super) fn start(scheduler: Runtime, pool: &Arc<Pool>) -> std::io::Result<Arc<Scheduler>> {
        let state = State {
            scheduler: Some(Box::new(scheduler)),
            borrower: Borrower::None,
            visits: 0,
            is_unwatched: false,
            is_wanted: false,
            driver: None,
            stopping: None,
            has_stopped: false,
        };
        let (state, thread) = (Mutex::new(state), Mutex::default());
        let shared = Arc::new(Scheduler { state, thread, reclaimed: Condvar::new(), returned: Condvar::new() });
        let (of_thread, pool) = (Arc::clone(&shared), Arc::clone(pool));
        let options = pool.options().clone();
        let builder = std::thread::Builder::new().name(options.thread_name).stack_size(options.stack_bytes);
        let thread = threads::blocked(|| {
            builder.spawn(move || {
                threads::enter_pool(&pool);
                of_thread.run();
            })
        })?;
        *shared.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(shared)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The runtime's thread.
    fn run(&self) {
        let mut state = self.lock();
        // At the last look; and whether a borrower has stayed since then: it says when it leaves.
        let (mut seen, mut pause, mut is_long) = (state.visits, PAUSE, false);
        loop {
            if let Some(timeout) = state.stopping
                && let Some(scheduler) = state.scheduler.take()
            {
                drop(state);
                // What its tasks own may call back.
                scheduler.shutdown_timeout(timeout);
                self.lock().has_stopped = true;
                self.returned.notify_all();
                return;
            }
            if state.borrower == Borrower::None
                && let Some(scheduler) = state.scheduler.take()
            {
                drop(state);
                let mut driving = Driving { owner: self, scheduler: Some(scheduler), then: Borrower::None };
                driving.until(None, |_| Poll::Pending);
                drop(driving);
                state = self.lock();
                continue;
            }
            if is_long && state.borrower == Borrower::Present {
                state.is_unwatched = true;
                state = self.reclaimed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.is_unwatched = false;
                (seen, pause, is_long) = (state.visits, PAUSE, false);
                continue;
            }
            let waited = self.reclaimed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                let has_come = state.visits != seen;
                match state.borrower {
                    Borrower::Away if has_come => pause = LAST_PAUSE,
                    Borrower::Away => state.borrower = Borrower::None,
                    Borrower::Present => (pause, is_long) = (PAUSE, !has_come),
                    Borrower::None => {}
                }
                seen = state.visits;
            }
        }
    }
}

impl Scheduler {
    /// Drives the scheduler on this thread until the condition is met, the time is over, or the scheduler is wanted elsewhere;
    /// does nothing if another thread than the runtime's drives already. The condition keeps the waker while it is not met.
    /// `is_alone` says whether only the caller needs the scheduler.
    pub(super) fn drive(
        &self,
        deadline: Option<Instant>,
        is_alone: impl Fn() -> bool,
        condition: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) {
        if !is_alone() {
            return;
        }
        if let Some(mut driving) = self.borrow(deadline) {
            // What it writes to connections is written on a thread of the host.
            threads::without_sigpipe(|| driving.until(deadline, condition));
            if is_alone() {
                driving.then = Borrower::Away;
            }
        }
    }

    fn borrow(&self, deadline: Option<Instant>) -> Option<Driving<'_>> {
        let mut state = self.lock();
        if state.borrower == Borrower::Present || state.stopping.is_some() {
            return None;
        }
        state.borrower = Borrower::Present;
        state.visits += 1;
        if state.scheduler.is_none() {
            state.is_wanted = true;
            let driver = state.driver.take();
            drop(state);
            if let Some(driver) = driver {
                driver.wake();
            }
            state = self.lock();
        }
        while state.scheduler.is_none() && state.stopping.is_none() {
            state = match deadline {
                None => self.returned.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    self.returned.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state.is_wanted = false;
        if state.stopping.is_none()
            && let Some(scheduler) = state.scheduler.take()
        {
            return Some(Driving { owner: self, scheduler: Some(scheduler), then: Borrower::None });
        }
        state.borrower = Borrower::None;
        drop(state);
        self.reclaimed.notify_one();
        None
    }

    /// The runtime's thread drives from now on, unless a borrower does at this moment.
    pub(super) fn reclaim(&self) {
        let mut state = self.lock();
        if state.borrower == Borrower::Away {
            state.borrower = Borrower::None;
            drop(state);
            self.reclaimed.notify_one();
        }
    }

    /// Ends the runtime's thread and the scheduler, with a wait for blocking threads. What runs in it ends.
    pub(super) fn stop(&self, timeout: Duration) {
        let mut state = self.lock();
        if state.stopping.is_some() {
            return;
        }
        state.stopping = Some(timeout);
        let driver = state.driver.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
        self.reclaimed.notify_one();
    }

    /// Waits for the end, at most this long.
    pub(super) fn wait_for_end(&self, timeout: Duration) {
        let state = self.lock();
        let waited = self.returned.wait_timeout_while(state, timeout, |state| !state.has_stopped);
        let has_stopped = waited.unwrap_or_else(PoisonError::into_inner).0.has_stopped;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && has_stopped
        {
            // It has nothing left to do but to end.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").finish_non_exhaustive()
    }
}

/// The scheduler in the hands of the thread that drives it; given back when this is dropped.
struct Driving<'a> {
    owner: &'a Scheduler,
    scheduler: Option<Box<Runtime>>,
    /// Whether the runtime's thread drives immediately (`None`) or not (`Away`).
    then: Borrower,
}

impl Driving<'_> {
    /// Runs tasks until the condition is met, the time is over, or another thread wants the scheduler.
    fn until(&mut self, deadline: Option<Instant>, mut condition: impl FnMut(&mut Context<'_>) -> Poll<()>) {
        let Some(scheduler) = &self.scheduler else {
            return;
        };
        let owner = self.owner;
        let end = poll_fn(|cx| {
            if condition(cx).is_ready() {
                return Poll::Ready(());
            }
            let mut state = owner.lock();
            if state.is_wanted || state.stopping.is_some() {
                return Poll::Ready(());
            }
            if state.driver.as_ref().is_none_or(|driver| !driver.will_wake(cx.waker())) {
                state.driver = Some(cx.waker().clone());
            }
            Poll::Pending
        });
        match deadline {
            None => scheduler.block_on(end),
            Some(deadline) => {
                // Made inside: it needs the scheduler's timers.
                let limited = async { tokio::time::timeout_at(deadline.into(), end).await };
                // Either way the caller looks.
                let _ = scheduler.block_on(limited);
            }
        }
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        let mut state = self.owner.lock();
        state.scheduler = self.scheduler.take();
        let is_awaited = state.is_wanted;
        if !is_awaited {
            // Not the runtime's thread, or no borrower wants it any more.
            state.borrower = self.then;
        }
        let is_reclaimed = state.is_unwatched || state.borrower == Borrower::None || state.stopping.is_some();
        drop(state);
        if is_awaited {
            self.owner.returned.notify_all();
        }
        if is_reclaimed {
            self.owner.reclaimed.notify_one();
        }
    }
}
