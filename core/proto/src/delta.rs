//! Deltas, the parts of a model's answer, and the fold from deltas to message events and the whole message.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::depth::{self, MAX_DEPTH, MAX_EMITTED_DEPTH, is_deeper};
use crate::error::{Error, ErrorKind};
use crate::event::{EventData, MessageUpdate};
use crate::message::{AssistantMessage, ContentBlock};
use crate::partial::{BlockKind, MessageLog, Partial};
use crate::table::codes;
use crate::usage::{Prices, StopReason, Usage};

/// A part of a model's answer. `key` names the block within the answer: any number, as long as a block keeps its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Delta {
    /// The vendor's id of the response.
    ResponseId(String),
    /// The model that answers, as the server calls it.
    ResponseModel(String),
    /// A block begins.
    Start {
        /// The block's key.
        key: u32,
        /// What it is.
        block: BlockStart,
    },
    /// More of a block: text, thinking, or a piece of a call's arguments.
    Append {
        /// The block's key.
        key: u32,
        /// The piece.
        text: String,
    },
    /// More of a block's signature.
    Signature {
        /// The block's key.
        key: u32,
        /// The piece.
        signature: String,
    },
    /// A block is complete.
    End {
        /// The block's key.
        key: u32,
    },
    /// The tokens used so far; replaces what was known.
    Usage(Box<Usage>),
    /// Why the answer ends. Usage and open blocks may still follow; without this one it counts as truncated.
    Stop {
        /// Why it ended.
        reason: StopReason,
        /// The vendor's own word.
        raw: Option<String>,
    },
    /// Something odd that the application should know.
    Diagnostic {
        /// A short word for programs.
        code: Cow<'static, str>,
        /// A sentence for a person to read.
        message: String,
        /// More, by code.
        data: Box<Value>,
    },
    /// The head of an HTTP answer; only when asked for.
    Response {
        /// The HTTP status.
        status: u16,
        /// The headers by lower-case name.
        headers: Box<Map<String, Value>>,
    },
    /// One frame as the provider sent it; only when asked for.
    Raw(Box<Value>),
}

/// What block begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum BlockStart {
    /// Text.
    Text,
    /// Thinking; redacted thinking has its opaque data as signature.
    Thinking {
        /// Whether the vendor hid the text.
        redacted: bool,
    },
    /// A tool call.
    ToolCall {
        /// The vendor's id; a missing or repeated one is replaced.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A block that is only kept and sent back. It has no events.
    Opaque {
        /// The protocol it came through.
        protocol: String,
        /// As it came.
        data: Box<Value>,
    },
}

impl Delta {
    /// The delta as it can be saved, and read again: with the same effect, however deep its data is.
    pub(crate) fn storable(&self) -> Cow<'_, Delta> {
        match self {
            Delta::Raw(data) if is_deeper(data, MAX_EMITTED_DEPTH) => Cow::Owned(Delta::Raw(readable(data.clone()))),
            Delta::Diagnostic { code, message, data } if is_deeper(data, MAX_EMITTED_DEPTH) => {
                Cow::Owned(Delta::Diagnostic { code: code.clone(), message: message.clone(), data: readable(data.clone()) })
            }
            Delta::Start { key, block: BlockStart::Opaque { protocol, data } } if is_deeper(data, MAX_DEPTH) => {
                // Too deep to be kept, too.
                let data = Box::new((0..=MAX_DEPTH).fold(Value::Null, |inner, _| Value::Array(vec![inner])));
                Cow::Owned(Delta::Start { key: *key, block: BlockStart::Opaque { protocol: protocol.clone(), data } })
            }
            _ => Cow::Borrowed(self),
        }
    }
}

/// Folds deltas into an assistant message and returns each step as an event.
#[derive(Debug, Serialize, Deserialize)]
pub struct MessageBuilder {
    log: Arc<MessageLog>,
    turn: u32,
    blocks: BTreeMap<u32, Open>,
    last: Option<(u32, Open)>,
    order: Vec<u32>,
    /// Texts that were announced and have nothing yet: they begin with what they hold, or not at all.
    waiting: Vec<u32>,
    /// Whether any block holds anything.
    has_content: bool,
    ids: BTreeSet<String>,
    usage: Usage,
    prices: Option<Prices>,
    stop: Option<(StopReason, Option<String>)>,
    response_id: Option<String>,
    response_model: Option<String>,
    bytes: usize,
    /// The most bytes that the message may have.
    max_bytes: usize,
    calls: usize,
    /// How many marks the log has.
    marks: usize,
}

