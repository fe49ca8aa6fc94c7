//! Wire formats as pure translators: a request to bytes, frames to deltas. No IO, no clock.

mod anthropic;
mod openai_chat;
mod prepare;
#[cfg(test)]
mod recorded;

use std::fmt::Debug;

use serde_json::{Map, Value};

pub(crate) use prepare::prepare;

use crate::error::{Error, ErrorKind};
use crate::model::{Delta, ModelRequest};
use crate::names::nearest;
use crate::provider::ModelSpec;
use crate::transport::sse::Frame;

/// What a request is written for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) spec: &'a ModelSpec,
    /// Whether this is the provider's own address, not another server that speaks its protocol.
    pub(crate) own_address: bool,
}

/// One wire format.
pub(crate) trait Protocol: Debug + Send + Sync {
    /// The canonical name, for example `openai_chat`.
    fn name(&self) -> &'static str;

    /// The endpoint under the server's address, version first, for example `/v1/messages`.
    fn path(&self) -> &'static str;

    /// Headers of each request, the key among them.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// The request's body.
    fn encode(&self, request: &ModelRequest, target: Target<'_>) -> Map<String, Value>;

    /// Reads one answer.
    fn decoder(&self, provider: &str) -> Box<dyn Decoder>;
}

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

const PROTOCOLS: &[&dyn Protocol] = &[&anthropic::Anthropic, &openai_chat::OpenaiChat];

/// The protocol of that name.
///
/// # Errors
/// `invalid_argument` when there is none.
pub(crate) fn by_name(name: &str) -> Result<&'static dyn Protocol, Error> {
    PROTOCOLS.iter().find(|protocol| protocol.name() == name).copied().ok_or_else(|| {
        let known = PROTOCOLS.iter().map(|protocol| protocol.name());
        let hint = match nearest(name, known.clone()) {
            Some(right) => format!("did you mean {right:?}?"),
            None => format!("known are {}", known.collect::<Vec<_>>().join(", ")),
        };
        Error::invalid_argument(format!("unknown protocol {name:?}; {hint}"))
    })
}

/// The error for a frame that cannot be read.
fn unreadable(provider: &str, data: &str, error: &serde_json::Error) -> Error {
    let start: String = data.chars().take(200).collect();
    Error::new(ErrorKind::Protocol, format!("{provider} sent a frame that cannot be read ({error}): {start}"))
        .with_provider(provider)
}

/// The error for a stream without its closing event.
fn truncated(provider: &str, closing: &str) -> Error {
    Error::new(
        ErrorKind::StreamTruncated,
        format!("{provider}'s answer ended in the middle: the connection closed before {closing}"),
    )
    .with_provider(provider)
}
