//! A model behind the application's server, so that keys stay there and every client is under its rules: `POST /api/stream` with
//! the model, the context and the options, and a bearer token of the server's; the answer is an event stream of `data:` lines.
//!
//! The request's body, in canonical JSON: `{"model": {"provider", "id"}, "context": {"system_prompt", "messages", "tools"},
//! "options": {…}}`. The model is the spec's id, which is `provider/id` again: `relay/anthropic/claude-sonnet-4-5`. Options are
//! those of an agent that are the model's, by the same names, and `thinking_level`.
//!
//! The answer's events have a `type`: `start`; then those of the message, as a run emits them, of which only these fields are
//! read: `text_start`, `thinking_start`, `tool_call_start` (`content_index`, of a call `id` and `name`), `text_delta`,
//! `thinking_delta`, `tool_call_delta` (`content_index`, `delta`), `text_end`, `thinking_end`, `tool_call_end` (`content_index`;
//! `signature` and `redacted`, or those of `block`). The last is `done` (`stop_reason`, `raw_stop_reason`, `response_id`,
//! `response_model`, `usage`) or `error` (`error`, an object as in messages, and `usage`). Names in camel case are understood as
//! well. Unknown types are skipped.
//!
//! `examples/node/relay.mjs` is such a server.

mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod wire;

use crate::protocol::format::{Decoder, Encoder, Protocol, Target, had_nothing_to_add};
use crate::quirks::{FileInput, Quirks, ThinkingStyle};
use crate::request::Request;

#[derive(Debug)]
pub(super) struct Relay;

impl Protocol for Relay {
    fn name(&self) -> &'static str {
        "relay"
    }

    fn quirks(&self) -> Quirks {
        // All is passed on as it is.
        Quirks {
            thinking: ThinkingStyle::None,
            image_urls: true,
            documents: FileInput::DataOrUrl,
            audio: FileInput::DataOrUrl,
            ..Quirks::PLAIN
        }
    }

    fn may_be_empty(&self, raw_stop_reason: &str) -> bool {
        // It may be any vendor's.
        had_nothing_to_add(raw_stop_reason)
    }

    fn path(&self, _model: &str) -> String {
        "/api/stream".to_owned()
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    fn headers(&self, _request: &Request, _target: Target<'_>) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(encode::Encoder::default())
    }

    fn decoder(&self, target: Target<'_>) -> Box<dyn Decoder> {
        Box::new(decode::Reader::new(&target.spec.provider))
    }
}
