//! Reading the fields of an option that is an object, with errors that name the field.

use agent_loop_proto::json_error::words;
use agent_loop_proto::json_reader::from_value;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, canonical_names};

/// A field: its canonical name, whether a value fits, and what does.
pub(crate) type Field = (&'static str, fn(&Value) -> bool, &'static str);

/// Reads an object. `what` is what its fields are called in errors, such as `MCP field`. Fields with null count as left out.
///
/// # Errors
/// A text: an unknown or wrong field (names it).
pub(crate) fn read<T: DeserializeOwned>(
    what: &str,
    given: Map<String, Value>,
    fields: &[Field],
    spelling: Spelling,
) -> Result<T, String> {
    let names: Vec<&str> = fields.iter().map(|(name, ..)| *name).collect();
    let mut map = canonical_names(what, given, &names, spelling).map_err(|error| error.message().to_owned())?;
    map.retain(|_, value| !value.is_null());
    for (name, fits, expected) in fields {
        if let Some(value) = map.get(*name).filter(|value| !fits(value)) {
            return Err(format!("{}: expected {expected}, got {}", spelling.spell(name), kind_of(value)));
        }
    }
    from_value(&Value::Object(map)).map_err(|error| words(&error))
}

pub(crate) fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

/// What a value is. Not the value: it may be a key.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(list) if list.iter().all(Value::is_string) => "a list",
        Value::Array(_) => "a list of other things",
        Value::Object(_) => "an object",
    }
}
