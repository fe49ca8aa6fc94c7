//! The time: real, or virtual for scripts and scenarios.
//!
//! A virtual clock starts at 0 and stops while work is done: by a part of the engine, or by a host callback that has not
//! answered. What works holds a [`Busy`]. When the last one is dropped, the clock jumps to the next deadline:
//!
//! ```text
//! engine:   Clock::working ─> Busy ┐
//!                                  ├─ the last is dropped ─> now = the first deadline; its sleeper is woken, and is at work
//! callback: Clock::busy ────> Busy ┘
//!                              ^
//!                              └── Clock::limit gives up callbacks that are silent for as long in real time
//! ```
//!
//! A sleeper that is woken counts as engine work until it is polled, so that the clock cannot jump on before the task runs. Not
//! so a limit: the run may be blocked elsewhere and look at its limits later.
//!
//! It is not visible whether a silent callback still works or will never answer. Limits ([`Clock::limit`]) decide it as they do
//! in real life: once one has passed by the machine's clock, the callbacks at work no longer hold up virtual time, which then
//! goes on to the limit's exact moment.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a silent callback is waited for at least, by the machine's clock: a slow machine is not a silent one.
const LEAST_REAL_LIMIT_MS: u64 = 1000;

/// Where time comes from. Cheap to clone.
///
/// ```
/// use agent_loop::model::Clock;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let clock = Clock::real();
/// let before = clock.now_ms();
/// clock.sleep(10).await;
/// assert!(clock.now_ms() >= before + 10);
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Clock {
    simulated: Option<Arc<Virtual>>,
    /// When the clock was made steady, by the system's clock and by one that never goes back.
    start: Option<(u64, Instant)>,
}

#[derive(Debug, Default)]
struct Virtual(Mutex<ClockState>);

#[derive(Debug, Default)]
struct ClockState {
    now: u64,
    /// How many parts of the engine are at work.
    busy_engine: usize,
    /// How many host callbacks are.
    busy_callbacks: usize,
    /// How many times callbacks were given up as silent. A [`Busy`] from before the last time no longer counts.
    given_up: u64,
    next_id: u64,
    sleepers: BTreeMap<SleeperKey, Sleeper>,
    /// Those that were woken and not polled yet, which counts as work; with the count `given_up` of that time.
    woken: BTreeMap<SleeperKey, u64>,
}

impl ClockState {
    fn is_idle(&self) -> bool {
        self.busy_engine + self.busy_callbacks + self.woken.len() == 0
    }
}

/// Sleepers wake in the order of their deadlines, those of one deadline in the order in which their sleeps were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SleeperKey {
    deadline_ms: u64,
    id: u64,
}

#[derive(Debug)]
struct Sleeper {
    waker: Waker,
    /// Whether it counts as engine work from its deadline until it is polled.
    is_work: bool,
}

impl Clock {
    /// The machine's clock.
    pub fn real() -> Clock {
        Clock { simulated: None, start: None }
    }

    /// A clock of its own that starts at 0 and jumps.
    pub fn simulated() -> Clock {
        Clock { simulated: Some(Arc::default()), start: None }
    }

    /// A clock of its own that starts at this time and jumps.
    pub(crate) fn simulated_at(now_ms: u64) -> Clock {
        let state = ClockState { now: now_ms, ..ClockState::default() };
        Clock { simulated: Some(Arc::new(Virtual(Mutex::new(state)))), start: None }
    }

    /// The same clock, which from now on does not follow changes of the system's: for the time limits of a run.
    pub(crate) fn steady(&self) -> Clock {
        Clock { start: Some((self.now_ms(), Instant::now())), ..self.clone() }
    }

    /// Milliseconds since the epoch; of a virtual clock, since its start.
    pub fn now_ms(&self) -> u64 {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        match (&self.simulated, self.start) {
            (Some(clock), _) => clock.lock().now,
            (None, Some((start_ms, start))) => start_ms.saturating_add(ms(start.elapsed())),
            (None, None) => ms(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
        }
    }

    /// Waits. Real time needs a tokio context.
    pub fn sleep(&self, ms: u64) -> Sleep {
        match &self.simulated {
            None => Sleep::Real(Box::pin(tokio::time::sleep(Duration::from_millis(ms)))),
            Some(clock) => {
                let mut state = clock.lock();
                state.next_id += 1;
                let key = SleeperKey { deadline_ms: state.now.saturating_add(ms), id: state.next_id };
                drop(state);
                Sleep::Simulated { clock: Arc::clone(clock), key, stage: SleepStage::New, is_work: true }
            }
        }
    }

    /// Waits until a limit of the engine's passes. Host callbacks that are silent for as long by the machine's clock, and for at
    /// least a second, no longer hold up virtual time.
    pub(crate) fn limit(&self, ms: u64) -> impl Future<Output = ()> + Send + use<> {
        let (mut sleep, clock) = (self.sleep(ms), self.clone());
        if let Sleep::Simulated { is_work, .. } = &mut sleep {
            // The run may be busy with something else and look at its limits later; time goes on meanwhile.
            *is_work = false;
        }
        async move {
            let Some(simulated) = &clock.simulated else {
                return sleep.await;
            };
            let real_limit = Duration::from_millis(ms.max(LEAST_REAL_LIMIT_MS));
            loop {
                tokio::select! {
                    biased;
                    () = &mut sleep => return,
                    () = tokio::time::sleep(real_limit) => simulated.give_up_callbacks(),
                }
            }
        }
    }

    /// Whether both have the same virtual time.
    pub(crate) fn is_same_virtual(&self, other: &Clock) -> bool {
        match (&self.simulated, &other.simulated) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Whether this is a virtual clock.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulated.is_some()
    }

    /// Says that a host callback is at work until the value is dropped.
    #[doc(hidden)]
    pub fn busy(&self) -> Busy {
        let worker = match &self.simulated {
            Some(clock) => {
                let mut state = clock.lock();
                state.busy_callbacks += 1;
                Worker::Callback { given_up: state.given_up }
            }
            None => Worker::Engine,
        };
        Busy { clock: self.simulated.clone(), worker }
    }

    /// Says that the engine is at work until the value is dropped.
    fn engine_busy(&self) -> Busy {
        if let Some(clock) = &self.simulated {
            clock.lock().busy_engine += 1;
        }
        Busy { clock: self.simulated.clone(), worker: Worker::Engine }
    }

    /// The future, counted as working from the moment it is woken until it waits again.
    pub(crate) async fn working<T>(&self, future: impl Future<Output = T>) -> T {
        if self.simulated.is_none() {
            return future.await;
        }
        let mut future = std::pin::pin!(future);
        let mut woken: Option<Arc<Woken>> = None;
        std::future::poll_fn(|cx| {
            let _busy = self.engine_busy();
            let woken = match &mut woken {
                Some(woken) if woken.inner.will_wake(cx.waker()) => woken,
                slot => slot.insert(Arc::new(Woken { clock: self.clone(), inner: cx.waker().clone(), busy: Mutex::default() })),
            };
            drop(woken.take());
            future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
        })
        .await
    }
}

/// Wakes the engine and counts it as working from then on.
struct Woken {
    clock: Clock,
    inner: Waker,
    busy: Mutex<Option<Busy>>,
}

impl Woken {
    fn take(&self) -> Option<Busy> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let busy = self.clock.engine_busy();
        let before = self.busy.lock().unwrap_or_else(PoisonError::into_inner).replace(busy);
        drop(before);
        self.inner.wake_by_ref();
    }
}

