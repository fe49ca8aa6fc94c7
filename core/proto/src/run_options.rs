//! Options of one run, in place of those of its agent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::json_error::shown;
use crate::model_spec::check_headers;
use crate::protocol::check_option;
use crate::settings::Settings;
use crate::table::options;
use crate::trace::parent::TraceParent;

/// The options that are no settings of the loop.
const HEADERS: &str = "headers";
const TRACEPARENT: &str = "traceparent";

/// Options of one run, by their canonical names. They were checked when they were set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunOptions {
    settings: Map<String, Value>,
    /// Headers of the run's requests, beside the agent's or in their place. They may have a key: nothing saves them.
    #[serde(skip)]
    headers: Map<String, Value>,
    /// The trace that the run belongs to. It is that of a request, which no other run works for.
    #[serde(skip)]
    traceparent: Option<TraceParent>,
}

impl RunOptions {
    /// Reads options, with names as the host's language spells them; `beside` are what the host itself takes, for hints.
    ///
    /// # Errors
    /// `invalid_argument`: a name that is not known (with the nearest right one), one of the agent's own, or a wrong value.
    pub fn from_json(given: &Map<String, Value>, spelling: Spelling, beside: &[&'static str]) -> Result<RunOptions, Error> {
        let mut read = RunOptions::default();
        for (spelled, value) in given {
            let name = options::names().find(|name| spelling.spell(name) == *spelled);
            let name =
                name.ok_or_else(|| unknown_name("option", spelled, RunOptions::names().chain(beside.iter().copied()), spelling))?;
            read.set(name, value.clone(), spelled)?;
        }
        Ok(read)
    }

    /// Sets an option; null is the default, whatever the agent has. `spelled` is its name for errors.
    ///
    /// # Errors
    /// `invalid_argument`: a wrong value, or an option of the agent's own.
    pub fn set(&mut self, name: &str, value: Value, spelled: &str) -> Result<(), Error> {
        if name == HEADERS {
            check_headers(&format!("option {spelled:?}"), Some(&value))?;
            self.headers = if let Value::Object(headers) = value { headers } else { Map::new() };
            return Ok(());
        }
        if name == TRACEPARENT {
            let spelled = format!("option {spelled:?}");
            self.traceparent = match &value {
                Value::Null => None,
                Value::String(text) => Some(TraceParent::parse(text, &spelled)?),
                other => return Err(Error::invalid_argument(format!("{spelled}: expected text, got {}", shown(other)))),
            };
            return Ok(());
        }
        let mut read = Settings::default();
        if name == "origin" || !read.set_option(name, &value, spelled)? {
            let text = format!("option {spelled:?}: it is the agent's, and the same for all of its runs; give it to the agent");
            return Err(Error::invalid_argument(text));
        }
        check_option(name, &read.model, spelled)?;
        self.settings.insert(name.to_owned(), value);
        Ok(())
    }

    /// Adds a header.
    pub fn add_header(&mut self, name: &str, value: &str) {
        self.headers.insert(name.to_owned(), value.into());
    }

    /// The headers of this run's requests, which are sent beside those of the agent, or in their place.
    pub fn headers(&self) -> &Map<String, Value> {
        &self.headers
    }

    /// The trace that the run belongs to.
    pub fn traceparent(&self) -> Option<TraceParent> {
        self.traceparent
    }

    /// The names of all options of a run.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        let is_setting = |name: &str| matches!(Settings::default().set_option(name, &Value::Null, name), Ok(true));
        options::names().filter(move |name| [HEADERS, TRACEPARENT].contains(name) || (*name != "origin" && is_setting(name)))
    }

    /// Whether there are none that are saved.
    pub(crate) fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// Puts them in the place of the agent's.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        for (name, value) in &self.settings {
            // Checked when they were set; those of a loop that was saved, too.
            let _ = settings.set_option(name, value, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(given: Value) -> Result<RunOptions, Error> {
        RunOptions::from_json(given.as_object().unwrap(), Spelling::Camel, &["signal"])
    }

    #[test]
    fn options_take_the_place_of_the_agents_and_null_is_the_default() {
        let options = read(json!({ "maxTurns": 3, "temperature": 0.5, "seed": null, "maxCost": 1 })).unwrap();
        let mut settings = Settings { max_turns: 9, system_prompt: "Be brief.".to_owned(), ..Settings::default() };
        settings.model.seed = Some(7);
        options.apply(&mut settings);
        assert_eq!((settings.max_turns, settings.model.temperature, settings.model.seed), (3, Some(0.5), None));
        assert_eq!((settings.budget.max_cost, &*settings.system_prompt), (Some(1.0), "Be brief."));
        assert_eq!(serde_json::to_value(&options).unwrap()["max_turns"], json!(3));
    }

    #[test]
    fn headers_are_not_saved_with_the_others() {
        let options = read(json!({ "maxTurns": 3, "headers": { "x-key": "secret" } })).unwrap();
        assert_eq!(options.headers()["x-key"], "secret");
        assert_eq!(serde_json::to_value(&options).unwrap(), json!({ "max_turns": 3 }));
    }

    #[test]
    fn a_traceparent_is_not_saved_either() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let options = read(json!({ "traceparent": text })).unwrap();
        assert_eq!(options.traceparent(), TraceParent::parse(text, "").ok());
        assert_eq!(serde_json::to_value(&options).unwrap(), json!({}));
    }

    #[test]
    fn what_is_no_option_of_a_run_is_refused() {
        for (given, wrong) in [
            (json!({ "maxTurn": 3 }), "unknown option \"maxTurn\"; did you mean \"maxTurns\"?"),
            (json!({ "sginal": 3 }), "unknown option \"sginal\"; did you mean \"signal\"?"),
            (json!({ "max_turns": 3 }), "unknown option \"max_turns\"; did you mean \"maxTurns\"?"),
            (json!({ "maxTurns": "3" }), "option \"maxTurns\": expected a whole number of turns (0 for no limit), got \"3\""),
            (json!({ "apiKey": "k" }), "option \"apiKey\": it is the agent's, and the same for all of its runs"),
            (json!({ "headers": { "x-a": 1 } }), "option \"headers\": \"x-a\": expected text"),
            (json!({ "traceparent": "00-1" }), "option \"traceparent\": expected the value of a traceparent header, such as"),
            (json!({ "traceparent": 1 }), "option \"traceparent\": expected text, got 1"),
            (json!({ "origin": "o" }), "option \"origin\": it is the agent's"),
            (json!({ "extraBody": { "stream": false } }), "option \"extraBody\": the engine writes \"stream\" itself"),
            (json!({ "output": { "type": "strin" } }), "option \"output\": schema is not a JSON Schema"),
        ] {
            let error = read(given).unwrap_err();
            assert!(error.message().starts_with(wrong), "{}", error.message());
        }
    }
}
