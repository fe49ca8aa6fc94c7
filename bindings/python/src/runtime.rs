//! The one runtime of the process, and the gate through which its threads reach Python.
//!
//! Threads of the runtime avoid Python where they can: they send jobs to a [`crate::job_queue`]. Those that must call Python
//! (tools that are plain functions) enter through the gate, which closes at interpreter exit: a thread that attached to Python
//! after that would be ended in the middle of Rust code.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_loop::host::with_host_signals;
use agent_loop::{Error, ErrorKind, Runtime};
use pyo3::prelude::*;

use crate::log;
use crate::session::close_open;

/// How long exit waits for aborted runs; longer than the default grace time of their tools.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

struct Default {
    runtime: Option<Runtime>,
    closed: bool,
}

static DEFAULT: Mutex<Default> = Mutex::new(Default { runtime: None, closed: false });

fn default() -> MutexGuard<'static, Default> {
    DEFAULT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime of this process, made at the first call; a forked child gets its own.
///
/// # Errors
/// `invalid_state` at interpreter exit; `io` when no threads can be started.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let mut default = default();
    if default.closed {
        return Err(Error::new(ErrorKind::InvalidState, "Python is exiting; a run can no longer be started"));
    }
    match &default.runtime {
        Some(runtime) if !runtime.is_forked() => Ok(runtime.clone()),
        _ => {
            let runtime = Runtime::new()?;
            runtime.set_log(log::level(false), Some(Arc::new(log::write)));
            Ok(default.runtime.insert(runtime).clone())
        }
    }
}

/// The runtime, if there is one.
pub(crate) fn existing() -> Option<Runtime> {
    default().runtime.clone().filter(|runtime| !runtime.is_forked())
}

/// At interpreter exit: aborts all runs, ends the threads, and waits for the tools that are inside Python.
#[pyfunction]
pub(crate) fn shutdown(py: Python<'_>) -> PyResult<()> {
    let runtime = {
        let mut default = default();
        default.closed = true;
        default.runtime.take()
    };
    if let Some(runtime) = runtime {
        py.detach(|| {
            close_open(&runtime);
            runtime.shutdown(EXIT_TIMEOUT);
        });
    }
    GATE.lock().closed = true;
    while !py.detach(|| GATE.wait_until_empty(Duration::from_millis(50))) {
        // Ctrl-C ends the wait for a tool that never returns.
        py.check_signals()?;
    }
    Ok(())
}

static GATE: Gate = Gate { state: Mutex::new(GateState { closed: false, inside: 0, pid: 0 }), left: Condvar::new() };

struct Gate {
    state: Mutex<GateState>,
    left: Condvar,
}

struct GateState {
    closed: bool,
    inside: usize,
    /// Whose threads are counted: those of the parent are not in a forked child.
    pid: u32,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = std::process::id();
        if state.pid != pid {
            state.pid = pid;
            state.inside = 0;
        }
        state
    }

    fn wait_until_empty(&self, most: Duration) -> bool {
        let wait = self.left.wait_timeout_while(self.lock(), most, |state| state.inside > 0);
        wait.unwrap_or_else(PoisonError::into_inner).0.inside == 0
    }
}

/// Calls a function with Python attached, from a thread of the runtime. `None` at interpreter exit.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    struct Inside;
    impl Drop for Inside {
        fn drop(&mut self) {
            let mut state = GATE.lock();
            state.inside = state.inside.saturating_sub(1);
            GATE.left.notify_all();
        }
    }
    let mut state = GATE.lock();
    if state.closed {
        return None;
    }
    state.inside += 1;
    drop(state);
    // Left only after Python was.
    let _inside = Inside;
    // Python's own handlers note a signal on any thread and run on the main one. Child processes have the mask of the thread that
    // starts them: with all signals blocked, neither Ctrl-C nor `terminate` would end them.
    with_host_signals(|| Python::try_attach(work))
}
