//! Middleware around tool execution: C functions that receive a call, answer it as a tool would, and may run the rest of the
//! chain first.

use std::ffi::{c_char, c_void};

use agent_loop::Error;
use agent_loop::host::{Blocking, Scope, hand_over};
use serde_json::Value;

use super::agent_tool_fn_t;
use super::call::agent_tool_call_t;
use crate::agent::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{Callback, agent_destroy_fn_t, borrow, host_function, in_scope};
use crate::text::{self, Text};

/// Receives the result of the rest of the chain. The text is borrowed until it returns.
pub type agent_tool_next_fn_t =
    Option<unsafe extern "C" fn(userdata: *mut c_void, is_error: bool, text: *const c_char, length: usize)>;
type NextFunction = unsafe extern "C" fn(userdata: *mut c_void, is_error: bool, text: *const c_char, length: usize);

fn deliver(callback: &Callback<NextFunction>, answer: Result<Value, Error>) {
    let is_error = answer.is_err();
    let text = Text::new(answer.map_or_else(|why| why.message().to_owned(), |result| result.to_string()));
    let mut length = 0;
    // SAFETY: the length is ours to write; function and userdata were given together, and the text outlives the call.
    unsafe {
        let data = text.as_ptr(&raw mut length);
        (callback.function)(callback.userdata(), is_error, data, length);
    }
}

/// Adds a middleware.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_add_middleware(
    agent: *mut agent_t,
    function: agent_tool_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let callback = callback.required("function")?;
            borrow(agent, "agent")?.agent.add_host_middleware(host_function(callback, agent_tool_call_t::new));
            Ok(AGENT_OK)
        })
    }
}

/// Runs the rest of the chain.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_next(
    call: *mut agent_tool_call_t,
    arguments: *const c_char,
    length: usize,
    function: agent_tool_next_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let callback = callback.required("function")?;
            let call = borrow(call, "call")?;
            let arguments = if arguments.is_null() { None } else { Some(text::object(arguments, length, "arguments")?) };
            let (call, engine) = call.position()?;
            let rest = call.next(arguments.unwrap_or_else(|| call.arguments().clone()));
            let scope = call.scope();
            // If the runtime is gone, this drops the callback, whose destroy may free the call.
            engine.spawn(scope.enter(async move {
                let answer = tokio::select! {
                    biased;
                    answer = rest => answer,
                    () = call.context().over_token().cancelled() => Err(Error::callback("aborted")),
                };
                let scope = Scope::current();
                let work = move |(callback, answer): (Callback<NextFunction>, _)| {
                    in_scope(scope, || deliver(&callback, answer));
                };
                // Without a thread it is called here: the middleware must learn of it, or its call would never be answered.
                hand_over(Blocking::Other, (callback, answer), work, |(callback, _), error| {
                    let text = format!("the function could not be called on a thread of its own: {}", error.message());
                    deliver(&callback, Err(Error::callback(text)));
                });
            }));
            Ok(AGENT_OK)
        })
    }
}
