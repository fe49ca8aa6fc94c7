//! Reads one answer: frames to deltas, with the checks that are the same in every wire format.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::delta::{BlockStart, Delta};
use crate::error::{self, Error, ErrorKind};
use crate::protocol::Decoder;
use crate::protocol::format::is_end_mark;
use crate::protocol::shape::{self, Format, Shape};
use crate::provider_error;
use crate::sse::Frame;
use crate::surrogate;
use crate::table::codes;

/// The most bytes of frames without content: bounds what decoders hold back until a block is known. Far above what the unread
/// events of servers' own tools amount to.
const MAX_EMPTY_BYTES: usize = 64 << 20;

/// Reads the frames of one answer.
pub struct AnswerReader {
    decoder: Box<dyn Decoder>,
    provider: String,
    /// Whether each frame is also passed on unread, as [`Delta::Raw`].
    raw: bool,
    frames: u64,
    /// Whether a frame of the format came. Until then each is looked at.
    is_recognised: bool,
    /// The first frame that is not of the format.
    strange: Option<Strange>,
    empty_bytes: usize,
    /// The blocks that are calls.
    calls: HashSet<u32>,
    reported_utf8: bool,
}

/// A frame that is not of the format.
struct Strange {
    /// Whose it is, where that is known.
    format: Option<Format>,
    /// How it begins.
    start: String,
    is_body: bool,
}

/// The most characters that are quoted of a strange frame.
const MOST_QUOTED: usize = 200;

impl AnswerReader {
    /// A reader of an answer in the format of `decoder`. With `raw`, each frame is also passed on unread.
    pub fn new(decoder: Box<dyn Decoder>, provider: &str, raw: bool) -> AnswerReader {
        // Where the format's frames cannot be recognised, each is taken as one.
        let is_recognised = decoder.protocol().is_empty();
        AnswerReader {
            decoder,
            provider: provider.to_owned(),
            raw,
            frames: 0,
            is_recognised,
            strange: None,
            empty_bytes: 0,
            calls: HashSet::new(),
            reported_utf8: false,
        }
    }

    /// Whether any frame came.
    pub fn has_begun(&self) -> bool {
        self.frames > 0
    }

