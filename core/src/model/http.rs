//! A model behind HTTP: the protocol's bytes out, its frames in.

use std::sync::Arc;

use agent_loop_proto::hosting::Hosting;
use agent_loop_proto::protocol::EncodeCache;
use agent_loop_proto::transcript::Constraints;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;

use super::answer::{Ending, HttpAnswer, head};
use super::endpoint::Endpoint;
use super::interface::{Delta, DeltaSink, Encoder, Model, ModelInfo, ModelRequest};
use super::redact::{Secrets, redact};
use crate::clock::Clock;
use crate::credentials::{self, STORED};
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::log::Log;
use crate::provider::aws::{self, AccessKey};
use crate::provider::credential::{GoogleToken, Tokens};
use crate::provider::is_credential;
use crate::threads::blocking;
use crate::transport::client::{Client, Response};
use crate::transport::header::header;
use crate::transport::loopback::keeps_secrets;
use crate::transport::network::Network;

/// A model at an address, and the way to it.
pub(crate) struct HttpModel {
    pub(crate) endpoint: Endpoint,
    pub(crate) connections: Arc<Connections>,
}

/// What all models of a runtime share: connections, and the access tokens that were got over them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    client: Arc<Client>,
    tokens: Tokens,
    stored: credentials::Access,
}

impl Connections {
    pub(crate) fn new(log: &Log, stored: credentials::Access) -> Connections {
        Connections { client: Arc::new(Client::new(log.clone())), tokens: Tokens::new(log.clone()), stored }
    }

    /// What sends requests.
    #[cfg(any(feature = "__bindings", feature = "mcp", feature = "otlp", feature = "sign-in"))]
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// What a user has stored for the provider of an endpoint, if that is one to send it to.
    ///
    /// # Errors
    /// Those of [`credentials::Access::get`]; `authentication`: there is something, and it would be read on the way.
    pub(crate) async fn stored(
        &self,
        endpoint: &Endpoint,
        network: &Arc<Network>,
        connect_timeout_ms: u64,
    ) -> Result<Option<credentials::Found>, Error> {
        let provider = endpoint.provider();
        let found = self.stored.get(provider, &self.client, network, connect_timeout_ms).await;
        let found = found.map_err(|error| error.with_provider(provider))?;
        let host = endpoint.url.host_str().unwrap_or_default();
        let is_safe = keeps_secrets(&endpoint.url) && (endpoint.url.scheme() == "https" || network.is_direct(host));
        if found.is_some() && !is_safe {
            let text = format!(
                "what is stored for {provider} is not sent to {host} over plain http, where others can read it: use https, or \
                 give the key itself as api_key"
            );
            return Err(Error::new(ErrorKind::Authentication, text).with_provider(provider));
        }
        Ok(found)
    }
}

/// What authenticates a call.
#[derive(Default)]
struct Credential {
    key: Option<String>,
    /// Where the key is from, for errors.
    source: String,
    /// Whether it goes as a token, whatever the provider has for keys.
    is_bearer: bool,
    /// Whether the key is an access token that we fetched: another may take its place.
    is_fetched: bool,
    /// Whether the key is what a user has stored: what is stored may be another one meanwhile.
    is_stored: bool,
    /// Whose limits count, where the token does not say.
    quota_project: Option<String>,
    /// What the request is signed with, in place of a key.
    access_key: Option<AccessKey>,
}

impl Credential {
    /// A key of AWS that says how to sign is none that may be sent.
    fn of_hosting(self, hosting: Hosting) -> Credential {
        match self.key.as_deref().filter(|_| hosting == Hosting::Bedrock && !self.is_bearer).and_then(AccessKey::parse) {
            Some(access_key) => Credential { key: None, access_key: Some(access_key), ..self },
            None => self,
        }
    }

    fn is_there(&self) -> bool {
        self.key.is_some() || self.access_key.is_some()
    }
}

