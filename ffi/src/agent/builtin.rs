//! Built-in tools of an agent.

use super::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, hand_out, output};
use crate::text::agent_text_t;

/// Takes back the newest writes of the conversation, and hands out what was done as JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_undo_writes(
    agent: *mut agent_t,
    count: usize,
    undone: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (agent, undone) = (&borrow(agent, "agent")?.agent, output(undone, "undone")?);
            let done = agent.undo_writes(count)?;
            hand_out(undone, agent_text_t::new(serde_json::to_string(&done).unwrap_or_default()));
            Ok(AGENT_OK)
        })
    }
}
