//! Frames to deltas.
//!
//! Unknown frames and `ping` are skipped, as the API's versioning rules ask. `message_delta` repeats the usage: the last
//! stands, but a zero of what was read does not overwrite a number (gateways leave `input_tokens` out). Its count of the output
//! is cumulative, and replaces what `message_start` said, as a zero too:
//! <https://docs.claude.com/en/docs/build-with-claude/streaming#event-types>.

use std::collections::HashMap;

use serde_json::Value;

use super::wire::{self, Frequent, NAMED_BY, Piece, TYPES, kind_of};
use crate::delta::{BlockStart, Delta};
use crate::error::Error;
use crate::protocol::format::{
    Decoder, citations, is_end_mark, opaque_block, refused, trimmed, truncated, unknown_stop, unreadable,
};
use crate::protocol::stop_words;
use crate::provider_error;
use crate::sse::Frame;
use crate::surrogate;
use crate::usage::{Cost, Prices, Usage, count_at, reported_cost};

pub(super) struct Reader {
    provider: String,
    prices: Option<Prices>,
    usage: Usage,
    /// What the server says that it charges.
    reported_cost: Option<Cost>,
    /// How many of the tokens written to the cache stay there for an hour.
    kept_long: u64,
    stop: Option<String>,
    any_call: bool,
    /// Why the model refused, where it says so.
    explanation: Option<String>,
    /// The blocks that are open: their index, and the key they have here. There are servers that leave the index out, or do not
    /// count.
    open: HashMap<u32, u32>,
    /// Those whose beginning was not announced, by key: only their pieces say what they are.
    implied: Vec<u32>,
    /// The one that the last frame was of.
    last: Option<(u32, u32)>,
    next_key: u32,
    /// Blocks whose input stands in their start frame, or that are kept as they come, until their stop frame.
    held: HashMap<u32, Held>,
}

enum Held {
    /// A call's whole input, sent at once if no pieces follow.
    Input(Value),
    /// A block only kept and sent back, and the text of its input.
    Opaque(Value, String),
    /// A text's sources: reported when it ends, and not kept.
    Citations(Vec<Value>),
    /// A signature, which one that follows replaces.
    Signature(String),
}

impl Reader {
    pub(super) fn new(provider: &str, prices: Option<Prices>) -> Reader {
        Reader {
            provider: provider.to_owned(),
            prices,
            usage: Usage::default(),
            reported_cost: None,
            kept_long: 0,
            stop: None,
            any_call: false,
            explanation: None,
            open: HashMap::new(),
            implied: Vec::new(),
            last: None,
            next_key: 0,
            held: HashMap::new(),
        }
    }

    /// The key of a block that begins: its index, unless there was one.
    fn begin(&mut self, index: Option<u32>) -> u32 {
        let key = index.unwrap_or_default().max(self.next_key);
        self.next_key = key.saturating_add(1);
        let index = index.unwrap_or(key);
        self.open.insert(index, key);
        self.last = Some((index, key));
        key
    }

    /// The key of an open block: the one at this index, or without an index the last.
    fn find(&mut self, index: Option<u32>) -> Option<u32> {
        match (index, self.last) {
            (None, Some((_, key))) => Some(key),
            (Some(index), Some((last, key))) if index == last => Some(key),
            (Some(index), _) => {
                let key = *self.open.get(&index)?;
                self.last = Some((index, key));
                Some(key)
            }
            (None, None) => self.open.values().copied().max(),
        }
    }

    /// The key of the block that a piece belongs to. One whose beginning was not understood is what its piece says.
    fn find_or_begin(&mut self, index: Option<u32>, kind: &str, out: &mut Vec<Delta>) -> u32 {
        if let Some(key) = self.find(index) {
            return key;
        }
        let key = self.begin(index);
        self.implied.push(key);
        match kind {
            "text_delta" | "citations_delta" => out.push(Delta::Start { key, block: BlockStart::Text }),
            "thinking_delta" | "signature_delta" => {
                out.push(Delta::Start { key, block: BlockStart::Thinking { redacted: false } });
            }
            _ => drop(self.held.insert(key, Held::Opaque(Value::Null, String::new()))),
        }
        key
    }