/// The events of one delta: at most one message event, and now and then a diagnostic before it.
pub type DeltaEvents = (Option<EventData>, Option<EventData>);

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Open {
    index: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Kind {
    Text,
    Thinking,
    ToolCall,
    Opaque,
}

/// The most blocks of a message, and the most calls among them: each costs memory and an event, however small it is.
const MAX_BLOCKS: usize = 10_000;
const MAX_CALLS: usize = 1_000;

/// How an id begins that is made for a call.
pub(crate) const MADE_ID: &str = "call_";

/// What a delta costs beside its text: the mark by which the message can be shown as it stood then.
const BYTES_PER_DELTA: usize = 16;

impl MessageBuilder {
    /// `head` is the empty message: provider, protocol, model, timestamp. `max_bytes` is the most that it may grow to: a model
    /// that never stops must not eat the memory.
    pub fn new(head: AssistantMessage, turn: u32, prices: Option<Prices>, max_bytes: usize) -> MessageBuilder {
        MessageBuilder {
            log: MessageLog::new(head),
            turn,
            blocks: BTreeMap::new(),
            last: None,
            order: Vec::new(),
            waiting: Vec::new(),
            has_content: false,
            ids: BTreeSet::new(),
            usage: Usage::default(),
            prices,
            stop: None,
            response_id: None,
            response_model: None,
            bytes: 0,
            max_bytes,
            calls: 0,
            marks: 0,
        }
    }

    /// The message so far.
    pub fn partial(&self) -> Partial {
        Partial::new(&self.log, self.marks)
    }

    /// The message at the point after this many steps.
    pub(crate) fn partial_at(&self, position: usize) -> Partial {
        Partial::new(&self.log, position)
    }

    /// How many steps the message so far has come through.
    pub(crate) fn steps(&self) -> usize {
        self.marks
    }

    /// Whether a closing delta was seen.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether any block was started: then the answer cannot be tried again.
    pub fn has_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Whether any block holds anything. A call, and what is only kept, do by themselves.
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    /// Why the answer ended, as far as is known.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.stop.as_ref().map(|(reason, _)| *reason)
    }

    /// The vendor's own word for it.
    pub fn raw_stop_reason(&self) -> Option<&str> {
        self.stop.as_ref()?.1.as_deref()
    }

    /// The tokens used, as far as is known.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The tokens used, with their cost where it is known: of no tokens it is not, a server that reports none has counted none.
    pub fn priced_usage(&self) -> Usage {
        let mut usage = self.usage.clone();
        // What the stream itself says of the cost is nearer to the truth than the list.
        if !usage.is_known() {
            return usage;
        }
        usage.cost = usage.cost.take().or_else(|| self.prices.as_ref().map(|prices| prices.cost(&usage)));
        usage
    }

    /// Treats tool calls in an answer of exactly `max_tokens` tokens as cut off: some servers report `tool_calls` for them, too.
    pub fn treat_full_length_calls_as_truncated(&mut self, max_tokens: Option<u64>) {
        let calls = self.blocks.values().any(|open| open.kind == Kind::ToolCall);
        if let Some((reason @ (StopReason::Stop | StopReason::ToolUse), _)) = &mut self.stop
            && calls
            && max_tokens == Some(self.usage.output)
        {
            *reason = StopReason::Length;
        }
    }

    fn next_index(&self) -> usize {
        self.blocks.len()
    }

    /// Starts the next of the texts that wait for what this delta brings; call it until it gives nothing, before the delta is
    /// applied. Blocks stand in the order in which they were announced.
    pub fn start_waiting(&mut self, delta: &Delta) -> Option<EventData> {
        let first = *self.waiting.first()?;
        let is_due = match delta {
            Delta::Append { key, text } => !text.is_empty() && self.waiting.contains(key),
            Delta::Signature { key, signature } => !signature.is_empty() && self.waiting.contains(key),
            Delta::Start { block: BlockStart::Text, .. } => false,
            Delta::Start { .. } => true,
            _ => false,
        };
        if !is_due {
            return None;
        }
        self.waiting.remove(0);
        let content_index = self.add(first, Kind::Text, BlockKind::Text);
        Some(EventData::MessageUpdate(MessageUpdate::TextStart { content_index }))
    }

    /// Applies one delta. What is empty changes nothing.
    ///
    /// # Errors
    /// `protocol` when a delta names a block that was not started or has ended; `limit` when the message grows too large.
    pub fn apply(&mut self, delta: Delta) -> Result<DeltaEvents, Error> {
        self.apply_beside(delta, &mut |_| false)
    }

    /// The same for a message of a transcript: `is_taken` says whether a call of another message has an id. One that is made is
    /// none of these.
    ///
    /// # Errors
    /// As for [`MessageBuilder::apply`].
    pub fn apply_beside(&mut self, delta: Delta, is_taken: &mut dyn FnMut(&str) -> bool) -> Result<DeltaEvents, Error> {
        while self.start_waiting(&delta).is_some() {}
        match delta {
            Delta::Append { text, .. } if text.is_empty() => Ok((None, None)),
            Delta::Append { key, text } => {
                self.has_content = true;
                let Open { index, kind } = self.open(key)?;
                self.grow(text.len() + BYTES_PER_DELTA)?;
                self.log.append(index, &text);
                self.marks += 1;
                let update = match kind {
                    Kind::Text => MessageUpdate::TextDelta { content_index: index, delta: text },
                    Kind::Thinking => MessageUpdate::ThinkingDelta { content_index: index, delta: text },
                    Kind::ToolCall => MessageUpdate::ToolCallDelta { content_index: index, delta: text },
                    Kind::Opaque => return Ok((None, None)),
                };
                Ok((None, Some(EventData::MessageUpdate(update))))
            }
            Delta::Start { key, block } => self.start(key, block, is_taken),
            Delta::Signature { signature, .. } if signature.is_empty() => Ok((None, None)),
            Delta::Signature { key, signature } => {
                self.has_content = true;
                let Open { index, .. } = self.open(key)?;
                self.grow(signature.len())?;
                self.log.sign(index, &signature);
                Ok((None, None))
            }
            Delta::End { key } => Ok((None, self.end(key))),
            Delta::Usage(usage) => {
                self.usage = usage.totalled();
                Ok((None, None))
            }
            Delta::Stop { reason, .. } if reason.is_failure() => {
                let text = format!("the model's answer stopped with {:?}; a model that fails returns an error", reason.as_str());
                Err(Error::new(ErrorKind::Protocol, text))
            }
            Delta::Stop { reason, raw } => {
                self.stop = Some((reason, raw));
                Ok((None, None))
            }
            Delta::ResponseId(id) => {
                self.response_id = Some(id);
                Ok((None, None))
            }
            Delta::ResponseModel(model) => {
                // Gemini's names are paths, given with or without their beginning.
                let name = |model: &str| model.strip_prefix("models/").unwrap_or(model).to_owned();
                let is_other = !model.is_empty() && name(&model) != name(&self.log.head().model);
                self.response_model = is_other.then_some(model);
                Ok((None, None))
            }
            Delta::Diagnostic { code, message, data } => {
                Ok((Some(EventData::Diagnostic { code, message, data: readable(data) }), None))
            }
            Delta::Raw(data) => Ok((None, Some(EventData::Raw { data: readable(data) }))),
            // The run takes it out before, for the hook that asked for it.
            Delta::Response { .. } => Ok((None, None)),
        }
    }

    /// Counts what comes with the message and is held for it.
    ///
    /// # Errors
    /// `limit` when the message grows too large.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes {
            return Err(cut_off(&format!("grew over max_message_bytes ({})", self.max_bytes)));
        }
        Ok(())
    }

    fn open(&mut self, key: u32) -> Result<Open, Error> {
        // Nearly every delta goes to the block of the one before it.
        if let Some((last, open)) = self.last
            && last == key
        {
            return Ok(open);
        }
        let open = self.blocks.get(&key).copied().filter(|_| self.order.contains(&key)).ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                format!("the model's stream goes on with block {key}, which was not started or has ended"),
            )
        })?;
        self.last = Some((key, open));
        Ok(open)
    }

    fn start(&mut self, key: u32, block: BlockStart, is_taken: &mut dyn FnMut(&str) -> bool) -> Result<DeltaEvents, Error> {
        if self.blocks.contains_key(&key) || self.waiting.contains(&key) {
            return Err(Error::new(ErrorKind::Protocol, format!("the model's stream starts block {key} twice")));
        }
        if self.blocks.len() + self.waiting.len() >= MAX_BLOCKS {
            return Err(cut_off(&format!("has more than {MAX_BLOCKS} blocks")));
        }
        if matches!(block, BlockStart::ToolCall { .. }) {
            self.calls += 1;
            if self.calls > MAX_CALLS {
                return Err(cut_off(&format!("has more than {MAX_CALLS} tool calls")));
            }
        }
        let mut odd = None;
        let content_index = u32::try_from(self.next_index()).unwrap_or(u32::MAX);
        let (kind, block, update) = match block {
            BlockStart::Text => {
                self.waiting.push(key);
                return Ok((None, None));
            }
            BlockStart::Thinking { redacted } => {
                (Kind::Thinking, BlockKind::Thinking { redacted }, Some(MessageUpdate::ThinkingStart { content_index }))
            }
            BlockStart::ToolCall { id: given, name } => {
                self.grow(given.len() + name.len())?;
                let mut id = given.clone();
                if id.is_empty() || self.ids.contains(&id) {
                    id = self.made_id(content_index, is_taken);
                    let what = if given.is_empty() { "has no id" } else { "repeats an id" };
                    odd = Some(EventData::Diagnostic {
                        code: codes::TOOL_CALL_ID.into(),
                        message: format!("a call of {name} {what}; it is called {id}"),
                        data: Box::new(json!({ "content_index": content_index, "given": given, "id": id })),
                    });
                }
                self.ids.insert(id.clone());
                let update = MessageUpdate::ToolCallStart { content_index, id: id.clone(), name: name.clone() };
                (Kind::ToolCall, BlockKind::ToolCall { id, name }, Some(update))
            }
            BlockStart::Opaque { protocol, data } => {
                depth::check("a block of the model's answer", &data).map_err(|why| Error::new(ErrorKind::Limit, why))?;
                self.grow(data.to_string().len())?;
                (Kind::Opaque, BlockKind::Opaque { protocol, data: *data }, None)
            }
        };
        self.has_content |= !matches!(block, BlockKind::Thinking { redacted: false });
        self.add(key, kind, block);
        Ok((odd, update.map(EventData::MessageUpdate)))
    }

    /// An id for a call that has none of its own. Models number their calls themselves, and every run counts its turns from 1:
    /// the id may be there already.
    fn made_id(&self, content_index: u32, is_taken: &mut dyn FnMut(&str) -> bool) -> String {
        let made = format!("{MADE_ID}{}_{content_index}", self.turn);
        let numbered = (2_u64..).map(|number| format!("{made}_{number}"));
        let mut ids = std::iter::once(made.clone()).chain(numbered);
        ids.find(|id| !self.ids.contains(id) && !is_taken(id)).unwrap_or(made)
    }

    /// Adds a block; gives its index.
    fn add(&mut self, key: u32, kind: Kind, block: BlockKind) -> u32 {
        let index = self.log.start(block);
        self.marks += 1;
        let open = Open { index, kind };
        self.blocks.insert(key, open);
        self.order.push(key);
        self.last = Some((key, open));
        index
    }

    fn end(&mut self, key: u32) -> Option<EventData> {
        self.last = None;
        self.waiting.retain(|waiting| *waiting != key);
        let place = self.order.iter().position(|k| *k == key)?;
        self.order.remove(place);
        let Open { index: content_index, kind } = self.blocks.get(&key).copied()?;
        let block = Box::new(self.log.end(content_index)?);
        self.marks += 1;
        let update = match kind {
            Kind::Text => MessageUpdate::TextEnd { content_index, block },
            Kind::Thinking => MessageUpdate::ThinkingEnd { content_index, block },
            Kind::ToolCall => MessageUpdate::ToolCallEnd { content_index, block },
            Kind::Opaque => return None,
        };
        Some(EventData::MessageUpdate(update))
    }

    /// Ends the next block that is still open, in the order they started. Call it until it gives nothing when the answer
    /// is complete; not when it failed: open blocks of a failed message get no end.
    pub fn end_next(&mut self) -> Option<EventData> {
        while let Some(key) = self.order.first().copied() {
            if let Some(event) = self.end(key) {
                return Some(event);
            }
        }
        None
    }

    /// The message whole. With an error it ends `error` or `aborted`; calls are taken out of those and of refusals.
    pub fn finish(self, failure: Option<(StopReason, Error)>) -> AssistantMessage {
        let usage = self.priced_usage();
        let (stop_reason, raw_stop_reason, error) = match (failure, self.stop) {
            (Some((reason, error)), stop) => (reason, stop.and_then(|(_, raw)| raw), Some(error)),
            (None, Some((reason, raw))) => (reason, raw, None),
            (None, None) => (StopReason::Stop, None, None),
        };
        let mut content = self.log.content();
        if stop_reason.is_failure() || stop_reason == StopReason::Refusal {
            content.retain(|block| !matches!(block, ContentBlock::ToolCall(_)));
        }
        AssistantMessage {
            content,
            usage,
            stop_reason: Some(stop_reason),
            raw_stop_reason,
            response_id: self.response_id,
            response_model: self.response_model,
            error,
            ..self.log.head().clone()
        }
    }
}

/// Data that can be read where it stands in an event: what is too deep becomes a text.
fn readable(data: Box<Value>) -> Box<Value> {
    if is_deeper(&data, MAX_EMITTED_DEPTH) { Box::new(Value::String(data.to_string())) } else { data }
}

/// The error of a message that is larger than any that is meant.
fn cut_off(why: &str) -> Error {
    Error::new(ErrorKind::Limit, format!("the model's message {why}; it was cut off"))
}

#[cfg(test)]
mod tests;
