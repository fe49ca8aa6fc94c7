//! Queued messages: steering and follow-up, through the agent or through a run.

use std::ffi::c_char;

use agent_loop::{Agent, Delivery, Error, Prompt};

use super::agent_t;
use crate::error::{AGENT_OK, AGENT_QUEUED, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::borrow;
use crate::message::agent_messages_t;
use crate::run::agent_run_t;
use crate::text;

/// # Safety
/// As [`text::required`].
unsafe fn text_prompt(pointer: *const c_char, length: usize) -> Result<Prompt, Error> {
    // SAFETY: the caller's promise.
    Ok(unsafe { text::prose(pointer, length, "text") }?.into())
}

/// # Safety
/// `messages` is a list or null.
unsafe fn list_prompt(messages: *const agent_messages_t) -> Result<Prompt, Error> {
    // SAFETY: the caller's promise.
    Ok(unsafe { borrow(messages, "messages") }?.prompt())
}

/// What a message that was queued came to.
fn status_of(delivery: Delivery) -> agent_status_t {
    match delivery {
        Delivery::Joined => AGENT_OK,
        Delivery::Queued => AGENT_QUEUED,
    }
}

/// Queues a user message as steering.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_steer(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a handle or NULL, text or NULL, and an error to write or NULL.
    unsafe { guard(error, || Ok(status_of(borrow(agent, "agent")?.agent.steer(text_prompt(text, length)?)?))) }
}

/// Queues messages as steering.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_steer_messages(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe { guard(error, || Ok(status_of(borrow(agent, "agent")?.agent.steer(list_prompt(messages)?)?))) }
}

/// Queues a user message as steering, through a run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_steer(
    run: *mut agent_run_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a handle or NULL, text or NULL, and an error to write or NULL.
    unsafe { guard(error, || Ok(status_of(borrow(run, "run")?.run.steer(text_prompt(text, length)?)?))) }
}

/// Queues messages as steering, through a run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_steer_messages(
    run: *mut agent_run_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe { guard(error, || Ok(status_of(borrow(run, "run")?.run.steer(list_prompt(messages)?)?))) }
}

/// Queues a user message as follow-up.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_follow_up(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a handle or NULL, text or NULL, and an error to write or NULL.
    unsafe { guard(error, || Ok(status_of(borrow(agent, "agent")?.agent.follow_up(text_prompt(text, length)?)?))) }
}

/// Queues messages as follow-up.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_follow_up_messages(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe { guard(error, || Ok(status_of(borrow(agent, "agent")?.agent.follow_up(list_prompt(messages)?)?))) }
}

/// Queues a user message as follow-up, through a run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_follow_up(
    run: *mut agent_run_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a handle or NULL, text or NULL, and an error to write or NULL.
    unsafe { guard(error, || Ok(status_of(borrow(run, "run")?.run.follow_up(text_prompt(text, length)?)?))) }
}

/// Queues messages as follow-up, through a run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_follow_up_messages(
    run: *mut agent_run_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe { guard(error, || Ok(status_of(borrow(run, "run")?.run.follow_up(list_prompt(messages)?)?))) }
}

/// Empties the steering queue.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_clear_steering_queue(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { clear(agent, error, Agent::clear_steering_queue) }
}

/// Empties the follow-up queue.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_clear_follow_up_queue(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { clear(agent, error, Agent::clear_follow_up_queue) }
}

/// Empties both queues.
#[cfg_attr(exports, unsafe(no_mangle))]
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

/// Whether a message is in either queue.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_has_queued_messages(agent: *const agent_t) -> bool {
    // SAFETY: an agent or NULL.
    guard::read(false, || Some(unsafe { agent.as_ref() }?.agent.has_queued_messages()))
}
