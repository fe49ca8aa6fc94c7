//! An agent's settings, and reading them by name from a host language.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::limits::Limits;
use crate::model::{ModelOptions, ThinkingLevel};
use crate::queues::{QueueMode, SteeringPolicy};
use crate::retry::Policy;
use crate::tool::{ExecutionMode, Validation};
use crate::transport::network::Network;
use agent_loop_proto::model_spec::check_headers;

/// What holds for an agent's runs. Changes during a run take effect at its next turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) system_prompt: String,
    pub(crate) thinking_level: ThinkingLevel,
    pub(crate) model: ModelOptions,
    /// Headers for each request; they win over the model's and the protocol's own.
    pub(crate) headers: Map<String, Value>,
    /// Turns of one run; 0 for no limit.
    pub(crate) max_turns: u32,
    pub(crate) tool_execution: ExecutionMode,
    pub(crate) max_parallel_tools: usize,
    pub(crate) validation: Validation,
    /// The most bytes of a tool's text that go to the model whole.
    pub(crate) max_result_bytes: usize,
    /// How long an aborted run waits for its tools.
    pub(crate) abort_grace_ms: u64,
    pub(crate) raw_events: bool,
    pub(crate) steering_mode: QueueMode,
    pub(crate) follow_up_mode: QueueMode,
    pub(crate) steering_policy: SteeringPolicy,
    pub(crate) limits: Limits,
    pub(crate) retry: Policy,
    pub(crate) network: Arc<Network>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            system_prompt: String::new(),
            thinking_level: ThinkingLevel::Off,
            model: ModelOptions::default(),
            headers: Map::new(),
            max_turns: 10,
            tool_execution: ExecutionMode::Parallel,
            max_parallel_tools: 8,
            validation: Validation::Coerce,
            max_result_bytes: 50_000,
            abort_grace_ms: 1000,
            raw_events: false,
            steering_mode: QueueMode::OneAtATime,
            follow_up_mode: QueueMode::OneAtATime,
            steering_policy: SteeringPolicy::SkipRemaining,
            limits: Limits::default(),
            retry: Policy { max_retries: 2, base_ms: 500, max_delay_ms: 60_000 },
            network: Arc::default(),
        }
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
            "system_prompt" => self.system_prompt = read(value, spelled, "text", default.system_prompt)?,
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
