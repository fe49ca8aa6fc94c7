//! Bytes to frames: AWS's binary event stream, `application/vnd.amazon.eventstream`
//! (<https://smithy.io/2.0/aws/amazon-eventstream.html>). A message is a prelude (its length, the length of its headers, the
//! prelude's CRC32), headers, a payload, and the CRC32 of all that. All numbers are big-endian.
//!
//! A frame has the header `:event-type` as its event, and the payload as its data. Exceptions and errors are frames with the
//! event `error`, whose data is `{"error": {"type", "message", …}}`. What does not begin as a message is no event stream: it is
//! kept, so that an error can quote it.
//!
//! A frame that lies within one chunk is handed out without a copy.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::error::{Error, ErrorKind};
use crate::sse::{Frame, MAX_FRAME_BYTES, MAX_STRAY_BYTES, lossy};
use crate::surrogate;

/// Two lengths and their checksum.
const PRELUDE: usize = 12;

/// A checksum.
const CHECKSUM: usize = 4;

/// The most bytes that the headers of a message may have, as its specification says.
const MAX_HEADER_BYTES: usize = 128 << 10;

/// Splits a stream that comes in chunks.
#[derive(Debug, Default)]
pub struct Splitter {
    /// The bytes of a message that is not complete yet.
    rest: Vec<u8>,
    /// Whether a message has come.
    begun: bool,
    /// Whether the stream is none: then its beginning is kept.
    is_strange: bool,
    stray: Vec<u8>,
}

