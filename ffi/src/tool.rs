//! Tools that are C functions.

pub mod call;
pub mod middleware;

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop::handoff::Handoff;
use agent_loop::host::{HostFunction, HostTool};
use agent_loop::subagent::Subagent;
use agent_loop::{Error, Tool, ToolSpec};
use serde_json::{Map, Value};

use crate::agent::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow, hand_out, host_function, output, take_back};
use crate::hook::{agent_hook_call_t, agent_hook_fn_t};
use crate::text;
use call::agent_tool_call_t;

/// A tool's function. It owns the call.
pub type agent_tool_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void, call: *mut agent_tool_call_t)>;

/// A tool that a model can call.
pub struct agent_tool_t {
    description: Mutex<Description>,
}

struct Description {
    fields: Map<String, Value>,
    /// None of a tool that runs an agent.
    functions: Option<Functions>,
    tool: Arc<dyn Tool>,
}

#[derive(Clone)]
struct Functions {
    execute: HostFunction,
    prepare_arguments: Option<HostFunction>,
    needs_approval: Option<HostFunction>,
}

impl Description {
    fn new(fields: Map<String, Value>, functions: Functions) -> Result<Description, Error> {
        let tool = HostTool {
            spec: Arc::new(ToolSpec::from_json(Value::Object(fields.clone()))?),
            execute: Arc::clone(&functions.execute),
            prepare: functions.prepare_arguments.clone(),
            approve: functions.needs_approval.clone(),
            prepared: "an object of arguments or null",
            // Its function gets a thread where it may.
            may_block: false,
        };
        Ok(Description { fields, functions: Some(functions), tool: Arc::new(tool) })
    }
}

impl agent_tool_t {
    pub(crate) fn tool(&self) -> Arc<dyn Tool> {
        Arc::clone(&lock(&self.description).tool)
    }

    fn of_agent(tool: impl Tool) -> agent_tool_t {
        agent_tool_t { description: Mutex::new(Description { fields: Map::new(), functions: None, tool: Arc::new(tool) }) }
    }

    /// Replaces the tool, for agents to which it is added from now on.
    fn change(&self, change: impl FnOnce(&mut Map<String, Value>, &mut Functions)) -> Result<(), Error> {
        let before = {
            let mut description = lock(&self.description);
            let Some(mut functions) = description.functions.clone() else {
                let text = "tool: one that runs an agent does not change; make another with agent_as_tool or agent_as_handoff";
                return Err(Error::invalid_argument(text));
            };
            let mut fields = description.fields.clone();
            change(&mut fields, &mut functions);
            std::mem::replace(&mut *description, Description::new(fields, functions)?)
        };
        // Not under the lock: destroy functions may use this tool.
        drop(before);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic under these locks leaves the data inconsistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a tool.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_new(
    json: *const c_char,
    length: usize,
    function: agent_tool_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    tool: *mut *mut agent_tool_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let execute = host_function(callback.required("function")?, agent_tool_call_t::new);
            let functions = Functions { execute, prepare_arguments: None, needs_approval: None };
            let out = output(tool, "tool")?;
            let description = Description::new(text::object(json, length, "json")?, functions)?;
            hand_out(out, agent_tool_t { description: Mutex::new(description) });
            Ok(AGENT_OK)
        })
    }
}

/// Creates a tool that runs an agent.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_as_tool(
    agent: *const agent_t,
    json: *const c_char,
    length: usize,
    tool: *mut *mut agent_tool_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            let out = output(tool, "tool")?;
            let subagent = Subagent::from_json(&agent.agent, text::object(json, length, "json")?)?;
            hand_out(out, agent_tool_t::of_agent(subagent));
            Ok(AGENT_OK)
        })
    }
}

/// Creates a tool that hands the conversation to an agent.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_as_handoff(
    agent: *const agent_t,
    json: *const c_char,
    length: usize,
    tool: *mut *mut agent_tool_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            let out = output(tool, "tool")?;
            let handoff = Handoff::from_json(&agent.agent, text::object(json, length, "json")?)?;
            hand_out(out, agent_tool_t::of_agent(handoff));
            Ok(AGENT_OK)
        })
    }
}

/// Replaces fields of a tool's description.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_set_json(
    tool: *mut agent_tool_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a tool or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let tool = borrow(tool, "tool")?;
            let new = text::object(json, length, "json")?;
            tool.change(|fields, _| fields.extend(new))?;
            Ok(AGENT_OK)
        })
    }
}

/// Sets or removes the function that corrects the model's arguments.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_set_prepare_arguments(
    tool: *mut agent_tool_t,
    function: agent_hook_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: a tool or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let tool = borrow(tool, "tool")?;
            let callback = callback.optional().map(|callback| host_function(callback, agent_hook_call_t::new));
            tool.change(|_, functions| functions.prepare_arguments = callback)?;
            Ok(AGENT_OK)
        })
    }
}

/// Sets or removes the function that decides which calls need approval.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_set_needs_approval(
    tool: *mut agent_tool_t,
    function: agent_hook_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: a tool or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let tool = borrow(tool, "tool")?;
            let callback = callback.optional().map(|callback| host_function(callback, agent_hook_call_t::new));
            tool.change(|fields, functions| {
                let approval = if callback.is_some() { "ask".into() } else { false.into() };
                fields.insert("needs_approval".to_owned(), approval);
                functions.needs_approval = callback;
            })?;
            Ok(AGENT_OK)
        })
    }
}

/// Releases a tool.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_free(tool: *mut agent_tool_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(tool) }));
}
