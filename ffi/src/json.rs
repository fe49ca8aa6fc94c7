//! JSON values: parsed, read by JSON pointer, changed, and written.
//!
//! A value is a tree of handles, so that a part of it is borrowed by C like the whole, and its strings are texts that C can
//! read without a copy.

pub mod get;
mod pointer;
pub mod set;

use std::ffi::c_char;
use std::sync::OnceLock;

use agent_loop::Error;
use serde::ser::{Serialize, Serializer};
use serde_json::{Number, Value};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{hand_out, output, take_back};
use crate::text::{self, Text};

/// How deep containers may be nested in each other: what `serde_json` reads.
const MAX_DEPTH: usize = 127;

/// A value, or a part of one.
#[derive(Default)]
pub struct agent_json_t {
    content: Content,
    /// The JSON of this part, once C has borrowed it. A change of this part or of one inside of it removes it.
    json: OnceLock<Text>,
}

#[derive(Default)]
enum Content {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(Text),
    Array(Vec<agent_json_t>),
    Object(Vec<(Text, agent_json_t)>),
}

impl agent_json_t {
    fn new(content: Content) -> agent_json_t {
        agent_json_t { content, json: OnceLock::new() }
    }

    /// A member or an element.
    fn child(&self, token: &str) -> Option<&agent_json_t> {
        match &self.content {
            Content::Array(elements) => elements.get(pointer::index(token)?),
            Content::Object(members) => members.iter().find(|(key, _)| key.as_str() == token).map(|(_, value)| value),
            _ => None,
        }
    }

    /// How many containers are nested in each other here.
    fn depth(&self) -> usize {
        match &self.content {
            Content::Array(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Content::Object(members) => 1 + members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// What this is, for an error.
    fn describe(&self) -> String {
        const SHOWN: usize = 20;
        let count = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
        match &self.content {
            Content::Null => "null".to_owned(),
            Content::Bool(value) => value.to_string(),
            Content::Number(number) => format!("the number {number}"),
            Content::String(_) => "a string".to_owned(),
            Content::Array(elements) => format!("an array of {}", count(elements.len(), "element")),
            Content::Object(members) if members.is_empty() => "an empty object".to_owned(),
            Content::Object(members) => {
                let keys: Vec<String> = members.iter().take(SHOWN).map(|(key, _)| text::printable(key.as_str())).collect();
                let more = members.len() - keys.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("an object with {}{more}", keys.join(", "))
            }
        }
    }
}

impl Clone for agent_json_t {
    /// A copy without the JSON that was borrowed.
    fn clone(&self) -> agent_json_t {
        let copy = |text: &Text| Text::new(text.as_str());
        agent_json_t::new(match &self.content {
            Content::Null => Content::Null,
            Content::Bool(value) => Content::Bool(*value),
            Content::Number(number) => Content::Number(number.clone()),
            Content::String(text) => Content::String(copy(text)),
            Content::Array(elements) => Content::Array(elements.clone()),
            Content::Object(members) => Content::Object(members.iter().map(|(key, value)| (copy(key), value.clone())).collect()),
        })
    }
}

impl From<Value> for agent_json_t {
    fn from(value: Value) -> agent_json_t {
        agent_json_t::new(match value {
            Value::Null => Content::Null,
            Value::Bool(value) => Content::Bool(value),
            Value::Number(number) => Content::Number(number),
            Value::String(text) => Content::String(Text::new(text)),
            Value::Array(elements) => Content::Array(elements.into_iter().map(agent_json_t::from).collect()),
            Value::Object(members) => {
                Content::Object(members.into_iter().map(|(key, value)| (Text::new(key), value.into())).collect())
            }
        })
    }
}

impl Serialize for agent_json_t {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Content::Null => serializer.serialize_unit(),
            Content::Bool(value) => serializer.serialize_bool(*value),
            Content::Number(number) => number.serialize(serializer),
            Content::String(text) => serializer.serialize_str(text.as_str()),
            Content::Array(elements) => serializer.collect_seq(elements),
            Content::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key.as_str(), value))),
        }
    }
}

impl PartialEq for agent_json_t {
    fn eq(&self, other: &agent_json_t) -> bool {
        match (&self.content, &other.content) {
            (Content::Null, Content::Null) => true,
            (Content::Bool(a), Content::Bool(b)) => a == b,
            (Content::Number(a), Content::Number(b)) => same_number(a, b),
            (Content::String(a), Content::String(b)) => a.as_str() == b.as_str(),
            (Content::Array(a), Content::Array(b)) => a == b,
            (Content::Object(a), Content::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, value)| other.child(key.as_str()) == Some(value))
            }
            _ => false,
        }
    }
}

/// Whole numbers exactly, others as doubles.
fn same_number(a: &Number, b: &Number) -> bool {
    a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
}

fn too_deep(pointer: &str) -> Error {
    Error::invalid_argument(format!("{pointer:?} would be nested deeper than {MAX_DEPTH} levels"))
}

/// Parses a text.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_parse(
    text: *const c_char,
    length: usize,
    json: *mut *mut agent_json_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let out = output(json, "json")?;
            hand_out(out, agent_json_t::from(text::json(text, length, "text")?));
            Ok(AGENT_OK)
        })
    }
}

/// The value as JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_text(json: *const agent_json_t, length: *mut usize) -> *const c_char {
    // SAFETY: a value or NULL, and a length to write or NULL.
    unsafe {
        text::borrowed(length, || {
            let json = json.as_ref()?;
            Some(json.json.get_or_init(|| Text::json(json)))
        })
    }
}

/// Whether two values are the same.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_equals(json: *const agent_json_t, other: *const agent_json_t) -> bool {
    // SAFETY: values or NULL.
    guard::read(false, || Some(unsafe { json.as_ref() }? == unsafe { other.as_ref() }?))
}

/// Releases a value.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_json_free(json: *mut agent_json_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(json) }));
}
