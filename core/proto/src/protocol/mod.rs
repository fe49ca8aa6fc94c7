//! Wire formats as pure translators: a request to bytes, frames to deltas. No IO, no clock.

pub(crate) mod anthropic;
mod bedrock_converse;
mod cache;
mod claude_thinking;
mod encode_cache;
mod extra_body;
mod fit;
pub mod format;
pub(crate) mod gemini;
mod hosted_tools;
mod ignored;
mod incremental;
mod json;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
mod output_schema;
mod relay;
mod sampling;
mod scan;
mod schema;
pub(crate) mod shape;
pub(crate) mod stop_words;
#[cfg(test)]
pub(crate) mod tests;
mod token_budget;
mod turns;
mod written_fields;

pub use self::encode_cache::EncodeCache;
pub use self::format::{Decoder, Encoded, Encoder, FileTypes, Protocol, Target};
use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::request::ModelOptions;

const PROTOCOLS: &[&dyn Protocol] = &[
    &anthropic::Anthropic,
    &openai_chat::OpenaiChat,
    &openai_responses::OpenaiResponses,
    &gemini::Gemini,
    &bedrock_converse::BedrockConverse,
    &relay::Relay,
];

/// The protocol of that name.
///
/// # Errors
/// `invalid_argument` when there is none.
pub fn by_name(name: &str) -> Result<&'static dyn Protocol, Error> {
    let known = PROTOCOLS.iter().map(|protocol| protocol.name());
    let found = PROTOCOLS.iter().find(|protocol| protocol.name() == name).copied();
    found.ok_or_else(|| unknown_name("protocol", name, known, Spelling::Snake))
}

/// Refuses the value of a model's option that no request can have.
///
/// # Errors
/// `invalid_argument`: says what is wrong, and what to do.
pub fn check_option(name: &str, options: &ModelOptions, spelled: &str) -> Result<(), Error> {
    match name {
        "extra_body" => extra_body::check(&options.extra_body, spelled),
        "hosted_tools" => hosted_tools::check(&options.hosted_tools, spelled),
        _ => Ok(()),
    }
}

/// Whether an answer in the protocol of that name may be empty: [`Protocol::may_be_empty`]. In a custom one any vendor's may be.
pub(crate) fn may_be_empty(name: &str, raw_stop_reason: &str) -> bool {
    let protocol = PROTOCOLS.iter().find(|protocol| protocol.name() == name);
    protocol.map_or_else(|| format::had_nothing_to_add(raw_stop_reason), |protocol| protocol.may_be_empty(raw_stop_reason))
}
