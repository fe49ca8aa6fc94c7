//! Events to deltas: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html>.
//!
//! Blocks of text and thinking are not announced: their first piece begins them. What was used comes behind the end, in
//! `metadata`, the last event.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::wire::{self, Kind};
use crate::base64;
use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::protocol::format::{Decoder, citations, opaque_block, truncated, unknown_stop, unreadable};
use crate::protocol::stop_words;
use crate::provider_error;
use crate::sse::Frame;
use crate::surrogate;
use crate::usage::{Prices, Usage, count_at};

pub(super) struct Reader {
    provider: String,
    prices: Option<Prices>,
    any_call: bool,
    is_stopped: bool,
    /// The blocks that are open, by their index.
    open: BTreeMap<u32, Open>,
    /// The index, kind and key of the one that the last event was of.
    last: Option<(u32, Kind, u32)>,
    next_key: u32,
}

struct Open {
    kind: Kind,
    /// The key that it has here.
    key: u32,
    /// What is known when it ends: the bytes of what is hidden, a text's sources, a block that is only kept.
    held: Held,
}

#[derive(Default)]
struct Held {
    redacted: Vec<u8>,
    citations: Vec<Value>,
    block: Map<String, Value>,
    input: String,
}

impl Reader {
    pub(super) fn new(provider: &str, prices: Option<Prices>) -> Reader {
        Reader {
            provider: provider.to_owned(),
            prices,
            any_call: false,
            is_stopped: false,
            open: BTreeMap::new(),
            last: None,
            next_key: 0,
        }
    }

    /// The key of a block that begins.
    fn begin(&mut self, index: u32, kind: Kind) -> u32 {
        let key = self.next_key;
        self.next_key = key.saturating_add(1);
        self.open.insert(index, Open { kind, key, held: Held::default() });
        self.last = Some((index, kind, key));
        key
    }

    /// The key of the block that a piece belongs to, which may begin it. A piece of another kind ends what was there.
    fn find_or_begin(&mut self, index: u32, kind: Kind, out: &mut Vec<Delta>) -> u32 {
        if let Some((last, of, key)) = self.last
            && (last, of) == (index, kind)
        {
            return key;
        }
        match self.open.get(&index) {
            Some(open) if open.kind == kind => {
                self.last = Some((index, kind, open.key));
                return open.key;
            }
            Some(_) => self.stop(index, out),
            None => {}
        }
        let key = self.begin(index, kind);
        match kind {
            Kind::Text => out.push(Delta::Start { key, block: BlockStart::Text }),
            Kind::Thinking => out.push(Delta::Start { key, block: BlockStart::Thinking { redacted: false } }),
            Kind::Redacted => out.push(Delta::Start { key, block: BlockStart::Thinking { redacted: true } }),
            // One that was not announced has no name: it cannot be called.
            Kind::Call => {
                self.any_call = true;
                let block = BlockStart::ToolCall { id: String::new(), name: String::new() };
                out.push(Delta::Start { key, block });
            }
            Kind::Opaque => {}
        }
        key
    }

    /// A block is announced: a call, or what the service itself did.
    fn start(&mut self, index: u32, start: &Value, out: &mut Vec<Delta>) {
        let text = |call: &Value, name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.open.contains_key(&index) {
            self.stop(index, out);
        }
        match start.get("toolUse") {
            // The service runs its own tools.
            Some(call) if call.get("type").is_none_or(|kind| kind == "tool_use") => {
                let key = self.begin(index, Kind::Call);
                self.any_call = true;
                let block = BlockStart::ToolCall { id: text(call, "toolUseId"), name: text(call, "name") };
                out.push(Delta::Start { key, block });
            }
            _ => {
                let Some(block) = start.as_object().filter(|block| !block.is_empty()) else {
                    return;
                };
                self.begin(index, Kind::Opaque);
                if let Some(open) = self.open.get_mut(&index) {
                    open.held.block = block.clone();
                }
            }
        }
    }

