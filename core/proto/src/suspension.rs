//! Calls that wait for a decision: what is known of them, and what a host decides.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::json_error::shown;
use crate::json_reader::from_value;

/// A tool call that waits for a decision. Canonical JSON: `{tool_call_id, tool_name, arguments, reason, rule?,
/// idempotency_key}`.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::result::RunResult; }
/// use agent_loop::RunResult;
///
/// fn ask(result: &RunResult) {
///     for call in &result.pending {
///         println!("{}: {} {:?}", call.reason, call.tool_name, call.arguments);
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct SuspendedCall {
    /// The call's id, by which it is decided.
    pub tool_call_id: Arc<str>,
    /// The tool's name.
    pub tool_name: Arc<str>,
    /// The arguments with which it runs if it is approved. Of a call that stands behind another one in a sequential batch they
    /// are the model's own, as it was not checked yet.
    pub arguments: Arc<Map<String, Value>>,
    /// Why it waits, for the person who decides.
    pub reason: String,
    /// The [rule](crate::gate::Rule) that is remembered if the decision is for always. It is about this call alone, in its tool's
    /// [subject](crate::gate::Subject). Empty for a call of an export from before there were rules.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// The same however often the call is executed, and wherever: for the services behind tools.
    pub idempotency_key: Arc<str>,
}

/// A call that waits for a decision, as a conversation keeps it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct StoredCall {
    /// What a host knows of it.
    #[serde(flatten)]
    pub call: SuspendedCall,
    /// Whether it has passed validation and `before_tool_call`: both are not repeated then.
    pub is_checked: bool,
}

/// As derived, but read as all other types are: `json_reader`.
impl<'de> Deserialize<'de> for StoredCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StoredCall, D::Error> {
        #[derive(Deserialize)]
        struct Checked {
            is_checked: bool,
        }
        let value = Value::deserialize(deserializer)?;
        let Checked { is_checked } = from_value(&value).map_err(D::Error::custom)?;
        Ok(StoredCall { call: from_value(&value).map_err(D::Error::custom)?, is_checked })
    }
}

/// What is decided about a call that waits.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::suspension::Decision;
///
/// fn decide(answer: &str) -> Decision {
///     match answer {
///         "yes" => Decision::Approve,
///         why => Decision::deny(why),
///     }
/// }
/// assert_eq!(decide("too dear"), Decision::Deny { reason: "too dear".to_owned() });
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Decision {
    /// It runs, with the arguments that it waits with.
    Approve,
    /// The same, and the conversation remembers the call's rule: calls like this one run without a question.
    ApproveAlways,
    /// It does not run; its result is an error with this text.
    Deny {
        /// For the model.
        reason: String,
    },
    /// The same, and the conversation remembers the call's rule: calls like this one do not run.
    DenyAlways {
        /// For the model.
        reason: String,
    },
    /// It runs with these arguments, which are validated.
    Arguments {
        /// The new arguments.
        arguments: Map<String, Value>,
    },
    /// It does not run: this is its result, as a tool returns it.
    Result {
        /// A full result, or anything plain (see [`ToolOutput`](crate::tool::ToolOutput)).
        result: Value,
    },
}

const DENIED: &str = "the call was denied";
const FORMS: &str = concat!(
    r#""approve", "approve_always", "deny", {"deny": reason}, "deny_always", {"deny_always": reason}, "#,
    r#"{"arguments": {…}} or {"result": …}"#
);

impl Decision {
    /// It does not run, for this reason.
    pub fn deny(reason: impl Into<String>) -> Decision {
        Decision::Deny { reason: reason.into() }
    }

    /// It does not run, for this reason, nor does any other call like this one.
    pub fn deny_always(reason: impl Into<String>) -> Decision {
        Decision::DenyAlways { reason: reason.into() }
    }

    /// It does not run, and nobody has said why.
    #[cfg(feature = "ui")]
    pub(crate) fn denied() -> Decision {
        Decision::deny(DENIED)
    }

    /// It does not run: this is its result.
    pub fn result(result: impl Into<Value>) -> Decision {
        Decision::Result { result: result.into() }
    }

