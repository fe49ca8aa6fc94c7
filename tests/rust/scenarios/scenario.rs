//! The format of `scenario.json`, what its actions and conditions mean, and the record of what happens.

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

/// What happens while a scenario is played, in the form of `expected.json`; and the gates that are open.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) log: Vec<String>,
    pub(crate) gates: Vec<String>,
    pub(crate) runs: Vec<Value>,
    pub(crate) requests: Vec<Value>,
    pub(crate) hooks: Vec<Value>,
}

impl Record {
    /// A hook of the scenario is called, or `on_payload` to record the request. Returns the list of a message hook.
    pub(crate) fn hook(&mut self, name: &str, mut input: Value, is_in_scenario: bool) -> Value {
        let fields = input.as_object_mut().expect("an object");
        self.requests.extend(fields.remove("payload").filter(|_| name == "on_payload"));
        if fields.contains_key("outcome") {
            fields.remove("messages"); // `agent_end` has them
        }
        let changes_messages = matches!(name, "transform_context" | "convert_to_llm");
        let messages = if changes_messages { fields["messages"].clone() } else { Value::Null };
        if is_in_scenario {
            self.hooks.push(json!({ "hook": name, "input": input }));
        }
        messages
    }

    /// A run has ended. Returns its outcome.
    pub(crate) fn run(&mut self, events: Vec<Value>, mut result: Value) -> Value {
        result.as_object_mut().expect("an object").remove("messages"); // `agent_end` has them
        let outcome = result["outcome"].clone();
        self.runs.push(json!({ "events": events, "result": result }));
        outcome
    }

    /// The action `log_state`.
    pub(crate) fn log_state(&mut self, state: &Value) {
        let field = |name: &str, inner: &str| state[name].get(inner).unwrap_or(&state[name]).to_string();
        let (message, error) = (field("streaming_message", "content"), field("error", "kind"));
        let (streaming, pending) = (&state["is_streaming"], &state["pending_tool_calls"]);
        let count = state["messages"].as_array().map_or(0, Vec::len);
        self.log.push(format!("{count} messages, {streaming}, {message}, {pending}, {error}"));
    }

    /// The whole result.
    pub(crate) fn to_json(&self, steps: &[Value], state: &Value) -> Value {
        let Record { log, runs, requests, hooks, .. } = self;
        json!({ "steps": steps, "runs": runs, "requests": requests, "hooks": hooks, "log": log, "state": state })
    }
}

/// The place of a listener with this name.
pub(crate) fn place_of(listeners: &[Listener], name: &Value) -> usize {
    let place = listeners.iter().position(|listener| listener.name.as_deref() == name.as_str());
    place.unwrap_or_else(|| panic!("there is no listener {name}"))
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