    /// A block goes on.
    fn delta(&mut self, index: u32, delta: &Value, out: &mut Vec<Delta>) {
        let said = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        if let Some(Open { kind: Kind::Opaque, held, .. }) = self.open.get_mut(&index) {
            held.add(delta);
            return;
        }
        let piece = |name: &str| delta.pointer(name).and_then(said);
        if let Some(text) = piece("/text") {
            let key = self.find_or_begin(index, Kind::Text, out);
            out.push(Delta::Append { key, text });
        }
        if let Some(text) = piece("/toolUse/input") {
            let key = self.find_or_begin(index, Kind::Call, out);
            out.push(Delta::Append { key, text });
        }
        if let Some(text) = piece("/reasoningContent/text") {
            let key = self.find_or_begin(index, Kind::Thinking, out);
            out.push(Delta::Append { key, text });
        }
        if let Some(signature) = piece("/reasoningContent/signature") {
            let key = self.find_or_begin(index, Kind::Thinking, out);
            out.push(Delta::Signature { key, signature });
        }
        // Pieces of base64 cannot be put together as they are.
        if let Some(data) = piece("/reasoningContent/redactedContent") {
            self.find_or_begin(index, Kind::Redacted, out);
            if let Some(open) = self.open.get_mut(&index) {
                open.held.redacted.extend(base64::decode(&data).unwrap_or_else(|| data.into_bytes()));
            }
        }
        if let Some(citation) = delta.get("citation").filter(|citation| citation.is_object()) {
            self.find_or_begin(index, Kind::Text, out);
            if let Some(open) = self.open.get_mut(&index) {
                open.held.citations.push(citation.clone());
            }
        }
    }

    fn stop(&mut self, index: u32, out: &mut Vec<Delta>) {
        self.last = None;
        let Some(Open { kind, key, held }) = self.open.remove(&index) else {
            return;
        };
        match kind {
            Kind::Redacted => out.push(Delta::Signature { key, signature: base64::encode(&held.redacted) }),
            Kind::Opaque => {
                let name = held.block.keys().next().cloned().unwrap_or_default();
                let block = BlockStart::Opaque { protocol: "bedrock_converse".into(), data: Box::new(held.whole()) };
                out.push(Delta::Start { key, block });
                out.push(opaque_block("a block", &name));
            }
            Kind::Text if !held.citations.is_empty() => out.push(citations(held.citations)),
            Kind::Text | Kind::Thinking | Kind::Call => {}
        }
        out.push(Delta::End { key });
    }

    /// The answer is complete, but for what it used.
    ///
    /// # Errors
    /// `protocol`, to be tried again, where the model wrote what cannot be read.
    fn message_stop(&mut self, frame: &Value, out: &mut Vec<Delta>) -> Result<(), Error> {
        let open: Vec<u32> = self.open.keys().copied().collect();
        open.into_iter().for_each(|index| self.stop(index, out));
        let raw = frame.get("stopReason").and_then(Value::as_str).map(str::to_owned);
        let what = match raw.as_deref() {
            Some("malformed_tool_use") => "a call that cannot be read",
            Some("malformed_model_output") => "what cannot be read",
            _ => {
                self.is_stopped = true;
                match raw.as_deref().and_then(stop_words::known) {
                    Some(reason) => out.push(Delta::Stop { reason, raw }),
                    None => out.extend(unknown_stop(&self.provider, raw, self.any_call)),
                }
                return Ok(());
            }
        };
        let text = format!("{} broke the answer off, the model wrote {what} (stopReason {raw:?})", self.provider);
        Err(Error::new(ErrorKind::Protocol, text).with_provider(&self.provider).with_retryable(true))
    }

    /// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html>: cached tokens are no part of the
    /// input.
    fn usage(&self, given: &Value) -> Option<Delta> {
        let count = |name: &str| count_at(given, name);
        let mut usage = Usage {
            input: count("inputTokens").unwrap_or_default(),
            output: count("outputTokens").unwrap_or_default(),
            cache_read: count("cacheReadInputTokens").unwrap_or_default(),
            cache_write: count("cacheWriteInputTokens").unwrap_or_default(),
            ..Usage::default()
        };
        let kept = given.get("cacheDetails").and_then(Value::as_array).into_iter().flatten();
        let kept = kept.filter(|detail| detail.get("ttl").is_some_and(|ttl| ttl == "1h"));
        let kept_long = kept.filter_map(|detail| count_at(detail, "inputTokens")).fold(0, u64::saturating_add);
        let kept_long = kept_long.min(usage.cache_write);
        if kept_long > 0 {
            usage.cost = self.prices.as_ref().map(|prices| prices.cost_with_long_cache(&usage, kept_long));
        }
        given.is_object().then(|| Delta::Usage(Box::new(usage)))
    }