    /// Reads a decision in JSON: `"approve"`, `"approve_always"`, `"deny"`, `{"deny": reason}`, `"deny_always"`,
    /// `{"deny_always": reason}`, `{"arguments": {…}}` or `{"result": …}`.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn from_json(value: Value) -> Result<Decision, String> {
        let expected = |value: &Value| format!("expected {FORMS}, got {}", shown(value));
        match value {
            Value::String(word) if word == "approve" => Ok(Decision::Approve),
            Value::String(word) if word == "approve_always" => Ok(Decision::ApproveAlways),
            Value::String(word) if word == "deny" => Ok(Decision::deny(DENIED)),
            Value::String(word) if word == "deny_always" => Ok(Decision::deny_always(DENIED)),
            Value::Object(mut map) if map.len() == 1 => {
                // A host may spell it in its own way: what is decided is not a field.
                let names = [("deny", "deny"), ("deny_always", "deny_always"), ("denyAlways", "deny_always")];
                let names = names.into_iter().chain([("arguments", "arguments"), ("result", "result")]);
                let taken = names.into_iter().find_map(|(given, name)| Some((name, map.remove(given)?)));
                match taken {
                    Some((name @ ("deny" | "deny_always"), Value::String(reason))) => {
                        let reason = if reason.trim().is_empty() { DENIED.to_owned() } else { reason };
                        Ok(if name == "deny" { Decision::deny(reason) } else { Decision::deny_always(reason) })
                    }
                    Some((name @ ("deny" | "deny_always"), other)) => {
                        Err(format!("{name}: expected the reason, a text, got {}", shown(&other)))
                    }
                    Some(("arguments", Value::Object(arguments))) => Ok(Decision::Arguments { arguments }),
                    Some(("arguments", other)) => Err(format!("arguments: expected an object, got {}", shown(&other))),
                    Some((_, result)) => Ok(Decision::Result { result }),
                    None => Err(expected(&Value::Object(map))),
                }
            }
            // An incomplete or an ambiguous decision must not let a call run.
            other => Err(expected(&other)),
        }
    }

    /// The decision in JSON, as [`Decision::from_json`] reads it.
    pub fn to_json(&self) -> Value {
        match self {
            Decision::Approve => "approve".into(),
            Decision::ApproveAlways => "approve_always".into(),
            Decision::Deny { reason } => json!({ "deny": reason }),
            Decision::DenyAlways { reason } => json!({ "deny_always": reason }),
            Decision::Arguments { arguments } => json!({ "arguments": arguments }),
            Decision::Result { result } => json!({ "result": result }),
        }
    }

    /// Reads decisions in JSON: an object of them by the ids of their calls.
    ///
    /// # Errors
    /// `invalid_argument`: names the call whose decision is wrong, and says why.
    pub fn all_from_json(value: Value) -> Result<Vec<(String, Decision)>, Error> {
        let Value::Object(map) = value else {
            let text = format!("decisions: expected an object of decisions by the ids of their calls, got {}", shown(&value));
            return Err(Error::invalid_argument(text));
        };
        let read = |(id, value)| match Decision::from_json(value) {
            Ok(decision) => Ok((id, decision)),
            Err(why) => Err(Error::invalid_argument(format!("decisions: {id}: {why}"))),
        };
        map.into_iter().map(read).collect()
    }
}

/// The calls for an error message: their ids, with their tools.
pub(crate) fn named<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    calls.into_iter().map(|(id, tool)| format!("{id} ({tool})")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_read_and_odd_ones_refused() {
        let read = |value: Value| Decision::from_json(value);
        assert_eq!(read(json!("approve")), Ok(Decision::Approve));
        assert_eq!(read(json!("deny")), Ok(Decision::deny("the call was denied")));
        assert_eq!(read(json!({ "deny": " " })), Ok(Decision::deny("the call was denied")));
        assert_eq!(read(json!({ "deny": "too dear" })), Ok(Decision::deny("too dear")));
        assert_eq!(read(json!("deny_always")), Ok(Decision::deny_always("the call was denied")));
        assert_eq!(read(json!({ "denyAlways": "never" })), Ok(Decision::deny_always("never")));
        assert_eq!(read(json!({ "result": null })), Ok(Decision::result(Value::Null)));
        assert!(matches!(read(json!({ "arguments": { "n": 1 } })), Ok(Decision::Arguments { .. })));
        for json in [
            json!("approve"),
            json!("approve_always"),
            json!({ "deny": "no" }),
            json!({ "deny_always": "never" }),
            json!({ "arguments": { "n": 1 } }),
            json!({ "result": [1] }),
        ] {
            assert_eq!(read(json.clone()).unwrap().to_json(), json);
        }
        for odd in [
            json!(null),
            json!(true),
            json!("yes"),
            json!({}),
            json!({ "approve": true }),
            json!({ "deny": false }),
            json!({ "deny_always": true }),
            json!({ "arguments": "{}" }),
            json!({ "deny": "no", "result": 1 }),
            json!(["approve"]),
        ] {
            assert!(read(odd.clone()).is_err(), "{odd}");
        }
        let error = Decision::all_from_json(json!({ "a": "approve", "b": "perhaps" })).unwrap_err();
        assert!(error.message().starts_with("decisions: b: expected \"approve\", \"approve_always\","), "{error}");
        assert!(error.message().ends_with("got \"perhaps\""), "{error}");
    }
}
