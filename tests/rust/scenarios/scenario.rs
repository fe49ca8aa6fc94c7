//! The format of `scenario.json`, what its actions and conditions mean, and the record of what happens. `docs/scenarios.md`
//! describes them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_loop_proto::error::Error;
use agent_loop_proto::event::Event;
use agent_loop_proto::hook::HookKind;
use agent_loop_proto::message::Message;
use agent_loop_proto::model_spec::ModelSpec;
use agent_loop_proto::suspension::Decision;
use agent_loop_proto::tool::{Approval, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A `scenario.json`.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Scenario {
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "rules")]
    _rules: Vec<String>,
    pub(crate) skip: Map<String, Value>,
    pub(crate) options: Map<String, Value>,
    model: Value,
    spec: Map<String, Value>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) subagents: Vec<Subagent>,
    pub(crate) hooks: HashMap<HookKind, Behaviours>,
    pub(crate) middleware: Vec<Behaviours>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) steps: Vec<Value>,
}

impl Scenario {
    /// The scripted model.
    pub(crate) fn model(&self) -> Result<ModelSpec, Error> {
        scripted(&self.model, &self.spec)
    }

    /// The place of the listener of this name.
    pub(crate) fn listener(&self, name: &Value) -> usize {
        let place = self.listeners.iter().position(|listener| listener.name == text(name));
        place.unwrap_or_else(|| panic!("there is no listener {name}"))
    }
}

fn scripted(script: &Value, spec: &Map<String, Value>) -> Result<ModelSpec, Error> {
    let mut model = json!({ "provider": "scripted", "id": "scenario", "script": script });
    model.as_object_mut().expect("an object").extend(spec.clone());
    ModelSpec::from_json(model)
}

/// A tool that runs an agent.
#[derive(Deserialize)]
#[allow(dead_code)] // The loop alone skips these scenarios.
pub(crate) struct Subagent {
    model: Value,
    #[serde(default)]
    spec: Map<String, Value>,
    #[serde(default)]
    pub(crate) options: Map<String, Value>,
    #[serde(default)]
    pub(crate) tools: Vec<Tool>,
    #[serde(default)]
    pub(crate) subagents: Vec<Subagent>,
    /// Whether the tool hands the conversation to the agent.
    #[serde(default)]
    pub(crate) handoff: bool,
    /// Of the tool.
    #[serde(flatten)]
    pub(crate) fields: Map<String, Value>,
}

impl Subagent {
    /// Its scripted model.
    #[allow(dead_code)] // As the struct.
    pub(crate) fn model(&self) -> Result<ModelSpec, Error> {
        scripted(&self.model, &self.spec)
    }
}

#[derive(Deserialize)]
pub(crate) struct Tool {
    pub(crate) calls: Behaviours,
    pub(crate) prepare: Option<Behaviours>,
    pub(crate) approve: Option<Behaviours>,
    #[serde(flatten)]
    pub(crate) spec: Map<String, Value>,
}

impl Tool {
    pub(crate) fn spec(&self) -> Result<ToolSpec, Error> {
        let spec = ToolSpec::from_json(Value::Object(self.spec.clone()))?;
        Ok(if self.approve.is_some() { spec.with_needs_approval(Approval::Asked) } else { spec })
    }
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Listener {
    on: Value,
    nth: Option<usize>,
    #[serde(rename = "do")]
    pub(crate) behaviour: Vec<Value>,
    name: String,
    pub(crate) later: bool,
    /// How many events contained `on`.
    #[serde(skip)]
    seen: AtomicUsize,
}

impl Listener {
    /// Whether it receives this event; asked once per event.
    pub(crate) fn receives(&self, event: &Event) -> bool {
        let is_one = contains(&json!(event), &self.on);
        is_one && self.nth.is_none_or(|nth| nth == self.seen.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// Behaviours, each a list of actions, of successive calls; the last one holds for all further calls.
#[derive(Clone, Deserialize, Default)]
#[serde(from = "Vec<Vec<Value>>")]
pub(crate) struct Behaviours(Arc<(Vec<Vec<Value>>, AtomicUsize)>);

impl From<Vec<Vec<Value>>> for Behaviours {
    fn from(list: Vec<Vec<Value>>) -> Self {
        Behaviours(Arc::new((list, AtomicUsize::new(0))))
    }
}

impl Behaviours {
    pub(crate) fn next(&self) -> Vec<Value> {
        let (list, calls) = &*self.0;
        list.get(calls.fetch_add(1, Ordering::SeqCst)).or(list.last()).cloned().unwrap_or_default()
    }
}

/// What has happened so far, in the form of `expected.json`; and the gates that are open.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) log: Vec<String>,
    pub(crate) gates: Vec<String>,
    pub(crate) runs: Vec<Value>,
    requests: Vec<Value>,
    hooks: Vec<Value>,
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
        let mut all = json!({ "steps": steps, "runs": runs, "requests": requests, "hooks": hooks, "log": log, "state": state });
        rename_runs(&mut all);
        all
    }
}

/// Idempotency keys begin with the id of a run, which is `run` in a scenario.
pub(crate) fn rename_runs(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(key) if name == "idempotency_key" => *key = renamed_key(key),
                    Value::String(origin) if name == "origin" => "run".clone_into(origin),
                    other => rename_runs(other),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(rename_runs),
        _ => {}
    }
}

/// An idempotency key, with `run` for the id of the run in it.
pub(crate) fn renamed_key(key: &str) -> String {
    format!("run{}", key.find('/').map_or("", |slash| &key[slash..]))
}

/// What a step decides: `{"decisions": {…}}` or nothing.
pub(crate) fn decisions(given: &Value) -> Result<Vec<(String, Decision)>, Error> {
    given.get("decisions").cloned().map_or_else(|| Ok(Vec::new()), Decision::all_from_json)
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
        "keep_last" => drop(list.drain(..list.len().saturating_sub(given.as_u64().expect("a number") as usize))),
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

/// A list of messages.
pub(crate) fn messages(list: &Value) -> Result<Vec<Message>, Error> {
    list.as_array().into_iter().flatten().cloned().map(Message::from_json).collect()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a text, got {value}"))
}
