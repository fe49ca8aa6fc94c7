//! What a JSON value is, for messages about wrong fields.

use serde_json::Value;

/// What a value is. Not the value: it may be a key.
pub(super) fn kind_of(value: &Value) -> &'static str {
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
