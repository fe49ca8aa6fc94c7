//! An agent's listeners.

use std::ffi::c_void;
use std::sync::Arc;

use agent_loop::event::Listener;
use agent_loop::{Error, ErrorKind, Event};

use super::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::event::agent_event_t;
use crate::guard::guard;
use crate::handle::{Callback, agent_destroy_fn_t, borrow};

/// A listener. The event is borrowed until it returns.
pub type agent_event_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void, event: *const agent_event_t)>;

/// Adds a listener.
#[cfg_attr(exports, unsafe(no_mangle))]
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
                // Function and userdata were given together, and the event outlives the call.
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
#[cfg_attr(exports, unsafe(no_mangle))]
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
            Err(Error::new(ErrorKind::NotFound, format!("the agent has no subscription {subscription}")))
        })
    }
}
