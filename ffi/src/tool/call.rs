//! A tool call: its arguments, and its answer, now or later, from any thread.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{Mutex, OnceLock};

use agent_loop::host::{HostAnswer, HostCall};
use agent_loop::tool::MiddlewareCall;
use agent_loop::{Error, ErrorKind, ToolOutput};
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::lock;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{borrow, output, take_back};
use crate::text::{self, Text, borrowed};

/// One call of a tool, for the tool itself or for a middleware.
pub struct agent_tool_call_t {
    call: HostCall,
    id: Text,
    name: Text,
    idempotency_key: Text,
    arguments: Map<String, Value>,
    json: OnceLock<Text>,
    /// The texts of single arguments that C has borrowed.
    strings: Mutex<BTreeMap<String, Text>>,
    /// Where the rest of the chain runs.
    engine: Option<Handle>,
}

impl agent_tool_call_t {
    pub(super) fn new(call: HostCall) -> agent_tool_call_t {
        let context = call.tool_context();
        agent_tool_call_t {
            id: Text::new(context.map(|context| context.id()).unwrap_or_default()),
            name: Text::new(context.map(|context| context.name()).unwrap_or_default()),
            idempotency_key: Text::new(context.map(|context| context.idempotency_key()).unwrap_or_default()),
            arguments: call.arguments().cloned().unwrap_or_default(),
            call,
            json: OnceLock::new(),
            strings: Mutex::default(),
            engine: Handle::try_current().ok(),
        }
    }

    fn tool_name(&self) -> &str {
        self.call.tool_context().map(|context| context.name()).unwrap_or_default()
    }

    fn argument(&self, name: &str) -> Result<&Value, Error> {
        let given = self.arguments.get(name).filter(|value| !value.is_null());
        given.ok_or_else(|| {
            let names: Vec<String> = self.arguments.keys().map(|name| text::printable(name)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let text = format!("the call of {} has no argument {name:?}; it has: {names}", self.tool_name());
            Error::new(ErrorKind::NotFound, text)
        })
    }

    fn wrong_type(&self, what: &str, name: &str, value: &Value) -> Error {
        Error::invalid_argument(format!("argument {name:?} of {} is not {what}: {value}", self.tool_name()))
    }

    /// The call's position in the chain of middleware, and where the rest of it runs.
    pub(super) fn position(&self) -> Result<(MiddlewareCall, Handle), Error> {
        self.call.check_unanswered()?;
        self.call.middleware_call().cloned().zip(self.engine.clone()).ok_or_else(|| {
            let name = self.tool_name();
            let text = format!("this call of {name} is for the tool itself; only the call of a middleware has a next");
            Error::new(ErrorKind::InvalidState, text)
        })
    }
}

/// The call's id.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_id(call: *const agent_tool_call_t, length: *mut usize) -> *const c_char {
    // SAFETY: a call or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&call.as_ref()?.id)) }
}

/// The tool's name.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_name(call: *const agent_tool_call_t, length: *mut usize) -> *const c_char {
    // SAFETY: a call or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&call.as_ref()?.name)) }
}

/// The call's idempotency key.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_idempotency_key(call: *const agent_tool_call_t, length: *mut usize) -> *const c_char {
    // SAFETY: a call or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&call.as_ref()?.idempotency_key)) }
}

/// The arguments.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_arguments(call: *const agent_tool_call_t, length: *mut usize) -> *const c_char {
    // SAFETY: a call or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let call = call.as_ref()?;
            Some(call.json.get_or_init(|| Text::json(&call.arguments)))
        })
    }
}

/// One argument that is a string.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_get_string(
    call: *const agent_tool_call_t,
    name: *const c_char,
    length: usize,
    value: *mut *const c_char,
    value_length: *mut usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            let name = text::identifier(name, length, "name")?;
            let out = output(value, "value")?;
            let found = call.argument(name)?;
            let text = found.as_str().ok_or_else(|| call.wrong_type("a string", name, found))?;
            let mut strings = lock(&call.strings);
            let kept = strings.entry(name.to_owned()).or_insert_with(|| Text::new(text));
            let what = || format!("argument {name:?} of {}", call.tool_name());
            out.write(kept.whole(value_length, what)?);
            Ok(AGENT_OK)
        })
    }
}

/// One argument that is a number.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_get_number(
    call: *const agent_tool_call_t,
    name: *const c_char,
    length: usize,
    value: *mut f64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            let name = text::identifier(name, length, "name")?;
            let out = output(value, "value")?;
            let found = call.argument(name)?;
            out.write(found.as_f64().ok_or_else(|| call.wrong_type("a number", name, found))?);
            Ok(AGENT_OK)
        })
    }
}

/// One argument that is true or false.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_get_bool(
    call: *const agent_tool_call_t,
    name: *const c_char,
    length: usize,
    value: *mut bool,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            let name = text::identifier(name, length, "name")?;
            let out = output(value, "value")?;
            let found = call.argument(name)?;
            out.write(found.as_bool().ok_or_else(|| call.wrong_type("true or false", name, found))?);
            Ok(AGENT_OK)
        })
    }
}

/// Whether the call is cancelled.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_is_cancelled(call: *const agent_tool_call_t) -> bool {
    // SAFETY: a call or NULL.
    guard::read(false, || Some(unsafe { call.as_ref() }?.call.is_cancelled()))
}

/// Blocks for a time of the run's clock.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_sleep(
    call: *const agent_tool_call_t,
    ms: u64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            if call.call.sleep_blocking(ms) {
                return Ok(AGENT_OK);
            }
            let text = format!("the call of {} was cancelled: its run was aborted", call.tool_name());
            Err(Error::new(ErrorKind::Aborted, text))
        })
    }
}

/// Reports progress with a text.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_update(
    call: *mut agent_tool_call_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(call, "call")?.call.update(text::required(text, length, "text")?.into())?;
            Ok(AGENT_OK)
        })
    }
}

/// Reports progress with JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_update_json(
    call: *mut agent_tool_call_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(call, "call")?.call.update(result(json, length)?)?;
            Ok(AGENT_OK)
        })
    }
}

/// Answers with a text.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_respond(
    call: *mut agent_tool_call_t,
    text: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            let text = text::required(text, length, "text")?;
            call.call.respond(HostAnswer::Json(text.into()))?;
            Ok(AGENT_OK)
        })
    }
}

/// Answers that the result comes later.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_suspend(
    call: *mut agent_tool_call_t,
    reason: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            call.call.suspend(text::required(reason, length, "reason")?)?;
            Ok(AGENT_OK)
        })
    }
}

/// Answers with JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_respond_json(
    call: *mut agent_tool_call_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            call.call.respond(HostAnswer::Json(result(json, length)?))?;
            Ok(AGENT_OK)
        })
    }
}

/// A result in JSON, refused here if it is meant as a full one and is none.
///
/// # Safety
/// As [`text::json`].
unsafe fn result(json: *const c_char, length: usize) -> Result<Value, Error> {
    // SAFETY: as here.
    let value = unsafe { text::json(json, length, "json") }?;
    ToolOutput::check(&value).map_err(|why| Error::invalid_argument(format!("json: {why}")))?;
    Ok(value)
}

/// Answers with a failure.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_fail(
    call: *mut agent_tool_call_t,
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

/// Releases a call; an unanswered one fails.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_tool_call_free(call: *mut agent_tool_call_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(call) }));
}