    /// A piece of text or thinking; of a block of an unknown type it is added to that.
    fn say(&mut self, key: u32, field: &str, text: String, out: &mut Vec<Delta>) {
        if !self.held.is_empty()
            && let Some(Held::Opaque(block, _)) = self.held.get_mut(&key)
        {
            let so_far = block.get(field).and_then(Value::as_str).unwrap_or_default();
            let text = format!("{so_far}{text}");
            block.as_object_mut().into_iter().for_each(|block| drop(block.insert(field.to_owned(), text.clone().into())));
            return;
        }
        out.push(Delta::Append { key, text });
    }

    fn start(&mut self, key: u32, block: &Value, out: &mut Vec<Delta>) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (start, begun, signature) = match kind_of(block) {
            "text" => {
                let citations = block.get("citations").and_then(Value::as_array).into_iter().flatten();
                citations.for_each(|citation| self.cite(key, citation.clone()));
                (BlockStart::Text, text("text"), String::new())
            }
            "thinking" => (BlockStart::Thinking { redacted: false }, text("thinking"), text("signature")),
            "redacted_thinking" => (BlockStart::Thinking { redacted: true }, String::new(), text("data")),
            "tool_use" => {
                let input = block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
                if let Some(input) = input {
                    self.held.insert(key, Held::Input(input.clone()));
                }
                self.any_call = true;
                (BlockStart::ToolCall { id: text("id"), name: text("name") }, String::new(), String::new())
            }
            _ => {
                self.held.insert(key, Held::Opaque(block.clone(), String::new()));
                return;
            }
        };
        let redacted = start == BlockStart::Thinking { redacted: true };
        out.push(Delta::Start { key, block: start });
        if !begun.is_empty() {
            out.push(Delta::Append { key, text: begun });
        }
        match (signature.is_empty(), redacted) {
            (true, _) => {}
            (false, true) => out.push(Delta::Signature { key, signature }),
            (false, false) => {
                self.held.insert(key, Held::Signature(signature));
            }
        }
    }

    fn stop(&mut self, key: u32, out: &mut Vec<Delta>) {
        self.open.retain(|_, open| *open != key);
        self.last = None;
        match self.held.remove(&key) {
            Some(Held::Input(input)) => out.push(Delta::Append { key, text: input.to_string() }),
            // Nothing that anyone could send back.
            Some(Held::Opaque(Value::Null, _)) => {}
            Some(Held::Opaque(mut data, input)) => {
                if let (Ok(input), Some(map)) = (input.parse::<Value>(), data.as_object_mut()) {
                    map.insert("input".into(), input);
                }
                let kind = data.get("type").and_then(Value::as_str).unwrap_or("unknown").to_owned();
                let block = BlockStart::Opaque { protocol: "anthropic".into(), data: Box::new(data) };
                out.push(Delta::Start { key, block });
                out.push(opaque_block("a block", &kind));
            }
            Some(Held::Signature(signature)) => out.push(Delta::Signature { key, signature }),
            Some(Held::Citations(found)) => out.push(citations(found)),
            None => {}
        }
        out.push(Delta::End { key });
    }

    /// A block is announced, perhaps behind its first pieces: a call takes them, all else ends there.
    fn announce(&mut self, index: Option<u32>, block: &Value, out: &mut Vec<Delta>) {
        let open = index.and_then(|index| self.open.get(&index)).copied();
        let implied = open.and_then(|key| self.implied.iter().position(|other| *other == key));
        match (open, implied) {
            // Announced twice.
            (Some(_), None) => return,
            (Some(key), Some(at)) => {
                self.implied.swap_remove(at);
                match self.held.remove(&key) {
                    Some(Held::Opaque(Value::Null, input)) if kind_of(block) == "tool_use" => {
                        self.start(key, block, out);
                        if !input.is_empty() {
                            self.input(key, input, out);
                        }
                        return;
                    }
                    held => self.held.extend(held.map(|held| (key, held))),
                }
                self.stop(key, out);
            }
            (None, _) => {}
        }
        let key = self.begin(index);
        self.start(key, block, out);
    }

    /// A piece of a summary that stands for what was said before.
    fn compacted(&mut self, key: u32, content: Option<String>, encrypted: Option<String>) {
        let Some(Held::Opaque(Value::Object(block), _)) = self.held.get_mut(&key) else {
            return;
        };
        if let Some(piece) = content {
            let so_far = block.get("content").and_then(Value::as_str).unwrap_or_default();
            block.insert("content".into(), format!("{so_far}{piece}").into());
        }
        if let Some(encrypted) = encrypted {
            block.insert("encrypted_content".into(), encrypted.into());
        }
    }

    fn cite(&mut self, key: u32, citation: Value) {
        if let Held::Citations(citations) = self.held.entry(key).or_insert_with(|| Held::Citations(Vec::new())) {
            citations.push(citation);
        }
    }

    /// A piece of a block's input: it replaces what stood in the start frame.
    fn input(&mut self, key: u32, piece: String, out: &mut Vec<Delta>) {
        if let Some(Held::Opaque(_, input)) = self.held.get_mut(&key) {
            input.push_str(&piece);
            return;
        }
        self.held.remove(&key);
        out.push(Delta::Append { key, text: piece });
    }

    /// `is_closing`: of a `message_delta`.
    fn usage(&mut self, given: Option<&Value>, is_closing: bool, out: &mut Vec<Delta>) {
        let Some(given) = given.filter(|given| given.is_object()) else {
            return;
        };
        let count = |name: &str| count_at(given, name);
        // Gateways without the numbers of the prompt send zeros: those say nothing, but a zero beside other numbers does.
        let read = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let blank = read.into_iter().filter_map(count).all(|count| count == 0);
        let take = |name: &str, known: &mut u64| {
            let is_meant = if read.contains(&name) { !blank } else { is_closing && name == "output_tokens" };
            let said = count(name).filter(|count| *count > 0 || is_meant);
            *known = said.unwrap_or(*known);
        };
        take("input_tokens", &mut self.usage.input);
        take("output_tokens", &mut self.usage.output);
        take("cache_read_input_tokens", &mut self.usage.cache_read);
        take("cache_creation_input_tokens", &mut self.usage.cache_write);
        take("output_tokens_details/thinking_tokens", &mut self.usage.reasoning);
        take("cache_creation/ephemeral_1h_input_tokens", &mut self.kept_long);
        self.usage.reasoning = self.usage.reasoning.min(self.usage.output);
        self.kept_long = self.kept_long.min(self.usage.cache_write);
        let prices = self.prices.as_ref().filter(|_| self.kept_long > 0);
        self.reported_cost = reported_cost(given).or(self.reported_cost.take());
        let with_long_cache = || Some(prices?.cost_with_long_cache(&self.usage, self.kept_long));
        self.usage.cost = self.reported_cost.clone().or_else(with_long_cache);
        out.push(Delta::Usage(Box::new(self.usage.clone())));
    }

    /// A block goes on.
    fn delta(&mut self, index: Option<u32>, delta: &Value, out: &mut Vec<Delta>) {
        let given = delta.get("type").and_then(Value::as_str).unwrap_or_default();
        let known = NAMED_BY.iter().find(|(kind, _)| given.eq_ignore_ascii_case(kind));
        // Of one that is not known, or has none, its field says it.
        let named = || NAMED_BY.iter().find(|(_, name)| delta.get(*name).is_some_and(|piece| !piece.is_null()));
        let kind = known.or_else(named).map_or(given, |(kind, _)| kind);
        if kind.is_empty() {
            return;
        }
        let key = self.find_or_begin(index, kind, out);
        let said = |name: &str| delta.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        match kind {
            "text_delta" => said("text").into_iter().for_each(|text| self.say(key, "text", text, out)),
            "thinking_delta" => said("thinking").into_iter().for_each(|text| self.say(key, "thinking", text, out)),
            "input_json_delta" => said("partial_json").into_iter().for_each(|piece| self.input(key, piece, out)),
            "signature_delta" => {
                if let Some(signature) = said("signature").filter(|_| !self.is_opaque(key)) {
                    self.held.remove(&key);
                    out.push(Delta::Signature { key, signature });
                }
            }
            "compaction_delta" => self.compacted(key, said("content"), said("encrypted_content")),
            "citations_delta" => {
                let citation = delta.get("citation").filter(|citation| !citation.is_null());
                citation.into_iter().for_each(|citation| self.cite(key, citation.clone()));
            }
            _ => {}
        }
    }

    fn is_opaque(&self, key: u32) -> bool {
        matches!(self.held.get(&key), Some(Held::Opaque(..)))
    }

    /// The answer is complete.
    fn message_stop(&mut self, out: &mut Vec<Delta>) {
        // What its own last frame would have brought: a call must not go without its arguments.
        let mut held: Vec<u32> = self.held.keys().copied().collect();
        held.sort_unstable();
        held.into_iter().for_each(|key| self.stop(key, out));
        let raw = self.stop.take();
        out.extend(self.explanation.take().map(|why| refused(&self.provider, &why)));
        match raw.as_deref().and_then(stop_words::known) {
            Some(reason) => out.push(Delta::Stop { reason, raw }),
            None => out.extend(unknown_stop(&self.provider, raw, self.any_call)),
        }
    }

    /// Frames that do not come often: few, so a JSON tree will do.
    fn other(&mut self, named: &str, frame: &Value, out: &mut Vec<Delta>) -> Result<bool, Error> {
        let index = match frame.get("index") {
            Some(Value::String(text)) => text.parse().ok(),
            index => index.and_then(Value::as_u64).and_then(|index| u32::try_from(index).ok()),
        };
        // The frame's name says the same; gateways leave out one of the two.
        let given = frame.get("type").and_then(Value::as_str).unwrap_or_default();
        let kind = [given, named].into_iter().find_map(|kind| TYPES.iter().find(|known| kind.eq_ignore_ascii_case(known)));
        let kind = kind.copied().unwrap_or(given);
        match kind {
            "message_start" => {
                let message = frame.get("message").unwrap_or(&Value::Null);
                if let Some(id) = message.get("id").and_then(Value::as_str) {
                    out.push(Delta::ResponseId(id.to_owned()));
                }
                out.extend(message.get("model").and_then(Value::as_str).map(|model| Delta::ResponseModel(model.to_owned())));
                self.usage(message.get("usage"), false, out);
                // A whole message may stand here, with the closing frame right after it.
                for block in message.get("content").and_then(Value::as_array).into_iter().flatten() {
                    let key = self.begin(None);
                    self.start(key, block, out);
                    self.stop(key, out);
                }
                self.stop = message.get("stop_reason").and_then(Value::as_str).map(str::to_owned).or(self.stop.take());
            }
            "content_block_start" => {
                let block = frame.get("content_block").unwrap_or(&Value::Null);
                // Of one that is not understood its pieces say what it is.
                if !kind_of(block).is_empty() {
                    self.announce(index, block, out);
                }
            }
            "content_block_delta" => self.delta(index, frame.get("delta").unwrap_or(&Value::Null), out),
            "content_block_stop" => self.find(index).into_iter().for_each(|key| self.stop(key, out)),
            "message_delta" => {
                let delta = frame.get("delta");
                if let Some(reason) = delta.and_then(|delta| delta.get("stop_reason")).and_then(Value::as_str) {
                    self.stop = Some(reason.to_owned());
                }
                let details = delta.and_then(|delta| delta.get("stop_details"));
                let explanation = details.and_then(|details| details.get("explanation")).and_then(Value::as_str);
                self.explanation = explanation.filter(|text| !text.is_empty()).map(str::to_owned).or(self.explanation.take());
                self.usage(frame.get("usage"), true, out);
            }
            "message_stop" => {
                self.message_stop(out);
                return Ok(false);
            }
            // Gateways send errors in their own words.
            _ if provider_error::is_error(frame) => return Err(provider_error::from_stream(&self.provider, frame)),
            _ => {}
        }
        Ok(true)
    }
}

