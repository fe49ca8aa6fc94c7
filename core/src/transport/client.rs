//! HTTP: a request out, a body of chunks back. Connections are kept and shared by everything that shares the client.
//!
//! One reqwest client for each kind of connection: plain ones cost nothing to set up; the others load certificate
//! authorities, at the first https address only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use tokio::sync::OnceCell;

#[cfg(feature = "gzip")]
use super::coding::{Decoder, MOST_PER_BYTE, Unreadable};
use super::names::{Resolver, not_asked};
use super::network::{Network, Route};
use super::tls;
use crate::error::{Error, ErrorKind};
use crate::log::Log;
use crate::threads::blocking;

/// Sends requests.
#[derive(Debug, Default)]
pub(crate) struct Client {
    ways: Mutex<Ways>,
    log: Log,
}

/// The most kinds of connections that are kept: each has certificates, which may be a megabyte.
const MOST_WAYS: usize = 32;

/// It is made once, at the first request.
type Slot = Arc<OnceCell<Arc<Way>>>;

/// By their settings, with the number of their last use.
#[derive(Debug, Default)]
struct Ways {
    kept: HashMap<Key, (u64, Slot)>,
    uses: u64,
}

impl Ways {
    /// The way with these settings. Where there are too many, the one that was not used for longest goes, with its idle
    /// connections; requests on it go on.
    fn get(&mut self, key: Key) -> Slot {
        self.uses += 1;
        if self.kept.len() >= MOST_WAYS && !self.kept.contains_key(&key) {
            let oldest = self.kept.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.kept.remove(&oldest));
        }
        let (used, way) = self.kept.entry(key).or_default();
        *used = self.uses;
        Arc::clone(way)
    }
}

/// What is a setting of a whole reqwest client: whether it speaks TLS, whether it connects to public addresses only, the limit
/// for setting up a connection in milliseconds, and the network.
type Key = (bool, bool, u64, Arc<Network>);

/// How requests go out.
struct Way {
    client: reqwest::Client,
    routes: Vec<Route>,
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub(crate) struct Response {
    inner: reqwest::Response,
    #[cfg(feature = "gzip")]
    decoder: Option<Decoder>,
    /// Whether the body has a coding that cannot be read.
    is_unreadable: bool,
    /// Bytes that were read since another task could run.
    unyielded: usize,
}

/// How many bytes of an answer are read before other tasks run.
const YIELD_BYTES: usize = 64 << 10;

impl Client {
    pub(crate) fn new(log: Log) -> Client {
        Client { log, ..Client::default() }
    }

    /// Posts a body. Redirects are not followed: a key must not reach another host. `connect_timeout_ms`: 0 for no limit.
    ///
    /// # Errors
    /// `connection`, `tls` or `timeout`; `invalid_argument`, `io` or `tls` when the network's settings cannot be used.
    pub(crate) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        connect_timeout_ms: u64,
        network: &Arc<Network>,
    ) -> Result<Response, Error> {
        let way = self.way(url, false, connect_timeout_ms, network).await?;
        way.send(Method::POST, url, headers, body, connect_timeout_ms).await
    }

    /// Gets an address, as [`Client::post`] posts. For the metadata server.
    ///
    /// # Errors
    /// As [`Client::post`].
    #[cfg(feature = "google")]
    pub(crate) async fn get(
        &self,
        url: &Url,
        headers: HeaderMap,
        connect_timeout_ms: u64,
        network: &Arc<Network>,
    ) -> Result<Response, Error> {
        let way = self.way(url, false, connect_timeout_ms, network).await?;
        way.send(Method::GET, url, headers, Bytes::new(), connect_timeout_ms).await
    }

    /// Gets an address that a model has named. `is_public`: connects to public addresses only, whatever the host's name leads to;
    /// an address in place of a name is for the caller to check, and through a proxy, names are for that to resolve.
    ///
    /// # Errors
    /// As [`Client::post`]; `invalid_argument` for a name that leads to another address.
    #[cfg(feature = "tools")]
    pub(crate) async fn fetch(
        &self,
        url: &Url,
        headers: HeaderMap,
        is_public: bool,
        connect_timeout_ms: u64,
        network: &Arc<Network>,
    ) -> Result<Response, Error> {
        let way = self.way(url, is_public, connect_timeout_ms, network).await?;
        let is_proxy = way.routes.iter().any(|route| route.proxy.host_str() == url.host_str());
        if is_public && is_proxy {
            // Where it is, is not checked.
            let host = url.host_str().unwrap_or_default();
            return Err(Error::invalid_argument(format!(
                "{host} is the proxy that requests go through, which is not asked itself"
            )));
        }
        way.send(Method::GET, url, headers, Bytes::new(), connect_timeout_ms).await
    }

