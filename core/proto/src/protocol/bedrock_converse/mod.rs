//! Bedrock's `ConverseStream`: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.

mod blocks;
mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::Value;

use crate::framing::Framing;
use crate::protocol::format::{Decoder, Encoder, FileTypes, Protocol, Target, USUAL_IMAGES, had_nothing_to_add};
use crate::quirks::{CallIds, Quirks, ThinkingReplay, ThinkingStyle};
use crate::request::Request;

/// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html>; texts are given as what they are.
const DOCUMENTS: &[&str] = &[
    "application/pdf",
    "application/msword",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.ms-excel",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
];

#[derive(Debug)]
pub(super) struct BedrockConverse;

impl Protocol for BedrockConverse {
    fn name(&self) -> &'static str {
        "bedrock_converse"
    }

    /// What is true of all families of models there: their rows say more.
    fn quirks(&self) -> Quirks {
        Quirks {
            thinking: ThinkingStyle::None,
            call_ids: CallIds::Anthropic,
            any_order: false,
            top_k: false,
            forced_tools: false,
            empty_signatures: true,
            ..Quirks::PLAIN
        }
    }

    fn thinking_replay(&self, quirks: &Quirks) -> ThinkingReplay {
        if quirks.empty_signatures { ThinkingReplay::Kept } else { ThinkingReplay::SignedOrText }
    }

    fn files(&self) -> FileTypes {
        FileTypes {
            images: Some(USUAL_IMAGES),
            documents: Some(DOCUMENTS),
            audio: Some(&[]),
            text_documents: true,
            any_scheme: false,
        }
    }

    /// Claude's words.
    fn may_be_empty(&self, raw_stop_reason: &str) -> bool {
        had_nothing_to_add(raw_stop_reason)
    }

    /// Its `outputConfig` is of some models only, which no page lists for this operation: a final tool is of all.
    fn takes_schema(&self, _schema: &Value) -> bool {
        false
    }

    fn framing(&self) -> Framing {
        Framing::EventStream
    }

    /// The id may be the ARN of an inference profile, whose colons and slashes are no parts of the path.
    fn path(&self, model: &str) -> String {
        let mut path = "/model/".to_owned();
        for byte in model.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => path.push(char::from(byte)),
                byte => path.push_str(&format!("%{byte:02X}")),
            }
        }
        path + "/converse-stream"
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
        Box::new(decode::Reader::new(&target.spec.provider, target.spec.cost.clone()))
    }
}
