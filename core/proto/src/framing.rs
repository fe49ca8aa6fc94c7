//! How the frames of an answer stand in its bytes: as server-sent events, or as messages of AWS's event stream.

use crate::error::Error;
use crate::sse::Frame;
use crate::{event_stream, sse};

/// How the frames of an answer stand in its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Framing {
    /// Server-sent events.
    #[default]
    Sse,
    /// AWS's binary event stream.
    EventStream,
}

impl Framing {
    /// The media type of such an answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Framing::Sse => "text/event-stream",
            Framing::EventStream => "application/vnd.amazon.eventstream",
        }
    }
}

/// Splits a stream that comes in chunks; by default one of server-sent events.
#[derive(Debug)]
pub struct Splitter(Of);

#[derive(Debug)]
enum Of {
    Sse(sse::Splitter),
    EventStream(event_stream::Splitter),
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter::new(Framing::Sse)
    }
}

impl Splitter {
    /// A splitter at the beginning of a stream.
    pub fn new(framing: Framing) -> Splitter {
        Splitter(match framing {
            Framing::Sse => Of::Sse(sse::Splitter::default()),
            Framing::EventStream => Of::EventStream(event_stream::Splitter::default()),
        })
    }

    /// Takes a chunk in and hands each frame that it completes to `give`, which says whether to go on.
    ///
    /// # Errors
    /// `limit` when a frame grows too large, `protocol` when one is damaged; whatever `give` fails with.
    pub fn feed(&mut self, chunk: &[u8], give: impl FnMut(Frame<'_>) -> Result<bool, Error>) -> Result<bool, Error> {
        match &mut self.0 {
            Of::Sse(splitter) => splitter.feed(chunk, give),
            Of::EventStream(splitter) => splitter.feed(chunk, give),
        }
    }

    /// The stream ended cleanly. What is left may be a frame, too.
    ///
    /// # Errors
    /// Whatever `give` fails with.
    pub fn finish(&mut self, give: impl FnMut(Frame<'_>) -> Result<bool, Error>) -> Result<bool, Error> {
        match &mut self.0 {
            Of::Sse(splitter) => splitter.finish(give),
            Of::EventStream(splitter) => splitter.finish(give),
        }
    }

    /// What belonged to no frame, as far as it is kept.
    pub fn stray(&self) -> &[u8] {
        match &self.0 {
            Of::Sse(splitter) => splitter.stray(),
            Of::EventStream(splitter) => splitter.stray(),
        }
    }
}
