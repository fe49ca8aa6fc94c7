//! A model at an address: who serves it there, and what authenticates a request and what goes along with it.

use std::sync::Arc;

use agent_loop_proto::hosting::Hosting;
use agent_loop_proto::protocol::Target;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HOST, HeaderMap};

use super::interface::{Encoder, Request};
use crate::clock::Clock;
use crate::error::Error;
use crate::provider::aws::{self, AccessKey};
use crate::provider::{aws_region, is_credential};
use crate::transport::header::header;

/// A model at an address.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) encoder: Arc<Encoder>,
    pub(crate) url: Url,
}

impl Endpoint {
    /// Who serves the model, as it is configured.
    pub(crate) fn provider(&self) -> &str {
        &self.encoder.spec.provider
    }

    pub(crate) fn target(&self) -> Target<'_> {
        self.encoder.served.target(&self.encoder.spec)
    }

    /// The environment variables of the provider's key.
    pub(crate) fn key_variables(&self) -> &'static [&'static str] {
        self.encoder.served.known.map_or(&[], |known| known.key_variables)
    }

    /// Whether it is the vendor that answers. Azure's addresses are its customers' own, and Vertex and Bedrock have one for each
    /// region.
    pub(crate) fn is_of_vendor(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let of_cloud = [".azure.com", ".googleapis.com", ".amazonaws.com", ".amazonaws.com.cn"].iter();
        self.encoder.served.is_official_address || of_cloud.into_iter().any(|end| host.ends_with(end))
    }

    /// Whether the server answers nobody without a key.
    pub(crate) fn needs_key(&self) -> bool {
        self.is_of_vendor() && self.encoder.served.known.is_some_and(|known| !known.key_optional)
    }

    /// Whether the address itself has something that authenticates.
    pub(crate) fn is_keyed(&self) -> bool {
        let in_address = !self.url.username().is_empty() || self.url.password().is_some();
        in_address || self.url.query_pairs().any(|(name, _)| is_credential(&name))
    }

    /// Who answers, for errors: the provider, and where it is when that is not the provider's own place.
    pub(crate) fn server(&self) -> String {
        let provider = self.provider();
        match (self.is_of_vendor(), self.url.host_str(), self.url.port()) {
            (false, Some(host), Some(port)) => format!("{provider} at {host}:{port}"),
            (false, Some(host), None) => format!("{provider} at {host}"),
            _ => provider.to_owned(),
        }
    }

    /// What authenticates: the header of the key, as the provider wants it.
    pub(crate) fn key_header(&self, key: &str, is_bearer: bool) -> (&'static str, String) {
        let bearer = || ("authorization", format!("Bearer {key}"));
        match self.encoder.served.hosting {
            _ if is_bearer => bearer(),
            Hosting::Plain | Hosting::Bedrock => self.encoder.served.protocol.key_header(key),
            // A token of Entra ID is a JWT, a key is not.
            Hosting::Azure if key.starts_with("eyJ") => bearer(),
            Hosting::Azure => ("api-key", key.to_owned()),
            // Google's keys begin so; all else is an access token.
            Hosting::Vertex if key.starts_with("AIza") || key.starts_with("AQ.") => ("x-goog-api-key", key.to_owned()),
            Hosting::Vertex => bearer(),
        }
    }

    /// Signs a request for AWS. Its signature covers the headers that no proxy changes.
    ///
    /// # Errors
    /// `invalid_argument` without a region; `authentication` in a build that cannot sign.
    pub(crate) fn sign(&self, headers: &mut HeaderMap, body: &[u8], key: &AccessKey) -> Result<(), Error> {
        let Some(region) = aws_region(&self.encoder.spec, &self.url) else {
            let name = self.encoder.spec.name();
            return Err(Error::invalid_argument(format!(
                "model {name:?}: no region to sign for; give location, or set the environment variable AWS_REGION"
            )));
        };
        let covered = [CONTENT_TYPE, HOST];
        let covered = covered.iter().filter_map(|name| Some((name.as_str(), headers.get(name)?.to_str().ok()?)));
        let covered: Vec<(&str, &str)> = covered.collect();
        let request = aws::Request { url: self.url.as_str(), headers: &covered, body, region: &region, service: aws::BEDROCK };
        let signed = aws::sign(&request, key, Clock::real().now_ms()).map_err(|error| error.with_provider(self.provider()))?;
        for (name, value) in signed {
            let (name, value) = header(&name, &value)?;
            headers.insert(name, value);
        }
        Ok(())
    }

    /// The headers that the wire format asks for.
    pub(crate) fn protocol_headers(&self, request: &Request) -> Vec<(&'static str, String)> {
        self.encoder.served.protocol.headers(request, self.target())
    }

    /// The header that has the id of the conversation, where the server reads one.
    pub(crate) fn session_header(&self, request: &Request) -> Option<(&'static str, String)> {
        let (header, id) = self.encoder.served.quirks.session_header.zip(request.options.session_id.clone())?;
        Some((header.name(), id))
    }
}
