//! OpenAI Responses and the servers that speak it: <https://platform.openai.com/docs/api-reference/responses/create>, streamed
//! as in <https://platform.openai.com/docs/api-reference/responses-streaming>.
//!
//! Without the server's memory: `store` is false, nothing refers to an earlier response, and the whole conversation goes out
//! each time, items of the model with their ids and reasoning encrypted.
//!
//! What the format has no place for is not sent: stop sequences (OpenAI refuses a field it does not know; a run reports it), and
//! whether a tool's result is an error (its text says so).

mod decode;
mod encode;
mod items;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use self::items::{item_json, part_json};
pub(crate) use self::wire::{text_signature, thinking_of};
use crate::protocol::format::{Decoder, Encoder, FileTypes, Protocol, Target, USUAL_IMAGES};
use crate::quirks::ThinkingReplay;
use crate::quirks::{CallIds, Quirks};
use crate::request::Request;

/// <https://developers.openai.com/api/docs/guides/file-inputs>: documents but for texts, which are sent as such.
const DOCUMENTS: &[&str] = &[
    "application/pdf",
    "application/msword",
    "application/rtf",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
];

#[derive(Debug)]
pub(super) struct OpenaiResponses;

impl Protocol for OpenaiResponses {
    fn name(&self) -> &'static str {
        "openai_responses"
    }

    fn quirks(&self) -> Quirks {
        Quirks {
            // Left out, the API takes it as true and rewrites the schema; some local servers demand a boolean.
            strict: Some(false),
            store: true,
            call_ids: CallIds::Responses,
            result_images: true,
            encrypted_reasoning: true,
            ..Quirks::PLAIN
        }
    }

    fn thinking_replay(&self, _quirks: &Quirks) -> ThinkingReplay {
        ThinkingReplay::SignedOrDropped
    }

    fn files(&self) -> FileTypes {
        FileTypes {
            images: Some(USUAL_IMAGES),
            documents: Some(DOCUMENTS),
            audio: Some(&[]),
            text_documents: false,
            any_scheme: false,
        }
    }

    fn path(&self, _model: &str) -> String {
        "/v1/responses".to_owned()
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
