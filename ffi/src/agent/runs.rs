//! An agent's runs: started, aborted, waited for.

use std::ffi::c_char;

use agent_loop::{Agent, Error, Prompt};

use super::agent_t;
use crate::error::{AGENT_OK, AGENT_PENDING, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, hand_out};
use crate::message::agent_messages_t;
use crate::run::agent_run_t;
use crate::runtime::limit;
use crate::text;
use crate::wait::wait_for;

/// Starts a run with a user message.
#[unsafe(no_mangle)]
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
            start(&agent.agent, Some(text::required(text, length, "text")?.into()), run)
        })
    }
}

/// Starts a run with messages.
#[unsafe(no_mangle)]
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
            start(&agent.agent, Some(borrow(messages, "messages")?.prompt()), run)
        })
    }
}

/// Goes on from the transcript as it stands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_resume(
    agent: *mut agent_t,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe { guard(error, || start(&borrow(agent, "agent")?.agent, None, run)) }
}

/// Starts a run, or goes on without a prompt: with a queue when somebody will pull, else for listeners alone.
///
/// # Safety
/// `run` is null or may be written.
unsafe fn start(agent: &Agent, prompt: Option<Prompt>, run: *mut *mut agent_run_t) -> Result<agent_status_t, Error> {
    if run.is_null() {
        match prompt {
            Some(prompt) => agent.start_quiet(prompt)?.detach(),
            None => agent.resume_quiet()?.detach(),
        }
    } else {
        let started = match prompt {
            Some(prompt) => agent.stream(prompt)?,
            None => agent.stream_resume()?,
        };
        // SAFETY: not null, so the caller says that it may be written.
        unsafe { hand_out(run, agent_run_t::new(started)) };
    }
    Ok(AGENT_OK)
}

/// Aborts the active run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_abort(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.abort();
            Ok(AGENT_OK)
        })
    }
}

/// Waits until no run is active.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_wait_for_idle(
    agent: *const agent_t,
    timeout_ms: i64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            wait_for(agent.wait_for_idle(), limit(timeout_ms)).map_or(Ok(AGENT_PENDING), |idle| idle.map(|()| AGENT_OK))
        })
    }
}
