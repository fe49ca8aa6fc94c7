//! The HTTP of one model call over the engine's own connections: for hosts that step a loop, and leave only its requests to us.

use std::sync::Arc;

use agent_loop_proto::hosting::Hosting;
use agent_loop_proto::json_error::read_value;
use agent_loop_proto::limits::Limits;
use agent_loop_proto::machine::Loop;
use bytes::Bytes;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::host_loop::{HostLoop, Open};
use super::models::HttpRequest;
use super::step::Auth;
use crate::cancel::CancelToken;
use crate::clock::Clock;
use crate::connection::FromOption;
use crate::credentials::{Found, STORED};
use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::{Error, ErrorKind};
use crate::model::answer::{HttpAnswer, listed};
use crate::model::endpoint::Endpoint;
use crate::model::http::{Connections, nothing_stored};
use crate::model::redact::Secrets;
use crate::provider::aws::{self, AccessKey};
use crate::runtime::Runtime;
use crate::transport::client::Response;
use crate::transport::header::header;
use crate::transport::network::Network;

/// The names of the options.
const OPTIONS: [&str; 2] = ["api_key", "network"];

/// What an exchange is made with, beside the action and the limits of time, which the loop has: `api_key` (else the key is in one
/// of the environment variables of its `auth`) and `network`.
#[derive(Clone)]
pub struct ExchangeOptions {
    api_key: Option<String>,
    network: Arc<Network>,
}

impl ExchangeOptions {
    /// Reads them in JSON.
    ///
    /// # Errors
    /// `invalid_argument` for an unknown option and for a wrong value.
    pub fn read(given: &Map<String, Value>, spelling: Spelling) -> Result<ExchangeOptions, Error> {
        if let Some(name) = given.keys().find(|name| !OPTIONS.iter().any(|known| spelling.spell(known) == **name)) {
            return Err(unknown_name("option", name, OPTIONS.into_iter(), spelling));
        }
        let network = match given.get("network").filter(|value| !value.is_null()) {
            None => Network::default(),
            Some(value) => Network::from_option(value, "network", spelling)?,
        };
        Ok(ExchangeOptions { api_key: read_option(given, "api_key", spelling)?, network: Arc::new(network) })
    }
}

/// # Errors
/// `invalid_argument` for a value of another type.
fn read_option<T: DeserializeOwned>(given: &Map<String, Value>, name: &str, spelling: Spelling) -> Result<Option<T>, Error> {
    let name = spelling.spell(name);
    let value = given.get(&*name).filter(|value| !value.is_null());
    value
        .map(|value| read_value(value).map_err(|unread| unread.at(format_args!("option {name:?}")).invalid_argument()))
        .transpose()
}

/// The request of a `call_model`, to be sent once.
pub struct Exchange {
    endpoint: Endpoint,
    headers: HeaderMap,
    body: Bytes,
    connect_timeout_ms: u64,
    network: Arc<Network>,
    limits: Limits,
    secrets: Secrets,
    connections: Arc<Connections>,
    closing: CancelToken,
    /// Whether the key is what a user has stored.
    is_stored: bool,
}

/// The end of an [`Exchange`]: what a host hands in with `model_response`, the bytes, and `model_end`.
#[derive(Debug)]
pub struct Exchanged {
    /// The HTTP status; `None` if no response came.
    pub status: Option<u16>,
    /// The headers of the response.
    pub headers: Map<String, Value>,
    /// The body so far.
    pub body: Vec<u8>,
    /// Whether the response came to its end. If not, and without an error, a limit of time passed or the exchange was cancelled:
    /// a loop that is polled with these times finds out which limit.
    pub is_complete: bool,
    /// Why there is no response, or no more of it.
    pub error: Option<Error>,
    /// When the last bytes arrived, in milliseconds since the epoch; the start if none did.
    pub last_ms: u64,
    /// When the exchange was over.
    pub end_ms: u64,
}

