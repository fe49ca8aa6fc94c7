//! Deltas, the parts of a model's answer, and the fold from deltas to message events and the whole message.

mod finish;
mod part;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::part::readable;
pub use self::part::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::event::{EventData, MessageUpdate};
use crate::message::AssistantMessage;
use crate::output::PartialOutput;
use crate::partial::{BlockKind, MessageLog, Partial};
use crate::usage::{Prices, StopReason, Usage};

/// Folds deltas into an assistant message and returns each step as an event.
#[derive(Debug, Serialize, Deserialize)]
pub struct MessageBuilder {
    log: Arc<MessageLog>,
    turn: u32,
    blocks: BTreeMap<u32, Open>,
    last: Option<(u32, Open)>,
    /// The keys of the blocks that are open, by their index: a server may leave thousands of them open.
    order: BTreeMap<u32, u32>,
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
            order: BTreeMap::new(),
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

    /// The final answer can be read from the message while it is written.
    pub(crate) fn reading(mut self, output: Option<PartialOutput>) -> MessageBuilder {
        if let Some(log) = Arc::get_mut(&mut self.log) {
            log.set_output(output);
        }
        self
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

    /// Starts the next of the texts that wait for what this delta brings; call it until it gives nothing, before the delta is
    /// applied. Blocks stand in the order in which they were announced.
    pub fn start_waiting(&mut self, delta: &Delta) -> Option<EventData> {
        let first = *self.waiting.first()?;
        let is_due = match delta {
            Delta::Append { key, text } => !text.is_empty() && self.is_waiting(*key),
            Delta::Signature { key, signature } => !signature.is_empty() && self.is_waiting(*key),
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

    /// Many texts may wait: they are not searched for a block that has begun, as those of nearly all deltas have.
    fn is_waiting(&self, key: u32) -> bool {
        !self.blocks.contains_key(&key) && self.waiting.contains(&key)
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
        let open = self.blocks.get(&key).copied().filter(|open| self.order.contains_key(&open.index)).ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                format!("the model's stream goes on with block {key}, which was not started or has ended"),
            )
        })?;
        self.last = Some((key, open));
        Ok(open)
    }

    fn end(&mut self, key: u32) -> Option<EventData> {
        self.last = None;
        let Some(open) = self.blocks.get(&key).copied() else {
            self.waiting.retain(|waiting| *waiting != key);
            return None;
        };
        self.order.remove(&open.index)?;
        self.ended(open)
    }

    /// A block that was open until now.
    fn ended(&mut self, Open { index: content_index, kind }: Open) -> Option<EventData> {
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
        self.last = None;
        // Taken out whatever it is: a saved loop may name a block that it does not have.
        while let Some((_, key)) = self.order.pop_first() {
            let open = self.blocks.get(&key).copied();
            if let Some(event) = open.and_then(|open| self.ended(open)) {
                return Some(event);
            }
        }
        None
    }
}

/// The error of a message that is larger than any that is meant.
fn cut_off(why: &str) -> Error {
    Error::new(ErrorKind::Limit, format!("the model's message {why}; it was cut off"))
}

#[cfg(test)]
mod tests;
