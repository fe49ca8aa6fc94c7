//! From an answer to bytes on the connection: checked and cut into pieces beforehand, then played as a hyper body.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Frame as BodyFrame, SizeHint};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::{Response, StatusCode};
use tokio::time::Sleep;

use crate::wire::Flushes;
use crate::{Answer, Body, Chunk};

/// An answer that can be given: nothing in it can fail any more.
#[derive(Debug)]
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
    /// Reads and checks; the message does not name the answer.
    pub(crate) fn new(answer: &Answer) -> Result<Prepared, String> {
        let status = answer.status.unwrap_or(200);
        if !(200..=599).contains(&status) {
            return Err(format!("status {status} is not the status of an answer; use 200 to 599"));
        }
        if answer.chunk == Chunk::Bytes(0) {
            return Err("chunk 0 would never send anything; use at least 1".into());
        }
        if answer.times == Some(0) {
            return Err("times 0: it would never be given; leave the answer out".into());
        }

        let (mut body, content_type) = render(&answer.body)?;
        if let Some(cut) = answer.cut_after {
            if cut > body.len() {
                return Err(format!("cut_after {cut}: the body has only {} bytes; use at most that", body.len()));
            }
            body.truncate(cut);
        }
        let end = match (answer.stall, answer.cut_after) {
            (true, _) => End::Stall,
            (false, Some(_)) => End::Cut,
            (false, None) => End::Finish,
        };

        Ok(Prepared {
            status: StatusCode::from_u16(status).map_err(|e| e.to_string())?,
            headers: headers(answer, content_type)?,
            pieces: split(body, answer.chunk),
            end,
            sized: answer.chunk == Chunk::Whole && end == End::Finish,
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

fn render(body: &Body) -> Result<(Bytes, &'static str), String> {
    const EVENTS: &str = "text/event-stream";
    const JSON: &str = "application/json";
    Ok(match body {
        Body::Text(text) => (Bytes::from(text.clone()), "text/plain; charset=utf-8"),
        Body::Json(value) => (Bytes::from(value.to_string()), JSON),
        Body::Frames(frames) => {
            let mut out = String::new();
            frames.iter().for_each(|frame| frame.write(&mut out));
            (Bytes::from(out), EVENTS)
        }
        Body::File(path) => {
            let bytes = std::fs::read(path)
                .map_err(|e| format!("body file {}: {e}; its path is relative to the script's folder", path.display()))?;
            let content_type = match Path::extension(path).and_then(|end| end.to_str()) {
                Some("sse") => EVENTS,
                Some("json") => JSON,
                _ => "application/octet-stream",
            };
            (Bytes::from(bytes), content_type)
        }
    })
}

fn headers(answer: &Answer, content_type: &'static str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
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

fn split(mut body: Bytes, chunk: Chunk) -> Vec<Bytes> {
    let mut pieces = Vec::new();
    while !body.is_empty() {
        let length = match chunk {
            Chunk::Whole => body.len(),
            Chunk::Frame => frame_length(&body),
            Chunk::Bytes(most) => most.min(body.len()),
        };
        pieces.push(body.split_to(length));
    }
    pieces
}

/// Up to and with the empty line (LF or CRLF) that ends the first frame, or everything.
fn frame_length(body: &[u8]) -> usize {
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
            // Nobody wakes this: hyper itself notices when the client leaves, and drops the body.
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
