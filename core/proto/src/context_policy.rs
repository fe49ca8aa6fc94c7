//! How a request is kept within a number of tokens: what the option `context` says. How it is done is in
//! [`crate::transcript`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;
use crate::json_error::shown;

/// The tokens of a request, where neither the option nor the model says how many there may be.
const DEFAULT_MAX_TOKENS: u64 = 160_000;

const FIELDS: [&str; 7] =
    ["max_tokens", "keep_last", "max_result_tokens", "keep_tools", "compact", "summarize_results", "summary_model"];

/// What a model reads of a long conversation. Canonical JSON: `{max_tokens?, keep_last, max_result_tokens, keep_tools, compact,
/// summarize_results, summary_model?}`.
///
/// ```
/// # mod agent_loop { pub mod context { pub use agent_loop_proto::context_policy::*; } }
/// use agent_loop::context::ContextPolicy;
///
/// let policy = ContextPolicy::new().with_max_tokens(50_000).with_keep_last(4);
/// assert_eq!((policy.max_tokens, policy.max_result_tokens), (Some(50_000), 12_000));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ContextPolicy {
    /// The most tokens of a request: system prompt, tools and messages, as they are estimated. Never more than the model's window
    /// leaves beside the answer. Without it, that is the limit; and 160,000 for a model whose window is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// How many exchanges before the current one are kept: user's messages, with all that follows up to the next one. 2.
    pub keep_last: u32,
    /// The most tokens of a tool's result that a request has at once; the model may read on. 12,000; 0 for no limit.
    pub max_result_tokens: u64,
    /// The tools whose last call is kept: `scratch_pad`.
    pub keep_tools: Vec<String>,
    /// Whether a model writes a summary of what is left out, which takes its place. False.
    pub compact: bool,
    /// Whether a model writes a summary of a tool's result that has more than `max_result_tokens`, in place of its beginning and
    /// its end. False.
    pub summarize_results: bool,
    /// The model that writes summaries, `provider/id`. The run's own by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
}

impl Default for ContextPolicy {
    fn default() -> ContextPolicy {
        ContextPolicy {
            max_tokens: None,
            keep_last: 2,
            max_result_tokens: 12_000,
            keep_tools: vec!["scratch_pad".to_owned()],
            compact: false,
            summarize_results: false,
            summary_model: None,
        }
    }
}

impl ContextPolicy {
    /// As many tokens as the model takes.
    pub fn new() -> ContextPolicy {
        ContextPolicy::default()
    }

    /// Sets the most tokens of a request.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: u64) -> ContextPolicy {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// Sets how many exchanges before the current one are kept.
    #[must_use]
    pub fn with_keep_last(mut self, keep_last: u32) -> ContextPolicy {
        self.keep_last = keep_last;
        self
    }

    /// Sets the most tokens of a tool's result that a request has at once; 0 for no limit.
    #[must_use]
    pub fn with_max_result_tokens(mut self, max_result_tokens: u64) -> ContextPolicy {
        self.max_result_tokens = max_result_tokens;
        self
    }

    /// Sets the tools whose last call is kept.
    #[must_use]
    pub fn with_keep_tools<T: Into<String>>(mut self, keep_tools: impl IntoIterator<Item = T>) -> ContextPolicy {
        self.keep_tools = keep_tools.into_iter().map(Into::into).collect();
        self
    }

    /// What is left out is replaced by a summary that a model writes.
    #[must_use]
    pub fn compact(mut self) -> ContextPolicy {
        self.compact = true;
        self
    }

    /// A tool's result that is too long is replaced by a summary that a model writes.
    #[must_use]
    pub fn summarize_results(mut self) -> ContextPolicy {
        self.summarize_results = true;
        self
    }

    /// Sets the model that writes summaries, `provider/id`.
    #[must_use]
    pub fn with_summary_model(mut self, summary_model: impl Into<String>) -> ContextPolicy {
        self.summary_model = Some(summary_model.into());
        self
    }

    /// Whether a model writes summaries.
    pub(crate) fn summarizes(&self) -> bool {
        self.compact || self.summarize_results
    }

    /// The most tokens of a request to a model: `window` is what it reads and writes together, `answer` how much of that the
    /// answer may take.
    pub(crate) fn limit(&self, window: Option<u64>, answer: Option<u64>) -> u64 {
        // Some models may write as much as they read: half of it has to be enough.
        let readable = window.map(|window| window.saturating_sub(answer.unwrap_or_default().min(window / 2)));
        match (self.max_tokens, readable) {
            (Some(most), Some(readable)) => most.min(readable),
            (Some(most), None) => most,
            (None, readable) => readable.unwrap_or(DEFAULT_MAX_TOKENS),
        }
    }

