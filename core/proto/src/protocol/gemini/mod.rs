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
use crate::protocol::format::{Decoder, Encoder, FileTypes, PDF, Protocol, Target};
use crate::quirks::{Quirks, ThinkingStyle};
use crate::request::Request;

/// <https://ai.google.dev/gemini-api/docs/image-understanding>.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
/// <https://ai.google.dev/gemini-api/docs/audio>.
const AUDIO: &[&str] = &["audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"];

#[derive(Debug)]
pub(super) struct Gemini;

impl Protocol for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn quirks(&self) -> Quirks {
        Quirks { thinking: ThinkingStyle::Budget, ..Quirks::PLAIN }
    }

    fn files(&self) -> FileTypes {
        // https://ai.google.dev/gemini-api/docs/document-processing: other documents than PDFs are read as their text.
        FileTypes {
            images: Some(IMAGES),
            documents: Some(PDF),
            audio: Some(AUDIO),
            text_documents: false,
            // `gs://` of Google Cloud Storage.
            any_scheme: true,
        }
    }

    /// Without `alt=sse` the answer would be one JSON array. Lists of models name them `models/…`.
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
