//! Events to deltas.
//!
//! An answer is a list of items, each a block here. They are distinguished by `output_index`: Copilot and Azure give an item
//! another id in each event; only where there is no index, the id counts. Text may come before its item or part is announced,
//! items may end out of order, and what was never streamed may stand in the item's last event or only in the closing one. Unknown
//! events are skipped.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::wire::{
    self, BETWEEN, Piece, annotations_of, arguments_of, parts, text_of, text_signature, thinking_of, type_of, word,
};
use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::protocol::format::{
    Decoder, citations, is_end_mark, opaque_block, trimmed, truncated, unknown_reason, unknown_stop, unreadable,
};
use crate::protocol::stop_words;
use crate::provider_error;
use crate::sse::Frame;
use crate::surrogate;
use crate::usage::{StopReason, Usage, count_at, reported_cost};

pub(super) struct Reader {
    provider: String,
    /// By `output_index`.
    items: HashMap<i64, Item>,
    /// What stands for the index of items that came without one, by their id.
    places: HashMap<String, i64>,
    next_key: u32,
    ended: usize,
    response_id: String,
    model: String,
    called: bool,
    refused: bool,
}

/// An item that is being written, or was.
struct Item {
    key: u32,
    kind: Kind,
    /// Its text so far, of a call its arguments': the item's last event may have more.
    written: String,
    source: Option<Source>,
    /// The sources that were announced; the item's last event repeats them.
    annotations: Vec<Value>,
    /// Of a thought, the part that is being written.
    part: Option<u64>,
    started: bool,
    /// Whether the arguments of a call have come whole: no piece that comes late is of them.
    complete: bool,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call,
    /// Only kept and sent back.
    Opaque,
}

/// Where thinking is read from. Some servers give both: the first counts.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Summary,
    Itself,
}

impl Item {
    fn new(key: u32, kind: Kind) -> Item {
        Item {
            key,
            kind,
            written: String::new(),
            source: None,
            annotations: Vec::new(),
            part: None,
            started: false,
            complete: false,
            ended: false,
        }
    }

    fn start(&mut self, block: BlockStart, out: &mut Vec<Delta>) {
        if !self.started {
            self.started = true;
            out.push(Delta::Start { key: self.key, block });
            if !self.written.is_empty() {
                out.push(Delta::Append { key: self.key, text: self.written.clone() });
            }
        }
    }

    fn append(&mut self, text: String, out: &mut Vec<Delta>) {
        self.written.push_str(&text);
        if self.started && !text.is_empty() {
            out.push(Delta::Append { key: self.key, text });
        }
    }

    /// Adds what is missing of the whole text.
    fn complete(&mut self, whole: &str, out: &mut Vec<Delta>) {
        if let Some(rest) = whole.strip_prefix(self.written.as_str()) {
            self.complete = !whole.is_empty();
            self.append(rest.to_owned(), out);
        }
    }
}

impl Reader {
    pub(super) fn new(provider: &str) -> Reader {
        Reader {
            provider: provider.to_owned(),
            items: HashMap::new(),
            places: HashMap::new(),
            next_key: 0,
            ended: 0,
            response_id: String::new(),
            model: String::new(),
            called: false,
            refused: false,
        }
    }

    fn place(&mut self, index: Option<i64>, id: &str) -> i64 {
        index.unwrap_or_else(|| {
            if let Some(place) = self.places.get(id) {
                return *place;
            }
            let next = i64::try_from(self.places.len()).unwrap_or_default();
            if !id.is_empty() {
                self.places.insert(id.to_owned(), next);
            }
            next
        })
    }

    /// The item of this kind that is being written at that index; a new one if the last has ended (there are servers that
    /// do not count).
    fn item(&mut self, index: i64, kind: Kind) -> &mut Item {
        let next = self.next_key;
        let item = self.items.entry(index).or_insert_with(|| Item::new(next, kind));
        if item.ended || item.kind != kind {
            *item = Item::new(next, kind);
        }
        if item.key == next {
            self.next_key += 1;
        }
        item
    }