    /// Reads a frame; returns whether to go on.
    ///
    /// # Errors
    /// The decoder's errors; `protocol` for a tool call with bytes that are not UTF-8 and for a stream in another format, `limit`
    /// for a stream that goes on without content.
    pub fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        self.frames += 1;
        if self.raw {
            let data = surrogate::value(&frame.data);
            out.push(Delta::Raw(Box::new(data.unwrap_or_else(|_| Value::String(frame.data.to_string())))));
        }
        if !self.is_recognised
            && let Some(body) = self.recognise(frame)?
        {
            return self.read_whole(body, out);
        }
        let before = out.len();
        let more = match &*frame.event {
            "error" => self.read_error(frame, out)?,
            _ => self.decoder.frame(frame, out)?,
        };
        let new = out.get(before..).unwrap_or_default();
        // Nearly all frames.
        if let ([Delta::Append { .. }], true, false) = (new, self.is_recognised, frame.invalid_utf8) {
            return Ok(more);
        }
        if !self.is_recognised {
            self.is_recognised = new.iter().any(|delta| matches!(delta, Delta::Start { .. } | Delta::Stop { .. }));
        }
        if new.iter().all(|delta| matches!(delta, Delta::Usage(_) | Delta::Diagnostic { .. })) {
            self.empty_bytes += frame.data.len();
            if self.empty_bytes > MAX_EMPTY_BYTES {
                let limit = MAX_EMPTY_BYTES >> 20;
                let text = format!("{} streamed over {limit} MiB without content; the answer was cut off", self.provider);
                return Err(Error::new(ErrorKind::Limit, text).with_provider(&self.provider));
            }
        }
        self.calls.extend(new.iter().filter_map(|delta| match delta {
            Delta::Start { key, block: BlockStart::ToolCall { .. } } => Some(*key),
            _ => None,
        }));
        if frame.invalid_utf8 {
            self.report_invalid_utf8(before, out)?;
        }
        Ok(more)
    }

    /// The stream ended.
    ///
    /// # Errors
    /// As [`Decoder::end`]; `protocol` where frames came and none was of the format.
    pub fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Error> {
        match &self.strange {
            Some(strange) if !self.is_recognised => Err(self.unlike(strange)),
            _ => self.decoder.end(out),
        }
    }

    /// Looks at a frame while none of the format has come; gives an answer that is whole.
    fn recognise(&mut self, frame: &Frame<'_>) -> Result<Option<Value>, Error> {
        let data = frame.data.trim();
        if !frame.is_body && shape::is_marked(self.decoder.protocol(), data) {
            self.is_recognised = true;
            return Ok(None);
        }
        if let Some(strange) = self.strange.as_ref().filter(|_| is_end_mark(data)) {
            return Err(self.unlike(strange));
        }
        // What is no JSON, and errors between frames, are the decoder's.
        let Some(value) = object(data) else {
            return Ok(None);
        };
        if provider_error::is_error(&value) {
            return if frame.is_body { Err(provider_error::from_stream(&self.provider, &value)) } else { Ok(None) };
        }
        // Without the event stream that was asked for, Gemini's chunks are a list.
        let first = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
        let format = match shape::of(self.decoder.protocol(), first) {
            Shape::Silent => return Ok(None),
            Shape::Own if !frame.is_body => {
                self.is_recognised = true;
                return Ok(None);
            }
            Shape::Own | Shape::Whole => {
                self.is_recognised = true;
                return Ok(Some(value));
            }
            Shape::Other(format) => Some(format),
            Shape::Unknown => None,
        };
        let is_last = format.is_some() && shape::is_last(first);
        let start = error::shortened(data, MOST_QUOTED);
        // What is known says more than what is not.
        if self.strange.as_ref().is_none_or(|known| known.format.is_none() && format.is_some()) {
            self.strange = Some(Strange { format, start, is_body: frame.is_body });
        }
        match &self.strange {
            Some(strange) if is_last => Err(self.unlike(strange)),
            _ => Ok(None),
        }
    }

    /// The error of a stream, or a body, that has nothing of the format. It would be the same if it was asked for again.
    fn unlike(&self, strange: &Strange) -> Error {
        let (provider, own) = (&self.provider, self.decoder.protocol());
        let what = if strange.is_body {
            format!("{provider} answered with JSON instead of an event stream, and it is no answer in the format {own}")
        } else {
            format!("{provider} sent frames, but none of them is in the format {own}")
        };
        let text = match strange.format {
            Some(Format { protocol: "", label }) => format!("{what}; it looks like {label}: is base_url right?"),
            Some(Format { protocol, label }) => {
                format!("{what}; it looks like {label}: set the model's protocol to {protocol:?}")
            }
            None => format!("{what}; is base_url right, and the model's protocol? It begins: {}", strange.start),
        };
        Error::new(ErrorKind::Protocol, text).with_provider(&self.provider).with_retryable(false)
    }

    /// Reads an answer that came whole, as if it had been streamed.
    fn read_whole(&mut self, body: Value, out: &mut Vec<Delta>) -> Result<bool, Error> {
        out.push(Delta::Diagnostic {
            code: codes::UNSTREAMED.into(),
            message: format!("{} did not stream its answer; it came whole", self.provider),
            data: Box::default(),
        });
        let answers = match body {
            Value::Array(chunks) => chunks,
            answer => vec![answer],
        };
        let protocol = self.decoder.protocol();
        for frame in answers.into_iter().flat_map(|answer| shape::frames_of(protocol, answer)) {
            let data = frame.as_str().map_or_else(|| frame.to_string(), str::to_owned);
            if !self.decoder.frame(&Frame { data: data.into(), ..Frame::default() }, out)? {
                return Ok(false);
            }
        }
        self.decoder.end(out).map(|()| false)
    }

    /// Reads a frame that is called an error: by the format's own reader, or, where that finds nothing in it, whatever it holds.
    fn read_error(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        let said = match frame.data.trim() {
            data if matches!(data, "" | "null") || is_end_mark(data) => return self.decoder.frame(frame, out),
            data => match object(data) {
                Some(value) => {
                    let before = out.len();
                    let more = self.decoder.frame(frame, out)?;
                    if out.len() > before || !more {
                        return Ok(more);
                    }
                    value
                }
                None => json!({ "error": data }),
            },
        };
        Err(provider_error::from_stream(&self.provider, &said))
    }

    /// Reports invalid UTF-8 once. In text it does no harm; a tool must not run with it, as what the model asked for is lost.
    fn report_invalid_utf8(&mut self, before: usize, out: &mut Vec<Delta>) -> Result<(), Error> {
        let of_call = |delta: &Delta| match delta {
            Delta::Start { key, .. } | Delta::Append { key, .. } => self.calls.contains(key),
            _ => false,
        };
        if out.get(before..).unwrap_or_default().iter().any(of_call) {
            let text = format!("{} sent a tool call with bytes that are not UTF-8", self.provider);
            return Err(Error::new(ErrorKind::Protocol, text).with_provider(&self.provider));
        }
        if !std::mem::replace(&mut self.reported_utf8, true) {
            out.push(Delta::Diagnostic {
                code: codes::INVALID_UTF8.into(),
                message: format!("{} sent bytes that are not UTF-8; U+FFFD stands for them", self.provider),
                data: Box::default(),
            });
        }
        Ok(())
    }
}

/// A frame's JSON, if it is an object or a list.
fn object(data: &str) -> Option<Value> {
    let value = surrogate::value(data).ok()?;
    (value.is_object() || value.is_array()).then_some(value)
}

#[cfg(test)]
mod tests;
