//! Reads one answer: frames to deltas, with the checks that are the same in every wire format.

use std::collections::HashSet;

use serde_json::Value;

use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::protocol::Decoder;
use crate::sse::Frame;
use crate::surrogate;
use crate::table::codes;

/// The most bytes of frames without content: bounds what decoders hold back until a block is known. Far above what the unread
/// events of servers' own tools amount to.
const MAX_EMPTY_BYTES: usize = 256 << 20;

/// Reads the frames of one answer.
pub struct AnswerReader<'a> {
    decoder: Box<dyn Decoder>,
    provider: &'a str,
    /// Whether each frame is also passed on unread, as [`Delta::Raw`].
    raw: bool,
    frames: u64,
    empty_bytes: usize,
    /// The blocks that are calls.
    calls: HashSet<u32>,
    reported_utf8: bool,
}

impl<'a> AnswerReader<'a> {
    /// A reader of an answer in the format of `decoder`. With `raw`, each frame is also passed on unread.
    pub fn new(decoder: Box<dyn Decoder>, provider: &'a str, raw: bool) -> AnswerReader<'a> {
        AnswerReader { decoder, provider, raw, frames: 0, empty_bytes: 0, calls: HashSet::new(), reported_utf8: false }
    }

    /// Whether any frame came.
    pub fn has_begun(&self) -> bool {
        self.frames > 0
    }

    /// Reads a frame; returns whether to go on.
    ///
    /// # Errors
    /// The decoder's errors; `protocol` for a tool call with bytes that are not UTF-8, `limit` for a stream that goes on without
    /// content.
    pub fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        self.frames += 1;
        if self.raw {
            let data = surrogate::read(&frame.data, |data| serde_json::from_str(data));
            out.push(Delta::Raw(Box::new(data.unwrap_or_else(|_| Value::String(frame.data.to_string())))));
        }
        let before = out.len();
        let more = self.decoder.frame(frame, out)?;
        let new = out.get(before..).unwrap_or_default();
        if new.iter().all(|delta| matches!(delta, Delta::Usage(_) | Delta::Diagnostic { .. })) {
            self.empty_bytes += frame.data.len();
            if self.empty_bytes > MAX_EMPTY_BYTES {
                let limit = MAX_EMPTY_BYTES >> 20;
                let text = format!("{} streamed over {limit} MiB without content; the answer was cut off", self.provider);
                return Err(Error::new(ErrorKind::Limit, text).with_provider(self.provider));
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
    /// As [`Decoder::end`].
    pub fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Error> {
        self.decoder.end(out)
    }

    /// Reports invalid UTF-8 once. In text it does no harm; a tool must not run with it, as what the model asked for is lost.
    fn report_invalid_utf8(&mut self, before: usize, out: &mut Vec<Delta>) -> Result<(), Error> {
        let of_call = |delta: &Delta| match delta {
            Delta::Start { key, .. } | Delta::Append { key, .. } => self.calls.contains(key),
            _ => false,
        };
        if out.get(before..).unwrap_or_default().iter().any(of_call) {
            let text = format!("{} sent a tool call with bytes that are not UTF-8", self.provider);
            return Err(Error::new(ErrorKind::Protocol, text).with_provider(self.provider));
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    /// Holds everything back.
    struct Silent;

    impl Decoder for Silent {
        fn frame(&mut self, _: &Frame<'_>, _: &mut Vec<Delta>) -> Result<bool, Error> {
            Ok(true)
        }

        fn end(&mut self, _: &mut Vec<Delta>) -> Result<(), Error> {
            Ok(())
        }
    }

    #[test]
    fn a_stream_without_content_has_an_end() {
        let data = "x".repeat(16 << 20);
        let frame = Frame { event: Cow::Borrowed(""), data: Cow::Borrowed(&data), invalid_utf8: false };
        let mut reader = AnswerReader::new(Box::new(Silent), "p", false);
        for _ in 0..16 {
            reader.frame(&frame, &mut Vec::new()).unwrap();
        }
        let error = reader.frame(&frame, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.message(), "p streamed over 256 MiB without content; the answer was cut off");
    }
}
