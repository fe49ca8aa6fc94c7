//! A model behind HTTP: the protocol's bytes out, its frames in.

use std::sync::Arc;

use agent_loop_proto::answer_reader::AnswerReader;
use agent_loop_proto::hosting::Hosting;
use agent_loop_proto::protocol::{EncodeCache, Target};
use agent_loop_proto::sse::{Frame, Splitter};
use agent_loop_proto::table::codes;
use agent_loop_proto::transcript::Constraints;
use agent_loop_proto::{provider_error, retry_after, surrogate};
use bytes::Bytes;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::interface::{Delta, DeltaSink, Encoder, Model, ModelInfo, ModelRequest};
use super::redact::{Secrets, redact};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::log::Log;
use crate::provider::credential::{GoogleToken, Tokens};
use crate::provider::is_credential;
use crate::transport::client::{Client, Response, place};
use crate::transport::header::header;

/// The most of an error answer that is read, in bytes.
const MAX_ERROR_BODY: usize = 64 << 10;

/// A model at an address.
pub(crate) struct HttpModel {
    pub(crate) encoder: Arc<Encoder>,
    pub(crate) url: Url,
    pub(crate) connections: Arc<Connections>,
}

/// What all models of a runtime share: connections, and the access tokens that were got over them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    client: Client,
    tokens: Tokens,
}

