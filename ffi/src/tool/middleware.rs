//! The chain around tool execution, whose links are C functions: each is called with a call that it answers as a tool would,
//! and may have the rest of the chain run first.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use agent_loop::{BoxFuture, Middleware, MiddlewareCall};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::agent_tool_fn_t;
use super::call::{Pending, agent_tool_call_t};
use crate::agent::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{Callback, agent_destroy_fn_t, borrow, where_it_may_block};
use crate::text::{self, Text};

/// Told what the rest of the chain came to. The text is lent until it returns.
pub type agent_tool_next_fn_t =
    Option<unsafe extern "C" fn(userdata: *mut c_void, is_error: bool, text: *const c_char, length: usize)>;
type NextFunction = unsafe extern "C" fn(userdata: *mut c_void, is_error: bool, text: *const c_char, length: usize);

/// A call's place in the chain.
#[derive(Clone)]
pub(super) struct Place {
    call: MiddlewareCall,
    /// Where the rest of the chain runs.
    engine: Handle,
}

impl Place {
    /// Runs the rest of the chain, and tells a function what it came to.
    fn next(self, arguments: Option<Map<String, Value>>, callback: Callback<NextFunction>) {
        let Place { call, engine } = self;
        let rest = call.next(arguments.unwrap_or_else(|| call.arguments().clone()));
        let scope = call.scope();
        engine.spawn(scope.enter(async move {
            let answer = tokio::select! {
                biased;
                answer = rest => answer,
                () = call.context().over_token().cancelled() => Err("aborted".to_owned()),
            };
            where_it_may_block(move || tell(&callback, answer));
        }));
    }
}

fn tell(callback: &Callback<NextFunction>, answer: Result<Value, String>) {
    let is_error = answer.is_err();
    let text = Text::new(answer.map_or_else(|why| why, |result| result.to_string()));
    let mut length = 0;
    // SAFETY: the length is ours to write; the function and its userdata came together, and the text is there until it returns.
    unsafe {
        let data = text.lend(&raw mut length);
        (callback.function)(callback.userdata(), is_error, data, length);
    }
}

/// Adds a link to the chain around tool execution.
#[unsafe(no_mangle)]
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
            let callback = Arc::new(callback.required("function")?);
            let agent = &borrow(agent, "agent")?.agent;
            let link: Middleware = Arc::new(move |call: MiddlewareCall| -> BoxFuture<'static, _> {
                let callback = Arc::clone(&callback);
                Box::pin(async move {
                    let (sender, answer) = oneshot::channel();
                    let (context, arguments) = (call.context().clone(), call.arguments().clone());
                    let unanswered = format!("a middleware dropped the call of {} without an answer", call.name());
                    let place = Place { call, engine: Handle::current() };
                    let call = agent_tool_call_t::with(context, arguments, Pending::Link(place, sender));
                    where_it_may_block(move || {
                        // The function and its userdata came together, and the call is now the function's.
                        (callback.function)(callback.userdata(), Box::into_raw(Box::new(call)));
                    });
                    answer.await.unwrap_or(Err(unanswered))
                })
            });
            agent.add_middleware(link);
            Ok(AGENT_OK)
        })
    }
}

/// Runs the rest of the chain.
#[unsafe(no_mangle)]
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
            let place = call.place()?;
            // Not under the call's lock: where the runtime is gone, this drops the callback, whose destroy may free the call.
            place.next(arguments, callback);
            Ok(AGENT_OK)
        })
    }
}
