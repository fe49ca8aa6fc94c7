//! Schemas that are certainly right: made of the keywords that most tools use, each with a value of the right kind. They can be
//! compiled when the first arguments are checked; a first compilation takes more time than all else up to a model's first word.

use serde_json::Value;

use super::keywords::TYPES;

/// Whether the schema is right beyond doubt. False says nothing: it may have keywords that are not looked at here.
pub(super) fn is_plain(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(keywords) => keywords.iter().all(|(keyword, value)| is_right(keyword, value)),
        _ => false,
    }
}

fn is_right(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => match value {
            Value::Array(names) => !names.is_empty() && are_different(names) && names.iter().all(is_type),
            name => is_type(name),
        },
        "title" | "description" => value.is_string(),
        "default" | "const" => true,
        "enum" | "examples" => value.is_array(),
        "properties" => value.as_object().is_some_and(|schemas| schemas.values().all(is_plain)),
        "items" | "additionalProperties" => is_plain(value),
        "anyOf" => value.as_array().is_some_and(|schemas| !schemas.is_empty() && schemas.iter().all(is_plain)),
        "required" => value.as_array().is_some_and(|names| are_different(names) && names.iter().all(Value::is_string)),
        "minimum" | "maximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        _ => false,
    }
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// Quadratic, as lists in schemas are short; a long one is no plain schema.
fn are_different(values: &[Value]) -> bool {
    values.len() <= 64 && values.iter().enumerate().all(|(i, value)| !values.iter().skip(i + 1).any(|other| other == value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_plain_compiles() {
        let number = json!({ "type": ["number", "null"], "minimum": 0, "default": 1 });
        let list = json!({ "type": "array", "items": { "enum": ["a", "b"] }, "minItems": 1, "description": "Some." });
        let either = json!({ "anyOf": [{ "type": "string", "maxLength": 3 }, { "const": null }, true] });
        for schema in [
            json!({}),
            json!({ "type": "object", "properties": { "n": number, "l": list, "e": either }, "required": ["n", "l"] }),
            json!({ "title": "T", "type": "object", "additionalProperties": false, "examples": [] }),
        ] {
            assert!(is_plain(&schema), "{schema}");
            assert!(jsonschema::validator_for(&schema).is_ok(), "{schema}");
        }
    }

    #[test]
    fn what_does_not_compile_is_not_plain() {
        let inside = |schema: Value| json!({ "type": "object", "properties": { "p": schema } });
        for schema in [
            json!({ "type": "text" }),
            json!({ "type": ["string", "string"] }),
            json!({ "type": [] }),
            json!({ "type": [["string"]] }),
            json!({ "required": ["a", "a"] }),
            json!({ "required": [1] }),
            json!({ "required": true }),
            json!({ "properties": [] }),
            json!({ "items": [{}] }),
            json!({ "anyOf": [] }),
            json!({ "anyOf": [1] }),
            json!({ "enum": "a" }),
            json!({ "minimum": "0" }),
            json!({ "minLength": -1 }),
            json!({ "maxItems": 1.5 }),
            json!({ "title": 1 }),
            json!({ "pattern": "(" }),
            json!({ "$ref": "#/nowhere" }),
            json!(1),
        ] {
            assert!(jsonschema::validator_for(&schema).is_err(), "{schema}");
            assert!(!is_plain(&schema) && !is_plain(&inside(schema.clone())), "{schema}");
        }
    }
}
