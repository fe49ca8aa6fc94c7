//! Threads and connections. A [`Runtime`] owns them, can be shut down, and notices a fork; nothing in this library is global.

pub(crate) mod builder;
mod foreign;
#[cfg(feature = "__bindings")]
mod scheduler;

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "__bindings")]
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
#[cfg(feature = "__bindings")]
use tokio::runtime::EnterGuard;
use tokio::runtime::Handle;

use crate::credentials::Access;
use crate::error::{Error, ErrorKind};
use crate::limiter::Limiters;
use crate::log::Log;
#[cfg(feature = "__bindings")]
use crate::log::{LogFunction, LogLevel};
#[cfg(feature = "mcp")]
use crate::mcp::SharedServers;
use crate::model::http::Connections;
#[cfg(feature = "__bindings")]
use crate::threads::in_pool;
use crate::threads::{self, Pool, ThreadOptions};
#[cfg(feature = "otlp")]
use crate::trace::otlp::exporter::{ExporterHost, Exporters};
#[cfg(feature = "otlp")]
use crate::trace::otlp::target::Target;
#[cfg(feature = "otlp")]
use crate::trace::sink::Sink;
#[cfg(feature = "__bindings")]
use scheduler::Scheduler;

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
    threads: Threads,
    /// Those on which code of the host may block.
    pool: Arc<Pool>,
    connections: Arc<Connections>,
    limiters: Limiters,
    #[cfg(feature = "otlp")]
    exporters: Exporters,
    #[cfg(feature = "mcp")]
    servers: SharedServers,
    log: Log,
    pid: u32,
    /// Cancelled at shutdown; each run's token is a child.
    closing: CancelToken,
    active: Mutex<usize>,
    idle: Condvar,
}

/// What the runtime runs on.
#[derive(Debug)]
enum Threads {
    /// Those of the application's tokio runtime.
    Foreign,
    Own(Mutex<Option<tokio::runtime::Runtime>>),
    /// One whose work is done by a thread that waits for the only run. If there are many runs, a second thread has those above
    /// [`FEW`]: tokio's scheduler for several threads passes what comes of a connection on to its run at once, and so takes less
    /// time and memory for each of a thousand.
    #[cfg(feature = "__bindings")]
    Borrowable {
        scheduler: Arc<Scheduler>,
        many: Mutex<Option<tokio::runtime::Runtime>>,
    },
}

/// How many runs such a thread has.
#[cfg(feature = "__bindings")]
const FEW: usize = 8;

impl Runtime {
    fn with_workers(threads: usize, pool: Arc<Pool>, stored: Access) -> Result<Runtime, Error> {
        let runtime = threads::start_workers(threads, &pool)?;
        Ok(Runtime::on(runtime.handle().clone(), Threads::Own(Mutex::new(Some(runtime))), pool, stored))
    }

    /// A runtime with a thread whose work may be done by one that would block: `drive`.
    #[cfg(feature = "__bindings")]
    fn borrowable(pool: Arc<Pool>, stored: Access) -> Result<Runtime, Error> {
        let runtime = threads::start_without_workers(&pool)?;
        let handle = runtime.handle().clone();
        let scheduler = Scheduler::start(runtime, &pool).map_err(threads::refused)?;
        Ok(Runtime::on(handle, Threads::Borrowable { scheduler, many: Mutex::default() }, pool, stored))
    }

    /// The tokio runtime that this code already runs in. It needs timers and IO: one that is built by hand is built with
    /// `enable_all()`.
    ///
    /// # Errors
    /// `invalid_state` outside of one, and in one without timers or IO.
    pub fn current() -> Result<Runtime, Error> {
        Ok(Runtime::on(foreign::current()?, Threads::Foreign, Pool::new(ThreadOptions::default()), Access::default()))
    }

    fn on(handle: Handle, threads: Threads, pool: Arc<Pool>, stored: Access) -> Runtime {
        pool.belongs_to(handle.clone());
        let log = Log::of_environment();
        Runtime(Arc::new(Inner {
            handle,
            threads,
            pool,
            connections: Arc::new(Connections::new(&log, stored)),
            limiters: Limiters::default(),
            #[cfg(feature = "otlp")]
            exporters: Exporters::default(),
            #[cfg(feature = "mcp")]
            servers: SharedServers::default(),
            log,
            pid: std::process::id(),
            closing: CancelToken::new(),
            active: Mutex::new(0),
            idle: Condvar::new(),
        }))
    }