impl HttpModel {
    /// The configured key, else one of the provider's environment variables.
    fn key(&self, call: &ModelRequest) -> Result<Credential, Error> {
        // What authenticates is in them: no other key goes along.
        if !call.auth_headers.is_empty() {
            return Ok(Credential::default());
        }
        // White space around a key is not a part of it: a line break that came with it from a file or a command.
        let given = |key: &str, source: String| {
            let key = Some(key.trim().to_owned()).filter(|key| !key.is_empty());
            key.map(|key| Credential { key: Some(key), source, ..Credential::default() })
        };
        let of_variable = |name: &&str| given(&std::env::var(name).ok()?, format!("the environment variable {name}"));
        let literal = call.api_key.as_deref().filter(|_| !is_for_stored(call));
        let configured = literal.and_then(|key| given(key, "api_key or get_api_key".to_owned()));
        let configured = configured.map(|found| Credential { is_bearer: call.is_bearer, ..found });
        let found = configured.or_else(|| self.endpoint.key_variables().iter().find_map(of_variable));
        let by_header = self.given_headers(call).any(|(name, _)| is_credential(name));
        let hosting = self.endpoint.encoder.served.hosting;
        let needed = self.endpoint.needs_key() && !by_header && hosting != Hosting::Bedrock;
        match found {
            None if needed && !self.endpoint.key_variables().is_empty() => Err(self.no_key(call)),
            found => Ok(found.unwrap_or_default().of_hosting(hosting)),
        }
    }

    fn no_key(&self, call: &ModelRequest) -> Error {
        let provider = &self.endpoint.encoder.spec.provider;
        let text = format!("no API key for {provider}: {}", self.key_advice(call));
        Error::new(ErrorKind::Authentication, text).with_provider(provider)
    }

    /// What gives a key where there is none, and why the agent's own is not for this server.
    fn key_advice(&self, call: &ModelRequest) -> String {
        let (why, or) = match &call.withheld_key {
            // Of a fallback there is no `api_key`.
            Some(whose) => (format!("the agent's api_key is for {whose}; "), "let get_api_key give one"),
            None => (String::new(), "give api_key"),
        };
        match self.endpoint.key_variables().first() {
            Some(variable) if self.endpoint.encoder.served.hosting == Hosting::Bedrock => {
                format!("{why}set the environment variable {variable}, {}, {or}", aws::ADVICE)
            }
            Some(variable) => format!("{why}set the environment variable {variable}, or {or}"),
            None => format!("{why}{or}"),
        }
    }

    /// Whether a request has anything that could authenticate it.
    fn is_keyed(&self, credential: &Credential, call: &ModelRequest) -> bool {
        let by_header = !call.auth_headers.is_empty() || self.given_headers(call).any(|(name, _)| is_credential(name));
        credential.is_there() || self.endpoint.is_keyed() || by_header
    }

    /// What authenticates a call: a key, or an access token where the provider wants one and no key was given.
    async fn credential(&self, call: &ModelRequest) -> Result<Credential, Error> {
        if is_for_stored(call) {
            // Boxed: as below.
            match Box::pin(self.stored(call)).await? {
                Some(credential) => return Ok(credential),
                // Another model than the agent's own may have a key of the environment.
                None if call.withheld_key.is_some() => {}
                None => return Err(nothing_stored(self.endpoint.provider())),
            }
        }
        let credential = self.key(call)?;
        let own = ["authorization", "x-goog-api-key"];
        let by_header = self.given_headers(call).any(|(name, _)| own.iter().any(|own| name.eq_ignore_ascii_case(own)));
        if credential.is_there() || by_header || !call.auth_headers.is_empty() {
            return Ok(credential);
        }
        match self.endpoint.encoder.served.hosting {
            Hosting::Plain | Hosting::Azure => return Ok(credential),
            // A gateway's own header is enough for it; an access key would go to it.
            Hosting::Bedrock if !self.endpoint.is_of_vendor() && self.is_keyed(&credential, call) => return Ok(credential),
            Hosting::Bedrock => {
                // Boxed: as below.
                let found = Box::pin(blocking(|| aws::find(&|name| std::env::var(name).ok()))).await;
                return match found {
                    Ok(None) if self.endpoint.needs_key() => Err(self.no_key(call)),
                    Ok(access_key) => Ok(Credential { access_key, ..credential }),
                    // A gateway may have credentials of its own.
                    Err(_) if !self.endpoint.is_of_vendor() => Ok(credential),
                    Err(error) => Err(error.with_provider(self.endpoint.provider())),
                };
            }
            Hosting::Vertex => {}
        }
        let Connections { client, tokens, .. } = &*self.connections;
        // Boxed: only few calls need it, and it would make the future of each larger.
        match Box::pin(tokens.google(client, &call.network, call.connect_timeout_ms)).await {
            Ok(GoogleToken { token, quota_project }) => {
                let source = "Google's credentials".to_owned();
                let key = Some(token.to_string());
                Ok(Credential { key, source, is_bearer: true, is_fetched: true, quota_project, ..Credential::default() })
            }
            // A gateway may have credentials of its own.
            Err(_) if !self.endpoint.is_of_vendor() => Ok(Credential::default()),
            Err(error) => Err(error.with_provider(&self.endpoint.encoder.spec.provider)),
        }
    }

