//! `fetch_url`: gets a page, a text or an image from a public address, over the agent's network.
//!
//! It is asked for: what is in an address leaves this machine.

mod html;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_loop_proto::media::Media;
use agent_loop_proto::message::ContentBlock;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use serde_json::{Value, json};

use super::shared::{IMAGES, MadeTool, Shared};
use crate::error::Error;
use crate::log::Log;
use crate::threads::blocking;
use crate::tool::{FnTool, ToolContext};
use crate::transport::client::{Client, Response};
use crate::transport::network::Network;
use crate::transport::public;
use agent_loop_proto::gate::{Subject, SubjectKind};

/// How much of a body is read, and how much text a result has unless more is asked for, and at most.
const MOST_BODY: usize = 5 << 20;
const DEFAULT_BYTES: usize = 30_000;
const MOST_BYTES: usize = 200_000;

/// How many redirects are followed.
const MOST_REDIRECTS: usize = 5;

/// How long all of it may take, and how long a connection.
const LIMIT: Duration = Duration::from_secs(30);
const CONNECT_MS: u64 = 10_000;

/// Of an answer that says that it failed, as much as says why.
const FAILURE_BYTES: usize = 2000;

const DESCRIPTION: &str = "Gets what is at a public http or https address: the text of a page or a file, or an image. Follows \
    redirects. Of a long text, gives a part; read on with offset.";

struct Fetch {
    /// Connections of its own: none that others made leads to a private network.
    client: Client,
    allows_private: bool,
}

/// What came.
struct Answer {
    url: Url,
    status: u16,
    /// Its type, and the encoding of its characters, in small letters.
    kind: String,
    charset: String,
    body: Vec<u8>,
    is_cut: bool,
}

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "url": { "type": "string", "description": "The address, with http:// or https://." },
            "max_bytes": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_BYTES,
                "description": format!("The most text to give. Default: {DEFAULT_BYTES}."),
            },
            "offset": { "type": "integer", "minimum": 0, "description": "Where to begin in the text, in bytes. Default: 0." },
        },
        "required": ["url"],
    });
    let fetch = Fetch { client: Client::new(Log::default()), allows_private: shared.options.private_addresses };
    let fetch = Arc::new(fetch);
    let tool = FnTool::new("fetch_url", DESCRIPTION, parameters, move |arguments, context| {
        let fetch = Arc::clone(&fetch);
        async move { fetch.call(&arguments, &context).await }
    })?;
    Ok(Arc::new(tool.with_approval().with_subject(Subject::new("url", SubjectKind::Url))?))
}

impl Fetch {
    async fn call(&self, arguments: &Value, context: &ToolContext) -> Result<Value, String> {
        let text = |error: Error| error.message().to_owned();
        let given = arguments.get("url").and_then(Value::as_str).unwrap_or_default();
        let url = Url::parse(given.trim()).map_err(|error| format!("url: {given:?} is no address: {error}"))?;
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        let most = number("max_bytes").unwrap_or(DEFAULT_BYTES).min(MOST_BYTES);
        let offset = number("offset").unwrap_or_default();
        let result = async {
            let answer = self.follow(url, context.network()).await?;
            // A page of some megabytes takes its time.
            blocking(move || Ok(answer.result(offset, most))).await
        };
        let result = tokio::select! {
            result = tokio::time::timeout(LIMIT, result) => result,
            () = context.cancel_token().wait() => return Err("the call was aborted".to_owned()),
        };
        let late = |_| format!("{given} took longer than {} s", LIMIT.as_secs());
        result.map_err(late)?.map_err(text)?
    }

    /// Gets it, and what it leads to.
    async fn follow(&self, mut url: Url, network: &Arc<Network>) -> Result<Answer, Error> {
        for _ in 0..=MOST_REDIRECTS {
            self.check(&url, network)?;
            let mut headers = HeaderMap::new();
            let accepted = "text/html, text/plain, application/json, image/*;q=0.9, */*;q=0.5";
            headers.insert(ACCEPT, HeaderValue::from_static(accepted));
            let response = self.client.fetch(&url, headers, !self.allows_private, CONNECT_MS, network).await?;
            let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            match (response.status(), location) {
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    let wrong =
                        |error| Error::invalid_argument(format!("{url} leads to {location:?}, which is no address: {error}"));
                    let next = url.join(location).map_err(wrong)?;
                    self.check(&next, network)?;
                    if !is_same_host(&url, &next) {
                        let text = format!("{url} leads to another host: {next}. Fetch that, if it is what you want");
                        return Err(Error::invalid_argument(text));
                    }
                    url = next;
                }
                _ => return read(url, response).await,
            }
        }
        Err(Error::invalid_argument(format!("more than {MOST_REDIRECTS} redirects, the last one to {url}")))
    }

    /// Whether this address may be asked. What a name leads to is checked when it is resolved.
    fn check(&self, url: &Url, network: &Network) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::invalid_argument(format!("url: {why}")));
        if !matches!(url.scheme(), "http" | "https") {
            return wrong(format!("only http and https are fetched, not {}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("give an address without a user and a password".to_owned());
        }
        let Some(host) = url.host_str().filter(|_| !self.allows_private) else { return Ok(()) };
        // However it was written: reading the address has put it into its usual form.
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        // The option `network` may have an address in place of DNS.
        let of_option = || network.resolve.get(host).map(|address| address.ip());
        let address = literal.or_else(of_option).or_else(|| address_of(host));
        match address.filter(|address| !public::is_public(*address)) {
            Some(address) => Err(public::refused(host, address)),
            None => Ok(()),
        }
    }
}

