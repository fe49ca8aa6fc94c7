//! From an answer to bytes on the connection: checked and cut into pieces beforehand, then played as a hyper body.

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Frame as BodyFrame, SizeHint};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::{Response, StatusCode};
use tokio::time::Sleep;

use crate::answer::Encoding;
use crate::failure::Failure;
use crate::route::Format;
use crate::speak::{self, Asked};
use crate::wire::Flushes;
use crate::{Answer, Body, Chunk};

/// An answer that can be given: nothing in it can fail any more.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    status: StatusCode,
    headers: HeaderMap,
    pieces: Vec<Bytes>,
    end: End,
    /// One piece that is sent to its end has a `content-length`; everything else is chunked.
    sized: bool,
    pub(crate) delay: Duration,
    between: Duration,
}

/// What comes after the last piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finish,
    Cut,
    Stall,
}

impl Prepared {
    /// Reads and checks; the message does not name the answer. The request matters only if the answer is neutral.
    pub(crate) fn new(answer: &Answer, asked: &Asked) -> Result<Prepared, String> {
        let rendered = render(answer, asked)?;
        let status = answer.status.unwrap_or(rendered.status);
        if !(200..=599).contains(&status) {
            return Err(format!("status {status} is not the status of an answer; use 200 to 599"));
        }
        let chunk = answer.chunks();
        if chunk == Chunk::Bytes(0) {
            return Err("chunk 0 would never send anything; use at least 1".into());
        }
        if answer.times == Some(0) {
            return Err("times 0: it would never be given; leave the answer out".into());
        }

        let headers = headers(answer, &rendered)?;
        let (mut body, lengths) = encoded(rendered.body, chunk, answer.encoding);
        for (name, at) in [("garble_after", answer.garble_after), ("cut_after", answer.cut_after)] {
            if let Some(at) = at.filter(|at| *at > body.len()) {
                return Err(format!("{name} {at}: the body has only {} bytes; use at most that", body.len()));
            }
        }
        garble(&mut body, answer.garble_after.unwrap_or(usize::MAX));
        body.truncate(answer.cut_after.unwrap_or(usize::MAX));
        let end = match (answer.stall, answer.cut_after) {
            (true, _) => End::Stall,
            (false, Some(_)) => End::Cut,
            (false, None) => End::Finish,
        };

        Ok(Prepared {
            status: StatusCode::from_u16(status).map_err(|e| e.to_string())?,
            headers,
            pieces: pieces(body.into(), &lengths),
            end,
            sized: chunk == Chunk::Whole && end == End::Finish,
            delay: Duration::from_millis(answer.delay_ms),
            between: Duration::from_millis(answer.frame_delay_ms),
        })
    }

