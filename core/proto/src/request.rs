//! What a model is asked: the part of a request that an encoder reads. Keys, headers and the network are not part of it.

use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::Message;
use crate::output::OutputFormat;
use crate::table::options::option_struct;

/// A request to a model. Canonical JSON: `{model, system_prompt, messages, tools, thinking_level, options, output?}`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Request {
    /// `provider/id`.
    pub model: String,
    /// Empty for none.
    pub system_prompt: String,
    /// The part of the transcript that the model reads.
    pub messages: Vec<Arc<Message>>,
    /// The tools it may call.
    pub tools: Arc<Vec<ToolDescription>>,
    /// How much thinking to ask for.
    pub thinking_level: ThinkingLevel,
    /// Temperature and the like.
    pub options: ModelOptions,
    /// The format of the answer's text, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<OutputFormat>>,
}

/// A tool as it is described to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Arc<Value>,
}

impl Request {
    /// The fields before the options, in the order of the JSON.
    #[doc(hidden)]
    pub fn serialize_head<S: SerializeStruct>(&self, fields: &mut S) -> Result<(), S::Error> {
        let Request { model, system_prompt, messages, tools, thinking_level, options: _, output: _ } = self;
        fields.serialize_field("model", model)?;
        fields.serialize_field("system_prompt", system_prompt)?;
        fields.serialize_field("messages", messages)?;
        fields.serialize_field("tools", &**tools)?;
        fields.serialize_field("thinking_level", thinking_level)
    }
}

impl ToolDescription {
    /// A tool as a model sees it; `parameters` is a JSON Schema.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> ToolDescription {
        ToolDescription { name: name.into(), description: description.into(), parameters: Arc::new(parameters) }
    }
}

impl ModelOptions {
    /// The options that were given.
    #[doc(hidden)]
    pub fn serialize_given<S: SerializeStruct>(&self, fields: &mut S) -> Result<(), S::Error> {
        let ModelOptions {
            temperature,
            top_p,
            top_k,
            seed,
            frequency_penalty,
            presence_penalty,
            extra_body,
            hosted_tools,
            max_tokens,
            stop_sequences,
            tool_choice,
            session_id,
            cache_retention,
            thinking_budgets,
        } = self;
        let numbers = [
            ("temperature", temperature),
            ("top_p", top_p),
            ("frequency_penalty", frequency_penalty),
            ("presence_penalty", presence_penalty),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                fields.serialize_field(name, number)?;
            }
        }
        if let Some(top_k) = top_k {
            fields.serialize_field("top_k", top_k)?;
        }
        if let Some(seed) = seed {
            fields.serialize_field("seed", seed)?;
        }
        if let Some(max_tokens) = max_tokens {
            fields.serialize_field("max_tokens", max_tokens)?;
        }
        if !stop_sequences.is_empty() {
            fields.serialize_field("stop_sequences", stop_sequences)?;
        }
        if let Some(tool_choice) = tool_choice {
            fields.serialize_field("tool_choice", tool_choice)?;
        }
        if let Some(session_id) = session_id {
            fields.serialize_field("session_id", session_id)?;
        }
        if *cache_retention != CacheRetention::default() {
            fields.serialize_field("cache_retention", cache_retention)?;
        }
        if *thinking_budgets != ThinkingBudgets::default() {
            fields.serialize_field("thinking_budgets", thinking_budgets)?;
        }
        if !extra_body.is_empty() {
            fields.serialize_field("extra_body", extra_body)?;
        }
        if !hosted_tools.is_empty() {
            fields.serialize_field("hosted_tools", hosted_tools)?;
        }
        Ok(())
    }
}

crate::options_of!(model, option_struct
    [
        /// Options of a request. One that a model does not take is left out of the request and reported by a `diagnostic` with
        /// the code `option_ignored`. The methods of `AgentBuilder` of these names say the defaults.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename = "strict", deny_unknown_fields)]
    ]
    ModelOptions {}
);

/// How much thinking to ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum ThinkingLevel {
    /// None.
    #[default]
    Off,
    /// The least there is: by default 1,024 tokens where the provider counts them.
    Minimal,
    /// Little: 2,048 tokens.
    Low,
    /// A medium amount: 8,192 tokens.
    Medium,
    /// Much: 16,384 tokens.
    High,
    /// The most there is: 32,768 tokens.
    Xhigh,
}

impl ThinkingLevel {
    /// The canonical word, for example `medium`.
    pub fn as_str(self) -> &'static str {
        match self {
            ThinkingLevel::Off => "off",
            ThinkingLevel::Minimal => "minimal",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
            ThinkingLevel::Xhigh => "xhigh",
        }
    }
}

/// Tokens of thinking by level. Canonical JSON: `{minimal, low, medium, high, xhigh}`, each optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ThinkingBudgets {
    /// For `minimal`.
    pub minimal: u64,
    /// For `low`.
    pub low: u64,
    /// For `medium`.
    pub medium: u64,
    /// For `high`.
    pub high: u64,
    /// For `xhigh`.
    pub xhigh: u64,
}

impl Default for ThinkingBudgets {
    fn default() -> ThinkingBudgets {
        ThinkingBudgets { minimal: 1024, low: 2048, medium: 8192, high: 16_384, xhigh: 32_768 }
    }
}

impl ThinkingBudgets {
    /// The tokens of a level; 0 for `off`.
    pub fn tokens(&self, level: ThinkingLevel) -> u64 {
        match level {
            ThinkingLevel::Off => 0,
            ThinkingLevel::Minimal => self.minimal,
            ThinkingLevel::Low => self.low,
            ThinkingLevel::Medium => self.medium,
            ThinkingLevel::High => self.high,
            ThinkingLevel::Xhigh => self.xhigh,
        }
    }

    fn is_default(&self) -> bool {
        *self == ThinkingBudgets::default()
    }
}

/// Whether the model may call tools. Canonical JSON: `"auto"`, `"none"`, `"required"` or `{"tool": name}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Required,
    /// This tool.
    Tool(String),
}

/// How long a provider is asked to cache the prompt, so that the next turn costs less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum CacheRetention {
    /// No caching: nothing is marked, no cache is named.
    None,
    /// The provider's default (Anthropic: five minutes).
    #[default]
    Short,
    /// Longer, where the server can be asked (Anthropic: an hour, and writing costs more; OpenAI: a day).
    Long,
}

impl CacheRetention {
    fn is_default(&self) -> bool {
        *self == CacheRetention::default()
    }
}

/// An option that does not reach a model as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct IgnoredOption {
    /// Its canonical name, for example `stop_sequences`.
    pub option: &'static str,
    /// The reason, and what to do.
    pub why: String,
}
