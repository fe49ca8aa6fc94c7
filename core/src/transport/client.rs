//! HTTP: a request out, a body of chunks back. Connections are kept and shared by everything that shares the client.
//!
//! Two reqwest clients behind one face: the plain one costs nothing to set up; the other loads the system's certificates, at
//! the first https address only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::Url;
use reqwest::header::HeaderMap;

use crate::error::{Error, ErrorKind};

/// Sends requests.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// By whether they speak TLS, and the limit for setting up a connection in milliseconds (a setting of the whole client).
    clients: Mutex<HashMap<(bool, u64), reqwest::Client>>,
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub(crate) struct Response {
    inner: reqwest::Response,
}

impl Client {
    /// Posts a body. Redirects are not followed: a key must not reach another host. `connect_timeout_ms`: 0 for no limit.
    ///
    /// # Errors
    /// `connection`, `tls` or `timeout`.
    pub(crate) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        connect_timeout_ms: u64,
    ) -> Result<Response, Error> {
        let client = self.client(url.scheme() == "https", connect_timeout_ms)?;
        let send = || client.post(url.clone()).headers(headers.clone()).body(body.clone()).send();
        let sent = match send().await {
            Err(error) if was_stale(&error) => send().await,
            sent => sent,
        };
        sent.map(|inner| Response { inner }).map_err(|error| failure(url, &error, connect_timeout_ms))
    }

    fn client(&self, secure: bool, connect_timeout_ms: u64) -> Result<reqwest::Client, Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&(secure, connect_timeout_ms)) {
            return Ok(client.clone());
        }
        let client = build(if secure { secure_tls()? } else { plain_tls()? }, connect_timeout_ms)?;
        clients.insert((secure, connect_timeout_ms), client.clone());
        Ok(client)
    }
}

/// For addresses that are not https: costs nothing to set up.
fn plain_tls() -> Result<rustls::ClientConfig, Error> {
    Ok(rustls_builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

fn secure_tls() -> Result<rustls::ClientConfig, Error> {
    use rustls_platform_verifier::BuilderVerifierExt;
    let tls = |e: rustls::Error| Error::new(ErrorKind::Tls, format!("the system's certificates cannot be used: {e}"));
    Ok(rustls_builder()?.with_platform_verifier().map_err(tls)?.with_no_client_auth())
}

fn rustls_builder() -> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, Error> {
    // A configuration of our own: a library must not install a process-wide provider.
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::new(ErrorKind::Tls, format!("TLS cannot be set up: {e}")))
}

fn build(mut tls: rustls::ClientConfig, connect_timeout_ms: u64) -> Result<reqwest::Client, Error> {
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut builder = reqwest::Client::builder();
    if connect_timeout_ms > 0 {
        builder = builder.connect_timeout(Duration::from_millis(connect_timeout_ms));
    }
    builder
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("agent-loop/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|e| Error::new(ErrorKind::Connection, format!("the HTTP client cannot be set up: {}", chain(&e))))
}

impl Response {
    pub(crate) fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// The next piece of the body.
    ///
    /// # Errors
    /// `stream_truncated` when the connection breaks before the body's end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        self.inner.chunk().await.map_err(|error| {
            let host = self.inner.url().host_str().unwrap_or("the server");
            let why = chain(&error.without_url());
            Error::new(ErrorKind::StreamTruncated, format!("the connection to {host} broke in the middle of the answer: {why}"))
        })
    }

    /// The body as text, at most this many bytes of it; for error answers.
    pub(crate) async fn text(&mut self, most: usize) -> String {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > most {
                break;
            }
        }
        body.truncate(most);
        String::from_utf8_lossy(&body).into_owned()
    }
}

fn failure(url: &Url, error: &reqwest::Error, connect_timeout_ms: u64) -> Error {
    let place = format!("{}{}", url.origin().ascii_serialization(), url.path());
    let why = chain(error);
    if sources(error).any(|source| source.is::<rustls::Error>()) {
        return Error::new(ErrorKind::Tls, format!("no secure connection to {place}: {why}"));
    }
    if error.is_timeout() {
        let text = format!("{place}: no connection within connect_timeout_ms ({connect_timeout_ms})");
        return Error::new(ErrorKind::Timeout, text);
    }
    if error.is_connect() {
        return Error::new(ErrorKind::Connection, format!("cannot connect to {place}: {why}; is the server running there?"));
    }
    Error::new(ErrorKind::Connection, format!("the request to {place} failed: {why}"))
}

/// Whether the server closed a kept connection just as we sent: llama.cpp's server, for one, announces `keep-alive` and hangs up
/// after every stream, and a fast tool's next request meets that. Not a retry of a failed request: no answer had begun.
fn was_stale(error: &reqwest::Error) -> bool {
    !error.is_connect()
        && sources(error).any(|source| {
            source.downcast_ref::<hyper::Error>().is_some_and(|e| e.is_incomplete_message() || e.is_canceled())
                || source
                    .downcast_ref::<std::io::Error>()
                    .is_some_and(|e| matches!(e.kind(), std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe))
        })
}

fn sources<'a>(error: &'a (dyn std::error::Error + 'static)) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// The innermost cause, which says most; reqwest's outer texts repeat the address.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    sources(error).last().map(ToString::to_string).unwrap_or_default()
}