impl HostLoop {
    /// The exchange of a `call_model` that has no response yet.
    ///
    /// # Errors
    /// `authentication` where the server needs a key and there is none; `invalid_state` for a call that is over, or that the host
    /// answers itself; `invalid_argument` for a key or a header that HTTP does not allow.
    pub fn exchange(&self, call: u32, runtime: &Runtime, options: ExchangeOptions) -> Result<Exchange, Error> {
        let open = self.open.iter().find_map(|open| match open {
            Open::Model(own) if own.call == call => Some(own),
            _ => None,
        });
        let sent = open.and_then(|open| Some((open.request()?, self.models.endpoint(open.model)?)));
        let (Some((request, endpoint)), Some(run)) = (sent, self.conversation.active()) else {
            let text = format!("model call {call} is over, or it has no request to be sent");
            return Err(Error::new(ErrorKind::InvalidState, text));
        };
        Exchange::new(runtime, request, endpoint.clone(), options, self.limits_of_exchange(run))
    }

    /// Those of the turn. The loop gets the answer in one piece, so what is left of the run's time counts here, too.
    fn limits_of_exchange(&self, run: &Loop) -> Limits {
        let mut limits = *run.limits();
        let left_ms = run.run_deadline_ms().map(|at_ms| at_ms.saturating_sub(self.now_ms).max(1));
        let whole_ms = [left_ms, Some(limits.request_timeout_ms)].into_iter().flatten().filter(|ms| *ms > 0).min();
        limits.request_timeout_ms = whole_ms.unwrap_or(0);
        limits
    }
}

impl Exchange {
    fn new(
        runtime: &Runtime,
        request: &HttpRequest,
        endpoint: Endpoint,
        options: ExchangeOptions,
        limits: Limits,
    ) -> Result<Exchange, Error> {
        let HttpRequest { url: _, headers: given_headers, auth, body, connect_timeout_ms } = request;
        let ExchangeOptions { api_key, network } = options;
        let is_stored = api_key.as_deref().is_some_and(|key| key.trim() == STORED);
        let key = api_key.filter(|_| !is_stored);
        let of_variable = || auth.variables.iter().filter(|_| !is_stored).find_map(|name| std::env::var(name).ok());
        let key = key.or_else(of_variable).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
        let mut headers = HeaderMap::new();
        for (name, value) in given_headers {
            let (name, value) = header(name, value.as_str().unwrap_or_default())?;
            headers.insert(name, value);
        }
        let access_key = if is_stored { None } else { access_key(&endpoint, key.as_deref())? };
        let mut secrets = Secrets::of(key.as_deref(), &Map::new(), std::iter::empty(), &endpoint.url);
        match (&key, &access_key) {
            (_, Some(access_key)) => {
                endpoint.sign(&mut headers, body.as_bytes(), access_key)?;
                secrets = secrets.and(access_key.secrets());
            }
            (Some(key), None) => {
                let (name, value) = header(&auth.header, &format!("{}{key}", auth.prefix))?;
                headers.insert(name, value);
            }
            (None, None) if auth.optional || is_stored => {}
            (None, None) => return Err(no_key(endpoint.provider(), auth)),
        }
        Ok(Exchange {
            secrets,
            endpoint,
            headers,
            body: body.clone().into(),
            connect_timeout_ms: *connect_timeout_ms,
            network,
            limits,
            connections: Arc::clone(runtime.connections()),
            closing: runtime.token(),
            is_stored,
        })
    }

    /// Sends the request and reads the response, until `cancel` is cancelled or a limit of time passes. Needs a tokio context.
    pub async fn send(mut self, cancel: CancelToken) -> Exchanged {
        let start_ms = Clock::real().now_ms();
        let (status, headers, body) = (None, Map::new(), Vec::new());
        let mut done = Exchanged { status, headers, body, is_complete: false, error: None, last_ms: start_ms, end_ms: start_ms };
        let closing = self.closing.clone();
        tokio::select! {
            read = self.read(&mut done) => done.error = read.err().map(|error| self.secrets.taken_out_of_error(error)),
            () = cancel.wait() => {}
            () = closing.wait() => {}
        }
        done.end_ms = Clock::real().now_ms().max(done.last_ms);
        self.redact(&mut done);
        done
    }

    /// Adds what a user has stored for the provider.
    async fn add_stored(&mut self) -> Result<(), Error> {
        let found = self.connections.stored(&self.endpoint, &self.network, self.connect_timeout_ms).await?;
        let Found { secret, is_bearer } = found.ok_or_else(|| nothing_stored(self.endpoint.provider()))?;
        self.secrets = Secrets::of(Some(&secret), &Map::new(), std::iter::empty(), &self.endpoint.url);
        let hosting = self.endpoint.encoder.served.hosting;
        if let Some(access_key) = AccessKey::parse(&secret).filter(|_| hosting == Hosting::Bedrock && !is_bearer) {
            return self.endpoint.sign(&mut self.headers, &self.body, &access_key);
        }
        let (name, value) = self.endpoint.key_header(&secret, is_bearer);
        let (name, value) = header(name, &value)?;
        self.headers.insert(name, value);
        Ok(())
    }