    /// A response of this answer for a connection with these flushes.
    pub(crate) fn response(&self, flushes: Flushes) -> Response<Playback> {
        let body = Playback {
            pieces: self.pieces.iter().cloned().collect(),
            end: self.end,
            sized: self.sized,
            between: self.between,
            pause: None,
            all_given_at: None,
            flushes,
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response
    }
}

/// A body as it is before it is compressed, cut or garbled, and what belongs to it.
struct Rendered {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: Vec<u8>,
}

fn render(answer: &Answer, asked: &Asked) -> Result<Rendered, String> {
    const EVENTS: &str = "text/event-stream";
    const AWS_EVENTS: &str = "application/vnd.amazon.eventstream";
    const JSON: &str = "application/json";
    if answer.failure.is_some() && answer.error_after.is_none() {
        return Err("failure is the error of error_after, which is not set; for a refusal set the body to {\"error\": …}".into());
    }
    if answer.error_after.is_some() && !matches!(answer.body, Body::Message(_)) {
        return Err("error_after counts the events of a message; this body is none".into());
    }
    let format = asked.route.format;
    let (body, content_type) = match &answer.body {
        Body::Text(text) => (text.clone().into_bytes(), "text/plain; charset=utf-8"),
        Body::Json(value) => (value.to_string().into_bytes(), JSON),
        Body::Frames(frames) => {
            let mut out = String::new();
            frames.iter().for_each(|frame| frame.write(&mut out));
            (out.into_bytes(), EVENTS)
        }
        Body::File(path) => {
            let bytes = std::fs::read(path)
                .map_err(|e| format!("body file {}: {e}; its path is relative to the script's folder", path.display()))?;
            let content_type = match Path::extension(path).and_then(|end| end.to_str()) {
                Some("sse") => EVENTS,
                Some("json") => JSON,
                _ => "application/octet-stream",
            };
            (bytes, content_type)
        }
        Body::Message(speech) => {
            let frames = speak::frames(
                speech,
                asked,
                answer.error_after.map(|after| (after, answer.failure.unwrap_or(Failure::Overloaded))),
            )?;
            (speak::bytes(&frames, format), if format == Format::Converse { AWS_EVENTS } else { EVENTS })
        }
        Body::Error(failure) => {
            let complaint = failure.complaint(&asked.route, &asked.model);
            let mut headers = failure.headers(format, asked.flavour).to_vec();
            headers.push((CONTENT_TYPE.as_str(), JSON));
            let body = complaint.body(&asked.route, asked.flavour).to_string().into_bytes();
            return Ok(Rendered { status: complaint.status, headers, body });
        }
    };
    Ok(Rendered { status: 200, headers: vec![(CONTENT_TYPE.as_str(), content_type)], body })
}

/// The body of this answer to this request, compressed if it shall be, but neither garbled nor cut.
pub(crate) fn whole_body(answer: &Answer, asked: &Asked) -> Result<Vec<u8>, String> {
    Ok(encoded(render(answer, asked)?.body, answer.chunks(), answer.encoding).0)
}

fn headers(answer: &Answer, rendered: &Rendered) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &rendered.headers {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    if answer.encoding == Some(Encoding::Gzip) {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    for (name, value) in &answer.headers {
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("header {name:?} is not a header name"))?;
        if key == CONTENT_LENGTH || key == TRANSFER_ENCODING {
            return Err(format!("header {name:?} follows from the body; use chunk, cut_after or stall"));
        }
        let value =
            HeaderValue::from_str(value).map_err(|_| format!("header {name:?}: {value:?} cannot be sent; use visible ASCII"))?;
        headers.insert(key, value);
    }
    Ok(headers)
}

/// The bytes that are sent, and the lengths of the pieces in which they are.
fn encoded(body: Vec<u8>, chunk: Chunk, encoding: Option<Encoding>) -> (Vec<u8>, Vec<usize>) {
    match (encoding, chunk) {
        (None, _) => {
            let lengths = lengths(&body, chunk);
            (body, lengths)
        }
        (Some(Encoding::Gzip), Chunk::Frame) => gzip(&body, &lengths(&body, chunk)),
        (Some(Encoding::Gzip), _) => {
            let (body, _) = gzip(&body, &[body.len()]);
            let lengths = lengths(&body, chunk);
            (body, lengths)
        }
    }
}

/// Compresses piece by piece, each so that it can be read when it is there.
fn gzip(body: &[u8], lengths: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let (mut rest, mut ends) = (body, Vec::new());
    for length in lengths {
        let (piece, left) = rest.split_at(*length);
        rest = left;
        // Writing to a Vec cannot fail.
        let _ = encoder.write_all(piece).and_then(|()| encoder.flush());
        ends.push(encoder.get_ref().len());
    }
    let bytes = encoder.finish().unwrap_or_default();
    if let Some(last) = ends.last_mut() {
        *last = bytes.len();
    }
    let lengths = ends.iter().zip([0].iter().chain(&ends)).map(|(end, begin)| end - begin).collect();
    (bytes, lengths)
}

/// Overwrites what comes from here on, all but line ends and the field name at the beginning of a line.
fn garble(body: &mut [u8], from: usize) {
    const FIELD: &[u8] = b"data: ";
    let Some(rest) = body.get_mut(from..) else { return };
    let mut begin = 0;
    while begin < rest.len() {
        let end = rest[begin..].iter().position(|byte| *byte == b'\n').map_or(rest.len(), |length| begin + length + 1);
        let line = &mut rest[begin..end];
        let field = if line.starts_with(FIELD) { FIELD.len() } else { 0 };
        for (index, byte) in line.iter_mut().enumerate().skip(field) {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = if index % 2 == 0 { 0xff } else { b'{' };
            }
        }
        begin = end;
    }
}