    /// What a user has stored for the provider.
    async fn stored(&self, call: &ModelRequest) -> Result<Option<Credential>, Error> {
        let found = self.connections.stored(&self.endpoint, &call.network, call.connect_timeout_ms).await?;
        let of_store = |credentials::Found { secret, is_bearer }| {
            let source = "the keys that are stored".to_owned();
            let credential = Credential { key: Some(secret), source, is_bearer, is_stored: true, ..Credential::default() };
            credential.of_hosting(self.endpoint.encoder.served.hosting)
        };
        Ok(found.map(of_store))
    }

    fn headers(&self, credential: &Credential, call: &ModelRequest) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let text = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string());
        let given = self.given_headers(call).chain(&call.auth_headers).map(|(name, value)| (name.as_str(), text(value)));
        let session = self.endpoint.session_header(&call.request);
        let own = self.endpoint.protocol_headers(&call.request);
        let key = credential.key.as_deref().map(|key| self.endpoint.key_header(key, credential.is_bearer));
        if key.as_ref().is_some_and(|(_, value)| HeaderValue::from_str(value).is_err()) {
            let (provider, source) = (&self.endpoint.encoder.spec.provider, &credential.source);
            return Err(Error::invalid_argument(format!(
                "the API key for {provider}, from {source}, has a line break or another character that HTTP does not allow"
            )));
        }
        let quota = credential.quota_project.clone().map(|project| ("x-goog-user-project", project));
        // A token was answered for this call alone.
        let (token, key) = if credential.is_bearer { (key, None) } else { (None, key) };
        for (name, value) in own.into_iter().chain(key).chain(quota).chain(session).chain(given).chain(token) {
            let (name, value) = header(name, &value)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// The headers of the model and of the request; the later ones win.
    fn given_headers<'a>(&'a self, call: &'a ModelRequest) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.endpoint.encoder.spec.headers.iter().chain(&call.headers)
    }

    /// What authenticates a call: none of it goes further.
    fn secrets(&self, credential: &Credential, call: &ModelRequest) -> Secrets {
        let secrets = Secrets::of(credential.key.as_deref(), &call.auth_headers, self.given_headers(call), &self.endpoint.url);
        match &credential.access_key {
            Some(access_key) => secrets.and(access_key.secrets()),
            None => secrets,
        }
    }

    async fn run(&self, call: &ModelRequest, sink: &DeltaSink) -> Result<(), Error> {
        let mut credential = self.credential(call).await?;
        let mut sent = self.send(call, &credential).await;
        // A token may be taken back before its end. Not a retry of a failed request: with the right token it was not made yet.
        if let (Ok(401), Some(token), true) = (sent.as_ref().map(Response::status), &credential.key, credential.is_fetched) {
            self.connections.tokens.forget(token);
            // Without a new one the refusal stands. A metadata server gives out the same one until shortly before its end.
            if let Ok(next) = self.credential(call).await
                && next.is_fetched
                && next.key != credential.key
            {
                sent = self.send(call, &next).await;
                credential = next;
            }
        }
        if let (Ok(401), Some(key), true) = (sent.as_ref().map(Response::status), &credential.key, credential.is_stored) {
            self.connections.stored.refused(self.endpoint.provider(), key);
            match self.credential(call).await {
                Ok(next) if next.is_stored && next.key != credential.key => {
                    sent = self.send(call, &next).await;
                    credential = next;
                }
                // The refusal stands.
                Ok(_) => {}
                Err(error) => return Err(self.secrets(&credential, call).taken_out_of_error(error)),
            }
        }
        let read = match sent {
            Ok(response) => self.read(response, call, &credential, sink).await,
            Err(error) => Err(error),
        };
        read.map_err(|error| self.secrets(&credential, call).taken_out_of_error(error))
    }

    async fn send(&self, call: &ModelRequest, credential: &Credential) -> Result<Response, Error> {
        let body = match &call.payload {
            Some(payload) => Bytes::from_owner(Arc::clone(payload)),
            // Asked outside of a run.
            None => self.endpoint.encoder.encode(&mut EncodeCache::default(), &call.request).body.into(),
        };
        let mut headers = self.headers(credential, call)?;
        // A header that was given takes precedence over ours.
        let is_given =
            self.given_headers(call).chain(&call.auth_headers).any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some(access_key) = credential.access_key.as_ref().filter(|_| !is_given) {
            self.endpoint.sign(&mut headers, &body, access_key)?;
        }
        let client = &self.connections.client;
        // Boxed: it is over when the answer begins, and would be a part of the call's future as long as that streams.
        let sent = Box::pin(client.post(&self.endpoint.url, headers, body, call.connect_timeout_ms, &call.network)).await;
        sent.map_err(|error| error.with_provider(&self.endpoint.encoder.spec.provider))
    }

    async fn read(
        &self,
        mut response: Response,
        call: &ModelRequest,
        credential: &Credential,
        sink: &DeltaSink,
    ) -> Result<(), Error> {
        let secrets = || self.secrets(credential, call);
        let redacted = |text: &str| secrets().taken_out_of(text);
        let status = response.status();
        sink.alive();
        let permit = call.permit.upgrade();
        if let Some(permit) = permit.as_ref().and_then(|permit| permit.get()) {
            let headers = response.headers();
            permit.answered(&|name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned), status);
        }
        if call.wants_response {
            let mut head = head(status, response.headers());
            redact(std::slice::from_mut(&mut head), secrets);
            sink.push(head);
        }
        let mut answer = HttpAnswer::new(&self.endpoint, status, call.raw_events);
        let mut failure = None;
        while answer.wants_more() {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    sink.alive();
                    redacted_in(sink, secrets, |out| answer.feed(&chunk, out))?;
                    sink.ready().await;
                }
                Ok(None) => break,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        let (endpoint, headers, now_ms) = (&self.endpoint, response.headers(), Clock::real().now_ms());
        let ending = Ending { endpoint, headers, now_ms, redacted: &redacted };
        let ended = redacted_in(sink, secrets, |out| match failure {
            Some(error) => answer.broken(error, &ending, out),
            None => answer.end(&ending, out),
        });
        ended.map_err(|error| match status {
            401 | 403 if !self.is_keyed(credential, call) => error.and(&format!("no key was sent: {}", self.key_advice(call))),
            _ => error,
        })
    }
}

