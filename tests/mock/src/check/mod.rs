//! Would the real service take this request? Pure functions over a body, one file for each wire format.
//!
//! They are as strict as the services are known to be, and say what these say. What no rule can know stays unchecked: whether a
//! model exists or takes images, whether a signature is genuine.

mod anthropic;
mod chat;
mod converse;
mod credentials;
mod file;
mod gemini;
mod image;
mod output;
mod place;
mod responses;
pub(crate) mod signature;
mod tools;
mod wording;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub(crate) use self::credentials::refused_key;
use crate::refusal::{Complaint, Refusal};
use crate::request::Request;
use crate::route::{Format, Route};

/// Checks a request as the format's own service would ([`Strict`] has the variants).
///
/// `path` is where it was sent, with its query; a Gemini request needs it for the model's name, Vertex and Azure for their own
/// rules. `headers` are those of the request by lower-case name; without them the key is not looked at.
pub fn check(format: Format, path: &str, headers: Option<&BTreeMap<String, String>>, body: &Value) -> Result<(), Refusal> {
    Strict::new().check(format, path, headers, body)
}

/// How strictly requests are checked. In a script `true`, or an object of these fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Strict {
    /// Anthropic: two messages of one role in a row are refused. The service joins them; a client may promise not to need that.
    pub alternation: bool,
    /// Anthropic: an empty thinking signature is fine, as with some servers that speak the format.
    pub empty_signatures: bool,
    /// Gemini: ids of calls and results are refused, as by Vertex and by older endpoints.
    pub no_call_ids: bool,
    /// Whose habits count, for Chat Completions and for Responses.
    pub flavour: Flavour,
    /// The only right key. Without it any key is right, but one must be there. For Bedrock `ID:SECRET` or
    /// `ID:SECRET:SESSION_TOKEN` is what requests must be signed with; a server checks their signature.
    pub key: Option<String>,
}

/// Whose Chat Completions (or Responses) it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// OpenAI itself.
    #[default]
    OpenAi,
    /// Any server that speaks the format: unknown fields are fine, foreign ids too, and no key is needed.
    Compatible,
    /// Mistral: call ids of nine letters and digits, roles in a strict order.
    Mistral,
    /// DeepSeek: reasoning goes back with every tool call while thinking is on.
    DeepSeek,
}

impl Flavour {
    /// As a script names it.
    fn name(self) -> &'static str {
        match self {
            Flavour::OpenAi => "openai",
            Flavour::Compatible => "compatible",
            Flavour::Mistral => "mistral",
            Flavour::DeepSeek => "deepseek",
        }
    }
}

impl Strict {
    /// The formats' own services.
    pub fn new() -> Strict {
        Strict::default()
    }

    /// Refuses two Anthropic messages of one role in a row.
    pub fn alternation(mut self) -> Strict {
        self.alternation = true;
        self
    }

    /// Takes empty thinking signatures.
    pub fn empty_signatures(mut self) -> Strict {
        self.empty_signatures = true;
        self
    }

    /// Refuses ids in Gemini calls and results.
    pub fn no_call_ids(mut self) -> Strict {
        self.no_call_ids = true;
        self
    }

    /// Whose habits count.
    pub fn flavour(mut self, flavour: Flavour) -> Strict {
        self.flavour = flavour;
        self
    }

    /// The only right key.
    pub fn key(mut self, key: impl Into<String>) -> Strict {
        self.key = Some(key.into());
        self
    }

    /// Checks a request; see [`check`].
    pub fn check(
        &self,
        format: Format,
        path: &str,
        headers: Option<&BTreeMap<String, String>>,
        body: &Value,
    ) -> Result<(), Refusal> {
        let route = Route::of(path).filter(|route| route.format == format).unwrap_or_else(|| Route::own(format));
        self.complaint(&route, headers, body).map_err(|complaint| complaint.refusal(&route, self.flavour))
    }

    /// The same with the signature of a request as it was sent, where it has one and the key says what it was made with.
    pub(crate) fn check_sent(&self, format: Format, request: &Request) -> Result<(), Refusal> {
        self.check(format, &request.path, Some(&request.headers), &request.body)?;
        match (format, &self.key) {
            (Format::Converse, Some(key)) if key.contains(':') => {
                let route = Route::own(format);
                let checked = signature::check(key, &request.path, &request.headers, &request.sent);
                checked.map_err(|complaint| complaint.refusal(&route, self.flavour))
            }
            _ => Ok(()),
        }
    }

    /// What the log says of a refusal: the service's words, and by whose habits it was, where these can be chosen.
    pub(crate) fn reason(&self, format: Format, refusal: &Refusal) -> String {
        match format {
            Format::Chat | Format::Responses => format!(
                "{} [checked as flavour \"{}\"; to check as another, write \"strict\": {{\"flavour\": …}} into the script: \
                 openai, compatible, mistral or deepseek]",
                refusal.message,
                self.flavour.name()
            ),
            Format::Anthropic | Format::Gemini | Format::Converse => refusal.message.clone(),
        }
    }

    fn complaint(&self, route: &Route, headers: Option<&BTreeMap<String, String>>, body: &Value) -> Result<(), Complaint> {
        if let Some(headers) = headers {
            credentials::check(self, route, headers)?;
        }
        if !body.is_object() {
            return Err(Complaint::new(400, "The request body is not a JSON object."));
        }
        match route.format {
            Format::Anthropic => anthropic::check(self, route, headers, body).map_err(wording::anthropic),
            Format::Chat => chat::check(self, route, body).map_err(wording::openai),
            Format::Responses => responses::check(self, body).map_err(wording::openai),
            Format::Gemini => gemini::check(self, route, body).map_err(wording::google),
            Format::Converse => converse::check(route, body).map_err(wording::aws),
        }
    }
}

/// A strictness or the wish for none, as a script has it: `true`, `false` or an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strictness(pub(crate) Option<Strict>);

impl<'de> Deserialize<'de> for Strictness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strictness, D::Error> {
        #[derive(Deserialize, Default)]
        #[serde(deny_unknown_fields, default)]
        struct Fields {
            alternation: bool,
            empty_signatures: bool,
            no_call_ids: bool,
            flavour: Flavour,
            key: Option<String>,
        }

        struct Shape;

        impl<'de> Visitor<'de> for Shape {
            type Value = Strictness;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("strict: true, false or an object (alternation, empty_signatures, no_call_ids, flavour, key)")
            }

            fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<Strictness, E> {
                Ok(Strictness(on.then(Strict::new)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Strictness, A::Error> {
                let Fields { alternation, empty_signatures, no_call_ids, flavour, key } =
                    Fields::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Strictness(Some(Strict { alternation, empty_signatures, no_call_ids, flavour, key })))
            }
        }

        deserializer.deserialize_any(Shape)
    }
}
