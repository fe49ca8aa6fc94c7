//! What the tests of all formats share: a target, a request for it, and an answer read from its stream.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Decoder, by_name};
use crate::doctor::{self, Fit};
use crate::error::Error;
use crate::message::Message;
use crate::model::{Delta, ModelOptions, ModelRequest, ToolDescription};
use crate::provider::{ModelSpec, Served};
use crate::transport::sse::Frame;

/// A model in a format, at its provider's own address unless the spec says otherwise, with nothing in the environment.
pub(super) struct Trial {
    spec: ModelSpec,
    served: Served,
}

impl Trial {
    /// `spec` as [`ModelSpec::from_json`] takes it.
    pub(super) fn new(spec: Value) -> Trial {
        let spec = ModelSpec::from_json(spec).unwrap();
        let served = Served::of(&spec, None, &|_| None).unwrap();
        Trial { spec, served }
    }

    /// Any model in this format.
    pub(super) fn of_protocol(name: &str) -> Trial {
        assert_eq!(by_name(name).unwrap().name(), name);
        Trial::new(json!({ "provider": "p", "id": "m", "protocol": name, "base_url": "http://h" }))
    }

    /// The body of a request.
    pub(super) fn encode(&self, request: &ModelRequest) -> Value {
        Value::Object(self.served.protocol.encode(request, self.served.target(&self.spec)))
    }

    /// The body of a request with these messages, as canonical JSON.
    pub(super) fn body(&self, messages: Value, options: ModelOptions, tools: Vec<ToolDescription>) -> Value {
        let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
        let messages = self.fitted(&messages);
        self.encode(&ModelRequest { messages, tools: Arc::new(tools), options, ..ModelRequest::default() })
    }

    /// The messages as they are before they are encoded.
    pub(super) fn fitted(&self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        doctor::repair(messages, &Fit::served(&self.spec, &self.served)).messages
    }

    pub(super) fn headers(&self, request: &ModelRequest) -> Vec<(&'static str, String)> {
        self.served.protocol.headers(request, self.served.target(&self.spec))
    }

    pub(super) fn decoder(&self) -> Box<dyn Decoder> {
        self.served.protocol.decoder(self.served.target(&self.spec))
    }

    /// All deltas of a stream, and how it ended. Texts are sent as they stand, all else as JSON.
    pub(super) fn decode(&self, frames: &[Value]) -> (Vec<Delta>, Result<(), Error>) {
        let mut decoder = self.decoder();
        let mut out = Vec::new();
        for frame in frames {
            let data = frame.as_str().map_or_else(|| frame.to_string(), str::to_owned);
            match decoder.frame(&Frame { event: "".into(), data: data.into() }, &mut out) {
                Ok(true) => {}
                Ok(false) => return (out, Ok(())),
                Err(error) => return (out, Err(error)),
            }
        }
        let end = decoder.end(&mut out);
        (out, end)
    }
}
