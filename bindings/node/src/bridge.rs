//! The job queue of one JavaScript environment. Threads post jobs; one weak wakeup per batch has `lib/bridge.ts` take them on the
//! environment's thread. Nothing here keeps the process alive, except between `hold` and `release`.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use agent_loop::{ModelCall, PendingCall};
use napi::Env;
use napi::bindgen_prelude::{Function, sys};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::call::{Call, Work};
use crate::error::Result;
use crate::model::Answer;
use crate::runtime;

/// A job for JavaScript.
#[napi(object_from_js = false, discriminant = "kind")]
pub enum Job {
    /// The request with this ticket is complete.
    Settled {
        /// The number of the request.
        ticket: u32,
        /// Its result, if it has one.
        text: Option<String>,
    },
    /// A tool, a hook or a middleware is called.
    Call {
        /// The agent's number.
        agent: u32,
        /// The callback's number.
        callback: u32,
        /// The call to respond to.
        call: Call,
    },
    /// A custom provider is called.
    Model {
        /// The agent's number.
        agent: u32,
        /// The callback's number.
        callback: u32,
        /// The handle to answer through.
        answer: Answer,
    },
    /// Native code does not reference a callback any more.
    Gone {
        /// The agent's number.
        agent: u32,
        /// The callback's number.
        callback: u32,
    },
    /// A listener is called with an event.
    Event {
        /// The agent's number.
        agent: u32,
        /// The listener's number.
        listener: u32,
        /// To be passed to `listenerReturned`.
        answer: u32,
        /// The event, as JSON.
        text: String,
    },
}

/// The most jobs of one wakeup.
const BATCH: usize = 32;

type Wakeup = ThreadsafeFunction<(), (), (), napi::Status, false, true, 0>;

/// The state that all native objects of an environment share.
pub(crate) struct Link {
    jobs: Mutex<VecDeque<Job>>,
    /// Whether a wakeup is on its way.
    woken: AtomicBool,
    /// `None` once the environment is gone.
    wakeup: RwLock<Option<Wakeup>>,
    /// Cancelled when the environment goes.
    closing: CancellationToken,
    next: AtomicU32,
    /// What JavaScript has yet to answer.
    waiting: Mutex<HashMap<u32, Waiter>>,
}

/// What awaits an answer from JavaScript. Dropping it means that there will be none.
pub(crate) enum Waiter {
    /// A tool's call.
    Tool(PendingCall),
    /// A callback's caller.
    Answer(oneshot::Sender<CallbackResult>),
    /// A model call.
    Model(Arc<ModelCall>),
}

/// The result of a callback: its value, or the text of its error.
pub(crate) type CallbackResult = std::result::Result<Value, String>;

/// A reference to a callback of an agent. JavaScript keeps the function until the last reference is dropped, so that a call on
/// its way finds the function even if the agent has another one by then.
#[derive(Clone)]
pub(crate) struct Callback(Arc<Target>);

struct Target {
    link: Arc<Link>,
    agent: u32,
    number: u32,
}

impl Callback {
    pub(crate) fn new(link: &Arc<Link>, agent: u32, number: u32) -> Callback {
        Callback(Arc::new(Target { link: Arc::clone(link), agent, number }))
    }

    /// Calls it; the answer goes to the waiter.
    pub(crate) fn call(&self, waiting: Waiter, work: Work, input: String) {
        let call = Call::new(&self.0.link, waiting, work, input);
        self.0.link.post(Job::Call { agent: self.0.agent, callback: self.0.number, call });
    }

    /// Calls it and awaits the answer.
    pub(crate) async fn ask(&self, work: Work, input: String) -> CallbackResult {
        let (sender, answer) = oneshot::channel();
        self.call(Waiter::Answer(sender), work, input);
        self.0.link.answer(answer).await.unwrap_or_else(|| Err("it was dropped without an answer".to_owned()))
    }

    /// Calls it as a custom provider, with a request.
    pub(crate) fn model(&self, call: ModelCall) {
        let answer = Answer::new(&self.0.link, call);
        self.0.link.post(Job::Model { agent: self.0.agent, callback: self.0.number, answer });
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.link.post(Job::Gone { agent: self.agent, callback: self.number });
    }
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

