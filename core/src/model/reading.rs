//! Reading one answer: frames to deltas, and what of a frame holds in every wire format.

use std::collections::HashSet;

use serde_json::Value;

use super::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::lone;
use crate::protocol::Decoder;
use crate::transport::sse::Frame;

/// The most bytes of frames that may say nothing (yet): what decoders hold back until a block is known, say, has an end, too. Far
/// above what unread events of servers' own tools amount to.
const MAX_SILENT_BYTES: usize = 256 << 20;

/// An answer that is being read.
pub(super) struct Reading<'a> {
    pub(super) decoder: Box<dyn Decoder>,
    pub(super) provider: &'a str,
    /// Whether each frame is told as it came.
    pub(super) raw: bool,
    frames: u64,
    silent_bytes: usize,
    /// The blocks that are calls.
    calls: HashSet<u32>,
    mended: bool,
}

impl<'a> Reading<'a> {
    pub(super) fn new(decoder: Box<dyn Decoder>, provider: &'a str, raw: bool) -> Reading<'a> {
        Reading { decoder, provider, raw, frames: 0, silent_bytes: 0, calls: HashSet::new(), mended: false }
    }

    /// Whether any frame came.
    pub(super) fn has_begun(&self) -> bool {
        self.frames > 0
    }

    /// Takes a frame in; says whether to go on.
    ///
    /// # Errors
    /// Whatever the wire format's reader fails with; `protocol` for a call with bytes that are no characters, `limit` for
    /// a stream that goes on without saying anything.
    pub(super) fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        self.frames += 1;
        if self.raw {
            let data = lone::read(&frame.data, |data| serde_json::from_str(data));
            out.push(Delta::Raw(Box::new(data.unwrap_or_else(|_| Value::String(frame.data.to_string())))));
        }
        let before = out.len();
        let more = self.decoder.frame(frame, out)?;
        let new = out.get(before..).unwrap_or_default();
        if new.iter().all(|delta| matches!(delta, Delta::Usage(_) | Delta::Diagnostic { .. })) {
            self.silent_bytes += frame.data.len();
            if self.silent_bytes > MAX_SILENT_BYTES {
                let limit = MAX_SILENT_BYTES >> 20;
                let text = format!("{} streamed over {limit} MiB that say nothing; the answer was cut off", self.provider);
                return Err(Error::new(ErrorKind::Limit, text).with_provider(self.provider));
            }
        }
        self.calls.extend(new.iter().filter_map(|delta| match delta {
            Delta::Start { key, block: BlockStart::ToolCall { .. } } => Some(*key),
            _ => None,
        }));
        if frame.mended {
            self.tell_mended(before, out)?;
        }
        Ok(more)
    }

    /// Broken characters do no harm in what people read. A tool must not run with them: what the model asked for is lost.
    fn tell_mended(&mut self, before: usize, out: &mut Vec<Delta>) -> Result<(), Error> {
        let of_call = |delta: &Delta| match delta {
            Delta::Start { key, .. } | Delta::Append { key, .. } => self.calls.contains(key),
            _ => false,
        };
        if out.get(before..).unwrap_or_default().iter().any(of_call) {
            let text = format!("{} sent a tool call with bytes that are not UTF-8", self.provider);
            return Err(Error::new(ErrorKind::Protocol, text).with_provider(self.provider));
        }
        if !std::mem::replace(&mut self.mended, true) {
            out.push(Delta::Diagnostic {
                code: "invalid_utf8".into(),
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
    fn a_stream_that_says_nothing_has_an_end() {
        let data = "x".repeat(16 << 20);
        let frame = Frame { event: Cow::Borrowed(""), data: Cow::Borrowed(&data), mended: false };
        let mut reading = Reading::new(Box::new(Silent), "p", false);
        for _ in 0..16 {
            reading.frame(&frame, &mut Vec::new()).unwrap();
        }
        let error = reading.frame(&frame, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.message(), "p streamed over 256 MiB that say nothing; the answer was cut off");
    }
}
