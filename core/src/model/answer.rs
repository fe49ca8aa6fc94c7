//! The answer of a model's server: its head, its bytes and its end become deltas, or an error. No IO: who has the bytes feeds
//! them.

use agent_loop_proto::answer_reader::AnswerReader;
use agent_loop_proto::framing::Splitter;
use agent_loop_proto::sse::Frame;
use agent_loop_proto::table::codes;
use agent_loop_proto::{provider_error, retry_after, surrogate};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use serde_json::{Map, Value};

use super::endpoint::Endpoint;
use super::interface::Delta;
use crate::error::{Error, ErrorKind};
use crate::transport::client::place;

/// The most of an error answer that is read, in bytes.
const MAX_ERROR_BODY: usize = 64 << 10;

/// An answer that comes in.
pub(crate) struct HttpAnswer {
    status: u16,
    body: Body,
}

enum Body {
    /// The frames of an answer.
    Stream { splitter: Splitter, reader: Box<AnswerReader> },
    /// What the server says in place of an answer.
    Refusal(Vec<u8>),
    /// Nothing that follows counts.
    Over,
}

/// What an answer's end is read with.
pub(crate) struct Ending<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) headers: &'a HeaderMap,
    /// The time, for a demand to wait until a date.
    pub(crate) now_ms: u64,
    /// Takes keys out of a text: before it is shortened, where one would lose its end.
    pub(crate) redacted: &'a dyn Fn(&str) -> String,
}

impl HttpAnswer {
    pub(crate) fn new(endpoint: &Endpoint, status: u16, raw_events: bool) -> HttpAnswer {
        let protocol = endpoint.encoder.served.protocol;
        let body = match status {
            200 => {
                let reader = AnswerReader::new(protocol.decoder(endpoint.target()), endpoint.provider(), raw_events);
                Body::Stream { splitter: Splitter::new(protocol.framing()), reader: Box::new(reader) }
            }
            _ => Body::Refusal(Vec::new()),
        };
        HttpAnswer { status, body }
    }

    /// Whether more of the body is to be read.
    pub(crate) fn wants_more(&self) -> bool {
        match &self.body {
            Body::Stream { .. } => true,
            Body::Refusal(body) => !self.is_redirect() && body.len() < MAX_ERROR_BODY,
            Body::Over => false,
        }
    }

    /// Takes in bytes of the body.
    ///
    /// # Errors
    /// Those of the frames: nothing that follows counts then.
    pub(crate) fn feed(&mut self, chunk: &[u8], out: &mut Vec<Delta>) -> Result<(), Error> {
        match &mut self.body {
            Body::Stream { splitter, reader } => {
                let read = splitter.feed(chunk, |frame| reader.frame(&frame, out));
                if !matches!(read, Ok(true)) {
                    self.body = Body::Over;
                }
                read.map(drop)
            }
            Body::Refusal(body) => {
                let room = MAX_ERROR_BODY.saturating_sub(body.len());
                body.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
                Ok(())
            }
            Body::Over => Ok(()),
        }
    }

    /// The body has ended.
    ///
    /// # Errors
    /// What the server refused with, or what is wrong with the answer: it is not complete, or none.
    pub(crate) fn end(&mut self, ending: &Ending<'_>, out: &mut Vec<Delta>) -> Result<(), Error> {
        match std::mem::replace(&mut self.body, Body::Over) {
            Body::Stream { mut splitter, mut reader } => {
                // A last frame that cannot be read is half of one.
                let more = match splitter.finish(|frame: Frame<'_>| reader.frame(&frame, out)) {
                    Err(error) if error.kind() == ErrorKind::Protocol => true,
                    end => end?,
                };
                if !more {
                    return Ok(());
                }
                let stray = || (ending.redacted)(&String::from_utf8_lossy(splitter.stray()));
                reader.end(out).map_err(|error| no_stream(ending, &stray(), reader.has_begun(), error))
            }
            Body::Refusal(body) => Err(self.refusal(ending, &body)),
            Body::Over => Ok(()),
        }
    }

