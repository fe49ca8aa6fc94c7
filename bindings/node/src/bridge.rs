//! The job queue of one JavaScript environment. Threads post jobs; one weak wakeup per batch has `lib/bridge.ts` take them on the
//! environment's thread. Nothing here keeps the process alive, except between `hold` and `release`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use agent_loop::host::{HostAnswer, HostCall, HostFunction, JobQueue, LogLevel, LogRecord};
use agent_loop::{CancelToken, Error};
use napi::Env;
use napi::bindgen_prelude::{Function, sys};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

use crate::call::Call;
use crate::error::{self, Result, Thrown};
use crate::pieces::{self, Pieces};
use crate::{camel_case, log, runtime};

/// A job for JavaScript.
#[napi(object_from_js = false, discriminant = "kind")]
#[allow(clippy::large_enum_variant)] // A call becomes an object of JavaScript, which a boxed one cannot.
pub enum Job {
    /// The request with this ticket is complete.
    Settled {
        /// The number of the request.
        ticket: u32,
        /// Its result, if it has one.
        text: Option<String>,
        /// The rest of a result that is long; see `pieces`.
        pieces: Option<Vec<String>>,
        /// The number of what was thrown, if the result is a failure that it has led to.
        cause: Option<u32>,
    },
    /// A tool, a hook, a middleware or a custom provider is called.
    Call {
        /// The agent's number.
        agent: u32,
        /// The callback's number.
        callback: u32,
        /// The call to respond to.
        call: Call,
    },
    /// Native code does not reference a callback any more.
    Gone {
        /// The agent's number.
        agent: u32,
        /// The callback's number.
        callback: u32,
    },
    /// No native error has a thrown value as its source any more.
    Forget {
        /// The agent's number.
        agent: u32,
        /// The value's number.
        cause: u32,
    },
    /// A log record is given to the function for them.
    Log {
        /// The number of the agent whose run it is about.
        agent: Option<u32>,
        /// The record, as JSON.
        text: String,
        /// The number of what was thrown, if it has an error that this has led to.
        cause: Option<u32>,
    },
    /// What is recorded of a run for OpenTelemetry is given to who makes spans.
    Traces {
        /// The number of the run in JavaScript.
        run: u32,
        /// The records, as JSON.
        text: String,
    },
    /// A listener is called with an event. It has a number and not an object: there are many events.
    Event {
        /// The agent's number.
        agent: u32,
        /// The listener's number.
        listener: u32,
        /// To be passed to `listenerReturned`.
        answer: u32,
        /// The event, as JSON.
        text: String,
        /// The rest of an event that is long; see `pieces`.
        pieces: Option<Vec<String>>,
    },
}

/// The most jobs of one wakeup.
const BATCH: usize = 32;

/// The error of a call whose environment has ended.
const CLOSED: &str = "its JavaScript environment is gone";

type Pump = ThreadsafeFunction<(), (), (), napi::Status, false, true, 0>;

/// `None` once the environment is gone.
struct Wakeup(RwLock<Option<Pump>>);

impl agent_loop::host::Wakeup for Wakeup {
    fn wake(&self) -> bool {
        if let Some(pump) = &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            // A failure means that the environment is closing: nothing is awaited any more.
            pump.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
        true
    }

    fn closed(&self) {
        let pump = self.0.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(pump);
    }
}

/// The state that all native objects of an environment share.
pub(crate) struct Link {
    queue: JobQueue<Job, Wakeup>,
    next: AtomicU32,
    /// The last level of the log records that JavaScript wants; 0 for none.
    log_level: AtomicU8,
    /// The listeners that are being called, with their agents' numbers.
    listening: Mutex<HashMap<u32, (u32, HostCall)>>,
}

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

    /// The callback as the engine calls it.
    pub(crate) fn function(self) -> HostFunction {
        Arc::new(move |call| {
            let Target { link, agent, number } = &*self.0;
            link.queue.call(call.failing_with("it was dropped without an answer"), |call| Job::Call {
                agent: *agent,
                callback: *number,
                call: Call::new(link, *agent, call),
            });
        })
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.link.queue.push(Job::Gone { agent: self.agent, callback: self.number });
    }
}

impl Link {
    pub(crate) fn settle(&self, ticket: u32, text: Option<String>) {
        self.queue.push(Job::Settled { ticket, text, pieces: None, cause: None });
    }

    /// `error` is what the result has of one. It must live until this has returned: JavaScript then finds what was thrown.
    pub(crate) fn settle_with(&self, ticket: u32, result: Pieces, error: Option<&Error>) {
        let cause = error.and_then(error::cause);
        self.queue.push(Job::Settled { ticket, text: Some(result.head), pieces: result.rest, cause });
    }

    /// No native error has this value as its source any more.
    pub(crate) fn forget_cause(&self, agent: u32, cause: u32) {
        self.queue.push(Job::Forget { agent, cause });
    }

    /// Cancelled when the environment goes.
    pub(crate) fn closing(&self) -> &CancelToken {
        self.queue.closing()
    }

