//! An agent's settings, and reading them by name from a host language.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::model::ThinkingLevel;
use crate::transport::network::Network;
use agent_loop_proto::model_spec::check_headers;

/// An agent's settings: those of its loop, and those of the world outside of it. A change during a run takes effect at its next
/// turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) engine: agent_loop_proto::settings::Settings,
    /// Headers for each request; they win over the model's and the protocol's own.
    pub(crate) headers: Map<String, Value>,
    pub(crate) network: Arc<Network>,
}

impl Deref for Settings {
    type Target = agent_loop_proto::settings::Settings;

    fn deref(&self) -> &Self::Target {
        &self.engine
    }
}

impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.engine
    }
}

/// The names a host may set, with the exception of those that are not plain values (tools).
pub(crate) const OPTIONS: &[&str] = &[
    "model",
    "system_prompt",
    "thinking_level",
    "thinking_budgets",
    "messages",
    "base_url",
    "api_key",
    "fallbacks",
    "headers",
    "temperature",
    "max_tokens",
    "stop_sequences",
    "tool_choice",
    "session_id",
    "cache_retention",
    "max_turns",
    "tool_execution",
    "max_parallel_tools",
    "validation",
    "max_result_bytes",
    "abort_grace_ms",
    "raw_events",
    "steering_mode",
    "follow_up_mode",
    "steering_policy",
    "connect_timeout_ms",
    "first_byte_timeout_ms",
    "idle_timeout_ms",
    "request_timeout_ms",
    "tool_timeout_ms",
    "run_timeout_ms",
    "max_retries",
    "retry_base_ms",
    "max_retry_delay_ms",
    "network",
];

const MODES: &str = "\"one_at_a_time\" or \"all\"";

impl Settings {
    /// Sets one option; `None` when it is none of these. Null is the default.
    pub(crate) fn set(&mut self, name: &str, value: &Value, spelled: &str) -> Result<Option<()>, Error> {
        let default = Settings::default();
        let ms = |default| read(value, spelled, "milliseconds (0 for no limit)", default);
        match name {
            "system_prompt" => self.system_prompt = read(value, spelled, "text", default.engine.system_prompt)?,
            "headers" => {
                check_headers(&format!("option {spelled:?}"), Some(value))?;
                self.headers = read(value, spelled, "an object of texts", default.headers)?;
            }
            "temperature" => self.model.temperature = read(value, spelled, "a number", None)?,
            "max_tokens" => self.model.max_tokens = read(value, spelled, "a whole number of tokens", None)?,
            "thinking_level" => {
                self.thinking_level = read(value, spelled, ThinkingLevel::WANTED, default.thinking_level)?;
            }
            "thinking_budgets" => {
                let wanted = "tokens by level, such as {\"low\": 2048}";
                self.model.thinking_budgets = read(value, spelled, wanted, default.model.thinking_budgets)?;
            }
            "stop_sequences" => self.model.stop_sequences = read(value, spelled, "a list of texts", Vec::new())?,
            "tool_choice" => {
                let wanted = "\"auto\", \"none\", \"required\" or {\"tool\": name}";
                self.model.tool_choice = read(value, spelled, wanted, None)?;
            }
            "session_id" => self.model.session_id = read(value, spelled, "text", None)?,
            "cache_retention" => {
                let wanted = "\"short\", \"long\" or \"none\"";
                self.model.cache_retention = read(value, spelled, wanted, default.model.cache_retention)?;
            }
            "steering_mode" => self.steering_mode = read(value, spelled, MODES, default.steering_mode)?,
            "follow_up_mode" => self.follow_up_mode = read(value, spelled, MODES, default.follow_up_mode)?,
            "steering_policy" => {
                let wanted = "\"skip_remaining\" or \"after_batch\"";
                self.steering_policy = read(value, spelled, wanted, default.steering_policy)?;
            }
            "connect_timeout_ms" => self.limits.connect_timeout_ms = ms(default.limits.connect_timeout_ms)?,
            "first_byte_timeout_ms" => self.limits.first_byte_timeout_ms = ms(default.limits.first_byte_timeout_ms)?,
            "idle_timeout_ms" => self.limits.idle_timeout_ms = ms(default.limits.idle_timeout_ms)?,
            "request_timeout_ms" => self.limits.request_timeout_ms = ms(default.limits.request_timeout_ms)?,
            "tool_timeout_ms" => self.limits.tool_timeout_ms = ms(default.limits.tool_timeout_ms)?,
            "run_timeout_ms" => self.limits.run_timeout_ms = ms(default.limits.run_timeout_ms)?,
            "max_retries" => self.retry.max_retries = read(value, spelled, "a whole number", default.retry.max_retries)?,
            "retry_base_ms" => self.retry.base_ms = read(value, spelled, "milliseconds", default.retry.base_ms)?,
            "max_retry_delay_ms" => self.retry.max_delay_ms = read(value, spelled, "milliseconds", default.retry.max_delay_ms)?,
            "max_turns" => self.max_turns = read(value, spelled, "a whole number of turns (0 for no limit)", default.max_turns)?,
            "tool_execution" => {
                self.tool_execution = read(value, spelled, "\"parallel\" or \"sequential\"", default.tool_execution)?;
            }
            "max_parallel_tools" => {
                let wanted = "a whole number of at least 1";
                self.max_parallel_tools = read(value, spelled, wanted, default.max_parallel_tools)?;
                if self.max_parallel_tools == 0 {
                    return Err(wrong(value, spelled, wanted));
                }
            }
            "validation" => self.validation = read(value, spelled, "\"coerce\", \"strict\" or \"off\"", default.validation)?,
            "max_result_bytes" => {
                self.max_result_bytes = read(value, spelled, "a whole number of bytes", default.max_result_bytes)?;
            }
            "abort_grace_ms" => self.abort_grace_ms = read(value, spelled, "milliseconds", default.abort_grace_ms)?,
            "raw_events" => self.raw_events = read(value, spelled, "true or false", default.raw_events)?,
            _ => return Ok(None),
        }
        Ok(Some(()))
    }
}

/// The canonical names of a host's options with their values and the spelling the host used.
///
/// # Errors
/// `invalid_argument` for a name that is not known; names the nearest right one. `own` are names the host handles itself.
pub(crate) fn named<'a>(
    options: &'a Map<String, Value>,
    spelling: Spelling,
    own: &[&'static str],
) -> Result<Vec<(&'static str, &'a str, &'a Value)>, Error> {
    let known = OPTIONS.iter().chain(own).copied();
    let find = |(spelled, value): (&'a String, &'a Value)| {
        let canonical = OPTIONS.iter().copied().find(|name| spelling.spell(name) == *spelled);
        canonical
            .map(|name| (name, spelled.as_str(), value))
            .ok_or_else(|| unknown_name("option", spelled, known.clone(), spelling))
    };
    options.iter().map(find).collect()
}

/// A value of the wanted type; null is the default.
pub(crate) fn read<T: DeserializeOwned>(value: &Value, spelled: &str, wanted: &str, default: T) -> Result<T, Error> {
    if value.is_null() {
        return Ok(default);
    }
    T::deserialize(value).map_err(|_| wrong(value, spelled, wanted))
}

pub(crate) fn wrong(value: &Value, spelled: &str, wanted: &str) -> Error {
    Error::invalid_argument(format!("option {spelled:?}: expected {wanted}, got {value}"))
}