    /// The error of an exception: `{"error": {"type", "message", …}}`, with the status that the same one has before a stream, so
    /// that it counts as that one: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>. One
    /// of the model's stream is to be asked for again, as its description says.
    fn exception(&self, frame: &Value) -> Error {
        let mut frame = frame.clone();
        let kind = frame.pointer("/error/type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
        let status = match kind.trim_end_matches("exception") {
            "throttling" | "modelnotready" => 429,
            "validation" | "servicequotaexceeded" => 400,
            "accessdenied" => 403,
            "resourcenotfound" => 404,
            "modeltimeout" => 408,
            "serviceunavailable" => 503,
            "internalserver" | "modelstreamerror" => 500,
            _ => 0,
        };
        if let Some(error) = frame.get_mut("error").and_then(Value::as_object_mut).filter(|_| status > 0) {
            error.insert("code".to_owned(), json!(status));
        }
        provider_error::from_stream(&self.provider, &frame)
    }
}

impl Held {
    /// Adds to a block that is only kept: pieces of a call's input, or parts of a result.
    fn add(&mut self, delta: &Value) {
        if let Some(piece) = delta.pointer("/toolUse/input").and_then(Value::as_str) {
            self.input.push_str(piece);
        }
        let parts = delta.get("toolResult").and_then(Value::as_array);
        if let (Some(parts), Some(result)) = (parts, self.block.get_mut("toolResult").and_then(Value::as_object_mut))
            && let Some(content) = result.entry("content").or_insert_with(|| json!([])).as_array_mut()
        {
            content.extend(parts.iter().cloned());
        }
    }

    fn whole(mut self) -> Value {
        if let Some(call) = self.block.get_mut("toolUse").and_then(Value::as_object_mut) {
            call.insert("input".to_owned(), self.input.parse().unwrap_or_else(|_| json!({})));
        }
        Value::Object(self.block)
    }
}

impl Decoder for Reader {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        if frame.event == "contentBlockDelta"
            && let Some(wire::Piece { index, kind, text }) = wire::piece(&frame.data)
            // A block that is only kept is the general reader's.
            && (self.last.is_some_and(|(last, of, _)| (last, of) == (index, kind)) || !self.is_opaque(index))
        {
            if !text.is_empty() {
                let key = self.find_or_begin(index, kind, out);
                out.push(Delta::Append { key, text: text.into_owned() });
            }
            return Ok(true);
        }
        let value = match surrogate::value(&frame.data) {
            Ok(value) => value,
            Err(error) => return Err(unreadable(&self.provider, &frame.data, error)),
        };
        let index = value.get("contentBlockIndex").and_then(Value::as_u64).and_then(|index| u32::try_from(index).ok());
        let index = index.or(self.last.map(|(index, ..)| index)).unwrap_or_default();
        match &*frame.event {
            "contentBlockStart" => self.start(index, value.get("start").unwrap_or(&Value::Null), out),
            "contentBlockDelta" => self.delta(index, value.get("delta").unwrap_or(&Value::Null), out),
            "contentBlockStop" => self.stop(index, out),
            "messageStop" => self.message_stop(&value, out)?,
            "metadata" => {
                out.extend(value.get("usage").and_then(|usage| self.usage(usage)));
                return Ok(!self.is_stopped);
            }
            "error" => return Err(self.exception(&value)),
            // `messageStart`, and what is to come.
            _ => {}
        }
        Ok(true)
    }

    /// What was used is missing then, and no text.
    fn end(&mut self, _out: &mut Vec<Delta>) -> Result<(), Error> {
        if self.is_stopped { Ok(()) } else { Err(truncated(&self.provider, "messageStop")) }
    }
}

impl Reader {
    fn is_opaque(&self, index: u32) -> bool {
        self.open.get(&index).is_some_and(|open| open.kind == Kind::Opaque)
    }
}
