//! From the description of a model to the model: scripted, or behind HTTP.

use std::sync::Arc;

use super::endpoint::Endpoint;
use super::http::{Connections, HttpModel};
use super::interface::{Encoder, Model};
use super::scripted::ScriptedModel;
use crate::error::Error;
use crate::provider::{self, ModelSpec};

/// The model that a spec describes. `base_url` is the agent's, which wins over the spec's.
///
/// # Errors
/// `invalid_argument`: an unknown provider without an address, an unknown protocol, an unusable address or script.
pub(crate) fn resolve(spec: &ModelSpec, base_url: Option<&str>, connections: &Arc<Connections>) -> Result<Arc<dyn Model>, Error> {
    if spec.provider == "scripted" {
        return Ok(Arc::new(ScriptedModel::new(spec)?));
    }
    check_script(spec)?;
    let (spec, served) = provider::served(spec, base_url)?;
    let url = provider::address(&spec, &served)?;
    let endpoint = Endpoint { encoder: Arc::new(Encoder::new(spec, served)), url };
    Ok(Arc::new(HttpModel { endpoint, connections: Arc::clone(connections) }))
}

/// Checks that a spec describes a model that can be used, once the environment variables that it needs are set.
///
/// # Errors
/// As [`resolve`].
pub(crate) fn check(spec: &ModelSpec, base_url: Option<&str>) -> Result<(), Error> {
    if spec.provider == "scripted" {
        return ScriptedModel::new(spec).map(drop);
    }
    check_script(spec)?;
    provider::check(spec, base_url)
}

fn check_script(spec: &ModelSpec) -> Result<(), Error> {
    if spec.script.is_none() {
        return Ok(());
    }
    let name = spec.name();
    Err(Error::invalid_argument(format!("model {name:?}: only the provider \"scripted\" has a script")))
}