impl Virtual {
    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One fewer at work; the last one lets time jump to the next deadline, whose sleeper is then at work.
    fn finish_work(&self, worker: Worker) {
        let mut state = self.lock();
        match worker {
            Worker::Engine => state.busy_engine = state.busy_engine.saturating_sub(1),
            Worker::Callback { given_up } if given_up == state.given_up => {
                state.busy_callbacks = state.busy_callbacks.saturating_sub(1);
            }
            Worker::Callback { .. } => return,
        }
        Virtual::jump(state);
    }

    /// A sleeper that was woken is polled, or gone.
    fn finish_waking(&self, key: SleeperKey) {
        let mut state = self.lock();
        if state.woken.remove(&key).is_some() {
            Virtual::jump(state);
        }
    }

    /// Callbacks that are at work now are not waited for any longer, nor are sleepers that have been woken since before the last
    /// time: no model is polled while a listener or a reader holds up its run.
    fn give_up_callbacks(&self) {
        let mut state = self.lock();
        let last = state.given_up;
        state.woken.retain(|_, given_up| *given_up == last);
        state.busy_callbacks = 0;
        state.given_up += 1;
        Virtual::jump(state);
    }

    fn jump(mut state: MutexGuard<'_, ClockState>) {
        if !state.is_idle() {
            return;
        }
        if let Some((key, Sleeper { waker, is_work })) = state.sleepers.pop_first() {
            state.now = state.now.max(key.deadline_ms);
            if is_work {
                let given_up = state.given_up;
                state.woken.insert(key, given_up);
            }
            drop(state);
            waker.wake();
        }
    }
}

/// Who is at work.
#[derive(Debug, Clone, Copy)]
enum Worker {
    Engine,
    Callback {
        /// The clock's count when its work began.
        given_up: u64,
    },
}

/// Held by whoever is at work; see [`Clock`].
#[derive(Debug)]
pub struct Busy {
    clock: Option<Arc<Virtual>>,
    worker: Worker,
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(clock) = &self.clock {
            clock.finish_work(self.worker);
        }
    }
}

/// A wait that ends at its deadline.
#[derive(Debug)]
pub enum Sleep {
    /// By the machine's clock.
    Real(Pin<Box<tokio::time::Sleep>>),
    /// By a virtual clock.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    Simulated { clock: Arc<Virtual>, key: SleeperKey, stage: SleepStage, is_work: bool },
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SleepStage {
    New,
    Waiting,
    Done,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.get_mut() {
            Sleep::Real(sleep) => sleep.as_mut().poll(cx),
            Sleep::Simulated { clock, key, stage, is_work } => {
                let mut state = clock.lock();
                match stage {
                    SleepStage::Waiting if !state.sleepers.contains_key(key) => {
                        // Our deadline came: the clock counted us as working until now.
                        *stage = SleepStage::Done;
                        drop(state);
                        clock.finish_waking(*key);
                        Poll::Ready(())
                    }
                    SleepStage::New if key.deadline_ms <= state.now => {
                        *stage = SleepStage::Done;
                        Poll::Ready(())
                    }
                    SleepStage::New if state.is_idle() => {
                        // No work uses this clock (it came with a model that joined a run later): it may jump at once.
                        state.now = state.now.max(key.deadline_ms);
                        *stage = SleepStage::Done;
                        Poll::Ready(())
                    }
                    SleepStage::New | SleepStage::Waiting => {
                        *stage = SleepStage::Waiting;
                        let before = state.sleepers.insert(*key, Sleeper { waker: cx.waker().clone(), is_work: *is_work });
                        drop(state);
                        drop(before);
                        Poll::Pending
                    }
                    SleepStage::Done => Poll::Ready(()),
                }
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Sleep::Simulated { clock, key, stage: SleepStage::Waiting, .. } = self {
            let sleeper = clock.lock().sleepers.remove(key);
            // Not under the lock: dropping the waker may let time go on.
            drop(sleeper);
            clock.finish_waking(*key);
        }
    }
}
