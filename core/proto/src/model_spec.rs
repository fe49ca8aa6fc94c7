//! The description of a model: its name, or an object with its limits, prices and quirks.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;
use crate::json_error::{Unread, read_value, shown};
use crate::quirks;
use crate::surrogate::read_json;
use crate::usage::{PriceTier, Prices};

/// A model by name, with its limits, prices and quirks. As text `provider/id`, split at the first slash; as JSON `{provider, id,
/// label, base_model, protocol, base_url, headers, project, location, api_version, context_window, max_output_tokens, input,
/// thinking, cost, quirks}`, all but the first two optional; of the provider `scripted` also `script`. What it leaves open is
/// taken from the catalogue ([`models`](crate::provider::models)), if the model stands there, or if `base_model` says which it
/// is.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::{error::*, model_spec::*}; }
/// use agent_loop::ModelSpec;
/// use serde_json::json;
///
/// let known = ModelSpec::parse("anthropic/claude-sonnet-4-5")?;
/// let own = ModelSpec::from_json(json!({
///     "provider": "company", "id": "large", "base_url": "https://models.example/v1", "context_window": 32_000,
/// }))?;
/// # let _ = (known, own);
/// # Ok::<(), agent_loop::Error>(())
/// ```
///
/// serde reads what [`ModelSpec::from_json`] reads, with its errors.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ModelSpec {
    /// Who serves it.
    pub provider: String,
    /// The model's name there.
    pub id: String,
    /// Its display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Which model of the catalogue it is, where `id` is a custom name: a deployment on Azure, a gateway's alias.
    /// `provider/id`, or the id alone of one of the same provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_model: Option<String>,
    /// The wire format, where the provider's own is not meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The server's address, where the provider's own is not meant; with or without `/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Headers for each request to it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
    /// Vertex AI's project, where the environment's (`GOOGLE_CLOUD_PROJECT`) is not meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Vertex AI's location, for example `europe-west1` or `global`, where the environment's (`GOOGLE_CLOUD_LOCATION`) is not
    /// meant; Bedrock's region, where that of the environment (`AWS_REGION`) is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Azure's `api-version`, where the environment's (`AZURE_OPENAI_API_VERSION`) or the address's own is not meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// How many tokens it can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How many tokens it can write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// What it can read: `text`, `image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<String>>,
    /// Whether it thinks, or how: a word of the quirk `thinking`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Value>,
    /// Its prices, perhaps with others for long prompts; without them a message's cost is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Prices>,
    /// What its server does differently.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub quirks: Map<String, Value>,
    /// The answers of a model of the provider `scripted`, for tests: a list of answers, one for each model call. An answer is a
    /// list of steps:
    ///
    /// - `{"delta": "Hello."}`: a part of the answer: a text, `{"thinking": "…"}`, or `{"tool_call": {"id", "name",
    ///   "arguments"}}`;
    /// - `{"wait_ms": 500}`: silence, in virtual time;
    /// - `{"usage": {"input", "output", …}}`: the tokens used so far;
    /// - `{"diagnostic": {"code", "message", "data"}}`: a `diagnostic` event;
    /// - `{"error": {"kind", "message", "retryable", …}}`: the call fails;
    /// - `{"end": "stop"}`: the answer is complete. Also `{"end": {}}` (`tool_use` if it has a tool call, else `stop`) and
    ///   `{"end": {"stop_reason", "raw_stop_reason", "response_id", "response_model", "usage"}}`, of which all may be left out.
    ///   The stop reasons are `stop`, `length`, `tool_use` and `refusal`. An answer without `end` counts as cut off.
    ///
    /// The module `testing` of the crate `agent-loop` has an example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
}

const FIELDS: &[&str] = &[
    "provider",
    "id",
    "label",
    "base_model",
    "protocol",
    "base_url",
    "headers",
    "project",
    "location",
    "api_version",
    "context_window",
    "max_output_tokens",
    "input",
    "thinking",
    "cost",
    "quirks",
    "script",
];

const PRICES: &[&str] = &["input", "output", "cache_read", "cache_write", "tiers"];
const TIER: &[&str] = &["above", "input", "output", "cache_read", "cache_write"];

/// The names of all fields of a model.
pub fn field_names() -> impl Iterator<Item = &'static str> {
    [FIELDS, PRICES, TIER, quirks::NAMES].into_iter().flatten().copied()
}

