//! The encoder that a run keeps.

use super::format::{Encoded, Encoder, Protocol, Target};
use super::{extra_body, hosted_tools};
use crate::request::Request;

/// What was encoded for a run's request before, so that the next one costs what it adds. One per run and model; it notices by
/// itself when messages, tools or the model changed, and encodes these again. A message that is the same `Arc` as before is
/// taken as unchanged.
#[derive(Debug, Default)]
pub struct EncodeCache {
    encoder: Option<(&'static str, Box<dyn Encoder>)>,
}

impl EncodeCache {
    /// The request in this wire format.
    pub fn encode(&mut self, protocol: &dyn Protocol, request: &Request, target: Target<'_>) -> Encoded {
        let name = protocol.name();
        let kept = self.encoder.take().filter(|(of, _)| *of == name);
        let (_, encoder) = self.encoder.insert(kept.unwrap_or_else(|| (name, protocol.encoder())));
        let mut encoded = encoder.encode(request, target);
        // A relay gets both as options, for the request that it makes.
        if name != "relay" {
            let (hosted, extra) = (&request.options.hosted_tools, &request.options.extra_body);
            if !hosted.is_empty() {
                encoded.body = hosted_tools::added(&encoded.body, hosted, name, &mut encoded.ignored);
            }
            if !extra.is_empty() {
                encoded.body = extra_body::merged(&encoded.body, extra, &mut encoded.ignored);
            }
        }
        encoded
    }
}
