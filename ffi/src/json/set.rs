//! Changing a value.
//!
//! What comes from C is copied before the value is borrowed for the change: it may be text or a part of the same value.

use std::ffi::c_char;

use agent_loop::{Error, ErrorKind};
use serde_json::Number;

use super::get::place;
use super::{Content, MAX_DEPTH, agent_json_t, pointer, too_deep};
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, borrow_mut};
use crate::text::{self, COUNTED, Text};

impl agent_json_t {
    /// Puts a value at a pointer. Nothing changes on an error.
    fn set(&mut self, pointer: &str, value: agent_json_t) -> Result<(), Error> {
        let tokens = pointer::parse(pointer)?;
        if tokens.len() + value.depth() > MAX_DEPTH {
            return Err(too_deep(pointer));
        }
        self.check_place(&tokens)?;
        let mut at = self;
        for token in &tokens {
            at = at.child_or_new(&token.name).ok_or_else(|| nowhere(&token.path))?;
        }
        *at = value;
        Ok(())
    }

    /// Whether there can be a part at this place.
    fn check_place(&self, tokens: &[pointer::Token]) -> Result<(), Error> {
        let (mut at, mut path) = (self, "");
        for token in tokens {
            let fits = match &at.content {
                // A container is created in its place.
                Content::Null => return check_new(tokens),
                Content::Object(_) => true,
                Content::Array(elements) => token.name == "-" || pointer::index(&token.name).is_some_and(|i| i <= elements.len()),
                _ => false,
            };
            if !fits {
                let text = format!("there is no place for {:?}: {} is {}", token.path, place(path), at.describe());
                return Err(Error::invalid_argument(text));
            }
            let Some(child) = at.child(&token.name) else {
                return check_new(tokens);
            };
            (at, path) = (child, &token.path);
        }
        Ok(())
    }

    /// A member or an element, which is null if it is new. In the place of null, a container is created.
    fn child_or_new(&mut self, token: &str) -> Option<&mut agent_json_t> {
        self.json.take();
        if matches!(self.content, Content::Null) {
            self.content = if token == "-" { Content::Array(Vec::new()) } else { Content::Object(Vec::new()) };
        }
        match &mut self.content {
            Content::Array(elements) => {
                let index = if token == "-" { elements.len() } else { pointer::index(token)? };
                if index == elements.len() {
                    elements.push(agent_json_t::default());
                }
                elements.get_mut(index)
            }
            Content::Object(members) => {
                let found = members.iter().position(|(key, _)| key.as_str() == token);
                let index = found.unwrap_or_else(|| {
                    members.push((Text::new(token), agent_json_t::default()));
                    members.len() - 1
                });
                members.get_mut(index).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Removes the part at a pointer.
    fn remove(&mut self, pointer: &str) -> Result<(), Error> {
        let mut tokens = pointer::parse(pointer)?;
        self.find(pointer)?;
        let Some(last) = tokens.pop() else {
            return Err(Error::invalid_argument("pointer is \"\", the whole value, which cannot be removed"));
        };
        let mut at = self;
        for token in &tokens {
            at = at.child_or_new(&token.name).ok_or_else(|| nowhere(&token.path))?;
        }
        at.json.take();
        match &mut at.content {
            Content::Array(elements) => drop(pointer::index(&last.name).map(|index| elements.remove(index))),
            Content::Object(members) => members.retain(|(key, _)| key.as_str() != last.name),
            _ => return Err(nowhere(pointer)),
        }
        Ok(())
    }
}

/// A part is not created under a key that ends with a NUL: the pointer's length is wrong.
fn check_new(tokens: &[pointer::Token]) -> Result<(), Error> {
    match tokens.last() {
        Some(last) if last.name.ends_with('\0') => {
            Err(Error::invalid_argument(format!("pointer {:?} ends with a NUL byte; {COUNTED}", last.path)))
        }
        _ => Ok(()),
    }
}

fn nowhere(path: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no {path:?}"))
}

/// Runs a setter.
///
/// # Safety
/// A value or NULL that no other thread uses meanwhile, text or NULL, and an error to write or NULL.
unsafe fn set(
    json: *mut agent_json_t,
    pointer: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
    value: impl FnOnce() -> Result<agent_json_t, Error>,
) -> agent_status_t {
    // SAFETY: the caller's promise.
    unsafe {
        guard(error, || {
            // Only checked: `value` and the pointer may be borrowed from it.
            borrow(json, "json")?;
            let pointer = text::required(pointer, length, "pointer")?.to_owned();
            let value = value()?;
            borrow_mut(json, "json")?.set(&pointer, value)?;
            Ok(AGENT_OK)
        })
    }
}

/// Sets a copy of a value.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_set(
    json: *mut agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: *const agent_json_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: values or NULL, the first of which no other thread uses meanwhile, text or NULL, and an error to write or NULL.
    unsafe { set(json, pointer, length, error, || Ok(borrow(value, "value")?.clone())) }
}

/// Sets what a JSON text contains.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_set_json(
    json: *mut agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: *const c_char,
    value_length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a value or NULL that no other thread uses meanwhile, texts or NULL, and an error to write or NULL.
    unsafe { set(json, pointer, length, error, || Ok(text::json(value, value_length, "value")?.into())) }
}

/// Sets a string.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_set_string(
    json: *mut agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: *const c_char,
    value_length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a value or NULL that no other thread uses meanwhile, texts or NULL, and an error to write or NULL.
    unsafe {
        set(json, pointer, length, error, || {
            let text = text::required(value, value_length, "value")?;
            Ok(agent_json_t::new(Content::String(Text::new(text))))
        })
    }
}

/// Sets a number.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_set_number(
    json: *mut agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: f64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a value or NULL that no other thread uses meanwhile, text or NULL, and an error to write or NULL.
    unsafe { set(json, pointer, length, error, || Ok(agent_json_t::new(Content::Number(number(value)?)))) }
}

/// A number as it is written: 7 and not 7.0. Beyond 2^53 doubles are not exact, and keep their form.
fn number(value: f64) -> Result<Number, Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return Ok(Number::from(value as i64));
    }
    Number::from_f64(value).ok_or_else(|| Error::invalid_argument(format!("value is {value}, which JSON cannot express")))
}

/// Sets a whole number.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_set_integer(
    json: *mut agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: i64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a value or NULL that no other thread uses meanwhile, text or NULL, and an error to write or NULL.
    unsafe { set(json, pointer, length, error, || Ok(agent_json_t::new(Content::Number(value.into())))) }
}

/// Sets true or false.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_set_bool(
    json: *mut agent_json_t,
    pointer: *const c_char,
    length: usize,
    value: bool,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a value or NULL that no other thread uses meanwhile, text or NULL, and an error to write or NULL.
    unsafe { set(json, pointer, length, error, || Ok(agent_json_t::new(Content::Bool(value)))) }
}

/// Removes a member or an element.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_remove(
    json: *mut agent_json_t,
    pointer: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a value or NULL that no other thread uses meanwhile, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(json, "json")?;
            let pointer = text::required(pointer, length, "pointer")?.to_owned();
            borrow_mut(json, "json")?.remove(&pointer)?;
            Ok(AGENT_OK)
        })
    }
}
