//! The runtime of the process: created with the first agent, shared by all environments (the main thread and workers), shut down
//! when the last of them ends.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_loop::{Error, ErrorKind, Runtime};

use crate::log;
use crate::session::close_open;

#[derive(Default)]
struct Shared {
    environments: usize,
    runtime: Option<Runtime>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { environments: 0, runtime: None });

/// How long the shutdown waits for runs, all of them aborted, to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts an environment that begins.
pub(crate) fn enter() {
    shared().environments += 1;
}

/// Counts an environment that ends; the last one shuts the runtime down.
pub(crate) fn leave() {
    let mut shared = shared();
    shared.environments = shared.environments.saturating_sub(1);
    let last = if shared.environments == 0 { shared.runtime.take() } else { None };
    // Not under the lock: ending runs takes time.
    drop(shared);
    if let Some(runtime) = last {
        close_open(&runtime);
        runtime.shutdown(SHUTDOWN_TIMEOUT);
    }
}

/// The runtime, if there is one.
pub(crate) fn existing() -> Option<Runtime> {
    shared().runtime.clone()
}

/// The runtime, created on first use.
///
/// # Errors
/// `invalid_state` if the process is exiting; `io` if no thread can be created.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let mut shared = shared();
    if shared.environments == 0 {
        return Err(Error::new(ErrorKind::InvalidState, "the process is exiting; no agent can be created"));
    }
    match &shared.runtime {
        Some(runtime) => Ok(runtime.clone()),
        None => {
            let runtime = Runtime::new()?;
            log::set_of_runtime(&runtime);
            Ok(shared.runtime.insert(runtime).clone())
        }
    }
}
