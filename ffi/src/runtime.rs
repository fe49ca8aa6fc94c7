//! Runtimes: threads and connections, created and shut down by the program.

use std::ffi::c_char;
use std::time::Duration;

use agent_loop::host::Spelling;
use agent_loop::{Error, ErrorKind, Runtime};
use serde_json::Map;

use crate::error::{AGENT_OK, AGENT_PENDING, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{borrow, hand_out, output, take_back};
use crate::text;

/// Threads and connections.
pub struct agent_runtime_t {
    pub(crate) runtime: Runtime,
}

/// A time in milliseconds; negative is without limit.
pub(crate) fn limit(timeout_ms: i64) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

/// Creates a runtime.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_runtime_new(
    options: *const c_char,
    length: usize,
    runtime: *mut *mut agent_runtime_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let out = output(runtime, "runtime")?;
            let options = if options.is_null() { Map::new() } else { text::object(options, length, "options")? };
            let runtime = Runtime::with_options(&options, Spelling::Snake)?;
            hand_out(out, agent_runtime_t { runtime });
            Ok(AGENT_OK)
        })
    }
}

/// Aborts all runs, waits for them, and stops the threads.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_runtime_shutdown(
    runtime: *mut agent_runtime_t,
    timeout_ms: i64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a runtime or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let runtime = &borrow(runtime, "runtime")?.runtime;
            if runtime.is_current() {
                let text = "agent_runtime_shutdown inside a callback of the runtime would deadlock; call it on another thread";
                return Err(Error::new(ErrorKind::InvalidState, text));
            }
            let ended = runtime.shutdown(limit(timeout_ms).unwrap_or(Duration::MAX));
            Ok(if ended { AGENT_OK } else { AGENT_PENDING })
        })
    }
}

/// Releases a runtime.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_runtime_free(runtime: *mut agent_runtime_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(runtime) }));
}
