//! A scenario as it is in its file.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

/// `docs/scenarios.md` says what each field means.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// A sentence for people.
    #[allow(dead_code)] // read by people, and by the test of the rules
    pub(crate) shows: String,
    /// The rules of `rules.json` that it verifies.
    #[allow(dead_code)]
    #[serde(default)]
    pub(crate) rules: Vec<String>,
    /// Languages that skip it, each with the reason.
    #[serde(default)]
    pub(crate) skip: Map<String, Value>,
    /// The agent's options.
    #[serde(default)]
    pub(crate) options: Map<String, Value>,
    /// The scripted model's answers.
    pub(crate) model: Value,
    /// More of the model's fields, such as `cost`.
    #[serde(default)]
    pub(crate) spec: Map<String, Value>,
    #[serde(default)]
    pub(crate) tools: Vec<Tool>,
    /// Behaviours by hook.
    #[serde(default)]
    pub(crate) hooks: Map<String, Value>,
    /// Behaviours of each middleware function.
    #[serde(default)]
    pub(crate) middleware: Vec<Behaviours>,
    #[serde(default)]
    pub(crate) listeners: Vec<Listener>,
    /// What the application does.
    pub(crate) steps: Vec<Value>,
}

/// Actions in order.
pub(crate) type Behaviour = Vec<Value>;

/// One for each call; the last one for all further calls.
pub(crate) type Behaviours = Vec<Behaviour>;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tool {
    /// Of each call.
    pub(crate) calls: Behaviours,
    /// Of `prepare_arguments`.
    pub(crate) prepare: Option<Behaviours>,
    /// The tool's description.
    #[serde(flatten)]
    pub(crate) spec: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listener {
    /// What an event must contain.
    #[serde(default)]
    pub(crate) on: Value,
    /// Which of such events, from 1 on; all when not given.
    pub(crate) nth: Option<usize>,
    #[serde(rename = "do")]
    pub(crate) act: Behaviour,
    /// For `subscribe` and `unsubscribe`.
    pub(crate) name: Option<String>,
    /// Whether it is subscribed only when an action says so.
    #[serde(default)]
    pub(crate) later: bool,
}

impl Scenario {
    pub(crate) fn read(folder: &Path) -> Result<Scenario, String> {
        let path = folder.join("scenario.json");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Why a language skips it.
    pub(crate) fn skip(&self, language: &str) -> Option<&Value> {
        self.skip.get(language)
    }
}

/// The behaviour of a call of this number (0 for the first).
pub(crate) fn nth(behaviours: &[Behaviour], number: usize) -> Behaviour {
    behaviours.get(number).or(behaviours.last()).cloned().unwrap_or_default()
}

/// Whether an event contains what is asked for: objects may have more, all else is equal.
pub(crate) fn contains(event: &Value, wanted: &Value) -> bool {
    match (event, wanted) {
        (_, Value::Null) => true,
        (Value::Object(event), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| event.get(key).is_some_and(|value| contains(value, wanted)))
        }
        _ => event == wanted,
    }
}