impl Connections {
    pub(crate) fn new(log: &Log) -> Connections {
        Connections { client: Client::new(log.clone()), tokens: Tokens::new(log.clone()) }
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
    /// Whose limits count, where the token does not say.
    quota_project: Option<String>,
}

impl HttpModel {
    /// The environment variables of the provider's key.
    fn key_variables(&self) -> &'static [&'static str] {
        self.encoder.served.known.map_or(&[], |known| known.key_variables)
    }

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
        let configured = call.api_key.as_deref().and_then(|key| given(key, "api_key or get_api_key".to_owned()));
        let configured = configured.map(|found| Credential { is_bearer: call.is_bearer, ..found });
        let found = configured.or_else(|| self.key_variables().iter().find_map(of_variable));
        let by_header = self.given_headers(call).any(|(name, _)| is_credential(name));
        let needed = self.is_of_vendor() && !by_header && self.encoder.served.known.is_some_and(|known| !known.key_optional);
        match found {
            None if needed && !self.key_variables().is_empty() => {
                let provider = &self.encoder.spec.provider;
                let text = format!("no API key for {provider}: {}", self.key_advice(call));
                Err(Error::new(ErrorKind::Authentication, text).with_provider(provider))
            }
            found => Ok(found.unwrap_or_default()),
        }
    }

    /// What gives a key where there is none, and why the agent's own is not for this server.
    fn key_advice(&self, call: &ModelRequest) -> String {
        let (why, or) = match &call.withheld_key {
            // Of a fallback there is no `api_key`.
            Some(whose) => (format!("the agent's api_key is for {whose}; "), "let get_api_key give one"),
            None => (String::new(), "give api_key"),
        };
        match self.key_variables().first() {
            Some(variable) => format!("{why}set the environment variable {variable}, or {or}"),
            None => format!("{why}{or}"),
        }
    }

    /// Whether a request has anything that could authenticate it.
    fn is_keyed(&self, credential: &Credential, call: &ModelRequest) -> bool {
        let in_address = !self.url.username().is_empty() || self.url.password().is_some();
        let in_query = self.url.query_pairs().any(|(name, _)| is_credential(&name));
        let by_header = !call.auth_headers.is_empty() || self.given_headers(call).any(|(name, _)| is_credential(name));
        credential.key.is_some() || in_address || in_query || by_header
    }

    /// Who answers, for errors: the provider, and where it is when that is not the provider's own place.
    fn server(&self) -> String {
        let provider = &self.encoder.spec.provider;
        match (self.is_of_vendor(), self.url.host_str(), self.url.port()) {
            (false, Some(host), Some(port)) => format!("{provider} at {host}:{port}"),
            (false, Some(host), None) => format!("{provider} at {host}"),
            _ => provider.clone(),
        }
    }

    /// Whether it is the vendor that answers. Azure's addresses are its customers' own, and Vertex has one for each region.
    fn is_of_vendor(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        self.encoder.served.is_official_address || host.ends_with(".azure.com") || host.ends_with(".googleapis.com")
    }

    /// What authenticates a call: a key, or an access token where the provider wants one and no key was given.
    async fn credential(&self, call: &ModelRequest) -> Result<Credential, Error> {
        let credential = self.key(call)?;
        let own = ["authorization", "x-goog-api-key"];
        let by_header = self.given_headers(call).any(|(name, _)| own.iter().any(|own| name.eq_ignore_ascii_case(own)));
        if credential.key.is_some()
            || by_header
            || !call.auth_headers.is_empty()
            || self.encoder.served.hosting != Hosting::Vertex
        {
            return Ok(credential);
        }
        let Connections { client, tokens } = &*self.connections;
        // Boxed: only few calls need it, and it would make the future of each larger.
        match Box::pin(tokens.google(client, &call.network, call.connect_timeout_ms)).await {
            Ok(GoogleToken { token, quota_project }) => {
                let source = "Google's credentials".to_owned();
                Ok(Credential { key: Some(token.to_string()), source, is_bearer: true, is_fetched: true, quota_project })
            }
            // A gateway may have credentials of its own.
            Err(_) if !self.is_of_vendor() => Ok(Credential::default()),
            Err(error) => Err(error.with_provider(&self.encoder.spec.provider)),
        }
    }

    /// What authenticates: the header of the key, as the provider wants it.
    fn key_header(&self, key: &str, is_bearer: bool) -> (&'static str, String) {
        let bearer = || ("authorization", format!("Bearer {key}"));
        match self.encoder.served.hosting {
            _ if is_bearer => bearer(),
            Hosting::Plain => self.encoder.served.protocol.key_header(key),
            // A token of Entra ID is a JWT, a key is not.
            Hosting::Azure if key.starts_with("eyJ") => bearer(),
            Hosting::Azure => ("api-key", key.to_owned()),
            // Google's keys begin so; all else is an access token.
            Hosting::Vertex if key.starts_with("AIza") || key.starts_with("AQ.") => ("x-goog-api-key", key.to_owned()),
            Hosting::Vertex => bearer(),
        }
    }

    fn headers(&self, credential: &Credential, call: &ModelRequest) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let text = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string());
        let given = self.given_headers(call).chain(&call.auth_headers).map(|(name, value)| (name.as_str(), text(value)));
        let session = self.encoder.served.quirks.session_header.zip(call.request.options.session_id.clone());
        let session = session.map(|(header, id)| (header.name(), id));
        let own = self.encoder.served.protocol.headers(&call.request, self.target());
        let key = credential.key.as_deref().map(|key| self.key_header(key, credential.is_bearer));
        if key.as_ref().is_some_and(|(_, value)| HeaderValue::from_str(value).is_err()) {
            let (provider, source) = (&self.encoder.spec.provider, &credential.source);
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
        self.encoder.spec.headers.iter().chain(&call.headers)
    }

    /// What authenticates a call: none of it goes further.
    fn secrets(&self, credential: &Credential, call: &ModelRequest) -> Secrets {
        Secrets::of(credential.key.as_deref(), &call.auth_headers, self.given_headers(call), &self.url)
    }

    fn target(&self) -> Target<'_> {
        self.encoder.served.target(&self.encoder.spec)
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
            None => self.encoder.encode(&mut EncodeCache::default(), &call.request).body.into(),
        };
        let headers = self.headers(credential, call)?;
        let client = &self.connections.client;
        // Boxed: it is over when the answer begins, and would be a part of the call's future as long as that streams.
        let sent = Box::pin(client.post(&self.url, headers, body, call.connect_timeout_ms, &call.network)).await;
        sent.map_err(|error| error.with_provider(&self.encoder.spec.provider))
    }

    async fn read(
        &self,
        mut response: Response,
        call: &ModelRequest,
        credential: &Credential,
        sink: &DeltaSink,
    ) -> Result<(), Error> {
        let provider = self.encoder.spec.provider.as_str();
        let secrets = || self.secrets(credential, call);
        let redacted = |text: &str| secrets().taken_out_of(text);
        sink.alive();
        if call.wants_response {
            let mut head = Delta::Response { status: response.status(), headers: Box::new(listed(response.headers())) };
            redact(std::slice::from_mut(&mut head), secrets);
            sink.push(head);
        }
        if response.status() != 200 {
            let error = Box::pin(self.refusal(&mut response, redacted)).await;
            return Err(match response.status() {
                401 | 403 if !self.is_keyed(credential, call) => {
                    error.and(&format!("no key was sent: {}", self.key_advice(call)))
                }
                _ => error,
            });
        }
        let mut splitter = Splitter::default();
        let mut reader = AnswerReader::new(self.encoder.served.protocol.decoder(self.target()), provider, call.raw_events);
        loop {
            let chunk = match response.chunk().await {
                Ok(chunk) => chunk,
                // There are servers that hang up without ending the body: no harm, when all was said.
                Err(error) => {
                    return redacted_in(sink, secrets, |out| {
                        reader.end(out).map_err(|_| error.clone().with_provider(provider))?;
                        let message = format!("{}; the answer is complete, but its usage may be missing", error.message());
                        out.push(Delta::Diagnostic { code: codes::BROKEN_END.into(), message, data: Box::default() });
                        Ok(())
                    });
                }
            };
            sink.alive();
            let more = redacted_in(sink, secrets, |out| {
                let mut take = |frame: Frame<'_>| reader.frame(&frame, out);
                match &chunk {
                    Some(chunk) => splitter.feed(chunk, take),
                    // A last frame that cannot be read is half of one.
                    None => match splitter.finish(&mut take) {
                        Err(error) if error.kind() == ErrorKind::Protocol => Ok(true),
                        end => end,
                    },
                }
            })?;
            if !more {
                return Ok(());
            }
            if chunk.is_none() {
                let ended = redacted_in(sink, secrets, |out| reader.end(out));
                let stray = || redacted(&String::from_utf8_lossy(splitter.stray()));
                return ended.map_err(|error| self.no_stream(&response, &stray(), reader.has_begun(), error));
            }
            sink.ready().await;
        }
    }

    /// The error of a stream that did not come to its end, by what stood there instead of frames (without keys, which would lose
    /// their ends where it is shortened): an error in bare JSON, or a page.
    fn no_stream(&self, response: &Response, stray: &str, begun: bool, truncated: Error) -> Error {
        let stray = stray.trim();
        if stray.is_empty() {
            return truncated;
        }
        let provider = &self.encoder.spec.provider;
        let start: String = stray.chars().take(200).collect();
        let value = surrogate::value(stray).ok();
        if let Some(value) = value.as_ref().filter(|value| provider_error::is_error(value)) {
            return provider_error::from_stream(provider, value);
        }
        if begun {
            return truncated.clone().reworded(|why| format!("{why}; between the frames stood {start:?}"));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("no content type");
        let server = self.server();
        let is_stream = kind.starts_with("text/event-stream");
        // Each letter has a zero byte beside it.
        let text = match start.contains('\0') {
            true => format!("{server} answered in UTF-16 ({kind}); its answers can only be read in UTF-8"),
            false if is_stream => format!("{server} answered with {kind}, but what came are no events: {start}"),
            false => format!("{server} answered with {kind} instead of an event stream (is base_url right?): {start}"),
        };
        Error::new(ErrorKind::Protocol, text).with_provider(provider)
    }

    /// The error of an answer that is not 200.
    async fn refusal(&self, response: &mut Response, redacted: impl Fn(&str) -> String) -> Error {
        let status = response.status();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let request_id = header("request-id").or_else(|| header("x-request-id"));
        // Where the address has a key in its query, so has this.
        let location = header("location").and_then(|to| self.url.join(&to).ok()).map(|to| place(&to));
        let demanded_ms = retry_after::of_headers(&header, status, Clock::real().now_ms());
        let mut error = if (300..400).contains(&status) {
            let to = location.unwrap_or_else(|| "another address".to_owned());
            let from = place(&self.url);
            let text = format!("{from} answered {status}, a redirect to {to}; redirects are not followed, set base_url");
            Error::new(ErrorKind::Protocol, text).with_provider(&self.encoder.spec.provider).with_http_status(status)
        } else {
            // Redacted here too: a key must not lose its end where a long body is shortened.
            let body = redacted(&response.text(MAX_ERROR_BODY).await);
            provider_error::from_http(&self.encoder.spec.provider, &self.server(), status, &body)
        };
        if let Some(id) = request_id {
            error = error.with_request_id(&id);
        }
        if let Some(ms) = demanded_ms {
            error = error.with_retry_after_ms(ms);
        }
        error
    }
}

