//! Who serves a model: its address and credentials. What is known of providers and models is in [`agent_loop_proto::provider`].

mod address;
pub(crate) mod aws;
#[cfg(feature = "google")]
pub(crate) mod credential;
#[cfg(not(feature = "google"))]
#[path = "no_credential.rs"]
pub(crate) mod credential;
#[cfg(test)]
mod tests;

pub use agent_loop_proto::model_spec::ModelSpec;
pub use agent_loop_proto::provider::models;
use agent_loop_proto::provider::{Served, completed, known};
use reqwest::Url;
use serde_json::{Map, Value};

use crate::error::Error;

/// The spec completed from the catalogue, and who serves it. `base_url` is the agent's, which wins over the spec's.
///
/// # Errors
/// As [`Served::of`].
pub(crate) fn served(spec: &ModelSpec, base_url: Option<&str>) -> Result<(ModelSpec, Served), Error> {
    let spec = completed(spec, base_url, &variable)?;
    let served = Served::of(&spec, base_url, &variable)?;
    Ok((spec, served))
}

/// Checks that a model can be served, once the environment variables that it needs are set.
///
/// # Errors
/// As [`Served::of`] and [`address`].
pub(crate) fn check(spec: &ModelSpec, base_url: Option<&str>) -> Result<(), Error> {
    let variable = |name: &str| {
        let fitting = if name.ends_with("_ENDPOINT") { "http://localhost" } else { "unset" };
        variable(name).or_else(|| Some(fitting.to_owned()))
    };
    let spec = completed(spec, base_url, &variable)?;
    let served = Served::of(&spec, base_url, &variable)?;
    address::of_model(&spec, &served.base_url, served.hosting, served.protocol, &variable).map(drop)
}

/// Whether a model of this provider has a server without being given an address.
pub(crate) fn is_known(provider: &str) -> bool {
    provider == "scripted" || (provider != "openai-compatible" && known::provider(provider).is_some())
}

/// The address of a model's endpoint.
///
/// # Errors
/// `invalid_argument`: an unusable address, or a project or location that is missing.
pub(crate) fn address(spec: &ModelSpec, served: &Served) -> Result<Url, Error> {
    address::of_model(spec, &served.base_url, served.hosting, served.protocol, &variable)
}

/// The region for which requests to a model on AWS are signed: the one in its address, else the one that is set.
pub(crate) fn aws_region(spec: &ModelSpec, url: &Url) -> Option<String> {
    let host = url.host_str().unwrap_or_default();
    // `us-gov-west-1`: words and a number.
    let is_region = |part: &&str| part.split('-').count() > 2 && part.ends_with(|c: char| c.is_ascii_digit());
    let in_host = Some(host).filter(|host| host.contains(".amazonaws.com")).and_then(|host| host.rsplit('.').find(is_region));
    in_host.map(str::to_owned).or_else(|| address::region_of(spec, &variable))
}

/// An environment variable, unless it is empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The agent's headers as a model gets them: one at an address that the agent's keys are not meant for gets no credential.
pub(crate) fn headers_for(takes_keys: bool, headers: &Map<String, Value>) -> Map<String, Value> {
    let mut headers = headers.clone();
    headers.retain(|name, _| takes_keys || !is_credential(name));
    headers
}

/// Whether a header of this name may hold what authenticates.
pub(crate) fn is_credential(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    ["auth", "key", "token", "cookie", "secret"].iter().any(|word| header.contains(word))
}
