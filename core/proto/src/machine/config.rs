//! What a loop runs with: settings, model, tools, and which hooks are set.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::hook::HookKind;
use crate::model_spec::ModelSpec;
use crate::protocol;
use crate::provider::Served;
use crate::request::{IgnoredOption, Request, ToolDescription};
use crate::settings::Settings;
use crate::tool::ToolSpec;
use crate::transcript::Constraints;
use crate::usage::Prices;

/// What a turn runs with. A change takes effect at the next turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Config {
    /// The options.
    pub settings: Settings,
    /// `provider/id`, also of a model that cannot be used.
    pub model_name: String,
    /// The model, or why it cannot be used.
    pub model: Result<ModelEntry, Error>,
    /// Models for the rest of a turn whose model failed: `provider/id` and the model, or why it cannot be used.
    pub fallbacks: Vec<(String, Result<ModelEntry, Error>)>,
    /// What the model may call, in the order they were added.
    pub tools: Tools,
    /// Which hooks are set.
    pub hooks: HookSet,
    /// Whether the run has no agent: queued messages that it did not deliver are part of its result.
    pub is_stateless: bool,
    /// Whether the backoff has full jitter; else it is its upper bound.
    pub has_jitter: bool,
}

/// A model as the loop knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedModel", into = "SavedModel")]
pub struct ModelEntry {
    /// The host's number for it.
    pub key: u32,
    /// Who serves it.
    pub provider: String,
    /// In which wire format.
    pub protocol: String,
    /// The configured model id.
    pub id: String,
    /// Its prices, where they are known.
    pub prices: Option<Prices>,
    /// What a transcript has to fit.
    pub constraints: Constraints,
    /// How its requests are encoded; `None` for a custom model, which gets the messages.
    pub encoder: Option<Arc<Encoder>>,
}

impl ModelEntry {
    /// `provider/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// A model in a saved loop: what its constraints and its encoder are made from.
#[derive(Serialize, Deserialize)]
struct SavedModel {
    key: u32,
    provider: String,
    protocol: String,
    id: String,
    prices: Option<Prices>,
    images: bool,
    /// Of a served model: its spec, and its server's address.
    served: Option<(ModelSpec, String)>,
}

impl From<ModelEntry> for SavedModel {
    fn from(model: ModelEntry) -> SavedModel {
        let ModelEntry { key, provider, protocol, id, prices, constraints, encoder } = model;
        let served = encoder.map(|encoder| {
            // Headers may hold keys, which are not the loop's.
            let spec = ModelSpec { headers: Map::new(), ..encoder.spec.clone() };
            (spec, encoder.served.base_url.clone())
        });
        SavedModel { key, provider, protocol, id, prices, images: constraints.images, served }
    }
}

impl TryFrom<SavedModel> for ModelEntry {
    type Error = Error;

    fn try_from(saved: SavedModel) -> Result<ModelEntry, Error> {
        let SavedModel { key, provider, protocol, id, prices, images, served } = saved;
        let (constraints, encoder) = match served {
            None => (Constraints { images, ..Constraints::new(&provider, &protocol, &id) }, None),
            Some((spec, base_url)) => {
                let served = Served::of(&spec, Some(&base_url), &|_| None)?;
                (served.constraints(&spec), Some(Arc::new(Encoder { spec, served })))
            }
        };
        Ok(ModelEntry { key, provider, protocol, id, prices, constraints, encoder })
    }
}

/// Encodes the requests of a served model.
#[derive(Debug, Clone)]
pub struct Encoder {
    /// The model, completed from the catalogue.
    pub spec: ModelSpec,
    /// Who serves it, in which format.
    pub served: Served,
}

impl Encoder {
    /// The request's body.
    pub fn encode(&self, request: &Request) -> Map<String, Value> {
        self.served.protocol.encode(request, self.served.target(&self.spec))
    }

    /// The options that do not reach the model as they were given.
    pub fn ignored(&self, request: &Request) -> Vec<IgnoredOption> {
        protocol::ignored(self.served.protocol, request, self.served.target(&self.spec))
    }
}

/// The tools of a turn, with their descriptions for the model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Arc<ToolSpec>>", into = "Vec<Arc<ToolSpec>>")]
pub struct Tools {
    specs: Vec<Arc<ToolSpec>>,
    descriptions: Arc<Vec<ToolDescription>>,
}

impl From<Vec<Arc<ToolSpec>>> for Tools {
    fn from(specs: Vec<Arc<ToolSpec>>) -> Tools {
        let describe = |spec: &Arc<ToolSpec>| ToolDescription {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
        };
        let descriptions = Arc::new(specs.iter().map(describe).collect());
        Tools { specs, descriptions }
    }
}

impl From<Tools> for Vec<Arc<ToolSpec>> {
    fn from(tools: Tools) -> Vec<Arc<ToolSpec>> {
        tools.specs
    }
}

impl Tools {
    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.specs.iter().find(|spec| spec.name == name)
    }

    /// Their descriptions for the model.
    pub fn descriptions(&self) -> &Arc<Vec<ToolDescription>> {
        &self.descriptions
    }

    /// Those of these names.
    pub fn only(&self, names: &[String]) -> Tools {
        self.specs.iter().filter(|spec| names.contains(&spec.name)).cloned().collect::<Vec<_>>().into()
    }

    /// Their names, for an error message.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

/// Which hooks are set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookSet(u32);

impl HookSet {
    /// Whether this hook is set.
    pub fn has(self, kind: HookKind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }
}

impl FromIterator<HookKind> for HookSet {
    fn from_iter<I: IntoIterator<Item = HookKind>>(kinds: I) -> HookSet {
        HookSet(kinds.into_iter().fold(0, |all, kind| all | 1 << kind as u32))
    }
}
