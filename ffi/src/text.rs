//! Text across the boundary: in by pointer and length; out NUL-terminated and borrowed from a handle.

use std::ffi::{CStr, c_char};

use agent_loop::Error;
use agent_loop::host::{check_plain, read_json, shown};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::guard;
use crate::handle::take_back;

/// As the length of a text: the text ends with a NUL.
pub const AGENT_NTS: usize = usize::MAX;

/// A text that C can read: UTF-8 and a NUL. Moving this does not move the bytes.
#[derive(Debug)]
pub(crate) struct Text(Vec<u8>);

/// An owned text.
pub struct agent_text_t(Text);

impl agent_text_t {
    pub(crate) fn new(text: impl Into<String>) -> agent_text_t {
        agent_text_t(Text::new(text))
    }

    /// The canonical JSON of a value of core.
    #[cfg(feature = "store")]
    pub(crate) fn json(value: &impl Serialize) -> agent_text_t {
        agent_text_t(Text::json(value))
    }
}

impl Text {
    pub(crate) fn new(text: impl Into<String>) -> Text {
        let mut bytes = text.into().into_bytes();
        bytes.reserve_exact(1);
        bytes.push(0);
        Text(bytes)
    }

    /// The canonical JSON of a value of core.
    pub(crate) fn json(value: &impl Serialize) -> Text {
        // Serializing a value of core cannot fail: all map keys are strings.
        Text::new(serde_json::to_string(value).unwrap_or_default())
    }

    /// Replaces the text and reuses the memory.
    pub(crate) fn set(&mut self, text: &str) {
        self.0.clear();
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
    }

    pub(crate) fn as_str(&self) -> &str {
        // Made of a string, so the bytes before the NUL are UTF-8.
        self.0.split_last().and_then(|(_, text)| std::str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// The text as C borrows it.
    ///
    /// # Safety
    /// `length` is null or may be written.
    pub(crate) unsafe fn as_ptr(&self, length: *mut usize) -> *const c_char {
        // SAFETY: the caller's promise.
        unsafe { write_length(length, self.0.len() - 1) };
        self.0.as_ptr().cast()
    }

    /// The same, for who decides by the text: without a length, C would see it end at a NUL that it contains. `what` says which
    /// text it is.
    ///
    /// # Safety
    /// `length` is null or may be written.
    pub(crate) unsafe fn whole(&self, length: *mut usize, what: impl FnOnce() -> String) -> Result<*const c_char, Error> {
        if length.is_null() && self.as_str().contains('\0') {
            let what = what();
            let text = format!("{what} contains the character U+0000, at which a C string ends; pass value_length and use it");
            return Err(Error::invalid_argument(text));
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { self.as_ptr(length) })
    }
}

/// A text as C borrows it: NULL with length 0 if it is missing.
///
/// # Safety
/// `length` is null or may be written.
pub(crate) unsafe fn borrowed<'a>(length: *mut usize, find: impl FnOnce() -> Option<&'a Text>) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe {
        write_length(length, 0);
        guard::read(std::ptr::null(), || Some(find()?.as_ptr(length)))
    }
}

/// # Safety
/// `length` is null or may be written.
unsafe fn write_length(length: *mut usize, value: usize) {
    if !length.is_null() {
        // SAFETY: not null, so it may be written.
        unsafe { length.write(value) };
    }
}

/// A constant text; fails to compile without its NUL.
pub(crate) const fn with_nul(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a constant text without NUL"),
    }
}

/// Text from C. `name` is the argument's, for the error.
///
/// # Safety
/// `pointer` is null, or has `length` bytes that outlive `'a` (with [`AGENT_NTS`]: up to a NUL).
pub(crate) unsafe fn required<'a>(pointer: *const c_char, length: usize, name: &str) -> Result<&'a str, Error> {
    // SAFETY: the caller's promise.
    unsafe { optional(pointer, length, name) }?.ok_or_else(|| Error::invalid_argument(format!("{name} is NULL")))
}

/// Text from C that may be NULL.
///
/// # Safety
/// As [`required`].
pub(crate) unsafe fn optional<'a>(pointer: *const c_char, length: usize, name: &str) -> Result<Option<&'a str>, Error> {
    // SAFETY: the caller's promise.
    let Some(bytes) = unsafe { bytes(pointer, length, name) }? else {
        return Ok(None);
    };
    std::str::from_utf8(bytes)
        .map(Some)
        .map_err(|e| Error::invalid_argument(format!("{name} is not UTF-8: invalid byte at offset {}", e.valid_up_to())))
}

/// Bytes from C that may be NULL.
///
/// # Safety
/// As [`required`].
pub(crate) unsafe fn bytes<'a>(pointer: *const c_char, length: usize, name: &str) -> Result<Option<&'a [u8]>, Error> {
    if pointer.is_null() {
        return Ok(None);
    }
    let bytes = if length == AGENT_NTS {
        // SAFETY: there is a NUL, by the caller's promise.
        unsafe { CStr::from_ptr(pointer) }.to_bytes()
    } else if isize::try_from(length).is_err() {
        return Err(Error::invalid_argument(format!("{name}: a length of {length} bytes is not possible")));
    } else {
        // SAFETY: there are so many bytes, by the caller's promise.
        unsafe { std::slice::from_raw_parts(pointer.cast(), length) }
    };
    Ok(Some(bytes))
}

