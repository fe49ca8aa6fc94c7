//! A tool's arguments against its JSON Schema, with the conversions that models need.

mod coerce;
mod cost;
mod keywords;
mod mistakes;
mod patterns;
mod plain;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::cost::Cost;
use self::patterns::Patterns;
use crate::depth;
use crate::json_error::shown;

#[cfg(test)]
mod tests;

/// How arguments are checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// Texts become the number, the boolean, the object or the array that they read as, where the schema asks for one; the rest
    /// must fit.
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
    patterns: Patterns,
    /// How many parts it has, if it is a plain one.
    plain_parts: Option<u64>,
    /// Compiled when it is created, or, where nothing can be wrong with it, when first needed.
    validator: OnceLock<Result<Validator, String>>,
}

impl Schema {
    /// Checks the schema of a tool's arguments.
    ///
    /// # Errors
    /// Where it is wrong, to follow the word "parameters".
    pub(crate) fn new(schema: Arc<Value>) -> Result<Schema, String> {
        let is_none = |why| format!("is not a JSON Schema: {why}");
        check_size(&schema).map_err(is_none)?;
        mistakes::check(&schema)?;
        Schema::compiled(schema).map_err(is_none)
    }

    fn compiled(schema: Arc<Value>) -> Result<Schema, String> {
        if !schema.is_object() {
            return Err(format!(
                "expected an object such as {{\"type\": \"object\", \"properties\": {{…}}}}, got {}",
                shown(&schema)
            ));
        }
        if let Some(kind) = schema.get("type").filter(|kind| *kind != "object") {
            return Err(format!("at \"/type\": arguments are an object, so this must be \"object\", not {kind}"));
        }
        let patterns = Patterns::of(&schema)?;
        if Cost::of_any(&schema, &patterns).is_too_high() {
            let why = "checking a value would never end, or take too many steps: it refers to itself, or its parts refer to \
                       others too often";
            return Err(why.to_owned());
        }
        let plain_parts = plain::is_plain(&schema).then(|| cost::count(&schema));
        let checked = Schema { schema, patterns, plain_parts, validator: OnceLock::new() };
        if plain_parts.is_none() {
            checked.validator()?;
        }
        Ok(checked)
    }

    fn validator(&self) -> Result<&Validator, String> {
        let compile = || validator(&self.schema).map_err(|e| format!("at \"{}\": {e}", e.instance_path()));
        self.validator.get_or_init(compile).as_ref().map_err(Clone::clone)
    }

    /// What checking a value costs, or, where that is little, at most costs.
    fn cost(&self, value: &Value) -> Cost {
        let most = self.plain_parts.map(|parts| Cost::at_most(parts, value));
        let little = most.filter(|most| !most.is_too_high_for_errors());
        little.unwrap_or_else(|| Cost::of(&self.schema, &self.patterns, value))
    }

    /// Whether the errors of a value can be looked for.
    fn is_affordable(&self, value: &Value) -> bool {
        let cost = self.cost(value);
        !cost.is_too_high() && !cost.is_too_high_for_errors()
    }

    /// The arguments as the tool gets them, or a line for each violation.
    pub(crate) fn check(&self, arguments: &Map<String, Value>, how: Validation) -> Result<Map<String, Value>, String> {
        if how == Validation::Off {
            return Ok(arguments.clone());
        }
        let mut value = Value::Object(arguments.clone());
        let cost = self.cost(&value);
        if cost.is_too_high() {
            return Err("checking them would take too many steps; send less, or in a simpler form".to_owned());
        }
        let validator = self.validator()?;
        if !validator.is_valid(&value) {
            if cost.is_too_high_for_errors() {
                return Err("something in them does not fit; they are too large to say what".to_owned());
            }
            if how == Validation::Coerce {
                coerce::coerce(validator, &mut value, |value| self.is_affordable(value));
                if !self.is_affordable(&value) {
                    return Err("something in them does not fit; they are too large to say what".to_owned());
                }
            }
            // What is left after the conversions.
            let mut lines = Vec::new();
            validator.iter_errors(&value).for_each(|error| describe_all(&error, &value, &mut lines));
            if !lines.is_empty() {
                return Err(lines.join("\n"));
            }
        }
        match value {
            Value::Object(valid) => Ok(valid),
            // Nothing makes another thing of an object.
            _ => Ok(arguments.clone()),
        }
    }
}