    /// What sends requests to an address, for a library that makes them itself. It reads no compressed answers.
    ///
    /// # Errors
    /// As [`Client::post`], before a request.
    #[cfg(feature = "mcp")]
    pub(crate) async fn requests(
        &self,
        url: &Url,
        connect_timeout_ms: u64,
        network: &Arc<Network>,
    ) -> Result<reqwest::Client, Error> {
        self.way(url, false, connect_timeout_ms, network).await.map(|way| way.client.clone())
    }

    async fn way(&self, url: &Url, is_public: bool, connect_timeout_ms: u64, network: &Arc<Network>) -> Result<Arc<Way>, Error> {
        let (secure, network) = (url.scheme() == "https", Arc::clone(network));
        let key = (secure, is_public, connect_timeout_ms, Arc::clone(&network));
        let way = self.ways.lock().unwrap_or_else(PoisonError::into_inner).get(key);
        // Authorities and certificates are files, and reading them takes longer than a request.
        let log = self.log.clone();
        let make = || blocking(move || Way::new(secure, is_public, connect_timeout_ms, &network, &log).map(Arc::new));
        way.get_or_try_init(make).await.map(Arc::clone)
    }
}

impl Way {
    fn new(secure: bool, is_public: bool, connect_timeout_ms: u64, network: &Network, log: &Log) -> Result<Way, Error> {
        let environment = |name: &str| std::env::var(name).ok();
        let routes = network.routes(&environment)?;
        let secure = secure || routes.iter().any(|route| route.proxy.scheme() == "https");
        let mut tls = if secure { tls::secure(network, log)? } else { tls::none()? };
        tls.alpn_protocols = match cfg!(feature = "http2") {
            true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            false => vec![b"http/1.1".to_vec()],
        };
        let unusable = |e: reqwest::Error| {
            let e = e.without_url();
            Error::new(ErrorKind::Connection, format!("the HTTP client cannot be set up: {}", chain(&e)))
                .with_retryable(false)
                .with_source(e)
        };
        let trusted = routes.iter().filter_map(|route| route.proxy.host_str().map(str::to_owned)).collect();
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("agent-loop/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Resolver { is_public, trusted })
            // None but ours: reqwest would read the environment in its own way.
            .no_proxy()
            // Ours have a bound. Another crate of the program may have switched reqwest's on.
            .no_gzip()
            .no_deflate()
            .no_brotli()
            .no_zstd();
        if connect_timeout_ms > 0 {
            builder = builder.connect_timeout(Duration::from_millis(connect_timeout_ms));
        }
        for (host, address) in &network.resolve {
            builder = builder.resolve(host, *address);
        }
        let exceptions = network.exceptions(&environment);
        for route in &routes {
            let proxy = if route.scheme == "http" { reqwest::Proxy::http } else { reqwest::Proxy::https };
            builder = builder.proxy(proxy(route.proxy.clone()).map_err(unusable)?.no_proxy(exceptions.clone()));
        }
        Ok(Way { client: builder.build().map_err(unusable)?, routes })
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
        connect_timeout_ms: u64,
    ) -> Result<Response, Error> {
        // Compressed bodies are read, but not asked for: what compresses a stream may hold back its end.
        headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
        let request = || self.client.request(method.clone(), url.clone()).headers(headers.clone()).body(body.clone());
        let sent = match request().send().await {
            Err(error) if was_stale(&error) => request().send().await,
            sent => sent,
        };
        let inner = sent.map_err(|error| {
            // The address may have a key in its query.
            let error = error.without_url();
            self.failure(url, &error, connect_timeout_ms).with_source(error)
        })?;
        // An answer of the proxy itself, to a request that is not https; with https the connection fails.
        if inner.status() == 407 && self.route(url).is_some() {
            return Err(self.not_through(url, "proxy authorization required"));
        }
        #[cfg(feature = "gzip")]
        let decoder = inner.headers().get(CONTENT_ENCODING).and_then(|coding| Decoder::of(coding.to_str().ok()?));
        #[cfg(feature = "gzip")]
        let is_decoded = decoder.is_some();
        #[cfg(not(feature = "gzip"))]
        let is_decoded = false;
        let is_unreadable = !is_decoded && inner.headers().get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
        Ok(Response {
            inner,
            #[cfg(feature = "gzip")]
            decoder,
            is_unreadable,
            unyielded: 0,
        })
    }

    fn route(&self, url: &Url) -> Option<&Route> {
        self.routes.iter().find(|route| route.scheme == url.scheme())
    }

    fn failure(&self, url: &Url, error: &reqwest::Error, connect_timeout_ms: u64) -> Error {
        let place = place(url);
        let why = chain(error).trim_start_matches("tunnel error: ").to_owned();
        if let Some(error) = sources(error).find_map(|source| source.downcast_ref::<rustls::Error>()) {
            // What came is no TLS at all.
            let plain = matches!(error, rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType));
            let advice = if plain { "; does the server speak plain http?" } else { "" };
            return Error::new(ErrorKind::Tls, format!("no secure connection to {place}: {why}{advice}"));
        }
        if let Some(error) = not_asked(sources(error)) {
            return Error::new(error.kind(), format!("cannot connect to {place}: {}", error.message()));
        }
        if error.is_timeout() {
            let text = format!("{place}: no connection within connect_timeout_ms ({connect_timeout_ms})");
            return Error::new(ErrorKind::Timeout, text);
        }
        match (error.is_connect(), self.route(url)) {
            (true, Some(_)) => self.not_through(url, &why),
            (true, None) => {
                // hyper-util's word for a name that could not be resolved; its type has no name.
                let unknown = sources(error).any(|source| source.to_string().starts_with("dns error"));
                let advice = match unknown {
                    _ if sources(error).any(is_out_of_files) => {
                        "this process has too many files and connections open: close some, or raise its limit (ulimit -n)"
                    }
                    true => "is the host's name right, or is it only reached through a proxy (network.proxy)?",
                    false => "is the server running there?",
                };
                Error::new(ErrorKind::Connection, format!("cannot connect to {place}: {why}; {advice}"))
            }
            (false, _) => Error::new(ErrorKind::Connection, format!("the request to {place} failed: {why}")),
        }
    }

