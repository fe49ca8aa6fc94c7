//! What is wrong in each service's words.

use super::place::{Wrong, snake};
use crate::refusal::Complaint;

/// Anthropic: a sentence that begins with the path, indices between dots.
pub(super) fn anthropic(wrong: Wrong) -> Complaint {
    let at = |path: String, said: String| {
        let path = path.replace('[', ".").replace(']', "");
        Complaint::new(400, if path.is_empty() { said } else { format!("{path}: {said}") })
    };
    match wrong {
        Wrong::Missing { path } => at(path, "Field required".into()),
        Wrong::Unknown { path, name } => {
            at(if path.is_empty() { name } else { format!("{path}.{name}") }, "Extra inputs are not permitted".into())
        }
        Wrong::Type { path, expected, .. } => {
            let expected = match expected {
                "object" => "dictionary",
                "array" => "list",
                expected => expected,
            };
            at(path, format!("Input should be a valid {expected}"))
        }
        Wrong::Choice { path, allowed, .. } => {
            let words: Vec<String> = allowed.iter().map(|word| format!("'{word}'")).collect();
            let list = match words.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
                None => String::new(),
            };
            at(path, format!("Input should be {list}"))
        }
        Wrong::Low { path, least, .. } => at(path, format!("Input should be greater than or equal to {least}")),
        Wrong::High { path, most, .. } => at(path, format!("Input should be less than or equal to {most}")),
        Wrong::Long { path, most, .. } => at(path, format!("String should have at most {most} characters")),
        Wrong::Empty { path, what: "string" } => at(path, "String should have at least 1 character".into()),
        Wrong::Empty { path, .. } => at(path, "List should have at least 1 item after validation, not 0".into()),
        Wrong::Pattern { path, pattern } => at(path, format!("String should match pattern '{pattern}'")),
        Wrong::Field { path, message } => at(path, message),
        Wrong::Said(message) => Complaint::new(400, message),
        Wrong::Coded { status, message, .. } => Complaint::new(status, message),
    }
}

/// AWS: a count of errors, then each with its value and its path.
pub(super) fn aws(wrong: Wrong) -> Complaint {
    let at = |path: &str, said: String| {
        let path = path.replace('[', ".").replace(']', "");
        Complaint::new(400, format!("1 validation error detected: Value at '{path}' failed to satisfy constraint: {said}"))
    };
    match wrong {
        Wrong::Missing { path } => at(&path, "Member must not be null".into()),
        Wrong::Unknown { path, name } => at(&path, format!("extraneous key [{name}] is not permitted")),
        Wrong::Type { path, expected, got } => at(&path, format!("expected type: {expected}, found: {got}")),
        Wrong::Choice { path, allowed, .. } => at(&path, format!("Member must satisfy enum value set: [{}]", allowed.join(", "))),
        Wrong::Low { path, least, .. } => at(&path, format!("Member must have value greater than or equal to {least}")),
        Wrong::High { path, most, .. } => at(&path, format!("Member must have value less than or equal to {most}")),
        Wrong::Long { path, most, .. } => at(&path, format!("Member must have length less than or equal to {most}")),
        Wrong::Empty { path, .. } => at(&path, "Member must have length greater than or equal to 1".into()),
        Wrong::Pattern { path, pattern } => at(&path, format!("Member must satisfy regular expression pattern: {pattern}")),
        Wrong::Field { path, message } => at(&path, message),
        Wrong::Said(message) => Complaint::new(400, message),
        Wrong::Coded { status, message, .. } => Complaint::new(status, message),
    }
}

