//! How deep a JSON value may nest: what is kept can always be written and read again, in every language, whatever stands around
//! it. JSON readers stop at 128 levels or before, and a reader that does not runs out of stack.

use serde_json::{Map, Value};

/// The most levels of a JSON value that is kept: a list or an object is a level, and so is each one in it.
pub const MAX_DEPTH: usize = 64;

/// The most levels of what is only emitted: a frame as it came, the data of a diagnostic.
pub const MAX_EMITTED_DEPTH: usize = 112;

/// Whether the value has more levels than this. Looks no deeper than that.
pub fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(map) => levels == 0 || is_map_deeper(map, levels),
        _ => false,
    }
}

/// As [`is_deeper`], of an object.
pub fn is_map_deeper(map: &Map<String, Value>, levels: usize) -> bool {
    levels == 0 || map.values().any(|value| is_deeper(value, levels - 1))
}

/// Refuses a value that is too deep to be kept.
///
/// # Errors
/// The text of the error, which begins with `what`.
pub fn check(what: &str, value: &Value) -> Result<(), String> {
    if is_deeper(value, MAX_DEPTH) { Err(refusal(what)) } else { Ok(()) }
}

/// As [`check`], of an object.
///
/// # Errors
/// As [`check`].
pub fn check_map(what: &str, map: &Map<String, Value>) -> Result<(), String> {
    if is_map_deeper(map, MAX_DEPTH) { Err(refusal(what)) } else { Ok(()) }
}

/// Refuses a value of which only the parts are checked by themselves, if it is too deep even so.
///
/// # Errors
/// As [`check`].
#[cfg(feature = "journal")]
pub(crate) fn check_emitted(what: &str, value: &Value) -> Result<(), String> {
    if is_deeper(value, MAX_EMITTED_DEPTH) { Err(refusal(what)) } else { Ok(()) }
}

/// How many arrays and objects stand in each other at most, in a text that is meant as JSON.
pub fn of_text(text: &str) -> usize {
    let (mut deepest, mut level, mut in_text, mut escaped) = (0, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                level += 1;
                deepest = deepest.max(level);
            }
            b'}' | b']' if !in_text => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn refusal(what: &str) -> String {
    format!("{what} nests deeper than {MAX_DEPTH} levels of JSON; use a flatter form, or put the inner part into a text")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!("x"), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "[\"": inner }) })
    }

    #[test]
    fn found_a6_levels_are_counted() {
        for levels in [0, 1, 63, 64, 65, 2000] {
            let value = nested(levels);
            assert_eq!(is_deeper(&value, MAX_DEPTH), levels > 64, "{levels}");
            assert!(!is_deeper(&value, levels));
        }
    }

    #[test]
    fn found_a18_the_depth_of_arguments() {
        assert_eq!([of_text("{oops"), of_text("{\"a\": [1, {}]}"), of_text("{\"a\": \"[[[\\\"[\"}"), of_text("")], [1, 3, 1, 0]);
        assert_eq!(of_text(&format!("{{\"a\":{}{}}}", "[".repeat(128), "]".repeat(128))), 129);
        assert_eq!(of_text("[][][]]]]["), 1);
    }
}
