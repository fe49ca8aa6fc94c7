//! An agent's state and its transcript: readable at any time, changed only while no run is active.

use std::ffi::c_char;

use agent_loop::{Agent, Error};

use super::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, hand_out, output};
use crate::message::agent_messages_t;
use crate::text::{agent_text_t, bytes, optional, required};

/// The state in JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_state_json(
    agent: *const agent_t,
    state: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            hand_out(output(state, "state")?, agent_text_t::new(agent.state_json().to_string()));
            Ok(AGENT_OK)
        })
    }
}

/// The conversation as one text, signed with a key if there is one.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_export(
    agent: *const agent_t,
    key: *const c_char,
    key_length: usize,
    text: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, bytes or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            let out = output(text, "text")?;
            hand_out(out, agent_text_t::new(agent.export(bytes(key, key_length, "key")?)?));
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the conversation by an exported one.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_from_export(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    key: *const c_char,
    key_length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text, bytes or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            agent.load_export(required(text, length, "text")?, bytes(key, key_length, "key")?)?;
            Ok(AGENT_OK)
        })
    }
}

/// The conversation.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages(
    agent: *const agent_t,
    messages: *mut *mut agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            hand_out(output(messages, "messages")?, agent_messages_t::new(agent.messages().iter().cloned()));
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the conversation.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_messages(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            agent.replace_messages(borrow(messages, "messages")?.shared())?;
            Ok(AGENT_OK)
        })
    }
}

/// Appends to the conversation.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_append_messages(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            agent.append_messages(borrow(messages, "messages")?.shared())?;
            Ok(AGENT_OK)
        })
    }
}

/// Empties the conversation.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_clear_messages(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { change(agent, error, Agent::clear_messages) }
}

/// Clears the conversation, both queues and the last error.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_reset(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { change(agent, error, Agent::reset) }
}

/// Forgets what was decided for always, about a rule or all of it.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_forget(
    agent: *mut agent_t,
    rule: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, a text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.forget(optional(rule, length, "rule")?)?;
            Ok(AGENT_OK)
        })
    }
}

/// # Safety
/// `agent` is an agent or null, `error` is null or may be written.
unsafe fn change(
    agent: *mut agent_t,
    error: *mut *mut agent_error_t,
    change: impl FnOnce(&Agent) -> Result<(), Error>,
) -> agent_status_t {
    // SAFETY: the caller's promise.
    unsafe {
        guard(error, || {
            change(&borrow(agent, "agent")?.agent)?;
            Ok(AGENT_OK)
        })
    }
}
