//! What the tests of all formats share: a target, a request for it, and an answer read from its stream.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::delta::Delta;
use crate::error::Error;
use crate::message::Message;
use crate::model_entry::Encoder;
use crate::model_spec::ModelSpec;
use crate::protocol::{Decoder, EncodeCache, Encoded, by_name};
use crate::provider::Served;
use crate::request::{IgnoredOption, ModelOptions, Request, ToolDescription};
use crate::sse::Frame;
use crate::table::codes;
use crate::transcript::{self, Constraints};

/// A model in a format, at its provider's own address unless the spec says otherwise, with nothing in the environment.
pub(crate) struct Fixture {
    spec: ModelSpec,
    served: Served,
}

impl Fixture {
    /// `spec` as [`ModelSpec::from_json`] takes it.
    pub(crate) fn new(spec: Value) -> Fixture {
        let spec = ModelSpec::from_json(spec).unwrap();
        let served = Served::of(&spec, None, &|_| None).unwrap();
        Fixture { spec, served }
    }

    /// None where the spec is refused.
    pub(crate) fn try_new(spec: Value) -> Option<Fixture> {
        let spec = ModelSpec::from_json(spec).unwrap();
        Served::of(&spec, None, &|_| None).ok().map(|served| Fixture { spec, served })
    }

    /// Any model in this format.
    pub(crate) fn of_protocol(name: &str) -> Fixture {
        assert_eq!(by_name(name).unwrap().name(), name);
        Fixture::new(json!({ "provider": "p", "id": "m", "protocol": name, "base_url": "http://h" }))
    }

    pub(crate) fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// The wire format's name.
    pub(crate) fn protocol(&self) -> &'static str {
        self.served.protocol.name()
    }

    /// Whether the text of an answer can be held to this schema, beside tools or not.
    pub(crate) fn takes(&self, schema: &Value, has_tools: bool) -> bool {
        Encoder::new(self.spec.clone(), self.served.clone()).takes_schema(schema, has_tools)
    }

    /// Whether the format has a field for this schema.
    pub(crate) fn takes_schema(&self, schema: &Value) -> bool {
        self.served.protocol.takes_schema(schema)
    }

    /// The body of a request.
    pub(crate) fn encode(&self, request: &Request) -> Value {
        serde_json::from_slice(&self.encode_with(&mut EncodeCache::default(), request).body).unwrap()
    }

    /// The request with what was kept of the one before.
    pub(crate) fn encode_with(&self, cache: &mut EncodeCache, request: &Request) -> Encoded {
        cache.encode(self.served.protocol, request, self.served.target(&self.spec))
    }

    /// What the model takes of a transcript.
    pub(crate) fn constraints(&self) -> Constraints {
        self.served.constraints(&self.spec)
    }

    /// Which of a request's options do not reach the model.
    pub(crate) fn ignored(&self, request: &Request) -> Vec<IgnoredOption> {
        self.encode_with(&mut EncodeCache::default(), request).ignored
    }

    /// The body of a request with these messages, as canonical JSON.
    pub(crate) fn body(&self, messages: Value, options: ModelOptions, tools: Vec<ToolDescription>) -> Value {
        let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
        let messages = self.fitted(&messages);
        self.encode(&Request { messages, tools: Arc::new(tools), options, ..Request::default() })
    }

    /// The messages as they are before they are encoded.
    pub(crate) fn fitted(&self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        transcript::repair(messages, &self.constraints()).messages
    }

    /// The places of the calls without a result.
    pub(crate) fn missing_results(&self, messages: &[Arc<Message>]) -> Vec<(usize, Option<usize>)> {
        let repairs = transcript::check(messages, &self.constraints());
        let missing = repairs.iter().filter(|repair| repair.code == codes::MISSING_RESULT);
        missing.map(|repair| (repair.message_index, repair.content_index)).collect()
    }

    pub(crate) fn headers(&self, request: &Request) -> Vec<(&'static str, String)> {
        self.served.protocol.headers(request, self.served.target(&self.spec))
    }

    pub(crate) fn decoder(&self) -> Box<dyn Decoder> {
        self.served.protocol.decoder(self.served.target(&self.spec))
    }

    /// All deltas of a stream, and how it ended. Texts are sent as they stand, all else as JSON.
    pub(crate) fn decode(&self, frames: &[Value]) -> (Vec<Delta>, Result<(), Error>) {
        let mut decoder = self.decoder();
        let mut out = Vec::new();
        for frame in frames {
            let data = frame.as_str().map_or_else(|| frame.to_string(), str::to_owned);
            match decoder.frame(&Frame { event: "".into(), data: data.into(), ..Frame::default() }, &mut out) {
                Ok(true) => {}
                Ok(false) => return (out, Ok(())),
                Err(error) => return (out, Err(error)),
            }
        }
        let end = decoder.end(&mut out);
        (out, end)
    }
}

/// The transcripts that a run of so many turns sends, one by one: thinking, several calls, texts, images, steering, follow-ups.
pub(crate) fn long_run(turns: usize) -> Vec<Value> {
    let mut transcript = vec![json!({ "role": "user", "content": "go" })];
    let mut sent = Vec::new();
    for turn in 0..turns {
        sent.push(Value::Array(transcript.clone()));
        let call = |id: &str| {
            json!({
                "type": "tool_call", "id": format!("{id}{turn}"), "name": "t", "arguments": { "z": turn, "a": "é" },
            })
        };
        let result = |id: &str, content: Value| {
            json!({
                "role": "tool_result", "tool_call_id": format!("{id}{turn}"), "tool_name": "t", "content": content,
            })
        };
        let text = json!({ "type": "text", "text": format!("turn {turn}") });
        match turn % 4 {
            0 => {
                let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "reasoning_content" });
                transcript.push(json!({ "role": "assistant", "content": [thinking, text, call("a"), call("b")] }));
                transcript.push(result("a", json!("A")));
                transcript.push(result("b", json!([{ "type": "image", "data": "QQ==", "mime_type": "image/png" }])));
            }
            1 => {
                transcript.push(json!({ "role": "assistant", "content": [call("c")] }));
                transcript.push(result("c", json!("")));
                transcript.push(json!({ "role": "user", "content": "steering" }));
            }
            2 => {
                transcript.push(json!({ "role": "assistant", "content": [text] }));
                transcript.push(
                    json!({ "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }),
                );
            }
            _ => {
                transcript.push(json!({ "role": "assistant", "content": [text] }));
                transcript.push(json!({
                    "role": "user",
                    "content": [{ "type": "text", "text": "see" }, { "type": "image", "data": "QQ==", "mime_type": "image/png" }],
                }));
            }
        }
    }
    sent
}
