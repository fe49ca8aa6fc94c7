//! What a scenario expects: `expected.json`, in which fields at their default are left out (`defaults.json` lists them).

use serde_json::{Map, Value, json};

use crate::scenario::contains;

/// Changes the fields of an object in a member of this name.
type Change<'a> = &'a dyn Fn(&str, &Value, &mut Map<String, Value>);

/// Rules of `defaults.json`, in order.
pub(crate) struct Defaults(Vec<Value>);

impl Defaults {
    pub(crate) fn read() -> Result<Defaults, String> {
        let rules = crate::read(&crate::root().join("defaults.json"))?;
        Ok(Defaults(rules.as_array().cloned().unwrap_or_default()))
    }

    /// The default fields of an object that is (in) a member of this name.
    fn fields<'a>(&'a self, name: &'a str, value: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let applies = move |rule: &&Value| {
            rule.get("in").is_none_or(|place| place == name) && rule.get("with").is_none_or(|with| contains(value, with))
        };
        self.0.iter().filter(applies).filter_map(|rule| rule["fields"].as_object()).flatten()
    }

    /// Adds the fields that were left out.
    pub(crate) fn fill_in(&self, value: &Value) -> Value {
        self.each("", value, &|name, value, map| {
            for (key, default) in self.fields(name, value) {
                map.entry(key).or_insert_with(|| default.clone());
            }
        })
    }

    /// Leaves out the fields that are at their default.
    pub(crate) fn leave_out(&self, value: &Value) -> Result<Value, String> {
        let short = self.each("", value, &|name, value, map| {
            for (key, default) in self.fields(name, value) {
                let whole = self.fill_in(&json!({ key: default }));
                if map.get(key) == whole.get(key) {
                    map.shift_remove(key);
                }
            }
        });
        match difference("", &self.fill_in(&short), value) {
            None => Ok(short),
            Some(difference) => Err(format!("defaults.json has a default for a field that is not always there: {difference}")),
        }
    }

    /// The value with its objects changed, outermost first.
    fn each(&self, name: &str, value: &Value, change: Change<'_>) -> Value {
        match value {
            Value::Object(map) => {
                let mut map = map.clone();
                change(name, value, &mut map);
                map.iter().map(|(key, value)| (key.clone(), self.each(key, value, change))).collect()
            }
            Value::Array(list) => list.iter().map(|value| self.each(name, value, change)).collect(),
            other => other.clone(),
        }
    }
}

/// The first place where two values differ.
pub(crate) fn difference(path: &str, got: &Value, expected: &Value) -> Option<String> {
    match (got, expected) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = b.keys().chain(a.keys().filter(|key| !b.contains_key(*key)));
            keys.into_iter().find_map(|key| match (a.get(key), b.get(key)) {
                (Some(a), Some(b)) => difference(&format!("{path}/{key}"), a, b),
                (Some(a), None) => Some(format!("{path}/{key}: got {a}, expected nothing")),
                (_, b) => Some(format!("{path}/{key}: got nothing, expected {}", b.unwrap_or(&Value::Null))),
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b).enumerate().find_map(|(i, (a, b))| difference(&format!("{path}/{i}"), a, b));
            pairs.or_else(|| (a.len() != b.len()).then(|| format!("{path}: got {} items, expected {}", a.len(), b.len())))
        }
        _ => (got != expected).then(|| format!("{path}: got {got}, expected {expected}")),
    }
}

/// The comparison is exact: neither an unexpected value nor a missing one passes.
pub(crate) fn check_comparison() -> Result<(), String> {
    let defaults = Defaults(vec![
        json!({ "with": { "role": "user" }, "fields": { "timestamp": 0, "usage": {} } }),
        json!({ "in": "usage", "fields": { "cost": null } }),
    ]);
    let whole = json!([{ "role": "user", "timestamp": 0, "usage": { "cost": null } }]);
    let short = json!([{ "role": "user" }]);
    let cases = [
        (whole.clone(), short.clone(), None),
        (json!([{ "role": "user", "timestamp": 1, "usage": { "cost": null } }]), short.clone(), Some("/0/timestamp")),
        (json!([{ "role": "user", "timestamp": 0, "usage": { "cost": 0 } }]), short.clone(), Some("/0/usage/cost")),
        (json!([{ "role": "user", "timestamp": 0, "usage": {} }]), short.clone(), Some("/0/usage/cost")),
        (json!([{ "role": "user", "usage": { "cost": null } }]), short.clone(), Some("/0/timestamp")),
        (json!([{ "role": "user", "timestamp": 0, "usage": { "cost": null }, "new": null }]), short.clone(), Some("/0/new")),
        (json!([]), short.clone(), Some("")),
    ];
    for (got, expected, path) in cases {
        let found = difference("", &got, &defaults.fill_in(&expected));
        if found.as_ref().map(|found| found.split(':').next().unwrap_or_default()) != path {
            return Err(format!("{got} compared with {expected}: {found:?}, expected one at {path:?}"));
        }
    }
    if defaults.leave_out(&whole)? != short || defaults.leave_out(&json!([{ "role": "user" }])).is_ok() {
        return Err("fields are not left out as they are filled in".to_owned());
    }
    Ok(())
}

/// JSON for review: one line for each item of a list.
pub(crate) fn text_of(value: &Value) -> String {
    fn write(value: &Value, depth: usize) -> String {
        let (pad, end) = ("  ".repeat(depth + 1), "  ".repeat(depth));
        match value {
            Value::Object(map) if depth < 3 && !map.is_empty() && !map.contains_key("type") && !map.contains_key("hook") => {
                let line = |(key, value)| format!("{pad}{}: {}", json!(key), write(value, depth + 1));
                format!("{{\n{}\n{end}}}", map.iter().map(line).collect::<Vec<_>>().join(",\n"))
            }
            Value::Array(list) if depth < 4 && !list.is_empty() => {
                let line = |value| format!("{pad}{}", write(value, depth + 1));
                format!("[\n{}\n{end}]", list.iter().map(line).collect::<Vec<_>>().join(",\n"))
            }
            other => other.to_string(),
        }
    }
    write(value, 0) + "\n"
}

/// Idempotency keys without the places of messages: those of a session go on when its transcript is replaced.
#[allow(dead_code)] // Without stores there are no sessions.
pub(crate) fn without_places(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            for (name, value) in map {
                if let ("idempotency_key", Some(parts)) = (&**name, value.as_str().and_then(|key| key.rsplit_once('/'))) {
                    *value = parts.1.into();
                } else {
                    *value = without_places(value.take());
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| *value = without_places(value.take())),
        _ => {}
    }
    value
}
