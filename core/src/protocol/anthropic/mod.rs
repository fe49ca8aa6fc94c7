//! Anthropic Messages: <https://docs.anthropic.com/en/api/messages>, streamed as in
//! <https://docs.anthropic.com/en/docs/build-with-claude/streaming>.

mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::{Map, Value};

use super::{Decoder, Protocol, Target};
use crate::model::ModelRequest;

#[derive(Debug)]
pub(super) struct Anthropic;

impl Protocol for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![("anthropic-version", "2023-06-01".to_owned())];
        headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
        headers
    }

    fn encode(&self, request: &ModelRequest, target: Target<'_>) -> Map<String, Value> {
        encode::body(request, target)
    }

    fn decoder(&self, provider: &str) -> Box<dyn Decoder> {
        Box::new(decode::Reader::new(provider))
    }
}
