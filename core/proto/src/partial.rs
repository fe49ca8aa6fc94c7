//! A message under construction: append-only buffers, from which the message as it stood after any event can be built.
//!
//! Each delta appends its text and one small mark, so a stream of n deltas costs O(n); the message so far is made only
//! when it is asked for ([`Partial::message`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::depth::{MAX_DEPTH, is_map_deeper};
use crate::lenient_json::lenient_json;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall};
use crate::output::PartialOutput;

/// What kind of block is being written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum BlockKind {
    Text,
    Thinking { redacted: bool },
    ToolCall { id: String, name: String },
    Opaque { protocol: String, data: Value },
}

#[derive(Debug, Serialize, Deserialize)]
struct Growing {
    kind: BlockKind,
    text: String,
    signature: Option<String>,
    /// Of a tool call that has ended: its arguments, parsed once.
    arguments: Option<Arguments>,
}

/// The arguments of a call, and their exact text when they are no JSON object.
type Arguments = (Arc<Map<String, Value>>, Option<String>);

/// What one delta did, in the order of the deltas.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Mark {
    Start,
    Length { block: u32, length: usize },
    End,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Buffers {
    blocks: Vec<Growing>,
    marks: Vec<Mark>,
    /// The whole message, whose texts are then not kept here, too.
    #[serde(skip)]
    finished: Option<Arc<Message>>,
}

/// The buffers of one message, shared between the run that writes and the events that read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MessageLog {
    head: AssistantMessage,
    /// Where the final answer is read, if it has a type.
    #[serde(default)]
    output: Option<PartialOutput>,
    buffers: Mutex<Buffers>,
}

impl MessageLog {
    /// An empty log for a message with this head (its content is empty).
    pub(crate) fn new(head: AssistantMessage) -> Arc<MessageLog> {
        Arc::new(MessageLog { head, output: None, buffers: Mutex::default() })
    }

    pub(crate) fn set_output(&mut self, output: Option<PartialOutput>) {
        self.output = output;
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        // Nothing below can leave the buffers half written, so a poisoned lock is still good.
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn head(&self) -> &AssistantMessage {
        &self.head
    }

    /// Starts a block; gives its content index.
    pub(crate) fn start(&self, kind: BlockKind) -> u32 {
        let mut buffers = self.lock();
        buffers.blocks.push(Growing { kind, text: String::new(), signature: None, arguments: None });
        buffers.marks.push(Mark::Start);
        u32::try_from(buffers.blocks.len() - 1).unwrap_or(u32::MAX)
    }

    /// Appends text to a block.
    pub(crate) fn append(&self, block: u32, text: &str) {
        let mut buffers = self.lock();
        let Some(growing) = buffers.blocks.get_mut(block as usize) else {
            return;
        };
        growing.text.push_str(text);
        let length = growing.text.len();
        buffers.marks.push(Mark::Length { block, length });
    }

    /// Appends to the block's signature (vendors send signatures in chunks).
    pub(crate) fn sign(&self, block: u32, signature: &str) {
        if let Some(growing) = self.lock().blocks.get_mut(block as usize) {
            growing.signature.get_or_insert_default().push_str(signature);
        }
    }

    /// Ends a block and gives it whole.
    pub(crate) fn end(&self, block: u32) -> Option<ContentBlock> {
        let mut buffers = self.lock();
        let growing = buffers.blocks.get_mut(block as usize)?;
        if matches!(growing.kind, BlockKind::ToolCall { .. }) {
            growing.arguments = Some(parse_arguments(&growing.text));
        }
        // It grew by doubling, and nothing is appended any more.
        growing.text.shrink_to_fit();
        let whole = growing.whole(growing.text.len(), None);
        buffers.marks.push(Mark::End);
        Some(whole)
    }

    /// All blocks so far.
    pub(crate) fn content(&self) -> Vec<ContentBlock> {
        self.lock().blocks.iter().map(|growing| growing.whole(growing.text.len(), None)).collect()
    }

    /// The message is whole. From now on its texts are read there: once is enough.
    pub(crate) fn finish(&self, message: &Arc<Message>) {
        let mut buffers = self.lock();
        let Some(whole) = message.as_assistant() else {
            return;
        };
        // Calls are taken out of a message that failed; its blocks then stand elsewhere.
        if whole.content.len() != buffers.blocks.len() {
            return;
        }
        for (growing, block) in buffers.blocks.iter_mut().zip(&whole.content) {
            if text_of(block).is_some_and(|text| text.len() == growing.text.len()) {
                growing.text = String::new();
            }
        }
        buffers.finished = Some(Arc::clone(message));
    }

    /// The point after the last delta.
    pub(crate) fn now(self: &Arc<Self>) -> Partial {
        Partial { log: Arc::clone(self), position: self.lock().marks.len() }
    }
}

impl Growing {
    /// The block with this much of its text, which may stand in the finished block. A signature belongs to the whole text only.
    fn whole(&self, length: usize, finished: Option<&ContentBlock>) -> ContentBlock {
        let all = finished.and_then(text_of).filter(|_| self.text.is_empty()).unwrap_or(&self.text);
        let text = all.get(..length).unwrap_or(all);
        let signature = if length == all.len() { self.signature.clone() } else { None };
        match &self.kind {
            BlockKind::Text => ContentBlock::Text { text: text.to_owned(), signature },
            BlockKind::Thinking { redacted } => {
                ContentBlock::Thinking { thinking: text.to_owned(), signature, redacted: *redacted }
            }
            BlockKind::ToolCall { id, name } => {
                let whole = self.arguments.clone().filter(|_| length == self.text.len());
                let (arguments, raw_arguments) = whole.unwrap_or_else(|| parse_arguments(text));
                ContentBlock::ToolCall(ToolCall { id: id.clone(), name: name.clone(), arguments, raw_arguments, signature })
            }
            BlockKind::Opaque { protocol, data } => ContentBlock::Opaque { protocol: protocol.clone(), data: data.clone() },
        }
    }
}

/// The text of a block of text or thinking.
fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text, .. } => Some(text),
        ContentBlock::Thinking { thinking, .. } => Some(thinking),
        _ => None,
    }
}

