//! Serves the page on this machine, to whoever knows its address.
//!
//! It answers two requests: `/TOKEN/` is the page, `/TOKEN/data` what is new since the page had a version. `/CODE/` leads to the
//! page once: for the command line of a browser, which other users of the machine can read. Other addresses, other methods and
//! other names of the host (a page elsewhere whose name leads here) get an error.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::page;
use crate::failure::Failure;

/// The longest head of a request.
const MOST_BYTES: usize = 16 << 10;

/// How long a browser may take for its request. It opens connections before it needs them.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// How long a request for what is new waits.
const NOTHING_NEW: Duration = Duration::from_secs(20);

/// After a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// What is shown, and how often that has changed.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) version: u64,
    pub(super) documents: Vec<Value>,
    /// Why it cannot be read any more.
    pub(super) failure: Option<String>,
}

pub(super) struct Server {
    listener: TcpListener,
    about: Arc<About>,
}

struct About {
    token: String,
    /// `None` once it was used.
    code: Mutex<Option<String>>,
    /// How a browser names this server: `127.0.0.1:PORT`, `localhost:PORT`.
    hosts: [String; 2],
    shown: watch::Receiver<Arc<Shown>>,
}

impl Server {
    /// Listens on this port, or on a free one.
    ///
    /// # Errors
    /// The port is taken, or needs other rights.
    pub(super) async fn listen(port: u16, shown: watch::Receiver<Arc<Shown>>) -> Result<Server, Failure> {
        let failed = |why: std::io::Error| Failure::usage(format!("the port {port} cannot be used: {why}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let (token, code) = (page::random()?, Mutex::new(Some(page::random()?)));
        Ok(Server { listener, about: Arc::new(About { token, code, hosts, shown }) })
    }

    /// Where the page is.
    pub(super) fn address(&self) -> String {
        let About { token, hosts: [host, _], .. } = &*self.about;
        format!("http://{host}/{token}/")
    }

    /// An address that leads there once.
    pub(super) fn address_for_once(&self) -> String {
        let About { code, hosts: [host, _], .. } = &*self.about;
        let code = code.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
        format!("http://{host}/{code}/")
    }

    /// Answers requests, until it is dropped.
    pub(super) async fn serve(self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(answer(stream, Arc::clone(&self.about)))),
                // The connection was given up, or the process has no more files just now.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

/// Answers the one request of a connection.
async fn answer(mut stream: TcpStream, about: Arc<About>) {
    let Ok(Some(head)) = tokio::time::timeout(REQUEST_LIMIT, head(&mut stream)).await else { return };
    let (status, kind, body) = about.response(&head).await;
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\nx-frame-options: DENY\r\n\
         cross-origin-resource-policy: same-origin\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The user may have closed the page.
    if stream.write_all(response.as_bytes()).await.is_ok() && stream.write_all(body.as_bytes()).await.is_ok() {
        let _ = stream.shutdown().await;
    }
}

/// The head of a request.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        if head.len() > MOST_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

impl About {
    /// The status, the type and the content of a response.
    async fn response(&self, head: &str) -> (&'static str, &'static str, String) {
        let plain = |status, text: &str| (status, "text/plain", format!("{text}\n"));
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let host = lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("host"));
        if !host.is_some_and(|(_, host)| self.hosts.iter().any(|known| known == host.trim())) {
            return plain("403 Forbidden", "This server is only for the address that agent view has printed.");
        }
        if method != "GET" {
            return plain("405 Method Not Allowed", "This server only has a page to read.");
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if self.is_code(path) {
            let to = format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=/{}/\">", self.token);
            return ("200 OK", "text/html", to);
        }
        match path.strip_prefix('/').and_then(|path| path.strip_prefix(&*self.token)) {
            Some("/") => {
                let shown = Arc::clone(&self.shown.borrow());
                match page::page(&shown.documents, Some(shown.version)) {
                    Ok(page) => ("200 OK", "text/html", page),
                    Err(failure) => plain("500 Internal Server Error", &failure.text),
                }
            }
            Some("/data") => ("200 OK", "application/json", self.news(query).await),
            _ => plain("404 Not Found", "This is not the address that agent view has printed."),
        }
    }

    /// Whether a path has the code, which is used then.
    fn is_code(&self, path: &str) -> bool {
        let given = path.strip_prefix('/').and_then(|path| path.strip_suffix('/'));
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        code.take_if(|code| given == Some(code)).is_some()
    }

    /// What is new since the version `seen`: of each document, the runs behind those in `from` that the page keeps.
    async fn news(&self, query: &str) -> String {
        let given = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default();
        let seen = given("seen").parse().unwrap_or(0_u64);
        let mut shown = self.shown.clone();
        // Without news, or when the program ends, it has what is there.
        let _ = tokio::time::timeout(NOTHING_NEW, shown.wait_for(|shown| shown.version != seen)).await;
        let shown = Arc::clone(&shown.borrow());
        if shown.version == seen {
            return json!({ "version": seen }).to_string();
        }
        let mut kept = given("from").split(',');
        let newer = |document: &Value| {
            let mut document = document.clone();
            let from = kept.next().and_then(|kept| still_kept(kept, &document)).unwrap_or_default();
            if let Some(runs) = document.get_mut("runs").and_then(Value::as_array_mut) {
                runs.drain(..from.min(runs.len()));
            }
            json!({ "from": from, "document": document })
        };
        let documents: Vec<Value> = shown.documents.iter().map(newer).collect();
        json!({ "version": shown.version, "documents": documents, "failure": shown.failure }).to_string()
    }
}

/// How many runs a page keeps, as it says with the number of entries and the id of the last one. `None` where that is another one
/// by now.
fn still_kept(kept: &str, document: &Value) -> Option<usize> {
    let mut parts = kept.splitn(3, '~');
    let kept: usize = parts.next()?.parse().ok()?;
    let entries: usize = parts.next()?.parse().ok()?;
    let last = document.get("runs")?.get(kept.checked_sub(1)?)?;
    let is_same = last.get("entries")?.as_array()?.len() == entries
        && last.get("id").and_then(Value::as_str).unwrap_or_default() == parts.next()?;
    is_same.then_some(kept)
}