    fn from_json(value: Value) -> Result<ContextPolicy, Error> {
        let map = match value {
            Value::Bool(true) => Map::new(),
            Value::Object(map) => map,
            other => {
                let off = if other == Value::Bool(false) { "; null leaves it off" } else { "" };
                let text = format!("expected true or an object with {}, got {}{off}", FIELDS.join(", "), shown(&other));
                return Err(Error::invalid_argument(text));
            }
        };
        // As the options of the model: both spellings are known.
        let is_camel = map.keys().any(|name| name.contains(char::is_uppercase));
        let spelling = if is_camel { Spelling::Camel } else { Spelling::Snake };
        let fields = canonical_names("field", map, &FIELDS, spelling)?;
        let mut policy = ContextPolicy::default();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let wrong = |expected: &str| {
                Error::invalid_argument(format!("{}: expected {expected}, got {}", spelling.spell(name), shown(value)))
            };
            let flag = || value.as_bool().ok_or_else(|| wrong("true or false"));
            let tokens = |expected: &str| value.as_u64().ok_or_else(|| wrong(expected));
            match name.as_str() {
                "max_tokens" => {
                    let most = tokens("a whole number of tokens, at least 1")?;
                    policy.max_tokens = Some(most).filter(|most| *most > 0);
                    policy.max_tokens.ok_or_else(|| wrong("a whole number of tokens, at least 1"))?;
                }
                "keep_last" => {
                    let exchanges = tokens("a whole number of exchanges")?;
                    policy.keep_last = exchanges.try_into().unwrap_or(u32::MAX);
                }
                "compact" => policy.compact = flag()?,
                "summarize_results" => policy.summarize_results = flag()?,
                "summary_model" => {
                    let name = value.as_str().filter(|name| name.contains('/'));
                    policy.summary_model = Some(name.ok_or_else(|| wrong("\"provider/id\""))?.to_owned());
                }
                "max_result_tokens" => policy.max_result_tokens = tokens("a whole number of tokens (0 for no limit)")?,
                _ => {
                    let names = || wrong("a list of names of tools");
                    let list = value.as_array().ok_or_else(names)?;
                    let read = list.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(names));
                    policy.keep_tools = read.collect::<Result<_, _>>()?;
                }
            }
        }
        Ok(policy)
    }
}

impl TryFrom<Value> for ContextPolicy {
    /// The text alone: it stands in the error of what has the policy.
    type Error = String;

    fn try_from(value: Value) -> Result<ContextPolicy, String> {
        ContextPolicy::from_json(value).map_err(|error| error.message().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn a_policy_is_read_in_both_spellings() {
        let policy: ContextPolicy = from_value(json!({
            "maxTokens": 9, "keepLast": 0, "keepTools": ["pad"], "compact": true, "summaryModel": "openai/gpt-5-mini",
        }))
        .unwrap();
        let canonical = json!({
            "max_tokens": 9, "keep_last": 0, "max_result_tokens": 12_000, "keep_tools": ["pad"], "compact": true,
            "summarize_results": false, "summary_model": "openai/gpt-5-mini",
        });
        assert_eq!(to_value(&policy).unwrap(), canonical);
        assert_eq!(from_value::<ContextPolicy>(canonical).unwrap(), policy);
        assert_eq!(from_value::<ContextPolicy>(json!(true)).unwrap(), ContextPolicy::new());
        assert_eq!(from_value::<ContextPolicy>(json!({ "keep_last": null })).unwrap(), ContextPolicy::new());
    }

    #[test]
    fn what_is_wrong_in_a_policy_is_named() {
        for (given, wrong) in [
            (
                json!(5),
                "expected true or an object with max_tokens, keep_last, max_result_tokens, keep_tools, compact, \
                 summarize_results, summary_model, got 5",
            ),
            (
                json!(false),
                "expected true or an object with max_tokens, keep_last, max_result_tokens, keep_tools, compact, \
                 summarize_results, summary_model, got false; null leaves it off",
            ),
            (json!({ "max_token": 5 }), "unknown field \"max_token\"; did you mean \"max_tokens\"?"),
            (json!({ "max_tokens": 0 }), "max_tokens: expected a whole number of tokens, at least 1, got 0"),
            (json!({ "keepLast": -1 }), "keepLast: expected a whole number of exchanges, got -1"),
            (json!({ "keep_tools": [1] }), "keep_tools: expected a list of names of tools, got [1]"),
            (json!({ "compact": "yes" }), "compact: expected true or false, got \"yes\""),
            (json!({ "summaryModel": "gpt" }), "summaryModel: expected \"provider/id\", got \"gpt\""),
        ] {
            assert_eq!(ContextPolicy::try_from(given).unwrap_err(), wrong);
        }
    }

    #[test]
    fn a_request_has_what_the_window_leaves_beside_the_answer() {
        let limit = |most, window, answer| ContextPolicy { max_tokens: most, ..ContextPolicy::new() }.limit(window, answer);
        assert_eq!(limit(None, Some(400_000), Some(128_000)), 272_000);
        assert_eq!(limit(None, Some(8_000), Some(8_000)), 4_000);
        assert_eq!(limit(None, None, Some(8_000)), 160_000);
        assert_eq!(limit(Some(300_000), Some(200_000), None), 200_000);
        assert_eq!(limit(Some(300_000), None, None), 300_000);
    }
}
