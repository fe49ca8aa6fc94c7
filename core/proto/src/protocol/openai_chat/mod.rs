//! OpenAI Chat Completions and the many servers that speak it:
//! <https://platform.openai.com/docs/api-reference/chat/create>, streamed as in
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

mod calls;
mod decode;
mod details;
mod encode;
mod messages;
mod reasoning;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use self::messages::{beside_json, call_json, part_json};
use crate::protocol::format::{Decoder, Encoder, FileTypes, PDF, Protocol, Target, USUAL_IMAGES};
use crate::quirks::Quirks;
use crate::quirks::ThinkingReplay;
use crate::request::Request;

#[derive(Debug)]
pub(super) struct OpenaiChat;

impl Protocol for OpenaiChat {
    fn name(&self) -> &'static str {
        "openai_chat"
    }

    fn quirks(&self) -> Quirks {
        // OpenAI refuses `top_k`, as a field that it does not know.
        Quirks { top_k: false, ..Quirks::PLAIN }
    }

    fn thinking_replay(&self, quirks: &Quirks) -> ThinkingReplay {
        if quirks.reasoning_field.is_some() { ThinkingReplay::Kept } else { ThinkingReplay::Dropped }
    }

    fn files(&self) -> FileTypes {
        // https://developers.openai.com/api/docs/guides/file-inputs, https://platform.openai.com/docs/guides/audio
        FileTypes {
            images: Some(USUAL_IMAGES),
            documents: Some(PDF),
            audio: Some(&["audio/wav", "audio/mpeg"]),
            text_documents: false,
            any_scheme: false,
        }
    }

    fn path(&self, _model: &str) -> String {
        "/v1/chat/completions".to_owned()
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