impl Splitter {
    /// Takes a chunk in and hands each frame that it completes to `give`, which says whether to go on.
    ///
    /// # Errors
    /// `protocol` for a message that is damaged, `limit` for one that is too large; whatever `give` fails with.
    pub fn feed(&mut self, chunk: &[u8], mut give: impl FnMut(Frame<'_>) -> Result<bool, Error>) -> Result<bool, Error> {
        if self.is_strange {
            self.keep_stray(chunk);
            return Ok(true);
        }
        if self.rest.is_empty() {
            let (used, more) = self.split(chunk, &mut give)?;
            self.rest.extend_from_slice(chunk.get(used..).unwrap_or_default());
            return Ok(more);
        }
        let mut rest = std::mem::take(&mut self.rest);
        rest.extend_from_slice(chunk);
        let (used, more) = self.split(&rest, &mut give)?;
        rest.drain(..used);
        self.rest = rest;
        Ok(more)
    }

    /// The stream ended cleanly. What is left is a part of a message: the reader finds out what is missing.
    ///
    /// # Errors
    /// None: what has the same place for other framings may fail.
    pub fn finish(&mut self, _give: impl FnMut(Frame<'_>) -> Result<bool, Error>) -> Result<bool, Error> {
        let rest = std::mem::take(&mut self.rest);
        if !self.begun {
            self.keep_stray(&rest);
        }
        Ok(true)
    }

    /// What came in place of an event stream, as far as it is kept.
    pub fn stray(&self) -> &[u8] {
        &self.stray
    }

    fn keep_stray(&mut self, bytes: &[u8]) {
        let room = MAX_STRAY_BYTES.saturating_sub(self.stray.len());
        self.stray.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// Hands out the messages in `bytes`. Returns how many bytes they took, and whether to go on.
    fn split(&mut self, bytes: &[u8], give: &mut impl FnMut(Frame<'_>) -> Result<bool, Error>) -> Result<(usize, bool), Error> {
        let mut used = 0;
        while let Some(rest) = bytes.get(used..).filter(|rest| rest.len() >= PRELUDE) {
            let Some(lengths) = Lengths::of(rest) else {
                if self.begun {
                    return Err(damaged("the checksum of a prelude is wrong"));
                }
                self.is_strange = true;
                self.keep_stray(rest);
                return Ok((bytes.len(), true));
            };
            self.begun = true;
            lengths.check()?;
            let Some(message) = rest.get(..lengths.whole) else {
                break;
            };
            let end = lengths.whole - CHECKSUM;
            let covered = message.get(..end).unwrap_or_default();
            if number(message, end) != Some(crc32fast::hash(covered)) {
                return Err(damaged("the checksum of a message is wrong"));
            }
            used += lengths.whole;
            let headers = Headers::read(covered.get(PRELUDE..PRELUDE + lengths.headers).unwrap_or_default())?;
            if !give(frame(&headers, covered.get(PRELUDE + lengths.headers..).unwrap_or_default()))? {
                return Ok((used, false));
            }
        }
        Ok((used, true))
    }
}

/// The lengths that a prelude has, in bytes.
struct Lengths {
    /// Of the message, prelude and checksum included.
    whole: usize,
    headers: usize,
}

impl Lengths {
    /// `None` where the checksum is wrong.
    fn of(message: &[u8]) -> Option<Lengths> {
        let (whole, headers, checksum) = (number(message, 0)?, number(message, 4)?, number(message, 8)?);
        let is_right = crc32fast::hash(message.get(..8)?) == checksum;
        is_right.then_some(Lengths { whole: whole as usize, headers: headers as usize })
    }

    fn check(&self) -> Result<(), Error> {
        let Lengths { whole, headers } = *self;
        if whole > MAX_FRAME_BYTES {
            let limit = MAX_FRAME_BYTES >> 20;
            return Err(Error::new(ErrorKind::Limit, format!("a frame of the model's stream is larger than {limit} MiB")));
        }
        if headers > MAX_HEADER_BYTES || whole < PRELUDE + headers + CHECKSUM {
            return Err(damaged(&format!("a message of {whole} bytes has {headers} bytes of headers")));
        }
        Ok(())
    }
}

/// The headers of a message that count.
#[derive(Debug, Default)]
struct Headers<'a> {
    message_type: &'a str,
    event_type: &'a str,
    exception_type: &'a str,
    error_code: &'a str,
    error_message: &'a str,
}

impl<'a> Headers<'a> {
    /// A header is its name with the length in one byte, the type of its value, and the value.
    fn read(mut rest: &'a [u8]) -> Result<Headers<'a>, Error> {
        let mut headers = Headers::default();
        while let Some((length, after)) = rest.split_first() {
            let wrong = || damaged("a header ends in the middle");
            let (name, after) = after.split_at_checked(usize::from(*length)).ok_or_else(wrong)?;
            let (kind, after) = after.split_first().ok_or_else(wrong)?;
            let (length, after) = match kind {
                // A boolean is its type.
                0 | 1 => (0, after),
                2 => (1, after),
                3 => (2, after),
                4 => (4, after),
                5 | 8 => (8, after),
                6 | 7 => {
                    let (length, after) = after.split_first_chunk().ok_or_else(wrong)?;
                    (usize::from(u16::from_be_bytes(*length)), after)
                }
                9 => (16, after),
                kind => return Err(damaged(&format!("a header has a value of the unknown type {kind}"))),
            };
            let (value, after) = after.split_at_checked(length).ok_or_else(wrong)?;
            rest = after;
            if *kind != 7 {
                continue;
            }
            let place = match name {
                b":message-type" => &mut headers.message_type,
                b":event-type" => &mut headers.event_type,
                b":exception-type" => &mut headers.exception_type,
                b":error-code" => &mut headers.error_code,
                b":error-message" => &mut headers.error_message,
                _ => continue,
            };
            *place = str::from_utf8(value).map_err(|_| damaged("a header is not UTF-8"))?;
        }
        Ok(headers)
    }
}

fn frame<'a>(headers: &Headers<'a>, payload: &'a [u8]) -> Frame<'a> {
    let (data, invalid_utf8) = lossy(Cow::Borrowed(payload));
    let (kind, message) = match headers.message_type {
        "exception" => (headers.exception_type, &*data),
        "error" => (headers.error_code, headers.error_message),
        _ => return Frame { event: headers.event_type.into(), data, invalid_utf8, is_body: false },
    };
    let mut error = match surrogate::value(message) {
        Ok(Value::Object(fields)) => fields,
        _ if message.is_empty() => Map::new(),
        _ => Map::from_iter([("message".to_owned(), message.into())]),
    };
    error.insert("type".to_owned(), kind.into());
    Frame { event: "error".into(), data: json!({ "error": error }).to_string().into(), invalid_utf8, is_body: false }
}

/// The number of four bytes at this place.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the model's event stream is damaged: {what}"))
}