/// A text from C for a model or a user to read. It may contain any character, but a NUL at its end is a wrong length.
///
/// # Safety
/// As [`required`].
pub(crate) unsafe fn prose<'a>(pointer: *const c_char, length: usize, name: &str) -> Result<&'a str, Error> {
    // SAFETY: the caller's promise.
    let text = unsafe { required(pointer, length, name) }?;
    if text.ends_with('\0') {
        return Err(counted_nul(name, text.trim_end_matches('\0').len()));
    }
    Ok(text)
}

/// A name from C, which has no control characters.
///
/// # Safety
/// As [`required`].
pub(crate) unsafe fn identifier<'a>(pointer: *const c_char, length: usize, name: &str) -> Result<&'a str, Error> {
    // SAFETY: the caller's promise.
    let text = unsafe { required(pointer, length, name) }?;
    check_identifier(text, name)?;
    Ok(text)
}

/// A key or an address from C that may be NULL. White space around it does not count.
///
/// # Safety
/// As [`required`].
pub(crate) unsafe fn optional_identifier<'a>(
    pointer: *const c_char,
    length: usize,
    name: &str,
) -> Result<Option<&'a str>, Error> {
    // SAFETY: the caller's promise.
    let text = unsafe { optional(pointer, length, name) }?;
    text.map_or(Ok(()), |text| check_identifier(text.trim(), name))?;
    Ok(text)
}

/// A model from C, as its name or in JSON.
///
/// # Safety
/// As [`required`].
pub(crate) unsafe fn model<'a>(pointer: *const c_char, length: usize) -> Result<&'a str, Error> {
    // SAFETY: the caller's promise.
    let text = unsafe { required(pointer, length, "model") }?;
    match text.trim_start().starts_with('{') {
        true if text.contains('\0') => parse(text, "model").map(|_| text),
        true => Ok(text),
        false => check_identifier(text, "model").map(|()| text),
    }
}

fn check_identifier(text: &str, name: &str) -> Result<(), Error> {
    match text.find('\0') {
        Some(at) => Err(counted_nul(name, at)),
        // The text is not shown: it may be a key.
        None => check_plain(name, text),
    }
}

/// The error of a text with a NUL, where its length was to end.
fn counted_nul(name: &str, at: usize) -> Error {
    Error::invalid_argument(format!("{name} has a NUL byte at offset {at}; {COUNTED}"))
}

/// Why a text has a NUL at its end.
pub(crate) const COUNTED: &str =
    "does its length include the NUL that ends a C string? Give the length without it (strlen), or AGENT_NTS";

/// A key for an error, which a NUL in it would cut for a reader of C strings: control characters are escaped.
pub(crate) fn printable(key: &str) -> String {
    key.chars().map(|c| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() }).collect()
}

/// JSON from C.
///
/// # Safety
/// As [`required`].
pub(crate) unsafe fn json(pointer: *const c_char, length: usize, name: &str) -> Result<Value, Error> {
    // SAFETY: the caller's promise.
    parse(unsafe { required(pointer, length, name) }?, name)
}

/// A JSON object from C.
///
/// # Safety
/// As [`required`].
pub(crate) unsafe fn object(pointer: *const c_char, length: usize, name: &str) -> Result<Map<String, Value>, Error> {
    // SAFETY: the caller's promise.
    match unsafe { json(pointer, length, name) }? {
        Value::Object(map) => Ok(map),
        other => Err(Error::invalid_argument(format!("{name}: expected a JSON object, got {}", shown(&other)))),
    }
}

/// JSON that a host wrote; an unpaired surrogate in it becomes U+FFFD.
pub(crate) fn parse(text: &str, name: &str) -> Result<Value, Error> {
    read_json(text)
        .map_err(|e| nul_in_json(text, name).unwrap_or_else(|| Error::invalid_argument(format!("{name} is {}", e.message()))))
}

/// The error of a text that is not JSON, if the first thing wrong with it is a NUL: JSON has none.
pub(crate) fn nul_in_json(text: &str, name: &str) -> Option<Error> {
    let at = text.find('\0')?;
    let before = serde_json::Deserializer::from_str(text.get(..at)?).into_iter::<IgnoredAny>().find_map(Result::err);
    match before {
        None => Some(counted_nul(name, at)),
        Some(error) if error.is_eof() => {
            let what = "in the middle of the JSON; in a string it is written \\u0000";
            Some(Error::invalid_argument(format!("{name} has a NUL byte at offset {at}, {what}")))
        }
        Some(_) => None,
    }
}

/// The text.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_text_data(text: *const agent_text_t, length: *mut usize) -> *const c_char {
    // SAFETY: a text or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&text.as_ref()?.0)) }
}

/// Releases a text.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_text_free(text: *mut agent_text_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(text) }));
}