    /// Aborts all runs, waits for them until the time is over, and stops the threads. True when all runs ended in time.
    /// Blocks, also in async code; a second call does nothing. On a thread of the runtime, where its runs cannot go on meanwhile,
    /// it waits in vain: only a timeout of zero makes sense there.
    pub fn shutdown(&self, timeout: Duration) -> bool {
        if self.is_forked() {
            return true;
        }
        let began = Instant::now();
        self.0.closing.cancel();
        self.0.reclaim();
        let active = self.0.active();
        let wait = self.0.idle.wait_timeout_while(active, timeout, |active| *active > 0);
        let (active, _) = wait.unwrap_or_else(PoisonError::into_inner);
        let ended = *active == 0;
        drop(active);
        #[cfg(feature = "otlp")]
        self.flush_traces(timeout.saturating_sub(began.elapsed()));
        self.0.log.flush(timeout.saturating_sub(began.elapsed()));
        // Tools that never return would keep a plain shutdown waiting.
        let grace = if ended { timeout.min(Duration::from_millis(100)) } else { Duration::ZERO };
        self.0.pool.close(grace);
        if let Some(runtime) = self.0.take_owned() {
            // In async code, of any runtime, tokio panics where it would wait.
            match Handle::try_current() {
                Ok(_) => runtime.shutdown_background(),
                Err(_) => runtime.shutdown_timeout(grace),
            }
        }
        #[cfg(feature = "__bindings")]
        if let Threads::Borrowable { scheduler, .. } = &self.0.threads {
            scheduler.stop(grace);
            scheduler.wait_for_end(grace);
        }
        ended
    }

    /// Fails when runs cannot be started here any more.
    ///
    /// # Errors
    /// `invalid_state` after shutdown, and in a process that was forked.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), Error> {
        if self.is_forked() {
            return Err(Error::new(
                ErrorKind::InvalidState,
                "this runtime was made before the process forked, and its threads are not in the child; make a new one",
            ));
        }
        if self.0.closing.is_cancelled() {
            let text = "the runtime was shut down and starts no more runs; make a new one with new agents, or shut it down later";
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        Ok(())
    }

    /// Whether this thread is one of the runtime's, where waiting for its end would wait for itself.
    pub fn is_current(&self) -> bool {
        Handle::try_current().is_ok_and(|handle| {
            handle.id() == self.0.handle.id() || self.0.owned().is_some_and(|owned| handle.id() == owned.id())
        })
    }

    /// Whether this is another process than the one that made the runtime.
    #[doc(hidden)]
    pub fn is_forked(&self) -> bool {
        std::process::id() != self.0.pid
    }

    /// Sets the function that gets the log records up to a level, or removes it. The one before gets the records that wait for
    /// it. Shutdown waits until all have been taken.
    #[cfg(feature = "__bindings")]
    pub fn set_log(&self, level: LogLevel, function: Option<LogFunction>) {
        self.0.log.set(level, function, &self.0.pool);
    }

    pub(crate) fn log(&self) -> &Log {
        &self.0.log
    }

    /// The MCP servers that its agents share.
    #[cfg(feature = "mcp")]
    pub(crate) fn servers(&self) -> &SharedServers {
        &self.0.servers
    }

    pub(crate) fn limiters(&self) -> &Limiters {
        &self.0.limiters
    }

    /// What sends spans to a collector.
    ///
    /// # Errors
    /// `invalid_argument`: what the environment says of it cannot be used.
    #[cfg(feature = "otlp")]
    pub(crate) fn exporter(&self, target: &Target) -> Result<Sink, Error> {
        let Inner { connections, log, closing, exporters, .. } = &*self.0;
        exporters.sink(target, &ExporterHost { connections, log, closing, spawn: &|future| self.spawn(future) })
    }

    /// Sends the spans that wait, and waits for that, at most so long.
    #[cfg(feature = "otlp")]
    pub(crate) fn flush_traces(&self, timeout: Duration) {
        self.0.exporters.flush(timeout);
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
        let before = {
            let mut active = self.0.active();
            *active += 1;
            *active - 1
        };
        let active = Active(Arc::clone(&self.0));
        let run = async move {
            // First in, last out: also when the task is dropped at shutdown.
            let _active = active;
            run.await;
        };
        match &self.0.threads {
            // The application's threads are in no pool.
            Threads::Foreign => drop(self.0.handle.spawn(threads::enter(Arc::clone(&self.0.pool), run))),
            _ => drop(self.0.handle_of_another(before).spawn(run)),
        }
    }

