//! An agent's runs: start, resume, abort, wait.

use std::ffi::c_char;

use agent_loop::host::Spelling;
use agent_loop::suspension::Decision;
use agent_loop::{Error, PendingRun};

use super::agent_t;
use crate::block_on::block_on;
use crate::error::{AGENT_DONE, AGENT_OK, AGENT_PENDING, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, hand_out};
use crate::message::agent_messages_t;
use crate::run::agent_run_t;
use crate::runtime::limit;
use crate::text;

/// Starts a run with a user message.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_prompt(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            start(agent.agent.prompt(text::prose(text, length, "text")?), run)
        })
    }
}

/// Starts a run with messages.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_prompt_messages(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            start(agent.agent.prompt(borrow(messages, "messages")?.prompt()), run)
        })
    }
}

/// Starts a run with messages and options of its own.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_prompt_options(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    options: *const c_char,
    length: usize,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            let options = text::object(options, length, "options")?;
            let pending = agent.agent.prompt(borrow(messages, "messages")?.prompt());
            start(pending.options(&options, Spelling::Snake, &[]), run)
        })
    }
}

/// Starts a run from the current transcript.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_resume(
    agent: *mut agent_t,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe { guard(error, || start(borrow(agent, "agent")?.agent.resume(), run)) }
}

/// With what is decided about the calls that wait.
///
/// # Safety
/// The decisions are text or NULL.
unsafe fn decided(pending: PendingRun, decisions: *const c_char, length: usize) -> Result<PendingRun, Error> {
    // SAFETY: as above.
    let decisions = unsafe { text::json(decisions, length, "decisions")? };
    Ok(pending.decisions(Decision::all_from_json(decisions)?))
}

/// Starts a run with the calls that wait, as it is decided about each.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_resume_decided(
    agent: *mut agent_t,
    decisions: *const c_char,
    length: usize,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let pending = borrow(agent, "agent")?.agent.resume();
            start(decided(pending, decisions, length)?, run)
        })
    }
}

/// Starts a run from the current transcript, with options of its own.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_resume_options(
    agent: *mut agent_t,
    decisions: *const c_char,
    decisions_length: usize,
    options: *const c_char,
    length: usize,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, texts or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let mut pending = borrow(agent, "agent")?.agent.resume();
            if !decisions.is_null() {
                pending = decided(pending, decisions, decisions_length)?;
            }
            let options = text::object(options, length, "options")?;
            start(pending.options(&options, Spelling::Snake, &[]), run)
        })
    }
}

/// Starts a run if a message waits.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_resume_if_queued(
    agent: *mut agent_t,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || match borrow(agent, "agent")?.agent.resume_if_queued() {
            Some(pending) => start(pending, run),
            None => Ok(AGENT_DONE),
        })
    }
}

/// Starts a run: with a queue if the caller takes the handle, otherwise for listeners alone.
///
/// # Safety
/// `run` is null or may be written.
pub(crate) unsafe fn start(pending: PendingRun, run: *mut *mut agent_run_t) -> Result<agent_status_t, Error> {
    if run.is_null() {
        pending.start()?.detach();
    } else {
        // SAFETY: not null, so it may be written, by the caller's promise.
        unsafe { hand_out(run, agent_run_t::new(pending.stream()?)) };
    }
    Ok(AGENT_OK)
}

/// Ends the active run after its current turn.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_stop_after_turn(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.stop_after_turn();
            Ok(AGENT_OK)
        })
    }
}

/// Aborts the active run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_abort(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.abort();
            Ok(AGENT_OK)
        })
    }
}

/// Blocks until no run is active.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_wait_for_idle(
    agent: *const agent_t,
    timeout_ms: i64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            block_on(agent.wait_for_idle(), limit(timeout_ms)).map_or(Ok(AGENT_PENDING), |idle| idle.map(|()| AGENT_OK))
        })
    }
}
