//! What writing has in common in all formats.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::format::Format;
use super::report::{Exported, Loss};
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};
use crate::table::codes;
use crate::usage::StopReason;

/// What has been written so far.
pub(super) struct Writing {
    pub(super) format: Format,
    pub(super) out: Vec<Value>,
    losses: Vec<Loss>,
    /// Which message is being written.
    pub(super) index: usize,
    /// Files that their results cannot hold: they follow in a user message behind the results.
    pub(super) files: Vec<ContentBlock>,
}

impl Writing {
    pub(super) fn new(format: Format) -> Writing {
        Writing { format, out: Vec::new(), losses: Vec::new(), index: 0, files: Vec::new() }
    }

    pub(super) fn end(mut self) -> Exported {
        self.losses.sort_by_key(|loss| loss.index);
        Exported { messages: Value::Array(self.out), losses: self.losses }
    }

    pub(super) fn lose(&mut self, code: &'static str, message: impl Into<String>) {
        self.losses.push(Loss { index: self.index, code, message: message.into() });
    }

    /// Takes note of a message: reports what no list of a vendor can hold of it.
    pub(super) fn begin(&mut self, index: usize, message: &Message) {
        self.index = index;
        let own = self.own_metadata(message).len();
        let others = message.metadata().and_then(Value::as_object).map_or(0, Map::len);
        let is_lost = message.metadata().is_some_and(|metadata| !metadata.is_object()) || others > usize::from(own > 0);
        if matches!(self.format, Format::AiSdk | Format::Pi) {
            return;
        }
        if is_lost {
            self.lose(codes::LOST_METADATA, "the message's metadata were left out");
        }
        match message {
            Message::ToolResult(result) => self.lose_details(result),
            Message::Assistant(assistant) => self.lose_error(assistant),
            Message::Custom(_) => self.lose_custom(message),
            Message::User(_) => {}
        }
    }

    pub(super) fn lose_details(&mut self, result: &ToolResultMessage) {
        if !result.details.is_null() {
            self.lose(codes::LOST_DETAILS, "the result's details were left out");
        }
    }

    pub(super) fn lose_error(&mut self, message: &AssistantMessage) {
        if message.has_failed() {
            self.lose(codes::LOST_ERROR, "that the message failed or was aborted is not said");
        }
    }

    pub(super) fn lose_custom(&mut self, message: &Message) {
        self.lose(codes::CUSTOM_MESSAGE, format!("a message of the custom role {:?} was left out", message.role()));
    }

    /// A block that has no place.
    pub(super) fn lose_block(&mut self, block: &ContentBlock) {
        let (code, what) = match block {
            // Nothing is lost.
            ContentBlock::Text { text, .. } if text.is_empty() => return,
            ContentBlock::Thinking { .. } => (codes::LOST_THINKING, "thinking that the format has no place for"),
            ContentBlock::Opaque { .. } => (codes::LOST_OPAQUE, "a block that only another vendor understands"),
            ContentBlock::Document(_) | ContentBlock::Audio(_) => (codes::LOST_FILE, "a file that this message cannot have"),
            ContentBlock::Image(_) | ContentBlock::ToolCall(_) => (codes::LOST_PART, "a block that this message cannot have"),
            ContentBlock::Text { .. } => (codes::LOST_EMPTY, "a text of nothing but white space"),
        };
        self.lose(code, format!("{what} was left out"));
    }

    pub(super) fn lose_raw(&mut self, call: &ToolCall) {
        if call.raw_arguments.is_some() {
            self.lose(codes::LOST_ARGUMENTS, format!("the arguments of the call {:?} are no object and were left out", call.id));
        }
    }

    pub(super) fn empty(&mut self) {
        self.lose(codes::LOST_EMPTY, "a message without content was left out");
    }

    /// That a result is an error, where only its text can say so.
    pub(super) fn lose_is_error(&mut self, result: &ToolResultMessage) {
        if result.is_error {
            self.lose(codes::LOST_IS_ERROR, "that the result is an error is not said");
        }
    }

