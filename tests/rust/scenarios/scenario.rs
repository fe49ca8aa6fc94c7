//! The format of `scenario.json`, and what its actions and conditions mean.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A `scenario.json`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "rules")]
    _rules: Vec<String>,
    #[serde(default)]
    pub(crate) skip: Map<String, Value>,
    #[serde(default)]
    pub(crate) options: Map<String, Value>,
    pub(crate) model: Value,
    #[serde(default)]
    pub(crate) spec: Map<String, Value>,
    #[serde(default)]
    pub(crate) tools: Vec<ToolFields>,
    #[serde(default)]
    pub(crate) hooks: HashMap<String, Vec<Behaviour>>,
    #[serde(default)]
    pub(crate) middleware: Vec<Vec<Behaviour>>,
    #[serde(default)]
    pub(crate) listeners: Vec<Listener>,
    pub(crate) steps: Vec<Value>,
}

/// Actions, in order.
pub(crate) type Behaviour = Vec<Value>;

#[derive(Clone, Deserialize)]
pub(crate) struct ToolFields {
    pub(crate) calls: Vec<Behaviour>,
    pub(crate) prepare: Option<Vec<Behaviour>>,
    #[serde(flatten)]
    pub(crate) spec: Map<String, Value>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listener {
    #[serde(default)]
    pub(crate) on: Value,
    pub(crate) nth: Option<usize>,
    #[serde(rename = "do")]
    pub(crate) behaviour: Behaviour,
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) later: bool,
}

/// The behaviours of successive calls; the last one holds for all further calls.
pub(crate) struct Behaviours(Vec<Behaviour>, AtomicUsize);

impl Behaviours {
    pub(crate) fn new(list: Vec<Behaviour>) -> Self {
        Behaviours(list, AtomicUsize::new(0))
    }

    pub(crate) fn next(&self) -> Behaviour {
        self.0.get(self.1.fetch_add(1, Ordering::SeqCst)).or(self.0.last()).cloned().unwrap_or_default()
    }
}

/// The name of an action and its value.
pub(crate) fn only(action: &Value) -> (&str, &Value) {
    let map = action.as_object().filter(|map| map.len() == 1).unwrap_or_else(|| panic!("not an action: {action}"));
    map.iter().next().map(|(name, given)| (name.as_str(), given)).expect("one")
}

/// Whether a value contains another: objects may have more fields, all else is equal, and null is in everything.
pub(crate) fn contains(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (_, Value::Null) => true,
        (Value::Object(value), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| value.get(key).is_some_and(|value| contains(value, wanted)))
        }
        _ => value == wanted,
    }
}

/// The list of messages that a hook returns.
pub(crate) fn changed(messages: Value, how: &str, given: &Value) -> Value {
    let mut list = messages.as_array().cloned().unwrap_or_default();
    match how {
        "keep_last" => drop(list.drain(..list.len().saturating_sub(usize::try_from(number(given)).expect("a small number")))),
        "append" => list.extend(given.as_array().cloned().unwrap_or_default()),
        _ => {
            for message in &mut list {
                if let Some(role) = message["role"].as_str().and_then(|role| given.get(role)) {
                    *message = json!({ "role": role, "content": [{ "type": "text", "text": message["text"] }], "timestamp": 0 });
                }
            }
        }
    }
    Value::Array(list)
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("expected a text, got {value}")).to_owned()
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("expected a number, got {value}"))
}
