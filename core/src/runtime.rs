//! Threads and connections. A [`Runtime`] owns them, can be shut down, and notices a fork; nothing in this library is global.

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cancel::CancelToken;
#[cfg(feature = "__bindings")]
use serde_json::{Map, Value};
#[cfg(feature = "__bindings")]
use tokio::runtime::EnterGuard;
use tokio::runtime::Handle;

#[cfg(feature = "__bindings")]
use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::{Error, ErrorKind};
use crate::model::http::Connections;
#[cfg(feature = "__bindings")]
use agent_loop_proto::table::options::{self, Type};

/// Where runs live: worker threads, timers, and connections that all agents of the runtime share. Cheap to clone.
///
/// ```
/// use agent_loop::{Agent, Runtime};
///
/// let runtime = Runtime::new()?;
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
/// let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;
/// let agent = Agent::builder(model).runtime(&runtime).build()?;
/// // From a program without async code.
/// assert_eq!(runtime.block_on(agent.prompt("Say hello."))?.text, "Hello.");
/// runtime.shutdown(std::time::Duration::from_secs(1));
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Runtime(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: Handle,
    owned: Mutex<Option<tokio::runtime::Runtime>>,
    connections: Arc<Connections>,
    pid: u32,
    /// Cancelled at shutdown; each run's token is a child.
    closing: CancelToken,
    active: Mutex<usize>,
    idle: Condvar,
}

impl Runtime {
    /// A runtime with a thread of its own for all runs and connections; tools that block get further ones.
    ///
    /// One is right for up to some thousand runs at once: a run and its connection stay together on it, where passing each
    /// chunk between threads would cost several times as much. [`Runtime::with_threads`] is for more.
    ///
    /// # Errors
    /// `io` when the system gives no threads.
    pub fn new() -> Result<Runtime, Error> {
        Runtime::with_threads(1)
    }

