//! From what is said to the stream of events in which a service says it, one file for each wire format.

mod anthropic;
mod chat;
mod converse;
mod gemini;
mod responses;

use crate::answer::Frame;
use crate::check::Flavour;
use crate::failure::Failure;
use crate::route::{Format, Route};
use crate::speech::Speech;

/// A request, as far as its answer depends on it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) route: Route,
    pub(crate) flavour: Flavour,
    /// The model's name in the request.
    pub(crate) model: String,
    /// Which answer of the server this is; ids are made from it. It never changes the length of an answer.
    pub(crate) serial: usize,
    /// Chat: whether usage was asked for.
    pub(crate) usage: bool,
}

impl Asked {
    /// A plain request in this format.
    pub(crate) fn plain(format: Format) -> Asked {
        Asked { route: Route::own(format), flavour: Flavour::OpenAi, model: "mock-model".into(), serial: 0, usage: true }
    }

    fn serial(&self) -> String {
        format!("mock{:06}", self.serial % 1_000_000)
    }
}

/// A made-up signature or encrypted reasoning: valid base64, of no meaning.
const SIGNATURE: &str = "bW9jay1zaWduYXR1cmU=";

/// The events of a message; with `error_after`, only so many of them and then this error of the service.
pub(crate) fn frames(speech: &Speech, asked: &Asked, error_after: Option<(usize, Failure)>) -> Result<Vec<Frame>, String> {
    let mut frames = match asked.route.format {
        Format::Anthropic => anthropic::frames(speech, asked),
        Format::Chat => chat::frames(speech, asked),
        Format::Responses => responses::frames(speech, asked),
        Format::Gemini => gemini::frames(speech, asked),
        Format::Converse => converse::frames(speech, asked),
    };
    let Some((count, failure)) = error_after else { return Ok(frames) };
    if count > frames.len() {
        let (has, format) = (frames.len(), asked.route.format);
        return Err(format!("error_after {count}: the message has only {has} frames in the format {format}; use at most that"));
    }
    frames.truncate(count);
    let complaint = failure.complaint(&asked.route, &asked.model);
    frames.extend(match asked.route.format {
        Format::Anthropic => anthropic::error(&complaint),
        Format::Chat => chat::error(&complaint),
        Format::Responses => responses::error(&complaint, speech, asked, count),
        Format::Gemini => gemini::error(&complaint),
        Format::Converse => converse::error(&complaint),
    });
    Ok(frames)
}

/// The bytes of these events. Google ends its lines with CRLF, and AWS's are no lines.
pub(crate) fn bytes(frames: &[Frame], format: Format) -> Vec<u8> {
    if format == Format::Converse {
        return converse::bytes(frames);
    }
    let mut out = String::new();
    frames.iter().for_each(|frame| frame.write(&mut out));
    if format == Format::Gemini { out.replace('\n', "\r\n") } else { out }.into_bytes()
}