    /// The error of a connection that a proxy stands in.
    fn not_through(&self, url: &Url, why: &str) -> Error {
        let route = self.route(url);
        let (proxy, source) = route.map(|route| (route.without_password(), route.source.as_str())).unwrap_or_default();
        let text = format!(
            "cannot connect to {}: {why}; its proxy is {proxy} (from {source}), unless no_proxy has the host",
            place(url)
        );
        let refused = why.ends_with("proxy authorization required");
        let advice = if refused { "; give user:password@ in the proxy's address" } else { "" };
        Error::new(ErrorKind::Connection, text + advice).with_retryable(!refused)
    }
}

/// Whether the system refused a descriptor: EMFILE, ENFILE, WSAEMFILE.
fn is_out_of_files(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    if cfg!(windows) { error == Some(10024) } else { matches!(error, Some(23 | 24)) }
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the routes: they may have passwords.
        f.debug_struct("Way").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Response {
    pub(crate) fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// The next piece of the body. One that is there already is not given for ever: other tasks run in between.
    ///
    /// # Errors
    /// `stream_truncated` when the connection breaks before the body's end; `protocol` for a coding that cannot be read, `limit`
    /// for a compressed one that becomes far larger than it is.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        if self.unyielded >= YIELD_BYTES {
            self.unyielded = 0;
            tokio::task::yield_now().await;
        }
        let chunk = self.piece().await?;
        self.unyielded += chunk.as_ref().map_or(0, Bytes::len);
        Ok(chunk)
    }

    #[cfg(feature = "gzip")]
    async fn piece(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                return self.plain_piece().await;
            };
            if let Some(piece) = decoder.next().map_err(|why| unreadable(&self.inner, why))? {
                return Ok(Some(piece));
            }
            let chunk = self.inner.chunk().await.map_err(|error| broken(&self.inner, error))?;
            let Some(chunk) = chunk else {
                let last = decoder.finish().map_err(|why| unreadable(&self.inner, why))?;
                return Ok(last);
            };
            decoder.feed(chunk);
        }
    }

    #[cfg(not(feature = "gzip"))]
    async fn piece(&mut self) -> Result<Option<Bytes>, Error> {
        self.plain_piece().await
    }

    async fn plain_piece(&mut self) -> Result<Option<Bytes>, Error> {
        if self.is_unreadable {
            let (host, coding) = (host(&self.inner), self.inner.headers().get(CONTENT_ENCODING));
            let coding = coding.map(|coding| format!("{coding:?}")).unwrap_or_default();
            let readable = match cfg!(feature = "gzip") {
                true => "only gzip and deflate can be read",
                false => "agent-loop reads gzip and deflate with its feature gzip, which is off",
            };
            let text = format!("{host} compressed its answer ({coding}), which it was not asked for; {readable}");
            return Err(Error::new(ErrorKind::Protocol, text));
        }
        self.inner.chunk().await.map_err(|error| broken(&self.inner, error))
    }

    /// The body as text, at most this many bytes of it; for the answers of token servers and collectors.
    #[cfg(any(feature = "google", feature = "otlp", feature = "sign-in"))]
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

