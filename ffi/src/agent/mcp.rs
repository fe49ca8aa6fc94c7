//! Connections to the MCP servers of an agent.

use std::ffi::c_char;

use agent_loop::Agent;
use agent_loop::host::Spelling;
use agent_loop::mcp::McpServing;
use serde_json::Map;

use super::agent_t;
use crate::block_on::block_on;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, hand_out, output};
use crate::text::{self, agent_text_t};

/// Blocks until the servers are connected to.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_connect_mcp(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { guard(error, || wait(&borrow(agent, "agent")?.agent, Agent::connect_mcp)) }
}

/// Blocks until the connections to the servers are closed.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_close_mcp(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe { guard(error, || wait(&borrow(agent, "agent")?.agent, Agent::close_mcp)) }
}

/// Blocks until the servers are connected to, and hands out their tools as JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_mcp_tools(
    agent: *mut agent_t,
    tools: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (agent, tools) = (&borrow(agent, "agent")?.agent, output(tools, "tools")?);
            let listed = block_on(agent.mcp_tools(), None).unwrap_or_else(|| Ok(Vec::new()))?;
            hand_out(tools, agent_text_t::new(serde_json::to_string(&listed).unwrap_or_default()));
            Ok(AGENT_OK)
        })
    }
}

/// Serves the agent over standard input and output, and blocks until the input ends.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_serve_mcp(
    agent: *mut agent_t,
    options: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, a text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            let options = if options.is_null() { Map::new() } else { text::object(options, length, "options")? };
            let serving = McpServing::from_json(options, Spelling::Snake)?;
            block_on(agent.serve_mcp(serving), None).map_or(Ok(AGENT_OK), |served| served.map(|()| AGENT_OK))
        })
    }
}

fn wait(
    agent: &Agent,
    work: impl AsyncFnOnce(&Agent) -> Result<(), agent_loop::Error>,
) -> Result<agent_status_t, agent_loop::Error> {
    block_on(work(agent), None).map_or(Ok(AGENT_OK), |done| done.map(|()| AGENT_OK))
}
