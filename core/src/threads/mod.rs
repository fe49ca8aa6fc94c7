//! The threads of a runtime: those that do its work, and those on which code of the host may block.

mod pool;
mod signals;
mod thread_options;
mod workers;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use pool::CURRENT;
pub(crate) use pool::Pool;
#[cfg(feature = "__bindings")]
pub(crate) use pool::enter_pool;
#[cfg(all(unix, any(feature = "mcp", all(feature = "tools", not(target_os = "linux")))))]
pub(crate) use signals::unblock_in;
#[cfg(any(feature = "__bindings", feature = "mcp"))]
pub(crate) use signals::{blocked, without_sigpipe};
pub(crate) use thread_options::ThreadOptions;
pub(crate) use workers::start_workers;
#[cfg(feature = "__bindings")]
pub(crate) use workers::{refused, start_without_workers};

use crate::error::{Error, ErrorKind, panic_message};

/// Runs a function on a thread that does the work of a pool's runtime meanwhile.
pub(crate) fn in_pool<T>(pool: &Arc<Pool>, function: impl FnOnce() -> T) -> T {
    struct Leave(Option<Arc<Pool>>);
    impl Drop for Leave {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _leave = Leave(CURRENT.replace(Some(Arc::clone(pool))));
    function()
}

/// The future, each step of which runs in a pool's runtime: on threads that are not the library's.
pub(crate) async fn enter<T>(pool: Arc<Pool>, future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| in_pool(&pool, || future.as_mut().poll(cx))).await
}

/// The future in the runtime of this thread: for tasks of their own.
pub(crate) fn inherit<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let pool = CURRENT.with_borrow(Clone::clone);
    async move {
        match pool {
            Some(pool) => enter(pool, future).await,
            None => future.await,
        }
    }
}

/// What gets a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// A tool: at most so many run as the runtime allows; a further one waits.
    Tool,
    /// Anything else.
    Other,
}

/// Runs code that may block on a thread of its own. On threads of a runtime only; after its end, the code is dropped.
///
/// # Errors
/// `io` when the system gives no thread.
pub fn spawn_blocking(what: Blocking, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let pool = CURRENT.with_borrow(Clone::clone);
    let started = match (pool, what) {
        (Some(pool), Blocking::Tool) => pool.spawn_tool(work),
        (Some(pool), Blocking::Other) => pool.spawn(work),
        // A task that an application's own tokio runtime runs for us. Its pool panics without a thread.
        (None, _) => catch_unwind(AssertUnwindSafe(|| drop(tokio::task::spawn_blocking(work))))
            .map_err(|payload| std::io::Error::other(panic_message(&*payload))),
    };
    started.map_err(|error| Error::new(ErrorKind::Io, format!("the system gives no thread: {error}")).with_source(error))
}

/// Hands a value to code that may block, on a thread of its own as [`spawn_blocking`] gives it; without a thread to `refused`.
pub fn hand_over<T: Send + 'static>(
    what: Blocking,
    value: T,
    work: impl FnOnce(T) + Send + 'static,
    refused: impl FnOnce(T, Error),
) {
    fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
        slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
    let slot = Arc::new(Mutex::new(Some(value)));
    let of_thread = Arc::clone(&slot);
    let work = move || {
        if let Some(value) = take(&of_thread) {
            work(value);
        }
    };
    if let Err(error) = spawn_blocking(what, work)
        && let Some(value) = take(&slot)
    {
        refused(value, error);
    }
}

/// Runs code that waits for files on a thread of its own: many runs share the runtime's.
///
/// # Errors
/// Those of the work; `io` when the system gives no thread; `invalid_state` when the runtime ends before it has begun.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    spawn_blocking(Blocking::Other, move || drop(sender.send(catch_unwind(AssertUnwindSafe(work)))))?;
    match receiver.await {
        Ok(Ok(result)) => result,
        Ok(Err(payload)) => std::panic::resume_unwind(payload),
        Err(_) => Err(Error::new(ErrorKind::InvalidState, "the runtime was shut down")),
    }
}

/// Runs code of the host with the signals that were blocked where the runtime was made: for hosts whose handlers may run on any
/// thread. Child processes that it starts have this mask, too, where they would have all signals blocked otherwise.
#[cfg(feature = "__bindings")]
pub fn with_host_signals<T>(work: impl FnOnce() -> T) -> T {
    match CURRENT.with_borrow(|pool| pool.as_ref().map(|pool| pool.host_mask())) {
        Some(mask) => mask.run(work),
        None => work(),
    }
}
