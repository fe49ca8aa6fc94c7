//! Conversion of texts to what a schema asks for: models write numbers, flags, objects and arrays as texts.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::{Number, Value};

use crate::lenient_json::lenient_json;

/// How often a value is converted: each round may open a text that holds texts.
const ROUNDS: usize = 16;

/// A text at a JSON pointer, and what it becomes.
type Conversion = (String, Value);

/// Converts the texts that read as what the schema asks for at their places, while the value's errors can be looked for: what is
/// opened may be much more than the text was.
pub(super) fn coerce(validator: &Validator, value: &mut Value, is_affordable: impl Fn(&Value) -> bool) {
    for round in 0..ROUNDS {
        if round > 0 && !is_affordable(value) {
            return;
        }
        let mut conversions = Vec::new();
        for error in validator.iter_errors(value) {
            conversions_of(&error, value, &mut conversions);
        }
        if conversions.is_empty() {
            return;
        }
        for (pointer, better) in conversions {
            // Of two errors at one place the first decides.
            if let Some(place) = value.pointer_mut(&pointer).filter(|place| place.is_string()) {
                *place = better;
            }
        }
    }
}

/// Finds the conversions that an error asks for. False: it is not one that they resolve.
fn conversions_of(error: &ValidationError<'_>, value: &Value, out: &mut Vec<Conversion>) -> bool {
    let pointer = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let text = value.pointer(pointer).and_then(Value::as_str);
            let better = text.and_then(|text| converted(text, kind));
            let is_resolved = better.is_some();
            out.extend(better.map(|better| (pointer.to_owned(), better)));
            is_resolved
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            // The first of the schemas that then fits, else the only one that can be meant. Each is looked at once: nested ones
            // would be looked at more often the deeper they are.
            let meant = meant(context, pointer, value);
            let mut of_meant = Vec::new();
            for branch in context {
                let mut conversions = Vec::new();
                let mut is_resolved = true;
                for inner in branch {
                    is_resolved &= conversions_of(inner, value, &mut conversions);
                }
                if is_resolved && !conversions.is_empty() {
                    out.extend(conversions);
                    return true;
                }
                if meant.is_some_and(|meant| std::ptr::eq(meant, branch.as_slice())) {
                    of_meant = conversions;
                }
            }
            out.extend(of_meant);
            false
        }
        _ => false,
    }
}

/// The errors of the only schema of several that can be meant: all others ask for another type of value.
pub(super) fn meant<'e, 'i>(
    context: &'e [Vec<ValidationError<'i>>],
    pointer: &str,
    value: &Value,
) -> Option<&'e [ValidationError<'i>]> {
    let is_other = |error: &ValidationError<'i>| {
        let at = error.instance_path().as_str();
        let is_here = at == pointer;
        // A field with a constant distinguishes what its type does not.
        let is_of_field = at.strip_prefix(pointer).is_some_and(|rest| rest.rfind('/') == Some(0));
        match error.kind() {
            ValidationErrorKind::Type { kind } if is_here => {
                value.pointer(pointer).and_then(Value::as_str).is_none_or(|text| converted(text, kind).is_none())
            }
            ValidationErrorKind::Enum { options } => {
                is_here || is_of_field && options.as_array().is_some_and(|all| all.len() == 1)
            }
            ValidationErrorKind::Constant { .. } => is_here || is_of_field,
            ValidationErrorKind::FalseSchema => is_here,
            _ => false,
        }
    };
    let mut possible = context.iter().filter(|branch| !branch.iter().any(is_other));
    let only = possible.next().filter(|branch| !branch.is_empty())?;
    possible.next().is_none().then_some(only)
}

/// The text as a value of one of these types, if it reads as one.
fn converted(text: &str, kind: &TypeKind) -> Option<Value> {
    let wants = |wanted: JsonType| match kind {
        TypeKind::Single(one) => *one == wanted,
        TypeKind::Multiple(set) => set.contains(wanted),
    };
    match text.trim() {
        "true" if wants(JsonType::Boolean) => Some(Value::Bool(true)),
        "false" if wants(JsonType::Boolean) => Some(Value::Bool(false)),
        text if text.starts_with('{') && wants(JsonType::Object) => lenient_json(text).filter(Value::is_object),
        text if text.starts_with('[') && wants(JsonType::Array) => lenient_json(text).filter(Value::is_array),
        text => number(text).filter(|number| wants(JsonType::Number) || wants(JsonType::Integer) && is_whole(number)),
    }
}

fn number(text: &str) -> Option<Value> {
    serde_json::from_str::<Number>(text).ok().map(Value::Number)
}

fn is_whole(number: &Value) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}
