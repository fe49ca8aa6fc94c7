//! Gemini's `streamGenerateContent`, of the Developer API and of Vertex AI: <https://ai.google.dev/api/generate-content>.

mod arguments;
mod contents;
mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod thinking;
mod wire;

pub(crate) use self::contents::{model_json, user_json};
use crate::protocol::format::{Decoder, Encoder, Protocol, Target};
use crate::quirks::{Quirks, ThinkingStyle};
use crate::request::Request;

/// <https://ai.google.dev/gemini-api/docs/image-understanding>.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];

#[derive(Debug)]
pub(super) struct Gemini;

impl Protocol for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn quirks(&self) -> Quirks {
        Quirks { thinking: ThinkingStyle::Budget, ..Quirks::PLAIN }
    }

    /// Without `alt=sse` the answer would be one JSON array. Lists of models name them `models/…`.
    fn image_types(&self) -> Option<&'static [&'static str]> {
        Some(IMAGES)
    }

    fn path(&self, model: &str) -> String {
        let model = model.strip_prefix("models/").unwrap_or(model);
        format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-goog-api-key", key.to_owned())
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
