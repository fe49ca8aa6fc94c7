//! Anthropic Messages: <https://docs.anthropic.com/en/api/messages>, streamed as in
//! <https://docs.anthropic.com/en/docs/build-with-claude/streaming>.

mod decode;
mod encode;
mod messages;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::Value;

pub(crate) use self::messages::{assistant_json, user_json};
use crate::hosting::Hosting;
use crate::protocol::claude_thinking::Thinking;
use crate::protocol::format::{Decoder, Encoder, FileTypes, PDF, Protocol, Target, USUAL_IMAGES, had_nothing_to_add};
use crate::protocol::output_schema;
use crate::quirks::ThinkingReplay;
use crate::quirks::{CallIds, Quirks, ThinkingStyle};
use crate::request::Request;

#[derive(Debug)]
pub(super) struct Anthropic;

impl Protocol for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn quirks(&self) -> Quirks {
        Quirks {
            thinking: ThinkingStyle::Budget,
            call_ids: CallIds::Anthropic,
            result_images: true,
            cache_markers: true,
            cache_tools: true,
            interleaved: true,
            ..Quirks::PLAIN
        }
    }

    fn thinking_replay(&self, quirks: &Quirks) -> ThinkingReplay {
        if quirks.empty_signatures { ThinkingReplay::Kept } else { ThinkingReplay::SignedOrText }
    }

    fn files(&self) -> FileTypes {
        // https://platform.claude.com/docs/en/build-with-claude/pdf-support
        FileTypes { images: Some(USUAL_IMAGES), documents: Some(PDF), audio: Some(&[]), text_documents: true, any_scheme: false }
    }

    fn may_be_empty(&self, raw_stop_reason: &str) -> bool {
        had_nothing_to_add(raw_stop_reason)
    }

    fn takes_schema(&self, schema: &Value) -> bool {
        output_schema::anthropic(schema).is_some()
    }

    fn path(&self, _model: &str) -> String {
        "/v1/messages".to_owned()
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }

    fn headers(&self, request: &Request, target: Target<'_>) -> Vec<(&'static str, String)> {
        // On Vertex both stand in the body.
        if target.hosting == Hosting::Vertex {
            return Vec::new();
        }
        let beta = Thinking::of(request, target).beta(request, target);
        let version = ("anthropic-version", "2023-06-01".to_owned());
        [version].into_iter().chain(beta.map(|beta| ("anthropic-beta", beta.to_owned()))).collect()
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(encode::Encoder::default())
    }

    fn decoder(&self, target: Target<'_>) -> Box<dyn Decoder> {
        Box::new(decode::Reader::new(&target.spec.provider, target.spec.cost.clone()))
    }
}
