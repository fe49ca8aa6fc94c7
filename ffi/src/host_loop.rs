//! A loop that the program steps.

use std::ffi::{c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_loop::host::{HostAction, HostLoop, Spelling};

use crate::error::{AGENT_DONE, AGENT_OK, AGENT_PENDING, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{borrow, borrow_mut, hand_out, output, take_back};
use crate::json::agent_json_t;
use crate::text::{self, agent_text_t};

/// A loop, with the action that C has borrowed.
pub struct agent_loop_t {
    run: Mutex<HostLoop>,
    action: agent_json_t,
    is_over: bool,
}

impl agent_loop_t {
    fn new(run: HostLoop) -> agent_loop_t {
        agent_loop_t { is_over: run.is_over(), run: Mutex::new(run), action: agent_json_t::default() }
    }

    /// Locked, so that a const handle may be given to several threads.
    fn run(&self) -> MutexGuard<'_, HostLoop> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a loop.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_new(
    options: *const c_char,
    length: usize,
    r#loop: *mut *mut agent_loop_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let out = output(r#loop, "loop")?;
            let options = text::object(options, length, "options")?;
            hand_out(out, agent_loop_t::new(HostLoop::new(options, Spelling::Snake)?));
            Ok(AGENT_OK)
        })
    }
}

/// The next thing to do.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_poll(
    r#loop: *mut agent_loop_t,
    now_ms: u64,
    action: *mut *const agent_json_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a loop or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let handle = borrow_mut(r#loop, "loop")?;
            let out = output(action, "action")?;
            let Some(next) = handle.run().poll(now_ms) else {
                return Ok(if handle.is_over { AGENT_DONE } else { AGENT_PENDING });
            };
            handle.is_over = matches!(next, HostAction::Done { .. });
            // All of its keys are texts.
            handle.action = serde_json::to_value(&next).unwrap_or_default().into();
            out.write(&raw const handle.action);
            Ok(AGENT_OK)
        })
    }
}

/// Takes in what happened.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_handle(
    r#loop: *mut agent_loop_t,
    input: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a loop or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let handle = borrow(r#loop, "loop")?;
            handle.run().handle(&text::json(input, length, "input")?, Spelling::Snake)?;
            Ok(AGENT_OK)
        })
    }
}

/// Takes in bytes of a response.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_model_bytes(
    r#loop: *mut agent_loop_t,
    call: u32,
    bytes: *const c_void,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a loop or NULL, so many bytes or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let handle = borrow(r#loop, "loop")?;
            let bytes = match length {
                0 => &[],
                _ => std::slice::from_raw_parts(borrow(bytes.cast::<u8>(), "bytes")?, length),
            };
            handle.run().model_bytes(call, bytes)?;
            Ok(AGENT_OK)
        })
    }
}

/// What is under way.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_open_actions(
    r#loop: *const agent_loop_t,
    actions: *mut *mut agent_json_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a loop or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let open = borrow(r#loop, "loop")?.run().open_actions();
            let out = output(actions, "actions")?;
            hand_out(out, agent_json_t::from(serde_json::to_value(&open).unwrap_or_default()));
            Ok(AGENT_OK)
        })
    }
}

/// The state as one text.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_save(
    r#loop: *const agent_loop_t,
    text: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a loop or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let handle = borrow(r#loop, "loop")?;
            let out = output(text, "text")?;
            hand_out(out, agent_text_t::new(handle.run().save()?));
            Ok(AGENT_OK)
        })
    }
}

/// Creates a loop as it was saved.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_load(
    text: *const c_char,
    length: usize,
    r#loop: *mut *mut agent_loop_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let out = output(r#loop, "loop")?;
            let text = text::required(text, length, "text")?;
            hand_out(out, agent_loop_t::new(HostLoop::load(text)?));
            Ok(AGENT_OK)
        })
    }
}

/// The conversation that the run has left.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_export(
    r#loop: *const agent_loop_t,
    text: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a loop or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let handle = borrow(r#loop, "loop")?;
            let out = output(text, "text")?;
            hand_out(out, agent_text_t::new(handle.run().export()?));
            Ok(AGENT_OK)
        })
    }
}

/// Releases a loop.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_loop_free(r#loop: *mut agent_loop_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(r#loop) }));
}
