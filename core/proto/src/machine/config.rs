//! What a loop runs with: settings, model, tools, and which hooks are set.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::gate::{Gate, Remembered, Rule, Verdict};
use crate::hook::HookKind;
use crate::model_entry::ModelEntry;
use crate::request::ToolDescription;
use crate::settings::Settings;
use crate::tool::ToolSpec;

/// What a turn runs with. A change takes effect at the next turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Config {
    /// The options.
    pub settings: Settings,
    /// `provider/id`, also of a model that cannot be used.
    pub model_name: String,
    /// The model, or why it cannot be used.
    pub model: Result<ModelEntry, Error>,
    /// Models for the rest of a turn whose model failed: `provider/id` and the model, or why it cannot be used.
    pub fallbacks: Vec<(String, Result<ModelEntry, Error>)>,
    /// The model that writes summaries, if the option `context` names one: its name and the model, or why it cannot be used.
    #[serde(default)]
    pub summarizer: Option<(String, Result<ModelEntry, Error>)>,
    /// What the model may call, in the order they were added.
    pub tools: Tools,
    /// Which hooks are set.
    pub hooks: HookSet,
    /// Whether the run has no agent: queued messages that it did not deliver are part of its result.
    pub is_stateless: bool,
    /// Whether the run has a session, to whose journal it writes ([`Action::Record`](super::Action::Record)). As it stands when
    /// the run begins.
    #[serde(default)]
    pub journals: bool,
    /// Whether the backoff has full jitter; else it is its upper bound.
    pub has_jitter: bool,
}

impl Config {
    /// A model with the default settings, without tools, hooks and fallbacks. `model_name` is `provider/id`.
    pub fn new(model_name: impl Into<String>, model: Result<ModelEntry, Error>) -> Config {
        Config {
            settings: Settings::default(),
            model_name: model_name.into(),
            model,
            fallbacks: Vec::new(),
            summarizer: None,
            tools: Tools::default(),
            hooks: HookSet::default(),
            is_stateless: false,
            journals: false,
            has_jitter: true,
        }
    }
}

impl Config {
    /// What the rules say of a call.
    pub(super) fn judge<'a>(
        &'a self,
        remembered: &'a Remembered,
        tool: &ToolSpec,
        arguments: &Map<String, Value>,
    ) -> Verdict<'a> {
        self.settings.gate.as_ref().unwrap_or(&NO_RULES).judge(remembered, tool.name(), tool.subject(), arguments)
    }

    /// The rule that is about this call alone.
    pub(super) fn rule_of(&self, tool: &str, arguments: &Map<String, Value>) -> Option<Rule> {
        Rule::exact(tool, self.tools.get(tool).and_then(|tool| tool.subject()), arguments)
    }
}

static NO_RULES: Gate = Gate { allow: Vec::new(), ask: Vec::new(), deny: Vec::new() };

/// The tools of a turn, with their descriptions for the model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Arc<ToolSpec>>", into = "Vec<Arc<ToolSpec>>")]
pub struct Tools {
    specs: Vec<Arc<ToolSpec>>,
    descriptions: Arc<Vec<ToolDescription>>,
}

impl From<Vec<Arc<ToolSpec>>> for Tools {
    fn from(specs: Vec<Arc<ToolSpec>>) -> Tools {
        let describe = |spec: &Arc<ToolSpec>| ToolDescription {
            name: spec.name().to_owned(),
            description: spec.description().to_owned(),
            parameters: Arc::clone(spec.shared_parameters()),
        };
        let descriptions = Arc::new(specs.iter().map(describe).collect());
        Tools { specs, descriptions }
    }
}

impl From<Tools> for Vec<Arc<ToolSpec>> {
    fn from(tools: Tools) -> Vec<Arc<ToolSpec>> {
        tools.specs
    }
}

impl Tools {
    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.specs.iter().find(|spec| spec.name() == name)
    }

    /// Their descriptions for the model.
    pub fn descriptions(&self) -> &Arc<Vec<ToolDescription>> {
        &self.descriptions
    }

    /// Those of these names.
    pub fn only(&self, names: &[String]) -> Tools {
        self.specs.iter().filter(|spec| names.iter().any(|name| name == spec.name())).cloned().collect::<Vec<_>>().into()
    }

    /// Their names, for an error message.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

/// Which hooks are set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookSet(u32);

impl HookSet {
    /// Whether this hook is set.
    pub fn has(self, kind: HookKind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }
}

impl FromIterator<HookKind> for HookSet {
    fn from_iter<I: IntoIterator<Item = HookKind>>(kinds: I) -> HookSet {
        HookSet(kinds.into_iter().fold(0, |all, kind| all | 1 << kind as u32))
    }
}
