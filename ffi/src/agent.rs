//! Agents: made, changed, prompted, listened to, read.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use agent_loop::{Agent, Error, ErrorKind, Event, Listener, ModelSpec, Prompt, Spelling};

use crate::error::{AGENT_OK, AGENT_PENDING, agent_error_t, agent_status_t};
use crate::event::agent_event_t;
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow, hand_out, take_back, wanted};
use crate::message::agent_messages_t;
use crate::run::agent_run_t;
use crate::runtime::{agent_runtime_t, limit};
use crate::text::{self, agent_text_t};
use crate::tool::agent_tool_t;
use crate::wait::wait_for;

/// A listener. The event is lent until it returns.
pub type agent_event_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void, event: *const agent_event_t)>;

/// Model, tools and a conversation.
pub struct agent_t {
    agent: Agent,
}

/// A model by name, or as a JSON object.
fn read_model(text: &str) -> Result<ModelSpec, Error> {
    if text.trim_start().starts_with('{') { ModelSpec::from_json(text::parse(text, "model")?) } else { ModelSpec::parse(text) }
}

/// Makes an agent.
#[unsafe(no_mangle)]
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
            let spec = read_model(text::required(model, length, "model")?)?;
            let out = wanted(agent, "agent")?;
            hand_out(out, agent_t { agent: Agent::with_spec(spec).runtime(&runtime.runtime) });
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_set_model(
    agent: *mut agent_t,
    model: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.set_model(read_model(text::required(model, length, "model")?)?);
            Ok(AGENT_OK)
        })
    }
}

/// Replaces what the model is told first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_set_system_prompt(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.set_system_prompt(text::required(text, length, "text")?);
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the API key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_set_api_key(
    agent: *mut agent_t,
    key: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.set_api_key(text::optional(key, length, "key")?);
            Ok(AGENT_OK)
        })
    }
}

/// Replaces the server's address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_set_base_url(
    agent: *mut agent_t,
    url: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.set_base_url(text::optional(url, length, "url")?);
            Ok(AGENT_OK)
        })
    }
}

/// Sets options by name.
#[unsafe(no_mangle)]
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
#[unsafe(no_mangle)]
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

/// Takes a tool out.
#[unsafe(no_mangle)]
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
            let name = text::required(name, length, "name")?;
            if agent.agent.remove_tool(name) {
                return Ok(AGENT_OK);
            }
            Err(Error::new(ErrorKind::NotFound, format!("the agent has no tool named {name:?}")))
        })
    }
}

/// Starts a run with a user message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_prompt(
    agent: *mut agent_t,
    text: *const c_char,
    length: usize,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            start(&agent.agent, text::required(text, length, "text")?.into(), run)
        })
    }
}

/// Starts a run with messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_prompt_messages(
    agent: *mut agent_t,
    messages: *const agent_messages_t,
    run: *mut *mut agent_run_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: handles or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = borrow(agent, "agent")?;
            start(&agent.agent, borrow(messages, "messages")?.prompt(), run)
        })
    }
}

/// Starts a run: with a queue when somebody will pull, else for listeners alone.
///
/// # Safety
/// `run` is null or may be written.
unsafe fn start(agent: &Agent, prompt: Prompt, run: *mut *mut agent_run_t) -> Result<agent_status_t, Error> {
    if run.is_null() {
        agent.start_quiet(prompt)?.detach();
    } else {
        let started = agent_run_t::new(agent.stream(prompt)?, agent);
        // SAFETY: not null, so the caller says that it may be written.
        unsafe { hand_out(run, started) };
    }
    Ok(AGENT_OK)
}

/// Aborts the active run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_abort(agent: *mut agent_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(agent, "agent")?.agent.abort();
            Ok(AGENT_OK)
        })
    }
}

/// Waits until no run is active.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_wait_for_idle(
    agent: *mut agent_t,
    timeout_ms: i64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            wait_for(agent.wait_for_idle(), limit(timeout_ms)).map_or(Ok(AGENT_PENDING), |idle| idle.map(|()| AGENT_OK))
        })
    }
}

/// Adds a listener.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_subscribe(
    agent: *mut agent_t,
    function: agent_event_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    subscription: *mut u64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let callback = callback.required("function")?;
            let agent = &borrow(agent, "agent")?.agent;
            let listener = move |event: &Event| {
                let event = agent_event_t::new(event.clone());
                // The function and its userdata came together, and the event is there until it returns.
                (callback.function)(callback.userdata(), &raw const event);
                Ok(())
            };
            let number = agent.add_listener(Listener::Function { function: Arc::new(listener), blocking: true }).detach();
            if !subscription.is_null() {
                subscription.write(number);
            }
            Ok(AGENT_OK)
        })
    }
}

/// Removes a listener.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_unsubscribe(
    agent: *mut agent_t,
    subscription: u64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            if borrow(agent, "agent")?.agent.unsubscribe(subscription) {
                return Ok(AGENT_OK);
            }
            Err(Error::new(ErrorKind::NotFound, format!("the agent has no subscription {subscription} (any more)")))
        })
    }
}

/// The state in JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_state_json(
    agent: *const agent_t,
    state: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            hand_out(wanted(state, "state")?, agent_text_t::new(agent.state_json().to_string()));
            Ok(AGENT_OK)
        })
    }
}

/// The conversation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_messages(
    agent: *const agent_t,
    messages: *mut *mut agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an agent or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            hand_out(wanted(messages, "messages")?, agent_messages_t::new(agent.messages().iter().cloned()));
            Ok(AGENT_OK)
        })
    }
}

/// Releases an agent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_free(agent: *mut agent_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(agent) }));
}
