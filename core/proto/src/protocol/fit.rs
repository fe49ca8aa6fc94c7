//! Frames whose fields are of other types than documented: what fits is kept, what does not is taken for absent. A number where
//! a text stands is its text, and a text that is a number is that number.

use serde_json::{Number, Value};

/// What a field is to be.
pub(super) enum Kind {
    Text,
    Number,
    Flag,
    /// Anything: who reads it looks at it first.
    Any,
    /// An object with these fields, and others.
    Object(&'static [(&'static str, Kind)]),
    List(&'static Kind),
}

/// Makes a value fit; false where it cannot.
pub(super) fn fit(value: &mut Value, kind: &Kind) -> bool {
    let new = match (kind, &mut *value) {
        (Kind::Any, _) | (_, Value::Null) | (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Bool(_)) => return true,
        (Kind::Text, Value::Number(number)) => Value::String(number.to_string()),
        (Kind::Flag, Value::String(text)) if matches!(text.as_str(), "true" | "false") => Value::Bool(text == "true"),
        (Kind::Number, Value::Number(number)) if number.is_i64() => return true,
        (Kind::Number, Value::String(text)) => match text.trim().parse::<i64>() {
            Ok(number) => Value::Number(Number::from(number)),
            Err(_) => return false,
        },
        (Kind::Object(fields), Value::Object(map)) => {
            for (name, kind) in *fields {
                if map.get_mut(*name).is_some_and(|value| !fit(value, kind)) {
                    map.shift_remove(*name);
                }
            }
            return true;
        }
        (Kind::List(kind), Value::Array(list)) => {
            list.retain_mut(|value| !value.is_null() && fit(value, kind));
            return true;
        }
        _ => return false,
    };
    *value = new;
    true
}