/// The most bytes of a schema, as JSON.
const MAX_BYTES: usize = 256 << 10;

/// Refuses a schema that is too large: it may come from elsewhere.
fn check_size(schema: &Value) -> Result<(), String> {
    depth::check("it", schema)?;
    let bytes = schema.to_string().len();
    if bytes > MAX_BYTES {
        return Err(format!("it has {bytes} bytes; at most {} KiB are taken", MAX_BYTES >> 10));
    }
    Ok(())
}

/// Not `jsonschema::options()`: it is generic, and would compile the whole validator once more in this crate, for speed: 0.9 MB.
fn validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::validator_for(schema)
}

/// The violations of an error: its own, or those of the one schema of several that can be meant.
fn describe_all(error: &ValidationError<'_>, arguments: &Value, lines: &mut Vec<String>) {
    let context = match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => context.as_slice(),
        _ => &[],
    };
    match coerce::meant(context, error.instance_path().as_str(), arguments) {
        Some(errors) => errors.iter().for_each(|error| describe_all(error, arguments, lines)),
        None => lines.push(wrong_tag(context, error, arguments).unwrap_or_else(|| describe(error, arguments))),
    }
}

/// What is wrong with the field that says which schema of several is meant: it is missing, or has none of the values that it may
/// have. A validator says only that none of the schemas fits.
fn wrong_tag(context: &[Vec<ValidationError<'_>>], error: &ValidationError<'_>, arguments: &Value) -> Option<String> {
    let path = error.instance_path().as_str();
    let field_of = |error: &ValidationError<'_>| {
        let field = error.instance_path().as_str().strip_prefix(path)?.strip_prefix('/')?;
        (!field.contains('/')).then(|| field.to_owned())
    };
    let is_of_another_type = |branch: &&Vec<ValidationError<'_>>| {
        !branch
            .iter()
            .any(|error| matches!(error.kind(), ValidationErrorKind::Type { .. }) && error.instance_path().as_str() == path)
    };
    let mut tags: Option<BTreeMap<String, Vec<String>>> = None;
    for branch in context.iter().filter(is_of_another_type) {
        let tag = |error: &ValidationError<'_>| match error.kind() {
            ValidationErrorKind::Constant { expected_value } => Some((field_of(error)?, vec![expected_value.to_string()])),
            ValidationErrorKind::Enum { options } => {
                Some((field_of(error)?, options.as_array()?.iter().map(Value::to_string).collect()))
            }
            ValidationErrorKind::Required { property } if error.instance_path().as_str() == path => {
                Some((property.as_str()?.to_owned(), Vec::new()))
            }
            _ => None,
        };
        let here: BTreeMap<String, Vec<String>> = branch.iter().filter_map(tag).collect();
        // Only a field that is wrong in each of them.
        tags = Some(match tags {
            None => here,
            Some(mut all) => {
                all.retain(|field, _| here.contains_key(field));
                here.into_iter().for_each(|(field, values)| {
                    all.entry(field).and_modify(|known| known.extend(values));
                });
                all
            }
        });
    }
    let tags = tags?;
    // A field with given values, before one that is only missing everywhere.
    let (field, values) = tags.iter().find(|(_, values)| !values.is_empty()).or_else(|| tags.iter().next())?;
    let place = format!("{path}/{field}");
    match arguments.pointer(&place) {
        None => Some(format!("{place}: is required")),
        Some(value) => Some(format!("{place}: {value} is not one of {}", values.join(", "))),
    }
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