    /// The connection broke before the end of the body, with this error.
    ///
    /// # Errors
    /// The same one, unless all was said; what the server refused with, as far as it came.
    pub(crate) fn broken(&mut self, error: Error, ending: &Ending<'_>, out: &mut Vec<Delta>) -> Result<(), Error> {
        match std::mem::replace(&mut self.body, Body::Over) {
            // There are servers that hang up without ending the body: no harm, when all was said.
            Body::Stream { mut reader, .. } => {
                let message = format!("{}; the answer is complete, but its usage may be missing", error.message());
                reader.end(out).map_err(|_| error.with_provider(ending.endpoint.provider()))?;
                out.push(Delta::Diagnostic { code: codes::BROKEN_END.into(), message, data: Box::default() });
                Ok(())
            }
            Body::Refusal(body) => Err(self.refusal(ending, &body)),
            Body::Over => Ok(()),
        }
    }

    fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status)
    }

    /// The error of an answer that is not 200.
    fn refusal(&self, ending: &Ending<'_>, body: &[u8]) -> Error {
        let (endpoint, status) = (ending.endpoint, self.status);
        let header = |name: &str| ending.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let request_id = ["request-id", "x-request-id", "x-amzn-requestid"].iter().find_map(|name| header(name));
        let demanded_ms = retry_after::of_headers(&header, status, ending.now_ms);
        let mut error = if self.is_redirect() {
            // Where the address has a key in its query, so has this.
            let location = header("location").and_then(|to| endpoint.url.join(&to).ok()).map(|to| place(&to));
            let to = location.unwrap_or_else(|| "another address".to_owned());
            let from = place(&endpoint.url);
            let text = format!("{from} answered {status}, a redirect to {to}; redirects are not followed, set base_url");
            Error::new(ErrorKind::Protocol, text).with_provider(endpoint.provider()).with_http_status(status)
        } else {
            let body = (ending.redacted)(&String::from_utf8_lossy(body));
            let body = header(AWS_ERROR).and_then(|kind| typed(&body, &kind)).unwrap_or(body);
            provider_error::from_http(endpoint.provider(), &endpoint.server(), status, &body)
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

/// The header with the type of an error of AWS.
const AWS_ERROR: &str = "x-amzn-errortype";

/// The body of an error of AWS with its type: `ThrottlingException:http://…`.
fn typed(body: &str, kind: &str) -> Option<String> {
    let mut error: Map<String, Value> = serde_json::from_str(body).ok()?;
    let kind = kind.split(':').next().unwrap_or_default();
    error.entry("type").or_insert_with(|| kind.into());
    serde_json::to_string(&error).ok()
}

/// The error of a stream that did not come to its end, by what stood there instead of frames (without keys): an error in bare
/// JSON, or a page.
fn no_stream(ending: &Ending<'_>, stray: &str, begun: bool, truncated: Error) -> Error {
    let stray = stray.trim();
    if stray.is_empty() {
        return truncated;
    }
    let provider = ending.endpoint.provider();
    let start: String = stray.chars().take(200).collect();
    let header = |name: &str| ending.headers.get(name).and_then(|value| value.to_str().ok());
    let of_aws = header(AWS_ERROR).and_then(|kind| typed(stray, kind));
    let value = surrogate::value(of_aws.as_deref().unwrap_or(stray)).ok();
    if let Some(value) = value.as_ref().filter(|value| of_aws.is_some() || provider_error::is_error(value)) {
        return provider_error::from_stream(provider, value);
    }
    if begun {
        return truncated.clone().reworded(|why| format!("{why}; between the frames stood {start:?}"));
    }
    let kind = header(CONTENT_TYPE.as_str()).unwrap_or("no content type");
    let server = ending.endpoint.server();
    let is_stream = kind.starts_with(ending.endpoint.encoder.served.protocol.framing().content_type());
    // Each letter has a zero byte beside it.
    let text = match start.contains('\0') {
        true => format!("{server} answered in UTF-16 ({kind}); its answers can only be read in UTF-8"),
        false if is_stream => format!("{server} answered with {kind}, but what came are no events: {start}"),
        false => format!("{server} answered with {kind} instead of an event stream (is base_url right?): {start}"),
    };
    Error::new(ErrorKind::Protocol, text).with_provider(provider)
}

/// The head of a response, for the hook that is asked about it.
pub(crate) fn head(status: u16, headers: &HeaderMap) -> Delta {
    Delta::Response { status, headers: Box::new(listed(headers)) }
}

/// Headers by name; those of one name in one text.
pub(crate) fn listed(headers: &HeaderMap) -> Map<String, Value> {
    let text = |name: &HeaderName| {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        values.collect::<Vec<_>>().join(", ")
    };
    headers.keys().map(|name| (name.as_str().to_owned(), text(name).into())).collect()
}
