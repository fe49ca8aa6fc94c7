//! A limiter: how many requests, tokens and calls at a time the runs that share it may have, so that a service has no reason to
//! refuse one. This is what the option `limiter` says; [`bucket`] decides who may begin, and [`headers`] reads what services say
//! of their own limits.

pub mod bucket;
pub mod headers;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;
use crate::json_error::shown;

const LIMITS: [&str; 3] = ["requests_per_minute", "tokens_per_minute", "max_concurrent"];
const FIELDS: [&str; 5] = ["name", "requests_per_minute", "tokens_per_minute", "max_concurrent", "providers"];

/// Limits that the model calls of several agents have in common. Each key of each provider has them for itself. Canonical JSON:
/// `{name?, requests_per_minute?, tokens_per_minute?, max_concurrent?, providers?}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Value")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct LimiterSpec {
    /// Sets it apart from another one with the same limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What holds for each provider.
    #[serde(flatten)]
    pub limits: CallLimits,
    /// What holds for a provider in its place, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, CallLimits>,
}

/// The limits of one key of a provider; none where there is none but the service's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct CallLimits {
    /// How many requests may begin in a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// How many tokens requests and answers may have in a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
    /// How many calls may be under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u64>,
}

impl LimiterSpec {
    /// The limits of a provider's keys.
    pub fn limits_of(&self, provider: &str) -> CallLimits {
        self.providers.get(provider).copied().unwrap_or(self.limits)
    }

    /// Reads it as a host has it; null is none.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown field or a wrong value; it is named.
    pub fn from_json(value: &Value) -> Result<LimiterSpec, Error> {
        let map = match value {
            Value::Bool(true) => Map::new(),
            Value::Object(map) => map.clone(),
            other => {
                let off = if *other == Value::Bool(false) { "; null leaves it off" } else { "" };
                let text = format!("expected true or an object with {}, got {}{off}", FIELDS.join(", "), shown(other));
                return Err(Error::invalid_argument(text));
            }
        };
        let spelling = spelling_of(&map);
        let mut fields = canonical_names("field", map, &FIELDS, spelling)?;
        let name = match fields.shift_remove("name") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => return Err(Error::invalid_argument(format!("name: expected text, got {}", shown(&other)))),
        };
        let providers = match fields.shift_remove("providers") {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(Value::Object(providers)) => {
                let limits = |(provider, value): (String, Value)| {
                    let read = match value {
                        // Spelled by itself: a host that respells names does not do so under the names of providers.
                        Value::Object(fields) => {
                            let spelling = spelling_of(&fields);
                            canonical_names("field", fields, &LIMITS, spelling)
                                .and_then(|fields| CallLimits::read(&fields, spelling))
                        }
                        other => Err(Error::invalid_argument(format!("expected an object of limits, got {}", shown(&other)))),
                    };
                    let read = read.map_err(|error| error.reworded(|why| format!("providers: {provider}: {why}")))?;
                    Ok((provider, read))
                };
                providers.into_iter().map(limits).collect::<Result<_, Error>>()?
            }
            Some(other) => {
                let text = format!("providers: expected an object of limits by provider, got {}", shown(&other));
                return Err(Error::invalid_argument(text));
            }
        };
        Ok(LimiterSpec { name, limits: CallLimits::read(&fields, spelling)?, providers })
    }
}

/// As the options of the model: both spellings are known.
fn spelling_of(map: &Map<String, Value>) -> Spelling {
    let is_camel = map.keys().any(|name| name.contains(char::is_uppercase));
    if is_camel { Spelling::Camel } else { Spelling::Snake }
}

impl TryFrom<Value> for LimiterSpec {
    type Error = Error;

    fn try_from(value: Value) -> Result<LimiterSpec, Error> {
        LimiterSpec::from_json(&value)
    }
}

impl CallLimits {
    /// Reads those of the fields that are limits.
    fn read(fields: &Map<String, Value>, spelling: Spelling) -> Result<CallLimits, Error> {
        let limit = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().filter(|most| *most > 0).map(Some).ok_or_else(|| {
                let text = format!("{}: expected a whole number of at least 1, got {}", spelling.spell(name), shown(value));
                Error::invalid_argument(text)
            }),
        };
        let [requests, tokens, calls] = LIMITS;
        let (requests_per_minute, tokens_per_minute) = (limit(requests)?, limit(tokens)?);
        Ok(CallLimits { requests_per_minute, tokens_per_minute, max_concurrent: limit(calls)? })
    }
}
