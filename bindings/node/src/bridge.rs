//! The mailbox of one JavaScript environment. Threads post jobs; one weak wakeup per batch lets `lib/bridge.ts` take them on
//! the environment's own thread. Nothing here keeps the process alive unless JavaScript says that somebody waits.

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
    /// A tool, a hook or a middleware is called.
    Call {
        /// The agent's number.
        agent: u32,
        /// The callback's number.
        callback: u32,
        /// The call to answer.
        call: Call,
    },
    /// A provider is asked.
    Model {
        /// The agent's number.
        agent: u32,
        /// The callback's number.
        callback: u32,
        /// What it answers through.
        answer: Answer,
    },
    /// Nothing native knows a callback any more.
    Gone {
        /// The agent's number.
        agent: u32,
        /// The callback's number.
        callback: u32,
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
    /// What JavaScript has not answered.
    waiting: Mutex<HashMap<u32, Waiting>>,
}

/// Who waits for an answer of JavaScript's. Dropping it is the answer that there is none.
pub(crate) enum Waiting {
    /// A tool's call.
    Tool(PendingCall),
    /// Whoever asked.
    Answer(oneshot::Sender<Said>),
    /// A model call.
    Model(Arc<ModelCall>),
}

/// What JavaScript answers: a value, or the text of what was thrown.
pub(crate) type Said = std::result::Result<Value, String>;

/// A callback of an agent's as native code has it. JavaScript keeps the function until the last of these is gone: a call on its
/// way finds it, whatever has been taken away from the agent meanwhile.
#[derive(Clone)]
pub(crate) struct Callback(Arc<Known>);

struct Known {
    link: Arc<Link>,
    agent: u32,
    number: u32,
}

impl Callback {
    pub(crate) fn new(link: &Arc<Link>, agent: u32, number: u32) -> Callback {
        Callback(Arc::new(Known { link: Arc::clone(link), agent, number }))
    }

    /// Has it called; the answer goes to whoever waits.
    pub(crate) fn call(&self, waiting: Waiting, work: Work, input: String) {
        let call = Call::new(&self.0.link, waiting, work, input);
        self.0.link.post(Job::Call { agent: self.0.agent, callback: self.0.number, call });
    }

    /// Has it called, and waits for the answer.
    pub(crate) async fn ask(&self, work: Work, input: String) -> Said {
        let (sender, answer) = oneshot::channel();
        self.call(Waiting::Answer(sender), work, input);
        self.0.link.answer(answer).await.unwrap_or_else(|| Err("it was dropped without an answer".to_owned()))
    }

    /// Has it answer a request.
    pub(crate) fn model(&self, call: ModelCall) {
        let answer = Answer::new(&self.0.link, call);
        self.0.link.post(Job::Model { agent: self.0.agent, callback: self.0.number, answer });
    }
}

impl Drop for Known {
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

    /// Keeps somebody who waits until there is an answer; gives the number.
    pub(crate) fn keep(&self, who: Waiting) -> u32 {
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

    /// Who waits under this number, to be answered.
    pub(crate) fn answered(&self, number: u32) -> Option<Waiting> {
        lock(&self.waiting).remove(&number)
    }

    /// The model call under this number, which goes on.
    pub(crate) fn model(&self, number: u32) -> Option<Arc<ModelCall>> {
        match lock(&self.waiting).get(&number) {
            Some(Waiting::Model(call)) => Some(Arc::clone(call)),
            _ => None,
        }
    }

    /// An answer of JavaScript's; nothing when it was let go of.
    async fn answer(&self, answer: oneshot::Receiver<Said>) -> Option<Said> {
        let gone = || Some(Err("its JavaScript environment is gone".to_owned()));
        tokio::select! {
            biased;
            () = self.closing.cancelled() => gone(),
            answer = answer => answer.ok(),
        }
    }

    /// Has a listener told of an event, and waits for it.
    pub(crate) async fn tell(&self, agent: u32, listener: u32, text: String) -> std::result::Result<(), String> {
        let (sender, heard) = oneshot::channel();
        let answer = self.keep(Waiting::Answer(sender));
        self.post(Job::Event { agent, listener, answer, text });
        self.answer(heard).await.unwrap_or(Ok(Value::Null)).map(drop)
    }

    /// The environment goes: nothing more is posted, and what waits for JavaScript fails.
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
            waiting: Mutex::default(),
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
        if let Some(Waiting::Answer(sender)) = self.link.answered(answer) {
            // Nobody waits any more when the run was given up.
            let _ = sender.send(error.map_or(Ok(Value::Null), Err));
        }
    }

    /// The environment is about to end.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.link.close();
    }
}