fn pieces(mut body: Bytes, lengths: &[usize]) -> Vec<Bytes> {
    let mut pieces = Vec::new();
    for length in lengths {
        if body.is_empty() {
            break; // cut
        }
        pieces.push(body.split_to((*length).min(body.len())));
    }
    pieces
}

fn lengths(body: &[u8], chunk: Chunk) -> Vec<usize> {
    let (mut rest, mut lengths) = (body, Vec::new());
    while !rest.is_empty() {
        let length = match chunk {
            Chunk::Whole => rest.len(),
            Chunk::Frame => frame_length(rest),
            Chunk::Bytes(most) => most.min(rest.len()),
        };
        lengths.push(length);
        rest = &rest[length..];
    }
    lengths
}

/// Up to and with the empty line (LF or CRLF) that ends the first frame, or everything. A message of AWS's event stream begins
/// with its length, of which the first byte is 0.
fn frame_length(body: &[u8]) -> usize {
    if let Some(length) = body.first_chunk().filter(|length| length[0] == 0) {
        return (u32::from_be_bytes(*length) as usize).clamp(1, body.len());
    }
    let mut length = 0;
    let mut has_lines = false; // an empty line before any other ends nothing
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        length += line.len();
        let blank = matches!(line, b"\n" | b"\r\n");
        if blank && has_lines {
            return length;
        }
        has_lines |= !blank;
    }
    length
}

/// A body that gives its pieces one by one and then ends, breaks off or says nothing more.
pub(crate) struct Playback {
    pieces: VecDeque<Bytes>,
    end: End,
    sized: bool,
    between: Duration,
    pause: Option<Pin<Box<Sleep>>>,
    /// How many flushes there had been when hyper had taken the last piece and asked for more.
    all_given_at: Option<u64>,
    flushes: Flushes,
}

impl Playback {
    /// A whole body that ends.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Playback {
        Playback {
            pieces: VecDeque::from([bytes.into()]),
            end: End::Finish,
            sized: true,
            between: Duration::ZERO,
            pause: None,
            all_given_at: None,
            flushes: Flushes::default(),
        }
    }
}

/// The error that makes hyper drop the connection.
#[derive(Debug)]
pub(crate) struct CutHere;

impl fmt::Display for CutHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut here by the script")
    }
}

impl std::error::Error for CutHere {}

impl hyper::body::Body for Playback {
    type Data = Bytes;
    type Error = CutHere;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<BodyFrame<Bytes>, CutHere>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        if let Some(piece) = self.pieces.pop_front() {
            if !self.pieces.is_empty() && !self.between.is_zero() {
                self.pause = Some(Box::pin(tokio::time::sleep(self.between)));
            }
            return Poll::Ready(Some(Ok(BodyFrame::data(piece))));
        }
        match self.end {
            End::Finish => Poll::Ready(None),
            // Nothing wakes this: hyper itself notices when the client leaves, and drops the body.
            End::Stall => Poll::Pending,
            End::Cut => {
                let now = self.flushes.count();
                let given_at = *self.all_given_at.get_or_insert(now);
                ready!(self.flushes.poll_more_than(given_at, context));
                Poll::Ready(Some(Err(CutHere)))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        if self.sized {
            SizeHint::with_exact(self.pieces.iter().map(|piece| piece.len() as u64).sum())
        } else {
            SizeHint::default()
        }
    }
}

#[cfg(test)]
mod tests;
