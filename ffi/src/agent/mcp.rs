//! Connections to the MCP servers of an agent.

use agent_loop::Agent;

use super::agent_t;
use crate::block_on::block_on;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::borrow;

/// Blocks until the servers are connected to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_connect_mcp(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { guard(error, || wait(&borrow(agent, "agent")?.agent, Agent::connect_mcp)) }
}

/// Blocks until the connections to the servers are closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_close_mcp(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { guard(error, || wait(&borrow(agent, "agent")?.agent, Agent::close_mcp)) }
}

fn wait(
    agent: &Agent,
    work: impl AsyncFnOnce(&Agent) -> Result<(), agent_loop::Error>,
) -> Result<agent_status_t, agent_loop::Error> {
    block_on(work(agent), None).map_or(Ok(AGENT_OK), |done| done.map(|()| AGENT_OK))
}
