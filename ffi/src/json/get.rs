//! Reading a value.

use std::ffi::c_char;
use std::ptr::null;

use agent_loop::{Error, ErrorKind};

use super::{Content, agent_json_t, pointer};
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{borrow, output};
use crate::text::{self, COUNTED, Text, borrowed};

/// There is no value.
pub const AGENT_JSON_NONE: i32 = 0;
/// null.
pub const AGENT_JSON_NULL: i32 = 1;
/// true or false.
pub const AGENT_JSON_BOOL: i32 = 2;
/// A number.
pub const AGENT_JSON_NUMBER: i32 = 3;
/// A string.
pub const AGENT_JSON_STRING: i32 = 4;
/// An array.
pub const AGENT_JSON_ARRAY: i32 = 5;
/// An object.
pub const AGENT_JSON_OBJECT: i32 = 6;

impl agent_json_t {
    /// The part at a pointer, which may be null.
    pub(super) fn find(&self, pointer: &str) -> Result<&agent_json_t, Error> {
        let (mut at, mut path) = (self, String::new());
        for token in pointer::parse(pointer)? {
            at = at.child(&token.name).ok_or_else(|| {
                // A key may end with a NUL, but seldom does.
                let advice = if pointer.ends_with('\0') { format!("; {COUNTED}") } else { String::new() };
                let text = format!("there is no {:?}: {} is {}{advice}", token.path, place(&path), at.describe());
                Error::new(ErrorKind::NotFound, text)
            })?;
            path = token.path;
        }
        Ok(at)
    }

    /// What `read` takes from the part at a pointer.
    fn get<'a, T>(&'a self, pointer: &str, what: &str, read: impl FnOnce(&'a Content) -> Option<T>) -> Result<T, Error> {
        let found = self.find(pointer)?;
        read(&found.content).ok_or_else(|| match &found.content {
            Content::Null => Error::new(ErrorKind::NotFound, format!("{} is null", place(pointer))),
            _ => Error::invalid_argument(format!("{} is {}, not {what}", place(pointer), found.describe())),
        })
    }
}

/// A part in an error.
pub(super) fn place(pointer: &str) -> String {
    if pointer.is_empty() { "the value".to_owned() } else { format!("{pointer:?}") }
}

/// The whole number that a number is, if it is one of an `int64_t`.
fn integer(content: &Content) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    let Content::Number(number) = content else { return None };
    number.as_i64().or_else(|| {
        let value = number.as_f64().filter(|_| number.is_f64())?;
        // The range is checked, so that the conversion is exact.
        (value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)).then_some(value as i64)
    })
}

/// Runs a getter.
///
/// # Safety
/// A value or NULL, text or NULL, and outputs to write or NULL.
unsafe fn get<T>(
    json: *const agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: *mut T,
    error: *mut *mut agent_error_t,
    read: impl FnOnce(&agent_json_t, &str) -> Result<T, Error>,
) -> agent_status_t {
    // SAFETY: the caller's promise.
    unsafe {
        guard(error, || {
            let json = borrow(json, "json")?;
            let pointer = text::required(pointer, length, "pointer")?;
            let out = output(value, "value")?;
            out.write(read(json, pointer)?);
            Ok(AGENT_OK)
        })
    }
}

/// What a value is.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_type(json: *const agent_json_t) -> i32 {
    guard::read(AGENT_JSON_NONE, || {
        // SAFETY: a value or NULL.
        let json = unsafe { json.as_ref() }?;
        Some(match json.content {
            Content::Null => AGENT_JSON_NULL,
            Content::Bool(_) => AGENT_JSON_BOOL,
            Content::Number(_) => AGENT_JSON_NUMBER,
            Content::String(_) => AGENT_JSON_STRING,
            Content::Array(_) => AGENT_JSON_ARRAY,
            Content::Object(_) => AGENT_JSON_OBJECT,
        })
    })
}

/// The part at a pointer.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_get(json: *const agent_json_t, pointer: *const c_char, length: usize) -> *const agent_json_t {
    // SAFETY: a value or NULL, and text or NULL.
    guard::read(null(), || unsafe {
        let pointer = text::required(pointer, length, "pointer").ok()?;
        Some(std::ptr::from_ref(json.as_ref()?.find(pointer).ok()?))
    })
}

/// A string.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_get_string(
    json: *const agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: *mut *const c_char,
    value_length: *mut usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    fn read(content: &Content) -> Option<&Text> {
        if let Content::String(text) = content { Some(text) } else { None }
    }
    // SAFETY: a value or NULL, text or NULL, and outputs to write or NULL; the length is written on success, as the value.
    unsafe {
        get(json, pointer, length, value, error, |json, at| {
            json.get(at, "a string", read)?.whole(value_length, || format!("the string at {at:?}"))
        })
    }
}

/// A number.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_get_number(
    json: *const agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: *mut f64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let read = |content: &Content| if let Content::Number(number) = content { number.as_f64() } else { None };
    // SAFETY: a value or NULL, text or NULL, and outputs to write or NULL.
    unsafe { get(json, pointer, length, value, error, |json, at| json.get(at, "a number", read)) }
}

/// A whole number.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_get_integer(
    json: *const agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: *mut i64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a value or NULL, text or NULL, and outputs to write or NULL.
    unsafe { get(json, pointer, length, value, error, |json, at| json.get(at, "a whole number of 64 bits", integer)) }
}

/// A boolean.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_get_bool(
    json: *const agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: *mut bool,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let read = |content: &Content| if let Content::Bool(value) = content { Some(*value) } else { None };
    // SAFETY: a value or NULL, text or NULL, and outputs to write or NULL.
    unsafe { get(json, pointer, length, value, error, |json, at| json.get(at, "true or false", read)) }
}

/// The value of a member.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_member(json: *const agent_json_t, key: *const c_char, length: usize) -> *const agent_json_t {
    // SAFETY: a value or NULL, and text or NULL.
    guard::read(null(), || unsafe {
        let key = text::required(key, length, "key").ok()?;
        match &json.as_ref()?.content {
            Content::Object(members) => {
                members.iter().find(|(name, _)| name.as_str() == key).map(|(_, value)| std::ptr::from_ref(value))
            }
            _ => None,
        }
    })
}

/// The number of elements or members.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_count(json: *const agent_json_t) -> usize {
    // SAFETY: a value or NULL.
    guard::read(0, || match &unsafe { json.as_ref() }?.content {
        Content::Array(elements) => Some(elements.len()),
        Content::Object(members) => Some(members.len()),
        _ => None,
    })
}

/// An element, or the value of a member.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_at(json: *const agent_json_t, index: usize) -> *const agent_json_t {
    // SAFETY: a value or NULL.
    guard::read(null(), || match &unsafe { json.as_ref() }?.content {
        Content::Array(elements) => elements.get(index).map(std::ptr::from_ref),
        Content::Object(members) => members.get(index).map(|(_, value)| std::ptr::from_ref(value)),
        _ => None,
    })
}

/// The key of a member.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_key(json: *const agent_json_t, index: usize, length: *mut usize) -> *const c_char {
    // SAFETY: a value or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || match &json.as_ref()?.content {
            Content::Object(members) => members.get(index).map(|(key, _)| key),
            _ => None,
        })
    }
}
