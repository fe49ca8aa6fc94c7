//! Messages on their way into a run: steering and follow-up, queued with the agent or through a run.

use std::ffi::c_char;

use agent_loop::{Agent, Error, Prompt};

use super::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::borrow;
use crate::message::agent_messages_t;
use crate::run::agent_run_t;
use crate::text;

/// # Safety
/// As [`text::required`].
unsafe fn said(pointer: *const c_char, length: usize) -> Result<Prompt, Error> {
    // SAFETY: the caller's promise.
    Ok(unsafe { text::required(pointer, length, "text") }?.into())
}

/// # Safety
/// `messages` is a list or null.
unsafe fn listed(messages: *const agent_messages_t) -> Result<Prompt, Error> {
    // SAFETY: the caller's promise.
    Ok(unsafe { borrow(messages, "messages") }?.prompt())
}

/// Queues what a user says, for as soon as it can be said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_steer(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a handle or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.steer(said(text, length)?);
            Ok(AGENT_OK)
        })
    }
}

/// The same with messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_steer_messages(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.steer(listed(messages)?);
            Ok(AGENT_OK)
        })
    }
}

/// Queues, through a run, what a user says, for as soon as it can be said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_run_steer(
    run: *mut agent_run_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a handle or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(run, "run")?.run.steer(said(text, length)?)?;
            Ok(AGENT_OK)
        })
    }
}

/// The same with messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_run_steer_messages(
    run: *mut agent_run_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(run, "run")?.run.steer(listed(messages)?)?;
            Ok(AGENT_OK)
        })
    }
}

/// Queues what a user says, for when a run would have ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_follow_up(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a handle or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.follow_up(said(text, length)?);
            Ok(AGENT_OK)
        })
    }
}

/// The same with messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_follow_up_messages(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.follow_up(listed(messages)?);
            Ok(AGENT_OK)
        })
    }
}

/// Queues, through a run, what a user says, for when a run would have ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_run_follow_up(
    run: *mut agent_run_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a handle or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(run, "run")?.run.follow_up(said(text, length)?)?;
            Ok(AGENT_OK)
        })
    }
}

/// The same with messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_run_follow_up_messages(
    run: *mut agent_run_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(run, "run")?.run.follow_up(listed(messages)?)?;
            Ok(AGENT_OK)
        })
    }
}

/// Empties the steering queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_clear_steering_queue(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { clear(agent, error, Agent::clear_steering_queue) }
}

/// Empties the follow-up queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_clear_follow_up_queue(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { clear(agent, error, Agent::clear_follow_up_queue) }
}

/// Empties both queues.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_clear_all_queues(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { clear(agent, error, Agent::clear_all_queues) }
}

/// # Safety
/// `agent` is an agent or null, `error` is null or may be written.
unsafe fn clear(agent: *mut agent_t, error: *mut *mut agent_error_t, clear: impl FnOnce(&Agent)) -> agent_status_t {
    // SAFETY: the caller's promise.
    unsafe {
        guard(error, || {
            clear(&borrow(agent, "agent")?.agent);
            Ok(AGENT_OK)
        })
    }
}

/// Whether a message waits in either queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_has_queued_messages(agent: *const agent_t) -> bool {
    // SAFETY: an agent or NULL.
    guard::read(false, || Some(unsafe { agent.as_ref() }?.agent.has_queued_messages()))
}
