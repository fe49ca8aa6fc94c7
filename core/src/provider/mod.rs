//! Who serves a model: its name, address, key and wire format. Vendors are data ([`known`]), not code.

#[expect(dead_code, reason = "the providers that need it come next")]
pub(crate) mod credential;
pub(crate) mod failure;
mod known;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::model::Model;
use crate::model::http::HttpModel;
use crate::model::scripted::ScriptedModel;
use crate::names::{Spelling, canonical_names};
use crate::protocol::{self, Protocol};
use crate::transport::client::Client;
use crate::usage::Prices;

/// A model by name and what is known of it. As text `provider/id`, split at the first slash; as JSON
/// `{provider, id, protocol, base_url, headers, context_window, max_output_tokens, input, thinking, cost, quirks}`, all but
/// the first two optional; of the provider `scripted` also `script`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSpec {
    /// Who serves it.
    pub provider: String,
    /// The model's name there.
    pub id: String,
    /// The wire format, where the provider's own is not meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The server's address, where the provider's own is not meant; with or without `/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Headers for each request to it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
    /// How many tokens it can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How many tokens it can write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// What it can read: `text`, `image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<String>>,
    /// How it thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Value>,
    /// Its prices; without them a message's cost is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Prices>,
    /// What its server does differently.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub quirks: Map<String, Value>,
    /// The answers of a `scripted` model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
}

const FIELDS: &[&str] = &[
    "provider",
    "id",
    "protocol",
    "base_url",
    "headers",
    "context_window",
    "max_output_tokens",
    "input",
    "thinking",
    "cost",
    "quirks",
    "script",
];

const PRICES: &[&str] = &["input", "output", "cache_read", "cache_write"];

impl ModelSpec {
    /// Reads `provider/id`.
    ///
    /// # Errors
    /// `invalid_argument` when there is no slash or a part is empty.
    pub fn parse(name: &str) -> Result<ModelSpec, Error> {
        match name.split_once('/') {
            Some((provider, id)) if !provider.is_empty() && !id.is_empty() => Ok(ModelSpec {
                provider: provider.to_owned(),
                id: id.to_owned(),
                protocol: None,
                base_url: None,
                headers: Map::new(),
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

    /// Reads a name or an object.
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
    pub fn from_json_spelled(value: Value, spelling: Spelling) -> Result<ModelSpec, Error> {
        match value {
            Value::String(name) => ModelSpec::parse(&name),
            Value::Object(map) => {
                let mut map = canonical_names("model field", map, FIELDS, spelling)?;
                if let Some(Value::Object(cost)) = map.get_mut("cost") {
                    *cost = canonical_names("model cost field", std::mem::take(cost), PRICES, spelling)?;
                }
                check_headers("model: headers", map.get("headers"))?;
                let spec: ModelSpec =
                    serde_json::from_value(Value::Object(map)).map_err(|e| Error::invalid_argument(format!("model: {e}")))?;
                if spec.provider.is_empty() || spec.id.is_empty() {
                    return Err(Error::invalid_argument("model: provider and id may not be empty"));
                }
                Ok(spec)
            }
            other => Err(Error::invalid_argument(format!("model: expected \"provider/id\" or an object, got {other}"))),
        }
    }

    /// `provider/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

impl std::fmt::Debug for ModelSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the headers: they may have a key.
        f.debug_struct("ModelSpec").field("name", &self.name()).field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

impl std::str::FromStr for ModelSpec {
    type Err = Error;

    fn from_str(name: &str) -> Result<ModelSpec, Error> {
        ModelSpec::parse(name)
    }
}

/// The model behind a spec. `base_url` is the agent's own, which wins over the spec's.
///
/// # Errors
/// `invalid_argument`: an unknown provider without an address, an unknown protocol, an unusable address or script.
pub(crate) fn resolve(spec: &ModelSpec, base_url: Option<&str>, client: &Arc<Client>) -> Result<Arc<dyn Model>, Error> {
    if spec.provider == "scripted" {
        return Ok(Arc::new(ScriptedModel::new(spec)?));
    }
    if spec.script.is_some() {
        let name = spec.name();
        return Err(Error::invalid_argument(format!("model {name:?}: only the provider \"scripted\" has a script")));
    }
    let known = known::provider(&spec.provider);
    let own_address = base_url.or(spec.base_url.as_deref());
    let address = match (own_address, known) {
        (Some(address), _) => address,
        (None, Some(known)) => known.base_url,
        (None, None) => {
            let (name, provider) = (spec.name(), &spec.provider);
            let names: Vec<&str> = known::PROVIDERS.iter().map(|p| p.name).collect();
            return Err(Error::invalid_argument(format!(
                "model {name:?}: unknown provider {provider:?}; known are {}, scripted; for another server give base_url",
                names.join(", ")
            )));
        }
    };
    let protocol: &dyn Protocol = match (&spec.protocol, known) {
        (Some(name), _) => protocol::by_name(name)?,
        (None, Some(known)) => protocol::by_name(known.protocol)?,
        (None, None) => protocol::by_name("openai_chat")?,
    };
    let url = endpoint(address, protocol.path())?;
    Ok(Arc::new(HttpModel {
        spec: spec.clone(),
        protocol,
        own_address: own_address.is_none(),
        url,
        key_variable: known.map(|known| known.key_variable),
        client: Arc::clone(client),
    }))
}

/// The address of an endpoint such as `/v1/messages` under a base URL that may or may not have the version, or the whole path.
fn endpoint(base_url: &str, path: &str) -> Result<Url, Error> {
    let wrong = |why: String| {
        Error::invalid_argument(format!("base_url {base_url:?}: {why}; give an address such as \"http://127.0.0.1:8080/v1\""))
    };
    let mut url = Url::parse(base_url.trim()).map_err(|e| wrong(e.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(format!("{} is not http or https", url.scheme())));
    }
    let (version, tail) = path.split_at(path.get(1..).and_then(|p| p.find('/')).map_or(0, |slash| slash + 1));
    let base = url.path().trim_end_matches('/').to_owned();
    let is_version = |segment: &str| {
        let mut chars = segment.chars();
        chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit())
    };
    let whole = if base.ends_with(tail) {
        base
    } else if base.split('/').any(is_version) {
        format!("{base}{tail}")
    } else {
        format!("{base}{version}{tail}")
    };
    url.set_path(&whole);
    Ok(url)
}

/// Headers are an object of texts. The error names the header and not its value, which may be a key.
pub(crate) fn check_headers(what: &str, headers: Option<&Value>) -> Result<(), Error> {
    match headers {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(headers)) => match headers.iter().find(|(_, value)| !value.is_string()) {
            None => Ok(()),
            Some((name, _)) => Err(Error::invalid_argument(format!("{what}: {name}: expected text"))),
        },
        Some(_) => Err(Error::invalid_argument(format!("{what}: expected an object of texts"))),
    }
}