    /// Takes the files out of a result's blocks.
    pub(super) fn move_files<'m>(&mut self, result: &'m ToolResultMessage) -> Vec<&'m ContentBlock> {
        let (files, rest): (Vec<_>, Vec<_>) = result.content.iter().partition(|block| block.is_media());
        if !files.is_empty() {
            let all_images = files.iter().all(|block| matches!(block, ContentBlock::Image(_)));
            let what = if all_images { "images" } else { "files" };
            self.lose(codes::IMAGE_MOVED, format!("{what} of the result moved into a user message behind the results"));
            self.files.extend(files.into_iter().cloned());
        }
        rest
    }

    /// Reports files that are given by their addresses, where only their data can stand.
    pub(super) fn lose_addresses(&mut self, content: &[ContentBlock]) {
        for media in content.iter().filter_map(ContentBlock::as_media) {
            if let Some(url) = media.as_url() {
                let shown = crate::error::shortened(url, 80);
                self.lose(codes::LOST_IMAGE_URL, format!("the file at {shown:?} was left out; only its data can stand there"));
            }
        }
    }

    /// The fields that an import from this format has put aside.
    pub(super) fn own_metadata(&self, message: &Message) -> Map<String, Value> {
        let own = message.metadata().and_then(|metadata| metadata.get(self.format.as_str()));
        own.and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// Adds those of them that are not there.
    pub(super) fn with_own(&self, mut value: Value, message: &Message) -> Value {
        if let Some(map) = value.as_object_mut() {
            for (name, own) in self.own_metadata(message) {
                map.entry(name).or_insert(own);
            }
        }
        value
    }
}

/// Whether a signature of this message's means something in this protocol.
pub(super) fn is_of(message: &AssistantMessage, protocol: &str) -> bool {
    message.protocol.is_empty() || message.protocol == protocol
}

/// A block without a signature of another protocol.
pub(super) fn unsigned(block: &ContentBlock, own: bool) -> ContentBlock {
    match block {
        _ if own => block.clone(),
        ContentBlock::Text { text, .. } => ContentBlock::text(text),
        ContentBlock::ToolCall(call) => ContentBlock::ToolCall(ToolCall { signature: None, ..call.clone() }),
        _ => block.clone(),
    }
}

/// The name of a document in the shape of MCP that has none.
pub(super) const UNNAMED_FILE: &str = "document";

/// Whether the model refused.
pub(super) fn refused(message: &AssistantMessage) -> bool {
    message.stop_reason == Some(StopReason::Refusal)
}

/// What a tool's result is where it may be any JSON: a single text, null for none, else blocks in the shape of MCP.
pub(super) fn output(content: &[ContentBlock]) -> Value {
    match content {
        [] => Value::Null,
        [ContentBlock::Text { text, .. }] => json!(text),
        blocks => {
            let block = |block: &ContentBlock| match block {
                ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
                ContentBlock::Image(media) | ContentBlock::Audio(media) => {
                    let (data, mime_type) = media.as_data()?;
                    let kind = if matches!(block, ContentBlock::Image(_)) { "image" } else { "audio" };
                    Some(json!({ "type": kind, "data": data, "mimeType": mime_type }))
                }
                ContentBlock::Document(media) => {
                    let (data, mime_type) = media.as_data()?;
                    let name = media.name.as_deref().unwrap_or(UNNAMED_FILE);
                    Some(json!({ "type": "resource", "resource": { "uri": name, "mimeType": mime_type, "blob": data } }))
                }
                _ => None,
            };
            json!({ "content": blocks.iter().filter_map(block).collect::<Vec<_>>() })
        }
    }
}

/// All messages, each with its index.
pub(super) fn each(messages: &[Arc<Message>]) -> impl Iterator<Item = (usize, &Message)> {
    messages.iter().map(|message| &**message).enumerate()
}
