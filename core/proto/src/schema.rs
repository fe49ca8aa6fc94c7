//! A tool's arguments against its JSON Schema, with the two conversions models need.

mod plain;

use std::sync::{Arc, OnceLock};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// How arguments are checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// Numeric strings become numbers and "true"/"false" booleans where the schema asks for them; the rest must fit.
    #[default]
    Coerce,
    /// Arguments must fit as they are.
    Strict,
    /// Arguments are not looked at.
    Off,
}

/// A checked schema.
#[derive(Debug)]
pub(crate) struct Schema {
    schema: Arc<Value>,
    /// Compiled when it is created, or, where nothing can be wrong with it, when first needed.
    validator: OnceLock<Result<Validator, String>>,
}

impl Schema {
    /// Checks the schema of an object; the error says where it is wrong.
    pub(crate) fn new(schema: Arc<Value>) -> Result<Schema, String> {
        if !schema.is_object() {
            return Err(format!("expected an object such as {{\"type\": \"object\", \"properties\": {{…}}}}, got {schema}"));
        }
        if let Some(kind) = schema.get("type").filter(|kind| *kind != "object") {
            return Err(format!("at \"/type\": arguments are an object, so this must be \"object\", not {kind}"));
        }
        let is_plain = plain::is_plain(&schema);
        let checked = Schema { schema, validator: OnceLock::new() };
        if !is_plain {
            checked.validator()?;
        }
        Ok(checked)
    }

    fn validator(&self) -> Result<&Validator, String> {
        let compile = || validator(&self.schema).map_err(|e| format!("at \"{}\": {e}", e.instance_path()));
        self.validator.get_or_init(compile).as_ref().map_err(Clone::clone)
    }

    /// The arguments as the tool gets them, or a line for each violation.
    pub(crate) fn check(&self, arguments: &Map<String, Value>, how: Validation) -> Result<Map<String, Value>, String> {
        if how == Validation::Off {
            return Ok(arguments.clone());
        }
        let original = Value::Object(arguments.clone());
        let validator = self.validator()?;
        let is_valid = validator.is_valid(&original);
        match original {
            Value::Object(valid) if is_valid => Ok(valid),
            invalid => coerced(validator, &invalid, how),
        }
    }
}

/// Invalid arguments with strings converted, or a line for each violation.
fn coerced(validator: &Validator, original: &Value, how: Validation) -> Result<Map<String, Value>, String> {
    let errors: Vec<ValidationError<'_>> = validator.iter_errors(original).collect();
    if how == Validation::Coerce {
        let mut coerced = original.clone();
        errors.iter().for_each(|error| coerce(error, "", original, &mut coerced));
        if validator.is_valid(&coerced)
            && let Value::Object(coerced) = coerced
        {
            return Ok(coerced);
        }
    }
    Err(errors.iter().map(|error| describe(error, original)).collect::<Vec<_>>().join("\n"))
}

/// Not `jsonschema::options()`: it is generic, and would compile the whole validator once more in this crate, for speed: 0.9 MB.
fn validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::validator_for(schema)
}

/// Converts the string at the place of a type error, if it reads as what the schema asks for.
fn coerce(error: &ValidationError<'_>, base: &str, original: &Value, coerced: &mut Value) {
    // Errors inside anyOf/oneOf count their path from the root of the arguments or from the branch, by version; both are tried.
    let path = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let wanted = |kinds: &[JsonType]| match kind {
                TypeKind::Single(one) => kinds.contains(one),
                TypeKind::Multiple(set) => kinds.iter().any(|kind| set.contains(*kind)),
            };
            for pointer in [path.to_owned(), format!("{base}{path}")] {
                let Some(Value::String(text)) = original.pointer(&pointer) else {
                    continue;
                };
                let better = if wanted(&[JsonType::Number, JsonType::Integer]) { number(text) } else { None };
                let better = better.or_else(|| match text.as_str() {
                    "true" if wanted(&[JsonType::Boolean]) => Some(Value::Bool(true)),
                    "false" if wanted(&[JsonType::Boolean]) => Some(Value::Bool(false)),
                    _ => None,
                });
                if let (Some(better), Some(place)) = (better, coerced.pointer_mut(&pointer)) {
                    *place = better;
                    return;
                }
            }
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            context.iter().flatten().for_each(|inner| coerce(inner, path, original, coerced));
        }
        _ => {}
    }
}

fn number(text: &str) -> Option<Value> {
    let number: serde_json::Number = serde_json::from_str(text.trim()).ok()?;
    Some(Value::Number(number))
}

/// One violation: where and what.
fn describe(error: &ValidationError<'_>, arguments: &Value) -> String {
    let path = error.instance_path().as_str();
    let no_parameters = |names: &mut dyn Iterator<Item = &String>| {
        let lines: Vec<String> = names.map(|name| format!("{path}/{name}: is not a parameter")).collect();
        lines.join("\n")
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("{path}/{}: is required", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::AdditionalProperties { unexpected } | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            no_parameters(&mut unexpected.iter())
        }
        // Of an object that may have no property at all: the error has only the value of the first one.
        ValidationErrorKind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
            let object = arguments.pointer(path).and_then(Value::as_object);
            no_parameters(&mut object.into_iter().flat_map(Map::keys))
        }
        ValidationErrorKind::FalseSchema if path.is_empty() => "(the arguments): the schema of the tool allows none".to_owned(),
        ValidationErrorKind::FalseSchema => match path.rsplit_once('/').and_then(|(list, _)| arguments.pointer(list)) {
            Some(Value::Array(_)) => format!("{path}: no item is allowed here"),
            _ => format!("{path}: is not a parameter"),
        },
        _ if path.is_empty() => format!("(the arguments): {error}"),
        _ => format!("{path}: {error}"),
    }
}