impl ModelSpec {
    /// Reads a text: `provider/id`, or an object in JSON, as it comes from a command line or an environment variable.
    ///
    /// ```
    /// # use agent_loop_proto::model_spec as agent_loop;
    /// use agent_loop::ModelSpec;
    ///
    /// let model: ModelSpec = "ollama/qwen3".parse().unwrap();
    /// let same: ModelSpec = r#"{"provider": "ollama", "id": "qwen3"}"#.parse().unwrap();
    /// assert_eq!(model, same);
    /// ```
    ///
    /// # Errors
    /// `invalid_argument` when there is no slash or a part is empty; of an object, when it is not JSON, or as
    /// [`ModelSpec::from_json`].
    pub fn parse(text: &str) -> Result<ModelSpec, Error> {
        ModelSpec::read(text, Spelling::Snake)
    }

    fn read(text: &str, spelling: Spelling) -> Result<ModelSpec, Error> {
        if !text.trim_start().starts_with('{') {
            return ModelSpec::named(text);
        }
        let object = read_json(text).map_err(|error| error.reworded(|why| format!("model is {why}")))?;
        ModelSpec::from_json_spelled(object, spelling)
    }

    /// Reads `provider/id`.
    fn named(name: &str) -> Result<ModelSpec, Error> {
        check_plain(&format!("model {name:?}"), name)?;
        match name.split_once('/') {
            Some((provider, id)) if !provider.is_empty() && !id.is_empty() => Ok(ModelSpec {
                provider: provider.to_owned(),
                id: id.to_owned(),
                label: None,
                base_model: None,
                protocol: None,
                base_url: None,
                headers: Map::new(),
                project: None,
                location: None,
                api_version: None,
                context_window: None,
                max_output_tokens: None,
                input: None,
                thinking: None,
                cost: None,
                quirks: Map::new(),
                script: None,
            }),
            _ => Err(Error::invalid_argument(format!(
                "model {name:?}: expected \"provider/id\", for example \"anthropic/claude-sonnet-4-5\" or \"openai/gpt-5\""
            ))),
        }
    }

    /// Reads a text, as [`ModelSpec::parse`] does, or an object.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown, missing or wrong field (names it).
    pub fn from_json(value: Value) -> Result<ModelSpec, Error> {
        ModelSpec::from_json_spelled(value, Spelling::Snake)
    }

    /// As [`ModelSpec::from_json`], with field names as the host's language spells them.
    ///
    /// # Errors
    /// As [`ModelSpec::from_json`].
    #[doc(hidden)]
    pub fn from_json_spelled(value: Value, spelling: Spelling) -> Result<ModelSpec, Error> {
        match value {
            Value::String(text) => ModelSpec::read(&text, spelling),
            Value::Object(map) => {
                let mut map = canonical_names("model field", map, FIELDS, spelling)?;
                if let Some(Value::Object(cost)) = map.get_mut("cost") {
                    *cost = canonical_names("model cost field", std::mem::take(cost), PRICES, spelling)?;
                    for tier in cost.get_mut("tiers").and_then(Value::as_array_mut).into_iter().flatten() {
                        if let Value::Object(tier) = tier {
                            *tier = canonical_names("field of a price tier", std::mem::take(tier), TIER, spelling)?;
                        }
                    }
                }
                if let Some(Value::Object(quirks)) = map.get_mut("quirks") {
                    *quirks = canonical_names("quirk", std::mem::take(quirks), quirks::NAMES, spelling)?;
                }
                check_headers("model: headers", map.get("headers"))?;
                let read = read_value::<Fields>(&Value::Object(map));
                let spelled = |unread: Unread| unread.reworded(|why| spelling.respell(why, FIELDS)).at("model");
                let Fields(spec) = read.map_err(|unread| spelled(unread).invalid_argument())?;
                if spec.provider.is_empty() || spec.id.is_empty() {
                    return Err(Error::invalid_argument("model: provider and id may not be empty"));
                }
                spec.check_texts(spelling)?;
                spec.check_prices(spelling)?;
                Ok(spec)
            }
            other => Err(Error::invalid_argument(format!("model: expected \"provider/id\" or an object, got {}", shown(&other)))),
        }
    }

    /// What becomes a part of an address or of a request has no control characters. `base_url` is checked with the address.
    fn check_texts(&self, spelling: Spelling) -> Result<(), Error> {
        let optional = [
            ("base_model", &self.base_model),
            ("project", &self.project),
            ("location", &self.location),
            ("api_version", &self.api_version),
        ];
        let given = optional.into_iter().filter_map(|(field, text)| Some((field, text.as_deref()?)));
        [("provider", self.provider.as_str()), ("id", &self.id)]
            .into_iter()
            .chain(given)
            .try_for_each(|(field, text)| check_plain(&format!("model: {} {text:?}", spelling.spell(field)), text))
    }