    pub(crate) fn set_log_level(&self, level: Option<LogLevel>) {
        self.log_level.store(level.map_or(0, |level| level as u8), Ordering::Release);
    }

    /// The last level of the log records that JavaScript wants.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        let number = self.log_level.load(Ordering::Acquire);
        LogLevel::ALL.iter().copied().find(|level| *level as u8 == number)
    }

    /// Gives a log record to JavaScript, of an agent's run or of none. The record must live until this has returned: JavaScript
    /// then finds what was thrown.
    pub(crate) fn log(&self, agent: Option<u32>, record: &LogRecord) {
        // One that is too long for a string has nothing but that to say.
        if let Some(text) = pieces::fitting(camel_case::to_json(record)) {
            let cause = record.error.as_ref().and_then(error::cause);
            self.queue.push(Job::Log { agent, text, cause });
        }
    }

    /// Gives what is recorded of a run to JavaScript.
    pub(crate) fn trace(&self, run: u32, text: String) {
        // One that is too long for a string is lost: content was asked for.
        if let Some(text) = pieces::fitting(text) {
            self.queue.push(Job::Traces { run, text });
        }
    }

    /// A listener of an agent as the engine calls it.
    pub(crate) fn listener(self: Arc<Link>, agent: u32, listener: u32) -> HostFunction {
        Arc::new(move |call| {
            let event = call.take_event().map(|event| pieces::event(&event));
            let Pieces { head: text, rest: pieces } = event.unwrap_or_else(|| Pieces::of(String::new()));
            let answer = self.next.fetch_add(1, Ordering::Relaxed);
            self.queue.call(call, |call| {
                self.listening.lock().unwrap_or_else(PoisonError::into_inner).insert(answer, (agent, call));
                Job::Event { agent, listener, answer, text, pieces }
            });
        })
    }

    fn returned(&self, answer: u32) -> Option<(u32, HostCall)> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner).remove(&answer)
    }

    /// Closes the queue: no more jobs are posted, and what awaits JavaScript fails.
    fn close(&self) {
        if self.closing().is_cancelled() {
            return;
        }
        self.queue.close();
        let listening = std::mem::take(&mut *self.listening.lock().unwrap_or_else(PoisonError::into_inner));
        drop(listening);
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
        let pump = pump.build_threadsafe_function::<()>().callee_handled::<false>().weak::<true>().build()?;
        let queue = JobQueue::new(Wakeup(RwLock::new(Some(pump))), CLOSED);
        let link = Arc::new(Link { queue, next: AtomicU32::new(0), log_level: AtomicU8::new(0), listening: Mutex::default() });
        runtime::enter();
        // However the environment ends (a worker's `terminate` included), its runs end with it.
        env.add_env_cleanup_hook(Arc::clone(&link), |link| link.close())?;
        Ok(Bridge { link })
    }

    /// Takes the oldest jobs. If there are more, another wakeup follows: in between, JavaScript finishes the work of these, so
    /// that the garbage of thousands of runs is not alive at the same time.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<Job> {
        self.link.queue.take(BATCH)
    }

    /// From now on the process stays alive.
    #[napi(catch_unwind)]
    pub fn hold(&self, env: &Env) {
        self.with_pump(|pump| {
            // SAFETY: the function exists as long as `pump` does, and this is its environment's thread.
            unsafe { sys::napi_ref_threadsafe_function(env.raw(), pump) };
        });
    }

    /// From now on the process may end.
    #[napi(catch_unwind)]
    pub fn release(&self, env: &Env) {
        self.with_pump(|pump| {
            // SAFETY: as in `hold`.
            unsafe { sys::napi_unref_threadsafe_function(env.raw(), pump) };
        });
    }

    fn with_pump(&self, function: impl FnOnce(sys::napi_threadsafe_function)) {
        if let Some(pump) = &*self.link.queue.wakeup().0.read().unwrap_or_else(PoisonError::into_inner) {
            function(pump.raw());
        }
    }

    /// Sets the last level of the log records that are given to JavaScript; without one there are none.
    #[napi(catch_unwind)]
    pub fn set_log(&self, level: Option<String>) {
        log::listen(&self.link, level.and_then(|level| log::level(&level)), runtime::existing().as_ref());
    }

    /// A listener has returned; `error` when it failed, with the number of what it has thrown.
    #[napi(catch_unwind)]
    pub fn listener_returned(&self, answer: u32, error: Option<String>, cause: Option<u32>) {
        if let Some((agent, call)) = self.link.returned(answer) {
            // Nothing has answered it.
            let _ = match (error, cause) {
                (Some(error), Some(cause)) => {
                    let source = Thrown::new(&self.link, agent, cause, &error);
                    call.fail_from(error, source)
                }
                (Some(error), None) => call.fail(error),
                (None, _) => call.respond(HostAnswer::Nothing),
            };
        }
    }

    /// Closes the queue: the environment is about to end.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.link.close();
    }
}