/// Whether approval of the one is approval of the other: the same server, or the same host's secure one.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let is_secured = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none() && to.port().is_none();
    from.host() == to.host()
        && (is_secured || (from.scheme() == to.scheme() && from.port_or_known_default() == to.port_or_known_default()))
}

/// The address of a name that is never public.
fn address_of(name: &str) -> Option<IpAddr> {
    let name = name.trim_end_matches('.');
    let is_local = ["localhost", "local", "internal"]
        .iter()
        .any(|end| name.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.')));
    is_local.then_some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST))
}

async fn read(url: Url, mut response: Response) -> Result<Answer, Error> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.to_ascii_lowercase();
    let charset = kind.split_once("charset=").map(|(_, charset)| charset.trim_matches(['"', ' ']).to_owned());
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    let (mut body, mut is_cut) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await? {
        let room = MOST_BODY - body.len();
        is_cut = chunk.len() > room;
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if is_cut {
            break;
        }
    }
    Ok(Answer { url, status: response.status(), kind, charset: charset.unwrap_or_default(), body, is_cut })
}

impl Answer {
    fn result(self, offset: usize, most: usize) -> Result<Value, String> {
        let (url, status) = (self.url.clone(), self.status);
        if !(200..300).contains(&status) {
            let why = self.text().unwrap_or_default();
            let why = cut(&why, 0, FAILURE_BYTES).trim();
            return Err(format!("{url} answered with status {status}{}{why}", if why.is_empty() { "" } else { ":\n" }));
        }
        let details = json!({ "url": url.as_str(), "status": status, "mime_type": self.kind, "bytes": self.body.len() });
        if IMAGES.contains(&&*self.kind) {
            if self.is_cut {
                return Err(format!("the image at {url} is larger than {MOST_BODY} bytes"));
            }
            let image = ContentBlock::Image(Media::bytes(&self.body, self.kind));
            return Ok(json!({ "content": [image], "details": details }));
        }
        let Some(text) = self.text() else {
            let kind = if self.kind.is_empty() { "of no known type" } else { &self.kind };
            return Err(format!("what is at {url} is {kind}, and neither text nor an image that models take"));
        };
        if offset > 0 && offset >= text.len() {
            return Err(format!("offset: the text has {} bytes", text.len()));
        }
        let part = cut(&text, offset, most);
        let from = part.as_ptr().addr() - text.as_ptr().addr();
        let (to, total) = (from + part.len(), text.len());
        let mut head = format!("{url} ({})", if self.kind.is_empty() { "text" } else { &self.kind });
        if part.len() < total {
            head += &format!(", bytes {from} to {to} of {total}");
        }
        if to < total {
            head += &format!("; read on with offset: {to}");
        }
        if self.is_cut {
            head += &format!("; the rest behind the first {MOST_BODY} bytes of the answer was not read");
        }
        Ok(json!({ "content": [{ "type": "text", "text": format!("{head}\n\n{part}") }], "details": details }))
    }

    /// The text; a page as it is read. None if it is none.
    fn text(&self) -> Option<String> {
        let is_html = matches!(&*self.kind, "text/html" | "application/xhtml+xml");
        let known = ["text/", "+json", "+xml", "/json", "/xml", "javascript", "yaml", "toml", "x-sh", "x-ndjson", "jsonl"];
        let is_text = is_html || known.iter().any(|part| self.kind.contains(part));
        if !is_text && (!self.kind.is_empty() || self.body.contains(&0)) {
            return None;
        }
        let text = match &*self.charset {
            // One byte for each character, of which the few that Windows has in addition are rare.
            "iso-8859-1" | "latin1" | "windows-1252" => self.body.iter().map(|byte| char::from(*byte)).collect(),
            _ => String::from_utf8_lossy(&self.body).into_owned(),
        };
        Some(if is_html { html::text_of(&text, &self.url) } else { text })
    }
}

/// A part of a text, in whole characters.
fn cut(text: &str, from: usize, most: usize) -> &str {
    let boundary = |at: usize| (at.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let from = boundary(from);
    text.get(from..boundary(from + most)).unwrap_or_default()
}
