//! The models that a stepped loop may ask: what the loop knows by a number is an address and a wire format here.

use std::sync::Arc;

use agent_loop_proto::machine::{Encoder, ModelCall, ModelEntry};
use agent_loop_proto::provider::Served;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::step::Auth;
use crate::error::{Error, ErrorKind};
use crate::model::Model;
use crate::model::custom::CustomModel;
use crate::model::endpoint::Endpoint;
use crate::model::http::HttpModel;
use crate::model::table::{ResolvedModel, add_model};
use crate::provider::{self, ModelSpec, is_credential};

/// The models, by the numbers that the loop has for them.
#[derive(Default)]
pub(super) struct Models {
    pub(super) table: Vec<ResolvedModel>,
    /// Where they are served; `None` for those that the host answers for.
    endpoints: Vec<Option<Endpoint>>,
}

/// A model in a saved loop.
#[derive(Serialize, Deserialize)]
pub(super) enum SavedModel {
    Served { spec: Box<ModelSpec>, base_url: String, url: String },
    Custom { provider: String, id: String },
}

/// A request as it goes over the wire, but for the key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HttpRequest {
    pub(super) url: String,
    pub(super) headers: Map<String, Value>,
    pub(super) auth: Auth,
    pub(super) body: String,
    pub(super) connect_timeout_ms: u64,
}

impl Models {
    /// The loop's entry for a model.
    ///
    /// # Errors
    /// `invalid_argument` for a model with something that authenticates.
    pub(super) fn add(&mut self, resolved: ResolvedModel) -> Result<ModelEntry, Error> {
        let entry = add_model(&mut self.table, resolved);
        self.find_endpoints()?;
        Ok(entry)
    }

    /// Finds out where the models are served that are new in the table. On an error they are not in it any more.
    ///
    /// # Errors
    /// As [`Models::add`].
    pub(super) fn find_endpoints(&mut self) -> Result<(), Error> {
        let new = self.table.iter().skip(self.endpoints.len()).map(|resolved| match resolved.model.encoder() {
            None => Ok(None),
            Some(encoder) => {
                let url = provider::address(&encoder.spec, &encoder.served)?;
                without_key(Endpoint { encoder, url }).map(Some)
            }
        });
        match new.collect::<Result<Vec<_>, Error>>() {
            Ok(new) => {
                self.endpoints.extend(new);
                Ok(())
            }
            Err(error) => {
                self.table.truncate(self.endpoints.len());
                Err(error)
            }
        }
    }

    /// Where the model of a call is served; `None` if the host answers for it.
    pub(super) fn endpoint(&self, key: u32) -> Option<&Endpoint> {
        self.endpoints.get(key as usize)?.as_ref()
    }

    /// The provider of the model of a call.
    pub(super) fn provider(&self, key: u32) -> &str {
        self.table.get(key as usize).map_or("", |resolved| resolved.model.info().provider)
    }

    pub(super) fn save(&self) -> Vec<SavedModel> {
        let save = |(resolved, endpoint): (&ResolvedModel, &Option<Endpoint>)| match endpoint {
            Some(Endpoint { encoder, url }) => SavedModel::Served {
                spec: Box::new(encoder.spec.clone()),
                base_url: encoder.served.base_url.clone(),
                url: url.to_string(),
            },
            None => {
                let info = resolved.model.info();
                SavedModel::Custom { provider: info.provider.to_owned(), id: info.id.to_owned() }
            }
        };
        self.table.iter().zip(&self.endpoints).map(save).collect()
    }

    /// The models again, by the same numbers.
    ///
    /// # Errors
    /// `invalid_argument` for one that this library does not know.
    pub(super) fn load(saved: Vec<SavedModel>) -> Result<Models, Error> {
        let mut models = Models::default();
        for model in saved {
            // It holds the number: the loop asks for the model by that alone.
            let (placeholder, endpoint): (Arc<dyn Model>, _) = match model {
                SavedModel::Custom { provider, id } => {
                    let spec = ModelSpec::parse(&format!("{provider}/{id}"))?;
                    (Arc::new(CustomModel { spec, function: Arc::new(drop) }), None)
                }
                SavedModel::Served { spec, base_url, url } => {
                    let served = Served::of(&spec, Some(&base_url), &|_| None)?;
                    let url = Url::parse(&url).map_err(|why| Error::invalid_argument(format!("{url}: {why}")))?;
                    let endpoint = without_key(Endpoint { encoder: Arc::new(Encoder { spec: *spec, served }), url })?;
                    (Arc::new(HttpModel { endpoint: endpoint.clone(), connections: Arc::default() }), Some(endpoint))
                }
            };
            models.table.push(ResolvedModel { model: placeholder, takes_keys: true });
            models.endpoints.push(endpoint);
        }
        Ok(models)
    }
}

/// The request of a call, with the headers of its turn.
pub(super) fn http_request(
    endpoint: &Endpoint,
    call: &ModelCall,
    headers: &Map<String, Value>,
    connect_timeout_ms: u64,
) -> HttpRequest {
    let mut all = Map::new();
    all.insert("content-type".to_owned(), "application/json".into());
    let own = endpoint.protocol_headers(&call.request).into_iter().chain(endpoint.session_header(&call.request));
    all.extend(own.map(|(name, value)| (name.to_owned(), value.into())));
    let given = endpoint.encoder.spec.headers.iter().chain(headers);
    all.extend(given.map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
    let (header, prefix) = endpoint.key_header("", false);
    let variables = endpoint.key_variables().iter().map(|name| (*name).to_owned()).collect();
    let auth = Auth { header: header.to_owned(), prefix, variables, optional: !endpoint.needs_key() };
    let body = String::from_utf8_lossy(call.body.as_deref().unwrap_or_default()).into_owned();
    HttpRequest { url: endpoint.url.to_string(), headers: all, auth, body, connect_timeout_ms }
}

/// The failure of a call whose model the host does not have: the saved loop is not one of ours.
pub(super) fn unknown_model() -> Error {
    Error::new(ErrorKind::InvalidState, "the run asks for a model that the loop does not have")
}

/// # Errors
/// `invalid_argument` for an address or a header of the model that authenticates: it would be in the saved loop.
fn without_key(endpoint: Endpoint) -> Result<Endpoint, Error> {
    let model = endpoint.encoder.spec.name();
    if endpoint.is_keyed() {
        return Err(Error::invalid_argument(format!(
            "model {model:?}: the address has a key or a password, which a loop is not given; add it to the request of call_model"
        )));
    }
    check_headers(&format!("model {model:?}: header"), &endpoint.encoder.spec.headers)?;
    Ok(endpoint)
}

/// # Errors
/// `invalid_argument` for a header that may authenticate.
pub(super) fn check_headers(what: &str, headers: &Map<String, Value>) -> Result<(), Error> {
    match headers.keys().find(|name| is_credential(name)) {
        None => Ok(()),
        Some(name) => Err(Error::invalid_argument(format!(
            "{what} {name:?} may have a key, which a loop is not given; add it to the request of call_model"
        ))),
    }
}