    /// A price is not less than nothing: it would make room in a budget.
    fn check_prices(&self, spelling: Spelling) -> Result<(), Error> {
        let Some(prices) = &self.cost else { return Ok(()) };
        let of_tier = |tier: &PriceTier| [tier.input, tier.output, tier.cache_read, tier.cache_write];
        let own = [prices.input, prices.output, prices.cache_read, prices.cache_write].map(Some);
        let negative = |prices: [Option<f64>; 4]| {
            let all = PRICES.iter().zip(prices).filter_map(|(name, price)| Some((*name, price?)));
            all.into_iter().find(|(_, price)| *price < 0.0)
        };
        match std::iter::once(own).chain(prices.tiers.iter().map(of_tier)).find_map(negative) {
            None => Ok(()),
            Some((name, price)) => Err(Error::invalid_argument(format!(
                "model: cost: {}: expected US dollars for a million tokens, at least 0, got {price}",
                spelling.spell(name)
            ))),
        }
    }

    /// `provider/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// The id by which something may be known of it.
    pub(crate) fn known_id(&self) -> &str {
        self.base().map_or(&self.id, |(_, id)| id)
    }

    /// The provider and id of what it is based on.
    pub(super) fn base(&self) -> Option<(&str, &str)> {
        self.base_model.as_deref()?.split_once('/')
    }
}

/// Its fields, as they stand; what is in them is not checked.
struct Fields(ModelSpec);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        // What is derived, not the trait's.
        ModelSpec::deserialize(deserializer).map(Fields)
    }
}

impl<'de> Deserialize<'de> for ModelSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ModelSpec, D::Error> {
        ModelSpec::from_json(Value::deserialize(deserializer)?).map_err(|error| D::Error::custom(error.message()))
    }
}

impl Serialize for ModelSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ModelSpec::serialize(self, serializer)
    }
}

impl std::fmt::Debug for ModelSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the headers: they may have a key.
        let base_url = self.base_url.as_deref().map(without_secrets);
        f.debug_struct("ModelSpec").field("name", &self.name()).field("base_url", &base_url).finish_non_exhaustive()
    }
}

impl std::str::FromStr for ModelSpec {
    type Err = Error;

    /// As [`ModelSpec::parse`].
    fn from_str(text: &str) -> Result<ModelSpec, Error> {
        ModelSpec::parse(text)
    }
}

/// A name has no control characters; most often one is the line break at the end of a file. `what` is the name in the error.
///
/// # Errors
/// `invalid_argument`: which one it has, and at which byte.
#[doc(hidden)]
pub fn check_plain(what: &str, text: &str) -> Result<(), Error> {
    match text.char_indices().find(|(_, c)| c.is_control()) {
        None => Ok(()),
        Some((at, c)) => {
            let text = format!("{what} has the control character U+{:04X} at byte {at}; leave it out", u32::from(c));
            Err(Error::invalid_argument(text))
        }
    }
}

/// Headers are an object of texts. The error names the header and not its value, which may be a key.
pub fn check_headers(what: &str, headers: Option<&Value>) -> Result<(), Error> {
    match headers {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(headers)) => match headers.iter().find(|(_, value)| !value.is_string()) {
            None => Ok(()),
            Some((name, _)) => Err(Error::invalid_argument(format!("{what}: {name:?}: expected text"))),
        },
        Some(_) => Err(Error::invalid_argument(format!("{what}: expected an object of texts"))),
    }
}

/// What is wrong with an address that is not one of HTTP.
pub const NO_SCHEME: &str = "it does not begin with http:// or https://";

/// What is wrong with an address that cannot be read.
pub fn address_fault(error: url::ParseError) -> &'static str {
    use url::ParseError;
    match error {
        ParseError::RelativeUrlWithoutBase | ParseError::RelativeUrlWithCannotBeABaseBase => NO_SCHEME,
        ParseError::EmptyHost => "it has no host",
        ParseError::InvalidPort => "its port is not a number up to 65535",
        ParseError::InvalidIpv4Address | ParseError::InvalidIpv6Address => "its host is not a valid IP address",
        ParseError::InvalidDomainCharacter | ParseError::IdnaError => "its host has characters that no host name has",
        _ => "it is not an address",
    }
}

/// An address as it was given, without what may authenticate: user and password before the host, and the query.
pub fn without_secrets(address: &str) -> String {
    let (scheme, rest) = address.split_at(address.find("://").map_or(0, |at| at + 3));
    // The last one: a password with a sign in it that ends it is why the address cannot be read.
    let (before, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("…@", rest));
    match rest.split_once('?') {
        Some((rest, _)) => format!("{scheme}{before}{rest}?…"),
        None => format!("{scheme}{before}{rest}"),
    }
}
