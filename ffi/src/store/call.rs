//! A custom store, which is a C function: it receives a call for each thing that it has to do, which it answers now or later.

use std::ffi::{CStr, c_char, c_void};

use agent_loop::Error;
use agent_loop::host::{HostAnswer, HostCall, HostKind, shown};
use agent_loop::session::hosting::STORE_METHODS;
use serde_json::{Map, Value};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t, kind_of};
use crate::guard::{self, guard};
use crate::handle::{borrow, take_back};
use crate::text::{self, Text, borrowed};

/// Gives the right to append to a session, which is created if there is none.
pub const AGENT_STORE_ACQUIRE: i32 = 1;
/// Prolongs leases.
pub const AGENT_STORE_RENEW: i32 = 2;
/// Gives a lease back.
pub const AGENT_STORE_RELEASE: i32 = 3;
/// Appends lines.
pub const AGENT_STORE_APPEND: i32 = 4;
/// The lines behind a number.
pub const AGENT_STORE_READ: i32 = 5;
/// What is known of a session without reading it.
pub const AGENT_STORE_INFO: i32 = 6;
/// Sets title and metadata.
pub const AGENT_STORE_SET_INFO: i32 = 7;
/// Lists sessions.
pub const AGENT_STORE_LIST: i32 = 8;
/// Removes a session.
pub const AGENT_STORE_DELETE: i32 = 9;
/// Answered when there may be a line behind a number.
pub const AGENT_STORE_CHANGED: i32 = 10;

/// The methods with their words.
const METHODS: [(i32, &CStr); 10] = [
    (AGENT_STORE_ACQUIRE, c"acquire"),
    (AGENT_STORE_RENEW, c"renew"),
    (AGENT_STORE_RELEASE, c"release"),
    (AGENT_STORE_APPEND, c"append"),
    (AGENT_STORE_READ, c"read"),
    (AGENT_STORE_INFO, c"info"),
    (AGENT_STORE_SET_INFO, c"set_info"),
    (AGENT_STORE_LIST, c"list"),
    (AGENT_STORE_DELETE, c"delete"),
    (AGENT_STORE_CHANGED, c"changed"),
];

/// A custom store. It owns the call.
pub type agent_store_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void, call: *mut agent_store_call_t)>;

/// One call of a custom store.
pub struct agent_store_call_t {
    method: i32,
    input: Text,
    call: HostCall,
}

impl agent_store_call_t {
    pub(crate) fn new(call: HostCall) -> agent_store_call_t {
        let word = if let HostKind::Store(word) = call.kind() { word } else { "" };
        let method = METHODS.iter().find(|(_, name)| name.to_bytes() == word.as_bytes()).map_or(0, |(number, _)| *number);
        let names = STORE_METHODS.iter().find(|(name, _)| *name == word).map_or(&[] as &[&str], |(_, names)| names);
        let values = call.take_store_arguments().unwrap_or_default();
        let input: Map<String, Value> = names.iter().map(|name| (*name).to_owned()).zip(values).collect();
        agent_store_call_t { method, input: Text::json(&input), call }
    }
}

/// Whether the function answers `changed`, which the options say; the others are those of all stores.
pub(super) fn takes_changed(options: &mut Map<String, Value>) -> Result<bool, Error> {
    match options.remove("changed") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(changed)) => Ok(changed),
        Some(other) => Err(Error::invalid_argument(format!("options: changed: expected true or false, got {}", shown(&other)))),
    }
}

/// A method as a word.
#[cfg_attr(exports, unsafe(no_mangle))]
pub extern "C" fn agent_store_method_name(method: i32) -> *const c_char {
    let found = METHODS.iter().find(|(number, _)| *number == method);
    found.map_or(std::ptr::null(), |(_, word)| word.as_ptr())
}

/// What the store has to do.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_call_method(call: *const agent_store_call_t) -> i32 {
    // SAFETY: a call or NULL.
    guard::read(0, || Some(unsafe { call.as_ref() }?.method))
}

/// The arguments of the method.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_call_input(call: *const agent_store_call_t, length: *mut usize) -> *const c_char {
    // SAFETY: a call or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&call.as_ref()?.input)) }
}

/// Answers with JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_call_respond_json(
    call: *mut agent_store_call_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            call.call.respond(HostAnswer::Json(text::json(json, length, "json")?))?;
            Ok(AGENT_OK)
        })
    }
}

/// Answers with a failure.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_call_fail(
    call: *mut agent_store_call_t,
    status: agent_status_t,
    message: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            let kind = kind_of(status, "status")?;
            call.call.fail_with(Error::new(kind, text::required(message, length, "message")?))?;
            Ok(AGENT_OK)
        })
    }
}

/// Releases a call; an unanswered one fails.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_store_call_free(call: *mut agent_store_call_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(call) }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_has_a_distinct_number_and_its_word() {
        assert_eq!(METHODS.map(|(number, _)| number), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let words: Vec<&str> = METHODS.iter().filter_map(|(_, word)| word.to_str().ok()).collect();
        assert_eq!(words, STORE_METHODS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        assert!(agent_store_method_name(0).is_null());
    }
}
