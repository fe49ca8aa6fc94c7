//! Known models, and custom models that are C functions: requests, and their responses chunk by chunk.

use std::ffi::{c_char, c_void};

use agent_loop::host::{HostAnswer, HostCall};
use agent_loop::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::agent::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow, hand_out, host_function, output, take_back};
use crate::text::{self, Text, agent_text_t, borrowed};

/// The known models.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_models_json(models: *mut *mut agent_text_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: outputs to write or NULL.
    unsafe {
        guard(error, || {
            // Serializing a spec cannot fail: all map keys are strings.
            let json = serde_json::to_string(&agent_loop::models()).unwrap_or_default();
            hand_out(output(models, "models")?, agent_text_t::new(json));
            Ok(AGENT_OK)
        })
    }
}

/// A custom model. It owns the call.
pub type agent_model_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void, call: *mut agent_model_call_t)>;

/// One request to a custom model.
pub struct agent_model_call_t {
    request: Text,
    call: HostCall,
}

impl agent_model_call_t {
    fn new(call: HostCall) -> agent_model_call_t {
        let request = call.model_call().map(|call| Text::json(call.request()));
        agent_model_call_t { request: request.unwrap_or_else(|| Text::new("")), call }
    }

    /// Appends a chunk and blocks while the run is behind.
    fn push(&self, chunk: &Value) -> Result<(), Error> {
        self.call.check_unanswered()?;
        let cancelled =
            || Error::new(ErrorKind::Aborted, "the request was cancelled: its run was aborted or a time limit passed");
        let Some(call) = self.call.model_call().filter(|call| !call.is_cancelled()) else {
            return Err(cancelled());
        };
        call.push(chunk)?;
        let only = chunk.as_object().filter(|chunk| chunk.len() == 1);
        if only.is_some_and(|chunk| chunk.contains_key("end") || chunk.contains_key("error")) {
            // The run reads no more of this response, which does not mean that it was cancelled.
            return self.call.respond(HostAnswer::Nothing);
        }
        if call.ready_blocking() { Ok(()) } else { Err(cancelled()) }
    }
}

/// Sets or removes a custom model.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_model_callback(
    agent: *mut agent_t,
    function: agent_model_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            let function = callback.optional().map(|callback| host_function(callback, agent_model_call_t::new));
            agent.set_host_provider(None, function)?;
            Ok(AGENT_OK)
        })
    }
}

/// Sets or removes a custom provider by its name.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_provider(
    agent: *mut agent_t,
    name: *const c_char,
    length: usize,
    function: agent_model_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: an agent or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let (agent, name) = (&borrow(agent, "agent")?.agent, text::identifier(name, length, "name")?);
            let function = callback.optional().map(|callback| host_function(callback, agent_model_call_t::new));
            agent.set_host_provider(Some(name), function)?;
            Ok(AGENT_OK)
        })
    }
}

/// The request as JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_model_call_request(call: *const agent_model_call_t, length: *mut usize) -> *const c_char {
    // SAFETY: a call or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&call.as_ref()?.request)) }
}

/// Whether the request is cancelled.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_model_call_is_cancelled(call: *const agent_model_call_t) -> bool {
    // SAFETY: a call or NULL.
    guard::read(false, || Some(unsafe { call.as_ref() }?.call.is_cancelled()))
}

/// Appends a chunk to the response, in JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_model_call_push(
    call: *mut agent_model_call_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            call.push(&text::json(json, length, "json")?)?;
            Ok(AGENT_OK)
        })
    }
}

/// Appends a chunk of text to the response.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_model_call_push_text(
    call: *mut agent_model_call_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            call.push(&text::required(text, length, "text")?.into())?;
            Ok(AGENT_OK)
        })
    }
}

/// Ends the response.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_model_call_finish(
    call: *mut agent_model_call_t,
    end: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            if let Some(end) = text::optional(end, length, "end")? {
                let end = json!({ "end": text::parse(end, "end")? });
                call.call.check_unanswered()?;
                call.call.model_call().map_or(Ok(()), |model| model.push(&end))?;
            }
            call.call.respond(HostAnswer::Nothing)?;
            Ok(AGENT_OK)
        })
    }
}

/// Ends the response with a failure.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_model_call_fail(
    call: *mut agent_model_call_t,
    message: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            let message = text::required(message, length, "message")?;
            call.call.fail(message)?;
            Ok(AGENT_OK)
        })
    }
}

/// Releases a call; a response that has not ended fails.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_model_call_free(call: *mut agent_model_call_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(call) }));
}