/// OpenAI: a sentence, and beside it the path and a code.
pub(super) fn openai(wrong: Wrong) -> Complaint {
    let at = |path: String, code, message: String| Complaint::new(400, message).code(code).param(path);
    match wrong {
        Wrong::Missing { path } => {
            let message = format!("Missing required parameter: '{path}'.");
            at(path, "missing_required_parameter", message)
        }
        Wrong::Unknown { path, name } => {
            let path = if path.is_empty() { name } else { format!("{path}.{name}") };
            let message = format!("Unknown parameter: '{path}'.");
            at(path, "unknown_parameter", message)
        }
        Wrong::Type { path, expected, got } => {
            let article = |word: &str| if word.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
            let message = format!(
                "Invalid type for '{path}': expected {} {expected}, but got {} {got} instead.",
                article(expected),
                article(got)
            );
            at(path, "invalid_type", message)
        }
        Wrong::Choice { path, allowed, got } => {
            let words: Vec<String> = allowed.iter().map(|word| format!("'{word}'")).collect();
            let message = format!("Invalid value: '{got}'. Supported values are: {}.", words.join(", "));
            at(path, "invalid_value", message)
        }
        Wrong::Low { path, least, got } => {
            let kind = if got.fract() == 0.0 { "integer" } else { "decimal" };
            let message =
                format!("Invalid '{path}': {kind} below minimum value. Expected a value >= {least}, but got {got} instead.");
            let code = if kind == "integer" { "integer_below_min_value" } else { "decimal_below_min_value" };
            at(path, code, message)
        }
        Wrong::High { path, most, got } => {
            let message =
                format!("Invalid '{path}': decimal above maximum value. Expected a value <= {most}, but got {got} instead.");
            at(path, "decimal_above_max_value", message)
        }
        Wrong::Long { path, most, got } => {
            let message = format!(
                "Invalid '{path}': string too long. Expected a string with maximum length {most}, but got a string with length \
                 {got} instead."
            );
            at(path, "string_above_max_length", message)
        }
        Wrong::Empty { path, what } => {
            let message = format!(
                "Invalid '{path}': empty {what}. Expected {} {what} with minimum length 1, but got an empty {what} instead.",
                if what == "array" { "an" } else { "a" }
            );
            at(path, if what == "array" { "empty_array" } else { "empty_string" }, message)
        }
        Wrong::Pattern { path, pattern } => {
            let message = format!(
                "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern '{pattern}'."
            );
            at(path, "invalid_value", message)
        }
        Wrong::Field { path, message } => {
            let message = format!("Invalid '{path}': {message}");
            at(path, "invalid_value", message)
        }
        Wrong::Said(message) => Complaint::new(400, message),
        Wrong::Coded { status, code, path, message } => Complaint { param: path, ..Complaint::new(status, message).code(code) },
    }
}

/// Google: two kinds of sentences, from reading the JSON (names in snake case, the last index kept) and from looking at the
/// request.
pub(super) fn google(wrong: Wrong) -> Complaint {
    let request = |path: &str, said: String| Complaint::new(400, format!("* GenerateContentRequest.{}: {said}", snake(path)));
    match wrong {
        Wrong::Missing { path } => {
            let field = path.rsplit('.').next().unwrap_or_default().to_owned();
            request(&path, format!("{field} is not specified"))
        }
        Wrong::Unknown { path, name } => {
            let at = if path.is_empty() { String::new() } else { format!(" at '{}'", snake(&path)) };
            Complaint::new(400, format!("Invalid JSON payload received. Unknown name \"{name}\"{at}: Cannot find field."))
        }
        Wrong::Type { path, expected, got } => {
            let expected = match expected {
                "string" => "TYPE_STRING",
                "boolean" => "TYPE_BOOL",
                "integer" => "TYPE_INT32",
                "number" => "TYPE_FLOAT",
                "base64" => "TYPE_BYTES",
                expected => expected,
            };
            Complaint::new(400, format!("Invalid value at '{}' ({expected}), {got}", snake(&path)))
        }
        Wrong::Choice { path, got, .. } => {
            Complaint::new(400, format!("Invalid value at '{}' (TYPE_ENUM), \"{got}\"", snake(&path)))
        }
        Wrong::Low { path, least, got } => request(&path, format!("{got} is out of range, it must be at least {least}.")),
        Wrong::High { path, most, got } => request(&path, format!("{got} is out of range, it must be at most {most}.")),
        Wrong::Long { path, most, got } => request(&path, format!("{got} characters are too many, the limit is {most}.")),
        Wrong::Empty { path, .. } => request(&path, format!("{path} must not be empty.")),
        Wrong::Pattern { path, pattern } => request(&path, format!("it must match {pattern}.")),
        Wrong::Field { path, message } => request(&path, message),
        Wrong::Said(message) => Complaint::new(400, message),
        Wrong::Coded { status, message, .. } => Complaint::new(status, message),
    }
}
