//! Wire formats as pure translators: a request to bytes, frames to deltas. No IO, no clock.

mod anthropic;
mod cache;
mod gemini;
mod ignored;
mod openai_chat;
mod openai_responses;
#[cfg(test)]
mod recorded;
mod relay;
mod room;
mod scan;
mod schema;
#[cfg(test)]
mod strict;
#[cfg(test)]
mod trial;

use std::fmt::Debug;

pub(crate) use ignored::ignored;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::{Error, ErrorKind};
use crate::lone;
use crate::model::{Delta, ModelRequest};
use crate::names::{Spelling, unknown_name};
use crate::provider::ModelSpec;
use crate::provider::known::Place;
use crate::provider::quirks::Quirks;
use crate::transport::sse::Frame;

/// What a request is written for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) spec: &'a ModelSpec,
    pub(crate) quirks: &'a Quirks,
    pub(crate) place: Place,
}

/// What happens to a model's own thinking when it is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnThinking {
    /// It goes back.
    Kept,
    /// It goes back with its signature; without one it is text.
    SignedOrText,
    /// It goes back with its signature; without one it is dropped.
    SignedOrDropped,
    /// It does not go back.
    Dropped,
}

/// One wire format.
pub(crate) trait Protocol: Debug + Send + Sync {
    /// The canonical name, for example `openai_chat`.
    fn name(&self) -> &'static str;

    /// What a server of this format is taken to do when nothing else is known of it.
    fn quirks(&self) -> Quirks;

    /// What happens to the thinking of a model's own earlier messages.
    fn own_thinking(&self, quirks: &Quirks) -> OwnThinking {
        let _ = quirks;
        OwnThinking::Kept
    }

    /// The media types of images that servers of this format take; all when it is not known.
    fn image_types(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The endpoint under the server's address, version first, for example `/v1/messages`.
    fn path(&self, model: &str) -> String;

    /// The header of the key.
    fn key_header(&self, key: &str) -> (&'static str, String);

    /// Headers of a request, but for the key's.
    fn headers(&self, request: &ModelRequest, target: Target<'_>) -> Vec<(&'static str, String)>;

    /// The request's body.
    fn encode(&self, request: &ModelRequest, target: Target<'_>) -> Map<String, Value>;

    /// Where in the body the limit of what is written stands, as a JSON pointer.
    fn limit(&self, quirks: &Quirks) -> &'static str {
        let _ = quirks;
        "/max_tokens"
    }

    /// Reads one answer.
    fn decoder(&self, target: Target<'_>) -> Box<dyn Decoder>;
}

/// What the user says where a server wants the user to say something and nobody did.
const GO_ON: &str = "Continue.";

/// What most servers take: <https://docs.claude.com/en/docs/build-with-claude/vision>,
/// <https://platform.openai.com/docs/guides/images-vision>.
const USUAL_IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Reads one answer, frame by frame.
pub(crate) trait Decoder: Send {
    /// Takes a frame in; says whether more are expected.
    ///
    /// # Errors
    /// An error the provider sent in its stream, or `protocol`.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error>;

    /// The stream ended.
    ///
    /// # Errors
    /// `stream_truncated` when the closing event was missing.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Error>;
}

const PROTOCOLS: &[&dyn Protocol] =
    &[&anthropic::Anthropic, &openai_chat::OpenaiChat, &openai_responses::OpenaiResponses, &gemini::Gemini, &relay::Relay];

/// The protocol of that name.
///
/// # Errors
/// `invalid_argument` when there is none.
pub(crate) fn by_name(name: &str) -> Result<&'static dyn Protocol, Error> {
    let known = PROTOCOLS.iter().map(|protocol| protocol.name());
    let found = PROTOCOLS.iter().find(|protocol| protocol.name() == name).copied();
    found.ok_or_else(|| unknown_name("protocol", name, known, Spelling::Snake))
}

/// Reads a frame's JSON. Servers that cut text between the halves of a character send such halves: they are replaced.
/// A struct that borrows from the frame is read with [`lone::read`].
///
/// # Errors
/// `protocol`.
fn read<T: DeserializeOwned>(provider: &str, data: &str) -> Result<T, Error> {
    lone::read(data, |data| serde_json::from_str(data)).map_err(|error| unreadable(provider, data, &error))
}

/// The error for a frame that cannot be read.
fn unreadable(provider: &str, data: &str, error: &serde_json::Error) -> Error {
    let start: String = data.chars().take(200).collect();
    Error::new(ErrorKind::Protocol, format!("{provider} sent a frame that cannot be read ({error}): {start}"))
        .with_provider(provider)
}

/// Why a provider refused, in its own words: not the model's, so no text of its message.
fn refused(provider: &str, why: &str) -> Delta {
    Delta::Diagnostic {
        code: "refusal".into(),
        message: format!("{provider} refused: {why}"),
        data: Box::new(json!({ "explanation": why })),
    }
}

/// The error for a stream without its closing event.
fn truncated(provider: &str, closing: &str) -> Error {
    Error::new(
        ErrorKind::StreamTruncated,
        format!("{provider}'s answer ended in the middle: the connection closed before {closing}"),
    )
    .with_provider(provider)
}
