//! Agents that keep their conversation in a session.

use crate::agent::agent_t;
use crate::error::{AGENT_DONE, AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, hand_out, output};
use crate::session::open::agent_open_session_t;
use crate::text::agent_text_t;

/// Lets an agent go on with the conversation of a session.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_session(
    agent: *mut agent_t,
    opened: *mut agent_open_session_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let (agent, opened) = (borrow(agent, "agent")?, borrow(opened, "opened")?);
            agent.agent.set_session(opened.open.clone())?;
            // An agent gets one session.
            let _ = agent.store.set(opened.owner.clone());
            Ok(AGENT_OK)
        })
    }
}

/// The run that the process before has left.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_interrupted(
    agent: *const agent_t,
    interrupted: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (agent, out) = (borrow(agent, "agent")?, output(interrupted, "interrupted")?);
            let Some(run) = agent.agent.interrupted() else { return Ok(AGENT_DONE) };
            hand_out(out, agent_text_t::json(&run));
            Ok(AGENT_OK)
        })
    }
}

/// Blocks until the session's store has all changes.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_flush(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            if let Some(store) = agent.store.get() {
                agent.agent.check_outside("agent_flush")?;
                let core = agent.agent.clone();
                store.wait("agent_flush", async move { core.flush().await })?;
            }
            Ok(AGENT_OK)
        })
    }
}