    /// A runtime with this many worker threads.
    ///
    /// # Errors
    /// `invalid_argument` for 0; `io` when the system gives no threads.
    pub fn with_threads(threads: usize) -> Result<Runtime, Error> {
        if threads == 0 {
            return Err(Error::invalid_argument("threads: a runtime needs at least 1"));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            // Tools that block have one each: far more than ever run at once, so that no tool waits for a place.
            .max_blocking_threads(4096)
            .thread_name("agent-loop")
            .enable_all()
            .build()
            .map_err(|e| Error::new(ErrorKind::Io, format!("the runtime's threads cannot be started: {e}")).with_source(e))?;
        Ok(Runtime::on(runtime.handle().clone(), Some(runtime)))
    }

    /// A runtime with options by name, as hosts of other languages have them: `threads`.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown name (with the nearest right one) or a wrong value; `io` as [`Runtime::new`].
    #[cfg(feature = "__bindings")]
    pub fn with_options(options: &Map<String, Value>, spelling: Spelling) -> Result<Runtime, Error> {
        const THREADS: &str = "threads";
        if let Some(name) = options.keys().find(|name| *name != THREADS) {
            return Err(unknown_name("option", name, std::iter::once(THREADS), spelling));
        }
        match options.get(THREADS) {
            None | Some(Value::Null) => Runtime::new(),
            Some(value) => Runtime::with_threads(options::read(value, THREADS, Type::Whole("a whole number of threads"), || 0)?),
        }
    }

    /// The tokio runtime that this code already runs in.
    ///
    /// # Errors
    /// `invalid_state` outside of one.
    pub fn current() -> Result<Runtime, Error> {
        let handle = Handle::try_current().map_err(|_| {
            Error::new(
                ErrorKind::InvalidState,
                "there is no tokio runtime here; call from async code, or give the agent a Runtime::new()",
            )
        })?;
        Ok(Runtime::on(handle, None))
    }

    fn on(handle: Handle, owned: Option<tokio::runtime::Runtime>) -> Runtime {
        Runtime(Arc::new(Inner {
            handle,
            owned: Mutex::new(owned),
            connections: Arc::default(),
            pid: std::process::id(),
            closing: CancelToken::new(),
            active: Mutex::new(0),
            idle: Condvar::new(),
        }))
    }

    /// Aborts all runs, waits for them until the time is over, and stops the threads. True when all runs ended in time.
    /// Blocks; a second call does nothing. Not from a thread of the runtime.
    pub fn shutdown(&self, timeout: Duration) -> bool {
        if self.is_forked() {
            return true;
        }
        self.0.closing.cancel();
        let active = self.0.active();
        let wait = self.0.idle.wait_timeout_while(active, timeout, |active| *active > 0);
        let (active, _) = wait.unwrap_or_else(PoisonError::into_inner);
        let ended = *active == 0;
        drop(active);
        if let Some(runtime) = self.0.take_owned() {
            // Tools that never return would keep a plain shutdown waiting.
            runtime.shutdown_timeout(if ended { timeout.min(Duration::from_millis(100)) } else { Duration::ZERO });
        }
        ended
    }

    /// Fails when runs cannot be started here any more.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_forked() {
            return Err(Error::new(
                ErrorKind::InvalidState,
                "this runtime was made before the process forked, and its threads are not in the child; make a new one",
            ));
        }
        if self.0.closing.is_cancelled() {
            return Err(Error::new(ErrorKind::InvalidState, "the runtime was shut down"));
        }
        Ok(())
    }

    /// Whether this thread is one of the runtime's, where waiting for its end would wait for itself.
    pub fn is_current(&self) -> bool {
        Handle::try_current().is_ok_and(|handle| handle.id() == self.0.handle.id())
    }

    /// Whether this is another process than the one that made the runtime.
    pub fn is_forked(&self) -> bool {
        std::process::id() != self.0.pid
    }

    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.0.connections
    }

    /// A token that shutdown cancels.
    pub(crate) fn token(&self) -> CancelToken {
        self.0.closing.child()
    }

    /// Runs a run; shutdown waits for it.
    pub(crate) fn spawn_run(&self, run: impl Future<Output = ()> + Send + 'static) {
        struct Active(Arc<Inner>);
        impl Drop for Active {
            fn drop(&mut self) {
                let mut active = self.0.active();
                *active -= 1;
                self.0.idle.notify_all();
            }
        }
        *self.0.active() += 1;
        let active = Active(Arc::clone(&self.0));
        self.0.handle.spawn(async move {
            // First in, last out: also when the task is dropped at shutdown.
            let _active = active;
            run.await;
        });
    }

    /// Runs a future to its end on this thread. Not from a thread of the runtime.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.handle.block_on(future)
    }

    /// Makes this the current runtime of the thread while the value lives: for hosts that poll this library's futures on an
    /// event loop of their own.
    #[cfg(feature = "__bindings")]
    pub fn enter(&self) -> RuntimeGuard<'_> {
        RuntimeGuard(self.0.handle.enter())
    }

    /// Runs a future on the runtime's threads.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.handle.spawn(future));
    }
}

/// A runtime that is the thread's current one while this lives; see [`Runtime::enter`].
#[cfg(feature = "__bindings")]
#[derive(Debug)]
#[must_use = "the runtime is the current one only while this lives"]
pub struct RuntimeGuard<'a>(#[allow(dead_code)] EnterGuard<'a>); // kept for its drop

impl Inner {
    fn active(&self) -> MutexGuard<'_, usize> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_owned(&self) -> Option<tokio::runtime::Runtime> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.take_owned() {
            if self.pid == std::process::id() {
                // A plain drop waits, and panics inside async code.
                runtime.shutdown_background();
            } else {
                // Its threads stayed in the parent: there is nothing to stop, and waiting for them would never end.
                std::mem::forget(runtime);
            }
        }
    }
}
