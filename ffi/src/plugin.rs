//! Plugins: shared libraries that add tools, hooks and providers to an agent. `include/agent_plugin.h` is their header.
//!
//! A plugin links nothing. Its function `agent_plugin_register` gets a [table](table) of this library's functions, and an agent
//! of its own, to which it adds what it has with the functions of `agent.h`. What that agent then has is added to the agent that
//! the plugin is for: all of it, or nothing.
//!
//! - `library`: a file becomes a loaded library whose ABI fits; `object`: what such a file says of itself before
//! - `table`: the functions that a plugin gets

mod library;
mod object;
mod table;

use std::ffi::c_char;
use std::path::Path;

use agent_loop::{Agent, Error, ErrorKind, ModelSpec};
use serde_json::json;

use crate::agent::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_name, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, take_back};
use crate::text;
use library::Library;
use table::{HOST, Host};

/// A plugin's function.
type Register = unsafe extern "C" fn(*const Host, *mut agent_t, *mut *mut agent_error_t) -> agent_status_t;

/// Loads a plugin and adds what it has to an agent: all of it, or on an error nothing. It stays loaded until the process ends.
///
/// # Errors
/// `not_found` and `invalid_argument` for a path of no plugin, `newer_version` for one that needs a newer version of this
/// library, `io` for what the system's loader refuses, and what the plugin's own function fails with. Each begins with the path.
pub fn add(agent: &Agent, path: &Path) -> Result<(), Error> {
    let of_plugin = |error: Error| error.reworded(|why| format!("plugin {}: {why}", path.display()));
    let library = Library::load(path).map_err(of_plugin)?;
    let registered = register(library.register).map_err(of_plugin)?;
    agent.add_parts_of(&registered).map_err(of_plugin)
}

/// What a plugin registers, as an agent.
fn register(function: Register) -> Result<Agent, Error> {
    // It is never asked.
    let nobody = json!({ "provider": "scripted", "id": "plugin", "script": [] });
    let collected = Agent::builder(ModelSpec::from_json(nobody)?).build()?;
    let mut handle = agent_t::new(collected.clone());
    let mut error = std::ptr::null_mut();
    // SAFETY: the library says that its function is one of this ABI; table, agent and place for the error outlive the call.
    let status = unsafe { function(&raw const HOST, &raw mut handle, &raw mut error) };
    // SAFETY: null, or an error that a function of the table has made and that is now ours.
    let error = unsafe { take_back(error) };
    if status >= AGENT_OK {
        return Ok(collected);
    }
    Err(match error {
        Some(error) => error.error().clone().reworded(|why| format!("its agent_plugin_register failed: {why}")),
        None => {
            let name = agent_status_name(status);
            // SAFETY: a constant text of this library.
            let name = if name.is_null() { None } else { unsafe { std::ffi::CStr::from_ptr(name) }.to_str().ok() };
            let text = format!("its agent_plugin_register failed with {status} ({}) and no error", name.unwrap_or("no status"));
            Error::new(ErrorKind::Callback, text)
        }
    })
}

/// Loads a plugin and adds what it has.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_add_plugin(
    agent: *mut agent_t,
    path: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            add(agent, Path::new(text::identifier(path, length, "path")?))?;
            Ok(AGENT_OK)
        })
    }
}