    /// # Errors
    /// Why there is no response, or no more of it.
    async fn read(&mut self, done: &mut Exchanged) -> Result<(), Error> {
        let limit = |ms: u64| async move {
            match ms {
                0 => std::future::pending().await,
                ms => Clock::real().sleep(ms).await,
            }
        };
        let whole = limit(self.limits.request_timeout_ms);
        tokio::pin!(whole);
        if self.is_stored {
            // Boxed: only few exchanges need it. It may ask the user's keyring and a token server.
            tokio::select! {
                added = Box::pin(self.add_stored()) => added?,
                () = &mut whole => return Ok(()),
            }
        }
        let client = self.connections.client();
        let sent =
            client.post(&self.endpoint.url, self.headers.clone(), self.body.clone(), self.connect_timeout_ms, &self.network);
        let mut response: Response = tokio::select! {
            sent = sent => sent?,
            () = &mut whole => return Ok(()),
            () = limit(self.limits.first_byte_timeout_ms) => return Ok(()),
        };
        done.status = Some(response.status());
        done.headers = listed(response.headers());
        // Read only for its end: servers keep the connection open behind it.
        let mut answer = HttpAnswer::new(&self.endpoint, response.status(), false);
        loop {
            done.last_ms = Clock::real().now_ms();
            let chunk = tokio::select! {
                chunk = response.chunk() => chunk?,
                () = &mut whole => return Ok(()),
                () = limit(self.limits.idle_timeout_ms) => return Ok(()),
            };
            match chunk {
                Some(chunk) => {
                    done.body.extend_from_slice(&chunk);
                    // What is wrong with it, the loop reports.
                    if answer.feed(&chunk, &mut Vec::new()).is_err() || !answer.wants_more() {
                        done.is_complete = true;
                        return Ok(());
                    }
                }
                None => {
                    done.is_complete = true;
                    return Ok(());
                }
            }
        }
    }

    /// Removes keys from all that the server sent, but for answers.
    fn redact(&self, done: &mut Exchanged) {
        for value in done.headers.values_mut() {
            if let Some(text) = value.as_str() {
                *value = self.secrets.taken_out_of(text).into();
            }
        }
        if done.status != Some(200)
            && let Ok(text) = str::from_utf8(&done.body)
        {
            done.body = self.secrets.taken_out_of(text).into_bytes();
        }
    }
}

/// What the request is signed with, where it goes to AWS: the key, if it is of that kind, or without one that of the machine.
fn access_key(endpoint: &Endpoint, key: Option<&str>) -> Result<Option<AccessKey>, Error> {
    match key {
        _ if endpoint.encoder.served.hosting != Hosting::Bedrock => Ok(None),
        Some(key) => Ok(AccessKey::parse(key)),
        None => aws::find(&|name| std::env::var(name).ok()).map_err(|error| error.with_provider(endpoint.provider())),
    }
}

impl Exchanged {
    /// In JSON: `{status, headers, body, is_complete, error, last_ms, end_ms}`. The body has the character of its number for each
    /// byte, as Latin-1 does.
    pub fn to_json(&self) -> Value {
        let Exchanged { status, headers, body, is_complete, error, last_ms, end_ms } = self;
        let body: String = body.iter().copied().map(char::from).collect();
        json!({
            "status": status, "headers": headers, "body": body, "is_complete": is_complete, "error": error,
            "last_ms": last_ms, "end_ms": end_ms,
        })
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the headers: they have the key.
        f.debug_struct("Exchange").field("host", &self.endpoint.url.host_str()).finish_non_exhaustive()
    }
}

fn no_key(provider: &str, auth: &Auth) -> Error {
    let advice = match auth.variables.first() {
        Some(variable) => format!("set the environment variable {variable}, or give api_key"),
        None => "give api_key".to_owned(),
    };
    Error::new(ErrorKind::Authentication, format!("no API key for {provider}: {advice}")).with_provider(provider)
}
