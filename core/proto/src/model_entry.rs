//! A model as the loop knows it: its name, prices, what a transcript has to fit, and how its requests are encoded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::model_spec::{ModelSpec, without_secrets};
use crate::protocol::{EncodeCache, Encoded};
use crate::provider::Served;
use crate::quirks::{FileInput, NativeOutput};
use crate::request::Request;
use crate::transcript::Constraints;
use crate::usage::Prices;

/// A model as the loop knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedModel", into = "SavedModel")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
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
    /// A custom model of these names, whose prices are not known and which takes messages unchanged.
    pub fn new(key: u32, provider: &str, protocol: &str, id: &str) -> ModelEntry {
        ModelEntry {
            key,
            provider: provider.to_owned(),
            protocol: protocol.to_owned(),
            id: id.to_owned(),
            prices: None,
            constraints: Constraints::new(provider, protocol, id),
            encoder: None,
        }
    }

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
    /// Without them, the model takes all.
    #[serde(default = "all_files")]
    documents: FileInput,
    #[serde(default = "all_files")]
    audio: FileInput,
    /// Of a served model: its spec, and its server's address.
    served: Option<(ModelSpec, String)>,
}

fn all_files() -> FileInput {
    FileInput::DataOrUrl
}

impl From<ModelEntry> for SavedModel {
    fn from(model: ModelEntry) -> SavedModel {
        let ModelEntry { key, provider, protocol, id, prices, constraints, encoder } = model;
        let served = encoder.map(|encoder| {
            // Headers and addresses may hold keys, which are not the loop's.
            let base_url = encoder.spec.base_url.as_deref().map(without_secrets);
            let spec = ModelSpec { headers: Map::new(), base_url, ..encoder.spec.clone() };
            (spec, without_secrets(&encoder.served.base_url))
        });
        let Constraints { images, documents, audio, .. } = constraints;
        SavedModel { key, provider, protocol, id, prices, images, documents, audio, served }
    }
}

impl TryFrom<SavedModel> for ModelEntry {
    type Error = Error;

    fn try_from(saved: SavedModel) -> Result<ModelEntry, Error> {
        let SavedModel { key, provider, protocol, id, prices, images, documents, audio, served } = saved;
        let (constraints, encoder) = match served {
            None => (Constraints { images, documents, audio, ..Constraints::new(&provider, &protocol, &id) }, None),
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
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Encoder {
    /// The model, completed from the catalogue.
    pub spec: ModelSpec,
    /// Who serves it, in which format.
    pub served: Served,
}

impl Encoder {
    /// Whether the text of this model's answers can be held to this schema, of an object.
    pub(crate) fn takes_schema(&self, schema: &Value, has_tools: bool) -> bool {
        let is_possible = match self.served.quirks.native_output {
            NativeOutput::No => false,
            NativeOutput::WithoutTools => !has_tools,
            NativeOutput::Yes => true,
        };
        is_possible && self.served.protocol.takes_schema(schema)
    }

    /// Encodes for this model at this server.
    pub fn new(spec: ModelSpec, served: Served) -> Encoder {
        Encoder { spec, served }
    }

    /// The request's body, and the options that do not reach the model as they were given.
    pub fn encode(&self, cache: &mut EncodeCache, request: &Request) -> Encoded {
        cache.encode(self.served.protocol, request, self.served.target(&self.spec))
    }
}