    /// Wakes JavaScript, unless a wakeup is on its way.
    fn wake(&self) {
        if !self.woken.swap(true, Ordering::AcqRel)
            && let Some(wakeup) = &*self.wakeup.read().unwrap_or_else(PoisonError::into_inner)
        {
            // A failure means that the environment is closing: nothing is awaited any more.
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

    /// Keeps a waiter until its answer comes. Returns its number.
    pub(crate) fn keep(&self, who: Waiter) -> u32 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut waiting = lock(&self.waiting);
        if self.closing.is_cancelled() {
            drop(waiting);
            drop(who);
        } else {
            waiting.insert(number, who);
        }
        number
    }

    /// Removes and returns the waiter with this number, to be answered.
    pub(crate) fn answered(&self, number: u32) -> Option<Waiter> {
        lock(&self.waiting).remove(&number)
    }

    /// The model call with this number, which stays.
    pub(crate) fn model(&self, number: u32) -> Option<Arc<ModelCall>> {
        match lock(&self.waiting).get(&number) {
            Some(Waiter::Model(call)) => Some(Arc::clone(call)),
            _ => None,
        }
    }

    /// Awaits an answer from JavaScript; nothing if it was dropped.
    async fn answer(&self, answer: oneshot::Receiver<CallbackResult>) -> Option<CallbackResult> {
        let gone = || Some(Err("its JavaScript environment is gone".to_owned()));
        tokio::select! {
            biased;
            () = self.closing.cancelled() => gone(),
            answer = answer => answer.ok(),
        }
    }

    /// Calls a listener with an event and awaits its return.
    pub(crate) async fn notify(&self, agent: u32, listener: u32, text: String) -> std::result::Result<(), String> {
        let (sender, returned) = oneshot::channel();
        let answer = self.keep(Waiter::Answer(sender));
        self.post(Job::Event { agent, listener, answer, text });
        self.answer(returned).await.unwrap_or(Ok(Value::Null)).map(drop)
    }

    /// Closes the queue: no more jobs are posted, and what awaits JavaScript fails.
    fn close(&self) {
        if self.closing.is_cancelled() {
            return;
        }
        self.closing.cancel();
        let jobs = std::mem::take(&mut *lock(&self.jobs));
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        let wakeup = self.wakeup.write().unwrap_or_else(PoisonError::into_inner).take();
        drop((jobs, waiting, wakeup));
        runtime::leave();
    }
}

/// The job queue as JavaScript sees it: one per environment.
#[napi]
pub struct Bridge {
    pub(crate) link: Arc<Link>,
}

#[napi]
impl Bridge {
    /// Creates the queue; `pump` is called when there are jobs to take.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, pump: Function<'_, (), ()>) -> Result<Bridge> {
        let wakeup = pump.build_threadsafe_function::<()>().callee_handled::<false>().weak::<true>().build()?;
        let link = Arc::new(Link {
            jobs: Mutex::default(),
            woken: AtomicBool::new(false),
            wakeup: RwLock::new(Some(wakeup)),
            closing: CancellationToken::new(),
            next: AtomicU32::new(0),
            waiting: Mutex::default(),
        });
        runtime::enter();
        // However the environment ends (a worker's `terminate` included), its runs end with it.
        env.add_env_cleanup_hook(Arc::clone(&link), |link| link.close())?;
        Ok(Bridge { link })
    }

    /// Takes the oldest jobs. If there are more, another wakeup follows: in between, JavaScript finishes the work of these, so
    /// that the garbage of thousands of runs is not alive at the same time.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<Job> {
        // Before the jobs: a job posted in between causes a needless wakeup, but never lacks one.
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
            // SAFETY: the function exists as long as `wakeup` does, and this is its environment's thread.
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
    pub fn listener_returned(&self, answer: u32, error: Option<String>) {
        if let Some(Waiter::Answer(sender)) = self.link.answered(answer) {
            // The receiver is gone if the run was given up.
            let _ = sender.send(error.map_or(Ok(Value::Null), Err));
        }
    }

    /// Closes the queue: the environment is about to end.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.link.close();
    }
}