/// Whether a call is made with what a user has stored.
fn is_for_stored(call: &ModelRequest) -> bool {
    call.api_key.as_deref() == Some(STORED) && !call.is_bearer && call.auth_headers.is_empty()
}

/// The error where `api_key` is `keyring` and nothing is stored.
pub(crate) fn nothing_stored(provider: &str) -> Error {
    let text = format!(
        "api_key is \"keyring\", and nothing is stored for {provider}: sign in with `agent auth login {provider}`, or give the \
         key itself"
    );
    Error::new(ErrorKind::Authentication, text).with_provider(provider)
}

/// Lets deltas be pushed, and takes the secrets out of them before anybody has them.
fn redacted_in<R>(sink: &DeltaSink, secrets: impl Fn() -> Secrets, push: impl FnOnce(&mut Vec<Delta>) -> R) -> R {
    let mut out = sink.lock();
    let before = out.len();
    let result = push(&mut out);
    redact(out.get_mut(before..).unwrap_or_default(), secrets);
    result
}

impl Model for HttpModel {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo {
            provider: &self.endpoint.encoder.spec.provider,
            protocol: self.endpoint.encoder.served.protocol.name(),
            id: &self.endpoint.encoder.spec.id,
            prices: self.endpoint.encoder.spec.cost.clone(),
        }
    }

    fn constraints(&self) -> Constraints {
        self.endpoint.encoder.served.constraints(&self.endpoint.encoder.spec)
    }

    fn server(&self) -> Option<(&str, u16)> {
        self.endpoint.url.host_str().zip(self.endpoint.url.port_or_known_default())
    }

    fn encoder(&self) -> Option<Arc<Encoder>> {
        Some(Arc::clone(&self.endpoint.encoder))
    }

    fn stream<'a>(&'a self, call: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.run(call, sink))
    }
}
