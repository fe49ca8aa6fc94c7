//! Who serves a model: the provider's row, refined by the catalogue, the model and its spec.

use serde_json::{Map, Value};
use url::Url;

use super::catalogue::{self, models};
use super::known::{self, Provider};
use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::hosting::Hosting;
use crate::json_error::shown;
use crate::json_reader::from_value;
use crate::model_spec::ModelSpec;
use crate::protocol::{self, Protocol, Target};
use crate::quirks::{FileInput, Quirks, ReasoningField, ThinkingStyle};
use crate::transcript::Constraints;

/// The spec with what the catalogue knows of its model where the spec itself is silent: field by field, of `quirks` name by name,
/// `cost` only whole. Prices are those of the vendor's own servers, so at another address there are none but the spec's; of a
/// `base_model` they are known only where all names are custom, and do not mark a tuned model.
///
/// # Errors
/// As [`Served::of`], and `invalid_argument` when the catalogue does not have its `base_model`.
pub fn completed(
    spec: &ModelSpec,
    base_url: Option<&str>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<ModelSpec, Error> {
    let server = Server::of(spec, base_url, variable)?;
    let mut spec = spec.clone();
    let Some((entry, of_server)) = server.entry(&spec)? else {
        return Ok(spec);
    };
    let priced = match spec.base_model {
        None => server.is_official_address || server.hosting != Hosting::Plain,
        Some(_) => of_server && server.hosting == Hosting::Azure,
    };
    spec.base_model = spec.base_model.map(|_| entry.name());
    if priced {
        spec.cost = spec.cost.or(entry.cost);
    }
    spec.label = spec.label.or(entry.label);
    spec.context_window = spec.context_window.or(entry.context_window);
    spec.max_output_tokens = spec.max_output_tokens.or(entry.max_output_tokens);
    spec.input = spec.input.or(entry.input);
    // How it thinks is stated for one wire format; that it thinks holds in all.
    let as_there = of_server || server.row.is_some_and(|row| row.name == entry.provider);
    let understood = |how: &Value| how.is_boolean() || (as_there && server.understands(how));
    let how = entry.thinking.map(|how| if understood(&how) { how } else { Value::Bool(true) });
    spec.thinking = match (spec.thinking.take(), how) {
        (None, how) => how,
        (Some(Value::Bool(true)), Some(how @ Value::String(_))) => Some(how),
        (given, _) => given,
    };
    if as_there {
        spec.quirks = entry.quirks.into_iter().chain(spec.quirks).collect();
    }
    Ok(spec)
}

/// Who serves a model, where, in which format.
struct Server {
    known: Option<&'static Provider>,
    /// Whose rules by model hold there.
    row: Option<&'static Provider>,
    base_url: String,
    is_official_address: bool,
    hosting: Hosting,
    protocol: &'static dyn Protocol,
}

/// Who serves a model: the provider's row, refined by the model and its spec.
#[derive(Debug, Clone)]
pub struct Served {
    /// The provider's row; none of a server that is only known by its address.
    pub known: Option<&'static Provider>,
    /// The wire format.
    pub protocol: &'static dyn Protocol,
    /// How the provider arranges addresses and keys.
    pub hosting: Hosting,
    /// What the server does differently.
    pub quirks: Quirks,
    /// The server's address.
    pub base_url: String,
    /// Whether the address is the provider's own: then a key is needed.
    pub is_official_address: bool,
}

impl Server {
    /// `base_url` is the agent's own, which wins over the spec's; `variable` reads the environment.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown provider without an address, an unknown protocol.
    fn of(spec: &ModelSpec, base_url: Option<&str>, variable: &dyn Fn(&str) -> Option<String>) -> Result<Server, Error> {
        let named = known::provider(&spec.provider);
        let of_azure = || variable("AZURE_OPENAI_ENDPOINT").filter(|_| named.is_some_and(|p| p.hosting == Hosting::Azure));
        let given = base_url.or(spec.base_url.as_deref()).map(str::to_owned).or_else(of_azure);
        let address = match (given, named) {
            (Some(address), _) => address,
            (None, Some(known)) if !known.base_url.is_empty() => known.base_url.to_owned(),
            (None, Some(known)) => {
                let (name, provider) = (spec.name(), known.name);
                let or =
                    if known.hosting == Hosting::Azure { ", or set the environment variable AZURE_OPENAI_ENDPOINT" } else { "" };
                return Err(Error::invalid_argument(format!(
                    "model {name:?}: {provider} has no address of its own; give base_url{or}"
                )));
            }
            (None, None) => {
                let names = known::PROVIDERS.iter().map(|p| p.name).chain(["scripted"]);
                let error = unknown_name("provider", &spec.provider, names, Spelling::Snake);
                let error = Error::invalid_argument(format!("model {:?}: {}", spec.name(), error.message()));
                return Err(error.and("for another server give base_url"));
            }
        };
        // A server is known by its host, too: a company's own name for it changes nothing of what it understands.
        let at_host = Url::parse(address.trim()).ok().and_then(|url| known::at_host(url.host_str()?));
        let known = named.filter(|p| p.name != "openai-compatible").or(at_host).or(named);
        let is_official_address = known.is_some_and(|p| p.base_url == address || at_host.is_some_and(|host| host.name == p.name));
        let hosting = known.map_or(Hosting::Plain, |p| p.hosting);
        let protocol = match (&spec.protocol, known) {
            (Some(name), _) => protocol::by_name(name)?,
            // Named so, it is that format, though its host may be known for another: many vendors speak two.
            (None, Some(_)) if spec.provider == "openai-compatible" => protocol::by_name("openai_chat")?,
            // Responses is what a few vendors speak; gateways to them, and all others, speak Chat.
            (None, Some(known)) if is_elsewhere(known, is_official_address, spec) => protocol::by_name("openai_chat")?,
            (None, Some(_)) if hosting == Hosting::Vertex && spec.id.starts_with("claude") => protocol::by_name("anthropic")?,
            (None, Some(known)) => protocol::by_name(known.protocol)?,
            (None, None) => protocol::by_name("openai_chat")?,
        };
        // What is true of OpenAI's own servers is not of others that are reached by its name.
        let row = known.filter(|known| !is_elsewhere(known, is_official_address, spec) && known.name != "openai-compatible");
        let row = row.or_else(|| known::provider(spec.base()?.0).filter(|vendor| is_of_models(vendor, protocol)));
        Ok(Server { known, row, base_url: address, is_official_address, hosting, protocol })
    }

    /// What the catalogue has of a model, and whether it has it as this server's.
    ///
    /// # Errors
    /// `invalid_argument` when it does not have the model's `base_model`.
    fn entry(&self, spec: &ModelSpec) -> Result<Option<(ModelSpec, bool)>, Error> {
        let here = |id: &str| catalogue::find(self.known?.name, id);
        let Some(base) = &spec.base_model else {
            return Ok(here(&spec.id).map(|entry| (entry, true)));
        };
        let named = spec.base().and_then(|(provider, id)| Some((catalogue::find(provider, id)?, id)));
        // The server's own entry of the same model is nearer: it has the server's limits.
        let own = here(base).or_else(|| here(named.as_ref().map(|(_, id)| *id)?)).map(|entry| (entry, true));
        let found = own.or(named.map(|(entry, _)| (entry, false)));
        match found {
            Some(found) => Ok(Some(found)),
            None => {
                let why = match models().is_empty() {
                    true => "this build has no catalogue (feature `catalogue`)",
                    false => "the catalogue has no such model; give the name of one that it lists, for example \"openai/gpt-5\"",
                };
                Err(Error::invalid_argument(format!("model {:?}: base_model {base:?}: {why}", spec.name())))
            }
        }
    }

    /// Whether a model's `thinking` can be asked for in the server's format.
    fn understands(&self, thinking: &Value) -> bool {
        match from_value::<ThinkingStyle>(thinking) {
            Ok(style) => style.is_of(self.protocol.name()),
            Err(_) => thinking.is_boolean(),
        }
    }
}

impl Served {
    /// `base_url` is the agent's own, which wins over the spec's; `variable` reads the environment.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown provider without an address, an unknown protocol or quirk, a way of thinking that the
    /// protocol does not have.
    pub fn of(spec: &ModelSpec, base_url: Option<&str>, variable: &dyn Fn(&str) -> Option<String>) -> Result<Served, Error> {
        let Server { known, row, base_url, is_official_address, hosting, protocol } = Server::of(spec, base_url, variable)?;
        let mut quirks = protocol.quirks();
        match row {
            Some(row) => (row.adjust)(&mut quirks, spec.known_id()),
            // Whatever model may be behind it.
            None if protocol.name() == "openai_chat" => quirks.reasoning_field = Some(ReasoningField::AsReceived),
            None => {}
        }
        // A row speaks of the vendor's usual format.
        if !quirks.thinking.is_of(protocol.name()) {
            quirks.thinking = protocol.quirks().thinking;
        }
        match &spec.thinking {
            Some(Value::Bool(false)) => quirks.thinking = ThinkingStyle::None,
            Some(Value::String(style)) => {
                quirks = quirks.overridden(&Map::from_iter([("thinking".to_owned(), Value::String(style.clone()))]))?;
            }
            None | Some(Value::Bool(true)) => {}
            Some(other) => {
                let name = spec.name();
                return Err(Error::invalid_argument(format!(
                    "model {name:?}: thinking: expected true, false or a way to ask for it such as \"effort\", got {}",
                    shown(other)
                )));
            }
        }
        let quirks = quirks.overridden(&spec.quirks)?;
        if !quirks.thinking.is_of(protocol.name()) {
            let (name, why) = (spec.name(), quirks.thinking.misplaced(protocol.name()));
            return Err(Error::invalid_argument(format!("model {name:?}: {why}")));
        }
        Ok(Served { known, protocol, hosting, quirks, base_url, is_official_address })
    }

    /// What the model takes of a transcript.
    pub fn constraints(&self, spec: &ModelSpec) -> Constraints {
        let (protocol, quirks) = (self.protocol, &self.quirks);
        let thinking = protocol.thinking_replay(quirks);
        let lists = |kind: &str| spec.input.as_ref().is_some_and(|kinds| kinds.iter().any(|known| known == kind));
        let of_spec = Constraints::of_spec(spec, protocol.name());
        // The catalogue lists texts and images alone. Who lists more knows better than the server's row; a server that reads no
        // images sees no pages.
        let input = |kind: &str, known| if lists(kind) && known == FileInput::No { FileInput::Data } else { known };
        let documents = if of_spec.images { quirks.documents } else { FileInput::No };
        let mut files = protocol.files();
        files.text_documents &= quirks.documents != FileInput::No;
        Constraints {
            call_ids: quirks.call_ids,
            thinking,
            image_urls: quirks.image_urls,
            documents: input("document", documents),
            audio: input("audio", quirks.audio),
            files,
            ..of_spec
        }
    }

    /// What a request to the model is written for.
    pub fn target<'a>(&'a self, spec: &'a ModelSpec) -> Target<'a> {
        Target { spec, quirks: &self.quirks, hosting: self.hosting }
    }
}

/// Whether a vendor that speaks Responses is only the name under which some other server is reached: at another address, unless
/// `protocol` says that Responses is spoken there, too. Chat is spoken by servers of all kinds, of which some refuse what is
/// OpenAI's own.
fn is_elsewhere(known: &Provider, is_official_address: bool, spec: &ModelSpec) -> bool {
    let said = spec.protocol.as_deref() == Some(known.protocol);
    !is_official_address && !said && known.hosting == Hosting::Plain && known.protocol == "openai_responses"
}

/// Whether a vendor speaks a format that it made for its own models, so that what is said of them holds wherever it is spoken.
fn is_of_models(vendor: &Provider, protocol: &dyn Protocol) -> bool {
    let own = vendor.hosting == Hosting::Plain && matches!(vendor.protocol, "anthropic" | "gemini");
    own && vendor.protocol == protocol.name()
}
