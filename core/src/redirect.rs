//! Receives the redirect that ends a sign-in: the authorization server sends the user's browser to a loopback address.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::error::{Error, ErrorKind};
use crate::transport::loopback::is_loopback;

/// The longest line that is read.
const MOST_BYTES: usize = 16 << 10;

/// How long a browser may take for its request. It opens connections before it needs them.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// After a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// A loopback address where the engine listens.
pub(crate) struct Redirects {
    listener: TcpListener,
    uri: Url,
}

impl Redirects {
    /// Listens at a loopback address, on a free port if none is given. `None` for an address of another kind.
    ///
    /// # Errors
    /// `io`: the port is taken, or needs other rights.
    pub(crate) async fn at(given: Option<&str>) -> Result<Option<Redirects>, Error> {
        let of_io = |uri: &str, error: std::io::Error| {
            let text = format!("oauth: the engine cannot listen at the redirect_uri {uri}: {error}");
            Error::new(ErrorKind::Io, text).with_source(error)
        };
        let text = given.unwrap_or("http://127.0.0.1:0/callback");
        let mut uri = Url::parse(text).map_err(|error| Error::invalid_argument(format!("oauth: redirect_uri: {error}")))?;
        let host = uri.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if uri.scheme() != "http" || !is_loopback(&uri) {
            return Ok(None);
        }
        let port = uri.port_or_known_default().unwrap_or_default();
        let listener = TcpListener::bind((host.as_str(), port)).await.map_err(|error| of_io(text, error))?;
        let port = listener.local_addr().map_err(|error| of_io(text, error))?.port();
        // It can be: it is an address of HTTP.
        let _ = uri.set_port(Some(port));
        Ok(Some(Redirects { listener, uri }))
    }

    /// The address, for the authorization server.
    pub(crate) fn uri(&self) -> &str {
        self.uri.as_str()
    }

    /// The address that the browser was sent to, of the sign-in with this state; without one, that with this path. Others get a
    /// page that says so.
    pub(crate) async fn next(&self, state: Option<&str>) -> String {
        let mut requests = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else {
                        // The connection was given up, or the process has no more files just now.
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    };
                    let (uri, state) = (self.uri.clone(), state.map(str::to_owned));
                    let answered = async move { answer(stream, &uri, state.as_deref()).await };
                    requests.spawn(async move { tokio::time::timeout(REQUEST_LIMIT, answered).await.ok()? });
                }
                answered = requests.join_next(), if !requests.is_empty() => {
                    if let Some(Ok(Some(redirected))) = answered {
                        return redirected;
                    }
                }
            }
        }
    }
}

/// Answers a request of the browser; the address that it was sent to, if it is that of the sign-in.
async fn answer(mut stream: TcpStream, uri: &Url, state: Option<&str>) -> Option<String> {
    let redirected = target(&mut stream).await.and_then(|target| uri.join(&target).ok()).filter(|url| {
        let is_ours = state.is_none_or(|state| url.query_pairs().any(|(name, value)| name == "state" && value == state));
        is_ours && url.path() == uri.path() && url.origin() == uri.origin()
    });
    let (status, text) = match &redirected {
        None => ("404 Not Found", "This is not the address of a sign-in."),
        Some(url) if url.query_pairs().any(|(name, _)| name == "error") => ("200 OK", "You are not signed in."),
        Some(_) => ("200 OK", "You are signed in, and can close this page."),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Sign-in</title><p>{text}</p>");
    let length = page.len();
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\ncache-control: no-store\r\n\
         connection: close\r\n\r\n{page}"
    );
    // The user may have closed the page.
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
    redirected.map(String::from)
}

/// The target in the first line of a request. Reads to the end of the head: a connection that is closed before is reset.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        if head.len() > MOST_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let (target, version) = head.lines().next()?.strip_prefix("GET ")?.split_once(' ')?;
    (target.starts_with('/') && version.starts_with("HTTP/1.")).then(|| target.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(port: u16, target: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn only_the_redirect_of_the_sign_in_counts() {
        let redirects = Redirects::at(None).await.unwrap().unwrap();
        let port = redirects.uri.port().unwrap();
        let waits = tokio::spawn(async move { redirects.next(Some("s1")).await });
        // Nothing is sent on it.
        let _idle = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        for target in
            ["/favicon.ico", "/callback?code=c&state=other", "/callback", "/other?code=c&state=s1", "//evil/callback?state=s1"]
        {
            assert!(get(port, target).await.starts_with("HTTP/1.1 404 "), "{target}");
        }
        let page = get(port, "/callback?code=c&state=s1").await;
        assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("You are signed in"), "{page}");
        assert_eq!(waits.await.unwrap(), format!("http://127.0.0.1:{port}/callback?code=c&state=s1"));
    }

    #[tokio::test]
    async fn an_address_elsewhere_is_not_ours() {
        for uri in ["https://app.example/callback", "http://app.example/callback", "com.example.app:/callback"] {
            assert!(Redirects::at(Some(uri)).await.unwrap().is_none(), "{uri}");
        }
        let taken = Redirects::at(None).await.unwrap().unwrap();
        let error = Redirects::at(Some(taken.uri())).await.map(drop).unwrap_err();
        assert!(error.message().starts_with("oauth: the engine cannot listen at the redirect_uri http://127.0.0.1:"), "{error}");
    }
}
