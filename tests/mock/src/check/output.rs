//! The form that a request gives its answer: a JSON Schema, of which each service takes a part.

use serde_json::Value;

use super::place::{Checked, Place, Wrong, said};
use super::tools;

/// What OpenAI's strict form does not take: <https://developers.openai.com/api/docs/guides/structured-outputs>.
const NOT_STRICT: &[&str] = &[
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "prefixItems",
    "contains",
    "default",
];

/// What Anthropic does not take: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>.
const NOT_OF_ANTHROPIC: &[&str] = &[
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxItems",
    "uniqueItems",
    "prefixItems",
    "contains",
];

/// `{name, description?, strict?, schema}`, with more fields around it in Responses.
pub(super) fn openai(form: &Place<'_>, fields: &[&str]) -> Checked {
    let form = form.object(fields)?;
    let name = tools::name(&form.require("name")?)?;
    form.strings(&["description"])?;
    form.booleans(&["strict"])?;
    let place = form.require("schema")?;
    let schema = place.open_object()?;
    let invalid = |message: String| {
        Err(Wrong::Coded {
            status: 400,
            code: "invalid_json_schema",
            path: Some(place.path.clone()),
            message: format!("Invalid schema for response_format '{name}': {message}"),
        })
    };
    if schema.map.get("type").and_then(Value::as_str) != Some("object") {
        return invalid("schema must be a JSON Schema of 'type: \"object\"'.".to_owned());
    }
    let is_strict = form.get("strict").is_some_and(|strict| strict.value == true);
    if !is_strict {
        return Ok(());
    }
    let mut open = None;
    each_part(place.value, &mut |part| {
        let unknown = NOT_STRICT.iter().find(|keyword| part.get(**keyword).is_some());
        let unknown = unknown.map(|keyword| format!("In context=(), '{keyword}' is not permitted."));
        open = open.take().or(unknown).or_else(|| tools::not_strict(part, &mut Vec::new()));
    });
    open.map_or(Ok(()), invalid)
}

/// `output_config.format`.
pub(super) fn anthropic(form: &Place<'_>) -> Checked {
    let form = form.object(&["type", "schema"])?;
    form.require("type")?.one_of(&["json_schema"])?;
    let place = form.require("schema")?;
    place.open_object()?;
    let mut wrong = None;
    each_part(place.value, &mut |part| {
        if let Some(keyword) = NOT_OF_ANTHROPIC.iter().find(|keyword| part.get(**keyword).is_some()) {
            wrong =
                Some(format!("output_config.format.schema: For '{}' type, property '{keyword}' is not supported", kind(part)));
        } else if kind(part) == "object" && part.get("additionalProperties") != Some(&Value::Bool(false)) {
            wrong = Some(
                "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
                    .to_owned(),
            );
        }
    });
    if refers_to_itself(place.value) {
        return said("output_config.format.schema: Circular reference detected in schema definitions");
    }
    wrong.map_or(Ok(()), said)
}

fn kind(part: &Value) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or("any")
}

/// Calls the function with each schema within a schema.
fn each_part(schema: &Value, see: &mut impl FnMut(&Value)) {
    see(schema);
    for name in ["properties", "$defs", "definitions"] {
        let parts = schema.get(name).and_then(Value::as_object);
        parts.into_iter().flat_map(|parts| parts.values()).for_each(|part| each_part(part, see));
    }
    for name in ["anyOf", "allOf", "oneOf"] {
        schema.get(name).and_then(Value::as_array).into_iter().flatten().for_each(|part| each_part(part, see));
    }
    if let Some(items) = schema.get("items") {
        each_part(items, see);
    }
}

/// Whether a definition refers to itself, directly or by way of others.
fn refers_to_itself(schema: &Value) -> bool {
    let reached = |from: &Value| {
        let mut reached = Vec::new();
        let mut left = vec![from.clone()];
        while let Some(part) = left.pop() {
            each_part(&part, &mut |part| {
                let target = part.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
                if let Some(target) = target.filter(|target| !reached.iter().any(|known| known == target)) {
                    reached.push(target.to_owned());
                    left.extend(schema.pointer(target).cloned());
                }
            });
        }
        reached
    };
    let definitions = |name: &str| {
        let all = schema.get(name).and_then(Value::as_object).into_iter().flatten();
        all.map(|(key, part)| (format!("/{name}/{key}"), part.clone())).collect::<Vec<_>>()
    };
    let all = definitions("$defs").into_iter().chain(definitions("definitions"));
    all.into_iter().any(|(path, part)| reached(&part).contains(&path))
}