/// The assistant's message at one point of its stream. Cheap to clone; the message is built when asked for.
#[derive(Debug, Clone)]
pub struct Partial {
    log: Arc<MessageLog>,
    position: usize,
}

impl Partial {
    /// The point after this many marks of the log.
    pub(crate) fn new(log: &Arc<MessageLog>, marks: usize) -> Partial {
        Partial { log: Arc::clone(log), position: marks }
    }

    /// The message as it stood: content so far, `stop_reason` `None`. A tool call whose arguments are not yet a whole JSON
    /// object has them as text in `raw_arguments`.
    pub fn message(&self) -> AssistantMessage {
        let buffers = self.log.lock();
        let mut lengths: Vec<usize> = Vec::new();
        for mark in buffers.marks.iter().take(self.position) {
            match *mark {
                Mark::Start => lengths.push(0),
                Mark::Length { block, length } => {
                    if let Some(slot) = lengths.get_mut(block as usize) {
                        *slot = length;
                    }
                }
                Mark::End => {}
            }
        }
        let finished = buffers.finished.as_ref().and_then(|message| message.as_assistant());
        let blocks = buffers.blocks.iter().zip(lengths).enumerate();
        let content =
            blocks.map(|(at, (growing, length))| growing.whole(length, finished.and_then(|message| message.content.get(at))));
        let content = content.collect();
        AssistantMessage { content, ..self.log.head.clone() }
    }

    /// The typed final answer as far as it is written: what is not whole of its JSON is left out, but for texts. `None` while
    /// there is nothing of it, and where the run has none (see the option `output`). Built when asked for.
    pub fn output(&self) -> Option<Value> {
        let output = self.log.output.as_ref()?;
        let message = self.message();
        let Some(name) = output.tool() else {
            let text = message.text();
            return output.read(&text);
        };
        let call = message.tool_calls().filter(|call| call.name == name).last()?;
        match &call.raw_arguments {
            Some(raw) => output.read(raw),
            None => output.whole(Value::Object((*call.arguments).clone())),
        }
    }

    /// The message is whole; what was gathered of it is not needed a second time.
    pub(crate) fn finish(&self, message: &Arc<Message>) {
        self.log.finish(message);
    }

    /// The same message at the point after this many steps (starts, deltas and ends of its blocks). For hosts that keep one
    /// handle per message, not one per event: the n-th `message_update` event is step n.
    #[must_use]
    pub fn at(&self, steps: usize) -> Partial {
        Partial { log: Arc::clone(&self.log), position: steps }
    }

    /// The same message at the latest point.
    pub fn latest(&self) -> Partial {
        self.log.now()
    }

    /// How many steps of the message this point comes after.
    pub fn steps(&self) -> usize {
        self.position
    }
}

/// A call's arguments from their text. Repair is limited to what changes no meaning: control characters and bad escapes
/// inside strings are escaped. The second value is the exact text when no object could be made of it.
pub(crate) fn parse_arguments(text: &str) -> Arguments {
    if matches!(text.trim(), "" | "null") {
        return (Arc::default(), None);
    }
    match lenient_json(text) {
        Some(Value::Object(arguments)) if !is_map_deeper(&arguments, MAX_DEPTH) => (Arc::new(arguments), None),
        _ => (Arc::default(), Some(text.to_owned())),
    }
}
