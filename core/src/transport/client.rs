//! HTTP: a request out, a body of chunks back. Connections are kept and shared by everything that shares the client.
//!
//! Two reqwest clients behind one face: the plain one costs nothing to set up; the other loads the system's certificates, at
//! the first https address only.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use reqwest::Url;
use reqwest::header::HeaderMap;

use crate::error::{Error, ErrorKind};

/// Sends requests.
#[derive(Debug, Default)]
pub(crate) struct Client {
    plain: OnceLock<Result<reqwest::Client, Error>>,
    secure: OnceLock<Result<reqwest::Client, Error>>,
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub(crate) struct Response {
    inner: reqwest::Response,
}

impl Client {
    /// Posts a body. Redirects are not followed: a key must not reach another host.
    ///
    /// # Errors
    /// `connection`, `tls` or `timeout`.
    pub(crate) async fn post(&self, url: &Url, headers: HeaderMap, body: Vec<u8>) -> Result<Response, Error> {
        let client = if url.scheme() == "https" { self.secure() } else { self.plain() }?;
        let body = Bytes::from(body);
        let send = || client.post(url.clone()).headers(headers.clone()).body(body.clone()).send();
        let sent = match send().await {
            Err(error) if was_stale(&error) => send().await,
            sent => sent,
        };
        sent.map(|inner| Response { inner }).map_err(|error| failure(url, &error))
    }

    fn plain(&self) -> Result<&reqwest::Client, Error> {
        let make = || build(rustls_builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth());
        self.plain.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    fn secure(&self) -> Result<&reqwest::Client, Error> {
        let make = || {
            use rustls_platform_verifier::BuilderVerifierExt;
            let tls = |e: rustls::Error| Error::new(ErrorKind::Tls, format!("the system's certificates cannot be used: {e}"));
            build(rustls_builder()?.with_platform_verifier().map_err(tls)?.with_no_client_auth())
        };
        self.secure.get_or_init(make).as_ref().map_err(Clone::clone)
    }
}

fn rustls_builder() -> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, Error> {
    // A configuration of our own: a library must not install a process-wide provider.
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::new(ErrorKind::Tls, format!("TLS cannot be set up: {e}")))
}

fn build(mut tls: rustls::ClientConfig) -> Result<reqwest::Client, Error> {
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    reqwest::Client::builder()
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

fn failure(url: &Url, error: &reqwest::Error) -> Error {
    let place = format!("{}{}", url.origin().ascii_serialization(), url.path());
    let why = chain(error);
    if sources(error).any(|source| source.is::<rustls::Error>()) {
        return Error::new(ErrorKind::Tls, format!("no secure connection to {place}: {why}"));
    }
    if error.is_timeout() {
        return Error::new(ErrorKind::Timeout, format!("{place} did not answer in time: {why}"));
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
