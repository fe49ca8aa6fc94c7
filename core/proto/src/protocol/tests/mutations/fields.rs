//! One field at a time of another value, in all frames and in one of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::answer::{Answer, Touched, outcome};
use super::stream::{Frame, TOO_DEEP, nested, paths, written};
use super::{Outcomes, Tried};

pub(super) const MUTATIONS: &[&str] = &[
    "removed",
    "null",
    "number",
    "text",
    "its text",
    "empty",
    "object",
    "list",
    "other value",
    "other case",
    "negative",
    "huge",
    "deep",
    "too deep",
];

/// What a mutation makes of a value: none where it would be the same, or has no meaning.
fn mutated(mutation: &str, value: &Value) -> Option<Value> {
    let new = match (mutation, value) {
        ("null", _) => Value::Null,
        ("number", Value::Number(_)) | ("text", Value::String(_)) => return None,
        ("number", _) => json!(7),
        ("text", _) => json!("odd"),
        ("its text", Value::Number(_) | Value::Bool(_)) => json!(value.to_string()),
        ("empty", Value::String(_)) => json!(""),
        ("object", _) => json!({}),
        ("list", _) => json!([]),
        ("other value", Value::String(_)) => json!("odd"),
        ("other value", Value::Number(_)) => json!(3),
        ("other value", Value::Bool(flag)) => json!(!flag),
        ("other case", Value::String(text)) if text.chars().any(char::is_lowercase) => json!(text.to_uppercase()),
        ("other case", Value::String(text)) => json!(text.to_lowercase()),
        ("negative", Value::Number(_)) => json!(-1),
        ("huge", Value::Number(_)) => json!(u64::MAX),
        // Deeper than what is kept, and deeper than any JSON that is read.
        ("deep", _) => serde_json::from_str(&nested(100)).unwrap(),
        ("too deep", _) => json!(TOO_DEEP),
        _ => return None,
    };
    (new != *value).then_some(new)
}

/// Changes the field at the path wherever it is; gives how often.
fn change(value: &mut Value, path: &str, mutation: &str) -> usize {
    if let Some(rest) = path.strip_prefix("[]") {
        let rest = rest.trim_start_matches('.');
        return value.as_array_mut().into_iter().flatten().map(|value| change(value, rest, mutation)).sum();
    }
    let (name, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    let Some(map) = value.as_object_mut() else { return 0 };
    match (rest, mutation) {
        ("", "removed") => usize::from(map.shift_remove(name).is_some()),
        ("", _) => {
            let Some(value) = map.get_mut(name) else { return 0 };
            mutated(mutation, value).map_or(0, |new| {
                *value = new;
                1
            })
        }
        _ => map.get_mut(name).map_or(0, |value| change(value, rest.trim_start_matches('.'), mutation)),
    }
}

/// Tries all mutations of a stream's fields that were not tried often enough.
pub(super) fn try_all(protocol: &str, stream: &[Frame], expected: &Answer, tried: &mut Tried, outcomes: &mut Outcomes) {
    let mut fields = BTreeSet::new();
    stream.iter().for_each(|frame| paths(frame.json(), "", &mut fields));
    for field in fields {
        for mutation in MUTATIONS {
            if !tried.may(&field, mutation) {
                continue;
            }
            let mut all = stream.to_vec();
            let (mut places, mut touched) = (Vec::new(), Touched::default());
            for (place, frame) in all.iter_mut().enumerate() {
                if let Some(value) = &mut frame.value
                    && change(value, &field, mutation) > 0
                {
                    touched.less(stream[place].json(), value);
                    places.push(place);
                }
            }
            if places.is_empty() {
                continue;
            }
            tried.count(&field, mutation);
            let found = outcomes.entry((field.clone(), (*mutation).to_owned())).or_default();
            found.insert(outcome(protocol, &written(&all), expected, &touched));
            // Only in the middle one.
            if places.len() > 1 {
                let (mut one, place, mut touched) = (stream.to_vec(), places[places.len() / 2], Touched::default());
                one[place] = all.swap_remove(place);
                touched.less(stream[place].json(), one[place].json());
                found.insert(outcome(protocol, &written(&one), expected, &touched));
            }
        }
    }
}