impl Decoder for Reader {
    fn protocol(&self) -> &'static str {
        "anthropic"
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        // An empty frame, or a gateway's own closing word, which is not JSON.
        let data = trimmed(&frame.data);
        if data.is_empty() || is_end_mark(data) {
            return Ok(true);
        }
        // Recognised by the data: some gateways leave the event out or call it otherwise.
        match wire::frequent(&frame.data) {
            Some(Frequent::Piece(Piece { index, kind, text })) => {
                let key = self.find_or_begin(Some(index), &kind, out);
                match &*kind {
                    _ if text.is_empty() => {}
                    "input_json_delta" => self.input(key, text.into_owned(), out),
                    "thinking_delta" => self.say(key, "thinking", text.into_owned(), out),
                    _ => self.say(key, "text", text.into_owned(), out),
                }
                return Ok(true);
            }
            Some(Frequent::BlockStop(index)) => {
                self.find(Some(index)).into_iter().for_each(|key| self.stop(key, out));
                return Ok(true);
            }
            Some(Frequent::Ping) => return Ok(true),
            Some(Frequent::MessageStop) => {
                self.message_stop(out);
                return Ok(false);
            }
            None => {}
        }
        let value = surrogate::value(&frame.data);
        self.other(&frame.event, &value.map_err(|error| unreadable(&self.provider, &frame.data, error))?, out)
    }

    fn end(&mut self, _out: &mut Vec<Delta>) -> Result<(), Error> {
        Err(truncated(&self.provider, "message_stop"))
    }
}
