//! Starts the threads that do a runtime's work. tokio panics when the system gives no thread for the first of them, and never
//! starts a further one, for which its runtime then waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::pool::{Pool, enter_pool};
use super::signals;
use crate::error::{Error, ErrorKind, panic_message};

/// How long workers that the system did give may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// A count, and who waits for it.
#[derive(Default)]
struct Count(Mutex<usize>, Condvar);

/// A tokio runtime with so many worker threads.
///
/// # Errors
/// `io` when the system gives fewer.
pub(crate) fn start_workers(threads: usize, pool: &Arc<Pool>) -> Result<Runtime, Error> {
    probe(threads, pool).map_err(refused)?;
    let started = Arc::<Count>::default();
    let (of_worker, weak) = (Arc::clone(&started), Arc::downgrade(pool));
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).on_thread_start(move || {
        // Those that tokio starts later are started by these, and blocked as they are.
        signals::block();
        if let Some(pool) = weak.upgrade() {
            enter_pool(&pool);
        }
        *of_worker.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        of_worker.1.notify_all();
    });
    let options = pool.options();
    builder.thread_name(options.thread_name.clone()).thread_stack_size(options.stack_bytes).enable_all();
    // What the probe found may be gone meanwhile.
    let built = catch_unwind(AssertUnwindSafe(|| signals::blocked(|| builder.build())));
    let runtime = match built {
        Ok(built) => built.map_err(refused)?,
        Err(payload) => return Err(refused(std::io::Error::other(panic_message(&*payload)))),
    };
    let count = started.0.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = started.1.wait_timeout_while(count, START_TIMEOUT, |count| *count < threads);
    let count = *wait.unwrap_or_else(PoisonError::into_inner).0;
    if count < threads {
        runtime.shutdown_background();
        return Err(refused(std::io::Error::other(format!("{count} of {threads} could be started"))));
    }
    Ok(runtime)
}

/// A tokio runtime whose work is done by who calls its `block_on`.
///
/// # Errors
/// `io` when the system refuses the descriptors.
#[cfg(feature = "__bindings")]
pub(crate) fn start_without_workers(pool: &Arc<Pool>) -> Result<Runtime, Error> {
    let options = pool.options();
    let mut builder = Builder::new_current_thread();
    builder.thread_name(options.thread_name.clone()).thread_stack_size(options.stack_bytes).enable_all();
    builder.on_thread_start(signals::block).build().map_err(refused)
}

/// Whether the system gives so many threads: starts them, all at the same time, and ends them.
fn probe(threads: usize, pool: &Pool) -> std::io::Result<()> {
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut started, mut result) = (Vec::new(), Ok(()));
    while result.is_ok() && started.len() < threads {
        let gate = Arc::clone(&gate);
        let builder = std::thread::Builder::new().name(pool.options().thread_name.clone());
        let builder = builder.stack_size(pool.options().stack_bytes);
        match signals::blocked(|| builder.spawn(move || drop(gate.lock()))) {
            Ok(thread) => started.push(thread),
            Err(error) => result = Err(error),
        }
    }
    drop(closed);
    for thread in started {
        let _ = thread.join();
    }
    result
}

/// The error of a runtime that cannot be started.
pub(crate) fn refused(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the runtime's threads cannot be started: {error}")).with_source(error)
}
