//! The mailbox of one JavaScript environment. Threads post jobs; one weak wakeup per batch lets `lib/bridge.ts` take them on
//! the environment's own thread. Nothing here keeps the process alive unless JavaScript says that somebody waits.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use agent_loop::PendingCall;
use napi::Env;
use napi::bindgen_prelude::{Function, sys};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::error::Result;
use crate::runtime;
use crate::tool::Call;

/// Something for JavaScript to do.
#[napi(object_from_js = false, discriminant = "kind")]
pub enum Job {
    /// What was asked for under this ticket has come; its text, if it has one.
    Settled {
        /// Whoever waits.
        ticket: u32,
        /// What came.
        text: Option<String>,
    },
    /// A tool is called.
    Call {
        /// The agent's number.
        agent: u32,
        /// The tool's number.
        tool: u32,
        /// The call to answer.
        call: Call,
    },
    /// A listener is told an event.
    Event {
        /// The agent's number.
        agent: u32,
        /// The listener's number.
        listener: u32,
        /// To be given back with the answer.
        answer: u32,
        /// The event, in canonical JSON.
        text: String,
    },
}

/// The most jobs of one wakeup.
const BATCH: usize = 32;

type Wakeup = ThreadsafeFunction<(), (), (), napi::Status, false, true, 0>;

/// What all native objects of an environment share.
pub(crate) struct Link {
    jobs: Mutex<VecDeque<Job>>,
    /// Whether a wakeup is on its way.
    woken: AtomicBool,
    /// `None` once the environment is gone.
    wakeup: RwLock<Option<Wakeup>>,
    /// Cancelled when the environment goes.
    closing: CancellationToken,
    next: AtomicU32,
    /// Calls that JavaScript has not answered.
    calls: Mutex<HashMap<u32, PendingCall>>,
    /// Events that listeners have not answered.
    events: Mutex<HashMap<u32, oneshot::Sender<std::result::Result<(), String>>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Sections under these locks only move values.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Posts a job; dropped when the environment is gone.
    pub(crate) fn post(&self, job: Job) {
        let mut jobs = lock(&self.jobs);
        if self.closing.is_cancelled() {
            return;
        }
        jobs.push_back(job);
        drop(jobs);
        self.wake();
    }

    /// Has the mailbox emptied, once.
    fn wake(&self) {
        if !self.woken.swap(true, Ordering::AcqRel)
            && let Some(wakeup) = &*self.wakeup.read().unwrap_or_else(PoisonError::into_inner)
        {
            // A failure means that the environment closes: nobody waits any more.
            wakeup.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    pub(crate) fn settle(&self, ticket: u32, text: Option<String>) {
        self.post(Job::Settled { ticket, text });
    }

    /// Cancelled when the environment goes.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Keeps a call until it is answered; gives its number.
    pub(crate) fn keep(&self, call: PendingCall) -> u32 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut calls = lock(&self.calls);
        if self.closing.is_cancelled() {
            drop(calls);
            drop(call);
        } else {
            calls.insert(number, call);
        }
        number
    }

    pub(crate) fn answered(&self, number: u32) -> Option<PendingCall> {
        lock(&self.calls).remove(&number)
    }

    /// Has a listener told of an event, and waits for it.
    pub(crate) async fn tell(&self, agent: u32, listener: u32, text: String) -> std::result::Result<(), String> {
        let answer = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, heard) = oneshot::channel();
        lock(&self.events).insert(answer, sender);
        self.post(Job::Event { agent, listener, answer, text });
        let gone = || Err("its JavaScript environment is gone".to_owned());
        tokio::select! {
            heard = heard => heard.unwrap_or_else(|_| gone()),
            () = self.closing.cancelled() => gone(),
        }
    }

    /// The environment goes: nothing more is posted, and what waits for JavaScript fails.
    fn close(&self) {
        if self.closing.is_cancelled() {
            return;
        }
        self.closing.cancel();
        let jobs = std::mem::take(&mut *lock(&self.jobs));
        let calls = std::mem::take(&mut *lock(&self.calls));
        let events = std::mem::take(&mut *lock(&self.events));
        let wakeup = self.wakeup.write().unwrap_or_else(PoisonError::into_inner).take();
        drop((jobs, calls, events, wakeup));
        runtime::leave();
    }
}

/// The mailbox, as JavaScript has it: one per environment.
#[napi]
pub struct Bridge {
    pub(crate) link: Arc<Link>,
}

#[napi]
impl Bridge {
    /// A mailbox; `pump` is called when there are jobs to take.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, pump: Function<'_, (), ()>) -> Result<Bridge> {
        let wakeup = pump.build_threadsafe_function::<()>().callee_handled::<false>().weak::<true>().build()?;
        let link = Arc::new(Link {
            jobs: Mutex::default(),
            woken: AtomicBool::new(false),
            wakeup: RwLock::new(Some(wakeup)),
            closing: CancellationToken::new(),
            next: AtomicU32::new(0),
            calls: Mutex::default(),
            events: Mutex::default(),
        });
        runtime::enter();
        // Whatever ends the environment (a worker's `terminate` too), its runs end with it.
        env.add_env_cleanup_hook(Arc::clone(&link), |link| link.close())?;
        Ok(Bridge { link })
    }

    /// The oldest jobs. Where there are more, there is another wakeup: between the two, JavaScript does what these brought
    /// about, and the garbage of thousands of runs is not alive at the same time.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<Job> {
        // First this, then the jobs: a job posted in between brings a wakeup that finds nothing, never a job without one.
        self.link.woken.store(false, Ordering::Release);
        let mut jobs = lock(&self.link.jobs);
        let most = jobs.len().min(BATCH);
        let batch = jobs.drain(..most).collect();
        let more = !jobs.is_empty();
        drop(jobs);
        if more {
            self.link.wake();
        }
        batch
    }

    /// From now on the process stays alive.
    #[napi(catch_unwind)]
    pub fn hold(&self, env: &Env) {
        self.with_wakeup(|wakeup| {
            // SAFETY: the function exists as long as `wakeup` is there, and this is its environment's own thread.
            unsafe { sys::napi_ref_threadsafe_function(env.raw(), wakeup) };
        });
    }

    /// From now on the process may end.
    #[napi(catch_unwind)]
    pub fn release(&self, env: &Env) {
        self.with_wakeup(|wakeup| {
            // SAFETY: as in `hold`.
            unsafe { sys::napi_unref_threadsafe_function(env.raw(), wakeup) };
        });
    }

    fn with_wakeup(&self, function: impl FnOnce(sys::napi_threadsafe_function)) {
        if let Some(wakeup) = &*self.link.wakeup.read().unwrap_or_else(PoisonError::into_inner) {
            function(wakeup.raw());
        }
    }

    /// A listener has returned; `error` when it failed.
    #[napi(catch_unwind)]
    pub fn heard(&self, answer: u32, error: Option<String>) {
        if let Some(sender) = lock(&self.link.events).remove(&answer) {
            // Nobody waits any more when the run was given up.
            let _ = sender.send(error.map_or(Ok(()), Err));
        }
    }

    /// The environment is about to end.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.link.close();
    }
}