    fn piece(&mut self, kind: &str, index: i64, part: Option<u64>, delta: String, out: &mut Vec<Delta>) {
        match kind {
            "response.output_text.delta" => self.say(index, delta, out),
            "response.refusal.delta" => {
                self.refused = true;
                self.say(index, delta, out);
            }
            "response.reasoning_summary_text.delta" => self.think(index, Source::Summary, part, delta, out),
            "response.reasoning_text.delta" => self.think(index, Source::Itself, part, delta, out),
            // Held until the item is known by name.
            "response.function_call_arguments.delta" => {
                let item = self.item(index, Kind::Call);
                if !item.complete {
                    item.append(delta, out);
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, index: i64, text: String, out: &mut Vec<Delta>) {
        let item = self.item(index, Kind::Text);
        item.start(BlockStart::Text, out);
        item.append(text, out);
    }

    fn think(&mut self, index: i64, source: Source, part: Option<u64>, text: String, out: &mut Vec<Delta>) {
        let item = self.item(index, Kind::Thinking);
        item.start(BlockStart::Thinking { redacted: false }, out);
        if *item.source.get_or_insert(source) != source || text.is_empty() {
            return;
        }
        if part.is_some() && item.part.is_some_and(|before| part != Some(before)) {
            item.append(BETWEEN.to_owned(), out);
        }
        item.part = part.or(item.part);
        item.append(text, out);
    }

    /// An item is announced. A call whose name is still to come waits; so does one that is complete at once, as Perplexity
    /// announces its own searches, which then end as something else.
    fn added(&mut self, index: i64, given: &Value, out: &mut Vec<Delta>) {
        let kind = kind_of(given);
        let waits = word(given, "name").is_empty() || word(given, "status") == "completed";
        self.called |= kind == Kind::Call && !waits;
        let item = self.item(index, kind);
        match kind {
            Kind::Text => item.start(BlockStart::Text, out),
            Kind::Thinking => item.start(BlockStart::Thinking { redacted: false }, out),
            Kind::Call if waits => {}
            Kind::Call => item.start(call_start(given), out),
            Kind::Opaque => {}
        }
    }

    /// An item is whole.
    fn done(&mut self, index: i64, given: &Value, out: &mut Vec<Delta>) {
        self.ended += 1;
        self.refused |= parts(given, "content").any(|part| word(part, "type") == "refusal");
        let kind = kind_of(given);
        self.called |= kind == Kind::Call;
        // A message that is empty says nothing by itself; behind other items it goes back with them.
        let is_first = self.items.values().all(|item| item.kind == Kind::Text && item.written.is_empty());
        let item = self.item(index, kind);
        let key = item.key;
        let signature = match kind {
            Kind::Text => {
                item.start(BlockStart::Text, out);
                item.complete(&text_of(given), out);
                let whole = Some(annotations_of(given)).filter(|whole| !whole.is_empty());
                let announced = std::mem::take(&mut item.annotations);
                out.extend(Some(whole.unwrap_or(announced)).filter(|found| !found.is_empty()).map(citations));
                let says_nothing = item.written.is_empty() && is_first;
                text_signature(given).filter(|_| !says_nothing).unwrap_or_default()
            }
            Kind::Thinking => {
                item.start(BlockStart::Thinking { redacted: false }, out);
                item.complete(&thinking_of(given), out);
                given.to_string()
            }
            Kind::Call => {
                item.start(call_start(given), out);
                item.complete(&arguments_of(given), out);
                word(given, "id").to_owned()
            }
            Kind::Opaque => {
                let kind = word(given, "type");
                let block = BlockStart::Opaque { protocol: "openai_responses".into(), data: Box::new(given.clone()) };
                out.push(Delta::Start { key, block });
                out.push(opaque_block("an item", kind));
                String::new()
            }
        };
        item.ended = true;
        if !signature.is_empty() {
            out.push(Delta::Signature { key, signature });
        }
        out.push(Delta::End { key });
    }

    /// Events other than pieces.
    fn other(&mut self, named: &str, event: &Value, out: &mut Vec<Delta>) -> Result<bool, Error> {
        let item = event.get("item").unwrap_or(&Value::Null);
        let response = event.get("response").unwrap_or(&Value::Null);
        let index = event.get("output_index").and_then(Value::as_i64);
        // The frame's name says the same; gateways leave out one of the two.
        let given = word(event, "type").to_ascii_lowercase();
        let is_known = |kind: &str| kind == "error" || kind.starts_with("response.");
        let kind = [given.as_str(), named].into_iter().find(|kind| is_known(kind)).unwrap_or(&given);
        match kind {
            "response.created" => self.identify(response, out),
            // What came without its item may stand in the closing event.
            "response.output_item.added" | "response.output_item.done" if type_of(item).is_empty() => {}
            "response.output_item.added" => {
                let index = self.place(index, word(item, "id"));
                self.added(index, item, out);
            }
            "response.output_item.done" => {
                let index = self.place(index, word(item, "id"));
                self.done(index, item, out);
            }
            "response.output_text.annotation.added" => {
                if let Some(annotation) = event.get("annotation").filter(|annotation| !annotation.is_null()) {
                    let index = self.place(index, word(event, "item_id"));
                    let open = self.items.get_mut(&index).filter(|item| item.kind == Kind::Text && !item.ended);
                    open.into_iter().for_each(|item| item.annotations.push(annotation.clone()));
                }
            }
            "response.function_call_arguments.done" => {
                let index = self.place(index, word(event, "item_id"));
                let open = self.items.get_mut(&index).filter(|item| item.kind == Kind::Call && !item.ended);
                open.into_iter().for_each(|item| item.complete(&arguments_of(event), out));
            }
            // `done` of gateways, with the status saying which of them it is.
            "response.completed" | "response.done" => return self.close("completed", response, out),
            "response.incomplete" => return self.close("incomplete", response, out),
            "response.failed" => return self.close("failed", response, out),
            "response.cancelled" => return self.close("cancelled", response, out),
            // Its fields stand flat, as documented, or under `error`, as sent.
            "error" => return Err(provider_error::from_stream(&self.provider, event)),
            // Gateways leave the type out, or give the error's own.
            kind if !kind.starts_with("response.") && provider_error::is_error(event) => {
                return Err(provider_error::from_stream(&self.provider, event));
            }
            // A piece like no other: without an index, or with one below zero.
            kind => {
                if let Some(delta) = event.get("delta").and_then(Value::as_str) {
                    let index = self.place(index, word(event, "item_id"));
                    let part = ["summary_index", "content_index"].iter().find_map(|name| event.get(name)?.as_u64());
                    self.piece(kind, index, part, delta.to_owned(), out);
                }
            }
        }
        Ok(true)
    }

    fn identify(&mut self, response: &Value, out: &mut Vec<Delta>) {
        let model = word(response, "model");
        if !model.is_empty() && model != self.model {
            self.model = model.to_owned();
            out.push(Delta::ResponseModel(model.to_owned()));
        }
        let id = word(response, "id");
        if !id.is_empty() && id != self.response_id {
            self.response_id = id.to_owned();
            out.push(Delta::ResponseId(id.to_owned()));
        }
    }

    /// The closing event. Nothing after it is read.
    fn close(&mut self, named: &str, response: &Value, out: &mut Vec<Delta>) -> Result<bool, Error> {
        self.identify(response, out);
        out.extend(usage(response.get("usage")).map(|usage| Delta::Usage(Box::new(usage))));
        let given = word(response, "status");
        let known = ["completed", "incomplete", "failed", "cancelled"];
        let status = known.into_iter().find(|status| given.eq_ignore_ascii_case(status)).unwrap_or(named);
        if matches!(status, "failed" | "cancelled") {
            return Err(match response.get("error").filter(|error| !error.is_null()) {
                Some(error) => provider_error::from_stream(&self.provider, &json!({ "error": error })),
                None => {
                    let text = format!("{} broke the answer off itself (status {status:?})", self.provider);
                    Error::new(ErrorKind::Server, text).with_provider(&self.provider)
                }
            });
        }
        // Its `output` repeats the items, or is empty, or has what was never streamed.
        let output: Vec<&Value> = parts(response, "output").collect();
        if output.len() > self.ended {
            for (index, item) in (0..).zip(output) {
                if !self.items.get(&index).is_some_and(|item| item.ended) {
                    self.done(index, item, out);
                }
            }
        }
        // Of texts that had no last event.
        let mut announced: Vec<_> = self.items.values_mut().filter(|item| !item.annotations.is_empty()).collect();
        announced.sort_unstable_by_key(|item| item.key);
        out.extend(announced.into_iter().map(|item| citations(std::mem::take(&mut item.annotations))));
        let incomplete = response.get("incomplete_details").map(|details| word(details, "reason")).unwrap_or_default();
        let raw = match (incomplete, given) {
            ("", "" | "in_progress" | "queued") => status,
            ("", given) => given,
            (incomplete, _) => incomplete,
        };
        let raw = raw.to_owned();
        let is_plain = raw.eq_ignore_ascii_case(status);
        let reason = match (status, stop_words::known(&raw)) {
            (_, Some(StopReason::Refusal)) => StopReason::Refusal,
            ("incomplete", known) => {
                // Whatever the reason, it is not whole: calls of it may be cut.
                if !is_plain && known != Some(StopReason::Length) {
                    out.push(unknown_reason(&self.provider, Some(&raw), StopReason::Length));
                }
                StopReason::Length
            }
            (_, Some(StopReason::Length)) => StopReason::Length,
            _ if self.refused && !self.called => StopReason::Refusal,
            (_, known) if is_plain || known.is_some() => {
                if self.called {
                    StopReason::ToolUse
                } else {
                    StopReason::Stop
                }
            }
            _ => {
                out.extend(unknown_stop(&self.provider, Some(raw), self.called));
                return Ok(false);
            }
        };
        out.push(Delta::Stop { reason, raw: Some(raw) });
        Ok(false)
    }
}

fn kind_of(item: &Value) -> Kind {
    match type_of(item) {
        "message" => Kind::Text,
        "reasoning" => Kind::Thinking,
        "function_call" => Kind::Call,
        _ => Kind::Opaque,
    }
}

fn call_start(item: &Value) -> BlockStart {
    BlockStart::ToolCall { id: word(item, "call_id").to_owned(), name: word(item, "name").to_owned() }
}

/// Input includes the cached tokens, output the reasoning.
fn usage(given: Option<&Value>) -> Option<Usage> {
    let given = given.filter(|given| given.is_object())?;
    let count = |name: &str| count_at(given, name).unwrap_or_default();
    let cache_read = count("input_tokens_details/cached_tokens");
    let cache_write = count("input_tokens_details/cache_write_tokens");
    let input = count("input_tokens").saturating_sub(cache_read).saturating_sub(cache_write);
    let output = count("output_tokens");
    let reasoning = count("output_tokens_details/reasoning_tokens").min(output);
    Some(Usage { input, output, cache_read, cache_write, reasoning, cost: reported_cost(given), ..Usage::default() })
}

impl Decoder for Reader {
    fn protocol(&self) -> &'static str {
        "openai_responses"
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        // An empty frame, or a gateway's own closing word, which is not JSON.
        let data = trimmed(&frame.data);
        if data.is_empty() || is_end_mark(data) {
            return Ok(true);
        }
        if let Some(Piece { kind, output_index, part, delta }) = wire::piece(&frame.data) {
            self.piece(&kind, output_index, part, delta.into_owned(), out);
            return Ok(true);
        }
        // Servers cut text between the halves of a surrogate pair: an escape that is no character.
        let event = surrogate::value(&frame.data);
        self.other(&frame.event, &event.map_err(|error| unreadable(&self.provider, &frame.data, error))?, out)
    }

    fn end(&mut self, _out: &mut Vec<Delta>) -> Result<(), Error> {
        Err(truncated(&self.provider, "response.completed"))
    }
}