/// Lets deltas be pushed, and takes the secrets out of them before anybody has them.
fn redacted_in<R>(sink: &DeltaSink, secrets: impl Fn() -> Secrets, push: impl FnOnce(&mut Vec<Delta>) -> R) -> R {
    let mut out = sink.lock();
    let before = out.len();
    let result = push(&mut out);
    redact(out.get_mut(before..).unwrap_or_default(), secrets);
    result
}

/// Headers by name; those of one name in one text.
fn listed(headers: &HeaderMap) -> Map<String, Value> {
    let text = |name: &HeaderName| {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        values.collect::<Vec<_>>().join(", ")
    };
    headers.keys().map(|name| (name.as_str().to_owned(), text(name).into())).collect()
}

impl Model for HttpModel {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo {
            provider: &self.encoder.spec.provider,
            protocol: self.encoder.served.protocol.name(),
            id: &self.encoder.spec.id,
            prices: self.encoder.spec.cost.clone(),
        }
    }

    fn constraints(&self) -> Constraints {
        self.encoder.served.constraints(&self.encoder.spec)
    }

    fn encoder(&self) -> Option<Arc<Encoder>> {
        Some(Arc::clone(&self.encoder))
    }

    fn stream<'a>(&'a self, call: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.run(call, sink))
    }
}