    /// Runs a future to its end on this thread. Not from a thread of the runtime.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.handle.block_on(future)
    }

    /// A pause by this runtime's timers, whoever polls it.
    #[cfg(feature = "ui")]
    pub(crate) fn sleep(&self, pause: Duration) -> std::pin::Pin<Box<tokio::time::Sleep>> {
        let _entered = self.0.handle.enter();
        Box::pin(tokio::time::sleep(pause))
    }

    /// Makes this the current runtime of the thread while the value lives: for hosts that poll this library's futures on an
    /// event loop of their own.
    #[cfg(feature = "__bindings")]
    pub fn enter(&self) -> RuntimeGuard<'_> {
        RuntimeGuard(self.0.handle.enter())
    }

    /// Does something that does not wait on this thread, as on one of the runtime: what it starts that may block gets a thread as
    /// it would there.
    #[cfg(feature = "__bindings")]
    pub fn run_here<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.enter();
        in_pool(&self.0.pool, work)
    }

    /// Does the work of the runtime's thread on this one until the condition is met or the deadline has passed, or until it is
    /// needed elsewhere; returns at once where that is not possible. The condition keeps the waker while it is not met. For
    /// threads that would block meanwhile, and wait for a run of this runtime.
    #[cfg(feature = "__bindings")]
    pub(crate) fn drive(&self, deadline: Option<Instant>, condition: impl FnMut(&mut Context<'_>) -> Poll<()>) {
        if let Threads::Borrowable { scheduler, .. } = &self.0.threads
            // A callback: the run may be waiting for it.
            && Handle::try_current().is_err()
            && !self.is_forked()
        {
            let is_alone = || *self.0.active() == 1;
            in_pool(&self.0.pool, || scheduler.drive(deadline, is_alone, condition));
        }
    }

    /// Has the runtime's thread do its work again, which one that waits for a run may have done instead: for a thread that is
    /// about to wait for something else.
    #[cfg(feature = "__bindings")]
    pub fn reclaim(&self) {
        self.0.reclaim();
    }

    /// Runs a future on the runtime's threads.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.handle.spawn(future));
        self.0.reclaim();
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

    /// A borrowed scheduler is the runtime's thread's again, unless it is in use at this moment.
    fn reclaim(&self) {
        #[cfg(feature = "__bindings")]
        if let Threads::Borrowable { scheduler, .. } = &self.threads {
            scheduler.reclaim();
        }
    }

    /// Where a run lives that begins beside this many.
    #[cfg_attr(not(feature = "__bindings"), allow(unused_variables))]
    fn handle_of_another(&self, active: usize) -> Handle {
        self.reclaim();
        #[cfg(feature = "__bindings")]
        if let Threads::Borrowable { many, .. } = &self.threads
            && active >= FEW
            && !self.closing.is_cancelled()
        {
            let mut many = many.lock().unwrap_or_else(PoisonError::into_inner);
            if many.is_none() {
                // Without a second thread, the first has all.
                *many = threads::start_workers(1, &self.pool).ok();
            }
            if let Some(many) = &*many {
                return many.handle().clone();
            }
        }
        self.handle.clone()
    }

    fn of_tokio(&self) -> Option<MutexGuard<'_, Option<tokio::runtime::Runtime>>> {
        let runtime = match &self.threads {
            Threads::Foreign => return None,
            Threads::Own(runtime) => runtime,
            #[cfg(feature = "__bindings")]
            Threads::Borrowable { many, .. } => many,
        };
        Some(runtime.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn owned(&self) -> Option<Handle> {
        Some(self.of_tokio()?.as_ref()?.handle().clone())
    }

    fn take_owned(&self) -> Option<tokio::runtime::Runtime> {
        self.of_tokio()?.take()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let is_forked = self.pid != std::process::id();
        if is_forked {
            // Its lock may be held, and its threads are not here.
            std::mem::forget(Arc::clone(&self.pool));
        } else {
            self.pool.close(Duration::ZERO);
        }
        #[cfg(feature = "__bindings")]
        if let Threads::Borrowable { scheduler, .. } = &self.threads
            && !is_forked
        {
            scheduler.stop(Duration::ZERO);
        }
        if let Some(runtime) = self.take_owned() {
            if is_forked {
                // Its threads stayed in the parent: there is nothing to stop, and waiting for them would never end.
                std::mem::forget(runtime);
            } else {
                // A plain drop waits, and panics inside async code.
                runtime.shutdown_background();
            }
        }
    }
}
