//! The process's runtime: made when the first agent is, shared by all environments (the main thread and workers), shut down
//! when the last of them goes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_loop::{Error, ErrorKind, Runtime};

#[derive(Default)]
struct Shared {
    environments: usize,
    runtime: Option<Runtime>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { environments: 0, runtime: None });

/// How long the end of the process may wait for runs, all of them aborted, to end.
const PATIENCE: Duration = Duration::from_millis(500);

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An environment begins.
pub(crate) fn enter() {
    shared().environments += 1;
}

/// An environment ends.
pub(crate) fn leave() {
    let mut shared = shared();
    shared.environments = shared.environments.saturating_sub(1);
    let last = if shared.environments == 0 { shared.runtime.take() } else { None };
    // Not under the lock: ending runs may take a moment.
    drop(shared);
    if let Some(runtime) = last {
        runtime.shutdown(PATIENCE);
    }
}

/// Where runs live.
///
/// # Errors
/// `invalid_state` when the process is about to end; `io` when the system gives no threads.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let mut shared = shared();
    if shared.environments == 0 {
        return Err(Error::new(ErrorKind::InvalidState, "the process is about to end; agents cannot be made any more"));
    }
    match &shared.runtime {
        Some(runtime) => Ok(runtime.clone()),
        None => Ok(shared.runtime.insert(Runtime::new()?).clone()),
    }
}
