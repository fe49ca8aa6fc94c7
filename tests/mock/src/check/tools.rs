//! Tools as they are offered: names and schemas.

use serde_json::Value;

use super::place::{Checked, Place, Wrong};

pub(super) const NAME: &str = "^[a-zA-Z0-9_-]+$";

/// 1 to 64 letters, digits, underscores and hyphens.
pub(super) fn name<'a>(place: &Place<'a>) -> Checked<&'a str> {
    let name = place.short_string(64)?;
    if name.chars().all(is_id_character) { Ok(name) } else { place.pattern(NAME) }
}

pub(super) fn is_id_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

/// The first name that comes twice.
pub(super) fn repeated<'a>(names: &[&'a str]) -> Option<&'a str> {
    names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)).map(|(_, name)| *name)
}

/// OpenAI's rules for a function's parameters.
pub(super) fn openai_parameters(name: &str, parameters: &Place<'_>, strict: bool) -> Checked {
    let schema = parameters.open_object()?;
    let invalid = |message: String| {
        Err(Wrong::Coded {
            status: 400,
            code: "invalid_function_parameters",
            path: Some(parameters.path.clone()),
            message: format!("Invalid schema for function '{name}': {message}"),
        })
    };
    // A function without parameters may have the empty schema.
    if !schema.map.is_empty() && schema.map.get("type").and_then(Value::as_str) != Some("object") {
        let got =
            schema.map.get("type").map_or("None".into(), |kind| kind.as_str().map_or_else(|| kind.to_string(), str::to_owned));
        return invalid(format!("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{got}\"'."));
    }
    match strict.then(|| not_strict(parameters.value, &mut Vec::new())).flatten() {
        Some(message) => invalid(message),
        None => Ok(()),
    }
}

/// Where a schema for `strict` leaves something open: every object must name all its properties and take no others.
pub(super) fn not_strict(schema: &Value, context: &mut Vec<String>) -> Option<String> {
    let at = |context: &[String]| format!("In context=({})", context.join(", "));
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Some(format!("{}, 'additionalProperties' is required to be supplied and to be false.", at(context)));
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
        if let Some(name) = properties.keys().find(|name| !is_required(name)) {
            return Some(format!(
                "{}, 'required' is required to be supplied and to be an array including every key in properties. Missing \
                 '{name}'.",
                at(context)
            ));
        }
        for (name, property) in properties {
            context.push(format!("'properties', '{name}'"));
            if let Some(message) = not_strict(property, context) {
                return Some(message);
            }
            context.pop();
        }
    }
    context.push("'items'".into());
    let found = schema.get("items").and_then(|items| not_strict(items, context));
    context.pop();
    found
}
