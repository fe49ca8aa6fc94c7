//! OpenAI Chat Completions and the many servers that speak it:
//! <https://platform.openai.com/docs/api-reference/chat/create>, streamed as in
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::{Map, Value};

use super::{Decoder, Protocol, Target};
use crate::model::ModelRequest;

#[derive(Debug)]
pub(super) struct OpenaiChat;

impl Protocol for OpenaiChat {
    fn name(&self) -> &'static str {
        "openai_chat"
    }

    fn path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn encode(&self, request: &ModelRequest, target: Target<'_>) -> Map<String, Value> {
        encode::body(request, target)
    }

    fn decoder(&self, provider: &str) -> Box<dyn Decoder> {
        Box::new(decode::Reader::new(provider))
    }
}
