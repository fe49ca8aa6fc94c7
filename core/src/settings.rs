//! An agent's settings, and reading them by name from a host language.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::model::ModelOptions;
use crate::names::{Spelling, unknown_name};
use crate::provider::check_headers;
use crate::tool::{ExecutionMode, Validation};

/// What holds for an agent's runs. Changes during a run take effect at its next turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) system_prompt: String,
    pub(crate) model: ModelOptions,
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
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            system_prompt: String::new(),
            model: ModelOptions::default(),
            max_turns: 10,
            tool_execution: ExecutionMode::Parallel,
            max_parallel_tools: 8,
            validation: Validation::Coerce,
            max_result_bytes: 50_000,
            abort_grace_ms: 1000,
            raw_events: false,
        }
    }
}

/// The names a host may set, with the exception of those that are not plain values (tools).
pub(crate) const OPTIONS: &[&str] = &[
    "model",
    "system_prompt",
    "messages",
    "base_url",
    "api_key",
    "headers",
    "temperature",
    "max_tokens",
    "max_turns",
    "tool_execution",
    "max_parallel_tools",
    "validation",
    "max_result_bytes",
    "abort_grace_ms",
    "raw_events",
];

impl Settings {
    /// Sets one option; `None` when it is none of these. Null is the default.
    pub(crate) fn set(&mut self, name: &str, value: &Value, spelled: &str) -> Result<Option<()>, Error> {
        let default = Settings::default();
        match name {
            "system_prompt" => self.system_prompt = read(value, spelled, "text", default.system_prompt)?,
            "headers" => {
                check_headers(&format!("option {spelled:?}"), Some(value))?;
                self.model.headers = read(value, spelled, "an object of texts", default.model.headers)?;
            }
            "temperature" => self.model.temperature = read(value, spelled, "a number", None)?,
            "max_tokens" => self.model.max_tokens = read(value, spelled, "a whole number of tokens", None)?,
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
