//! The option `extra_body`: fields of the application in the body of a request, as a JSON merge patch
//! (<https://www.rfc-editor.org/rfc/rfc7396>). What the loop depends on is refused.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::json::Object;
use super::written_fields::fields;
use crate::error::Error;
use crate::request::IgnoredOption;

/// The fields that the engine decides, in all wire formats, and what to do instead.
const OWN: &[(&[&str], &str)] = &[
    (&["model"], "use the option model"),
    (&["messages", "input", "contents"], "change the messages with the hook transform_context"),
    (&["system", "systemInstruction", "system_instruction", "instructions"], "use the option system_prompt"),
    (&["tools"], "use tools of the agent, or the option hosted_tools"),
    (&["tool_choice", "toolConfig", "tool_config"], "use the option tool_choice"),
    (&["stream"], "each answer is streamed; leave it out"),
    (&["n"], "a model gives one answer; leave it out"),
];

/// Why a field is refused, if it is.
fn refused(name: &str) -> Option<String> {
    let (_, instead) = OWN.iter().find(|(names, _)| names.contains(&name))?;
    Some(format!("the engine writes {name:?} itself; {instead}"))
}

/// Refuses fields that the engine decides.
///
/// # Errors
/// `invalid_argument`: names the first of them.
pub(super) fn check(extra: &Map<String, Value>, spelled: &str) -> Result<(), Error> {
    match extra.keys().find_map(|name| refused(name)) {
        Some(why) => Err(Error::invalid_argument(format!("option {spelled:?}: {why}"))),
        None => Ok(()),
    }
}

/// The body with these fields: an object is merged into the one of that name, null removes a field, all else replaces it. The
/// rest of the body stays as it was written. A field that the engine decides is left out, and recorded.
pub(super) fn merged(body: &[u8], extra: &Map<String, Value>, ignored: &mut Vec<IgnoredOption>) -> Vec<u8> {
    if let Some(why) = extra.keys().find_map(|name| refused(name)) {
        ignored.push(IgnoredOption { option: "extra_body", why });
    }
    let mut left: Vec<_> = extra.iter().filter(|(name, _)| refused(name).is_none()).collect();
    let mut out = Vec::with_capacity(body.len() + 1024);
    let mut object = Object::begin(&mut out);
    for (name, json) in fields(body) {
        match left.iter().position(|(given, _)| given.as_bytes() == name) {
            None => object.json(&String::from_utf8_lossy(name), json),
            Some(at) => {
                let (name, given) = left.remove(at);
                let written = if given.is_object() { serde_json::from_slice(json).unwrap_or_default() } else { Value::Null };
                write(&mut object, name, written, given);
            }
        }
    }
    left.into_iter().for_each(|(name, given)| write(&mut object, name, Value::Null, given));
    object.end();
    out
}

fn write(object: &mut Object<'_>, name: &str, mut value: Value, given: &Value) {
    if !given.is_null() {
        merge(&mut value, given);
        object.field(name, value);
    }
}

fn merge(value: &mut Value, given: &Value) {
    let Value::Object(given) = given else {
        value.clone_from(given);
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(fields) = value else { return };
    for (name, given) in given {
        if given.is_null() {
            fields.shift_remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), given);
        }
    }
}