fn host(response: &reqwest::Response) -> &str {
    response.url().host_str().unwrap_or("the server")
}

/// The error of a connection that broke before the body's end.
fn broken(response: &reqwest::Response, error: reqwest::Error) -> Error {
    let (host, error) = (host(response), error.without_url());
    let why = chain(&error);
    Error::new(ErrorKind::StreamTruncated, format!("the connection to {host} broke in the middle of the answer: {why}"))
        .with_source(error)
}

/// The error of a compressed body that cannot be read further.
#[cfg(feature = "gzip")]
fn unreadable(response: &reqwest::Response, why: Unreadable) -> Error {
    let host = host(response);
    match why {
        Unreadable::Broken(error) => {
            let text = format!("the connection to {host} broke in the middle of the answer, which is compressed: {error}");
            Error::new(ErrorKind::StreamTruncated, text).with_source(error)
        }
        Unreadable::TooDense => {
            let text = format!(
                "{host} compressed its answer more than {MOST_PER_BYTE} times, which it was not asked for; it was cut off"
            );
            Error::new(ErrorKind::Limit, text)
        }
    }
}

/// An address without query, user and password.
pub(crate) fn place(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
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

/// An error and what has caused it, the outermost first.
pub(crate) fn sources<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| match error.downcast_ref::<std::io::Error>() {
        // Its `source` is the source of what it wraps and leaves that out: a TLS error, say.
        Some(error) => error.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static)),
        None => error.source(),
    })
}

/// The innermost cause, which says most; reqwest's outer texts repeat the address.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let text = sources(error).last().map(ToString::to_string).unwrap_or_default();
    match text.starts_with("peer closed connection without sending TLS close_notify") {
        // rustls goes on with the address of a page for who programs with it.
        true => "it was closed without the message with which TLS ends (close_notify)".to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_a16_the_settings_that_were_not_used_for_longest_go() {
        let key = |ms| (false, false, ms, Arc::new(Network::default()));
        let mut ways = Ways::default();
        let first = ways.get(key(0));
        for ms in 1..1000 {
            ways.get(key(ms));
            assert!(Arc::ptr_eq(&ways.get(key(0)), &first), "used each time");
        }
        assert_eq!(ways.kept.len(), MOST_WAYS);
        let kept = |ways: &Ways, ms| ways.kept.contains_key(&key(ms));
        assert!(kept(&ways, 999) && kept(&ways, 1001 - MOST_WAYS as u64));
        assert!(!kept(&ways, 1000 - MOST_WAYS as u64));
    }

    #[test]
    #[cfg(unix)]
    fn found_a18_no_descriptors_left_is_told_from_other_errors() {
        let of = |code: i32| is_out_of_files(&std::io::Error::from_raw_os_error(code));
        assert!(of(24) && of(23) && !of(111));
        let wrapped = std::io::Error::other(std::io::Error::from_raw_os_error(24));
        assert!(sources(&wrapped).any(is_out_of_files));
    }
}
