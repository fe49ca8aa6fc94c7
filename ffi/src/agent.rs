//! Agents: creation and settings. Their runs, queues, transcript and listeners each have a module.

#[cfg(feature = "tools")]
pub mod builtin;
pub mod listeners;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod queues;
pub mod runs;
pub mod transcript;

use std::ffi::c_char;
#[cfg(feature = "store")]
use std::sync::OnceLock;

use agent_loop::host::Spelling;
#[cfg(feature = "store")]
use agent_loop::session::hosting::ending;
use agent_loop::{Agent, Error, ErrorKind};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{borrow, hand_out, output, take_back};
use crate::runtime::agent_runtime_t;
#[cfg(feature = "store")]
use crate::store::owner::Owner;
use crate::text;
use crate::tool::agent_tool_t;

/// Model, tools and a conversation.
pub struct agent_t {
    pub(crate) agent: Agent,
    /// The store of its session.
    #[cfg(feature = "store")]
    pub(crate) store: OnceLock<Owner>,
}

impl agent_t {
    pub(crate) fn new(agent: Agent) -> agent_t {
        agent_t {
            agent,
            #[cfg(feature = "store")]
            store: OnceLock::new(),
        }
    }

    #[cfg(feature = "store")]
    fn release(self) {
        match self.store.into_inner() {
            Some(store) => {
                // Last: who opens its session on another thread waits for that.
                let session = if store.is_forked() { None } else { self.agent.session() };
                let ending = session.as_ref().map(ending);
                store.release((self.agent, ending));
            }
            None => drop(self.agent),
        }
    }

    #[cfg(not(feature = "store"))]
    fn release(self) {
        drop(self.agent);
    }
}

/// Creates an agent.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_new(
    runtime: *mut agent_runtime_t,
    model: *const c_char,
    length: usize,
    agent: *mut *mut agent_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a runtime or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let runtime = borrow(runtime, "runtime")?;
            let model = text::model(model, length)?;
            // Its address may be set later.
            let new = Agent::builder(model).runtime(&runtime.runtime).build_unchecked()?;
            hand_out(output(agent, "agent")?, agent_t::new(new));
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the model.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_model(
    agent: *mut agent_t,
    model: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.set_model(text::model(model, length)?)?;
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the system prompt.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_system_prompt(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.set_system_prompt(text::prose(text, length, "text")?);
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the API key.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_api_key(
    agent: *mut agent_t,
    key: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.set_api_key(text::optional_identifier(key, length, "key")?);
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the server's address.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_base_url(
    agent: *mut agent_t,
    url: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.set_base_url(text::optional_identifier(url, length, "url")?)?;
            Ok(AGENT_OK)
        })
    }
}

/// Sets options by name.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_json(
    agent: *mut agent_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            agent.set_options(&text::object(json, length, "json")?, Spelling::Snake, &[])?;
            Ok(AGENT_OK)
        })
    }
}

/// Adds a tool.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_add_tool(
    agent: *mut agent_t,
    tool: *const agent_tool_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.add_tool(borrow(tool, "tool")?.tool())?;
            Ok(AGENT_OK)
        })
    }
}

/// Removes a tool.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_remove_tool(
    agent: *mut agent_t,
    name: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            let name = text::identifier(name, length, "name")?;
            if agent.agent.remove_tool(name) {
                return Ok(AGENT_OK);
            }
            Err(Error::new(ErrorKind::NotFound, format!("the agent has no tool named {name:?}")))
        })
    }
}

/// Releases an agent.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_free(agent: *mut agent_t) {
    guard::release(|| {
        // SAFETY: ours, and not used again.
        if let Some(agent) = unsafe { take_back(agent) } {
            agent.release();
        }
    });
}
