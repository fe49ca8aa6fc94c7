//! Incremental encoding: an encoder keeps messages, tools and the system prompt as they stand in the body, so that a turn costs
//! what it adds.
//!
//! Messages are appended in order, and what is written never changes: the messages of a request extend those of the
//! one before byte for byte. What only stands at the end of a request is added to a copy.

use std::fmt::Debug;
use std::sync::Arc;

use super::json;
use crate::message::Message;
use crate::quirks::Quirks;
use crate::request::ToolDescription;

/// On what the form of messages depends besides themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    /// The server's differences.
    pub(super) quirks: Quirks,
    /// Whether the model is asked to think, where that changes its earlier messages.
    pub(super) thinks: bool,
}

/// Appends the messages of one wire format in order, and remembers what the next one depends on.
pub(super) trait MessageWriter: Default {
    /// Takes note of messages that are going to be added; returns false if one of them changes what is already written.
    fn expect(&mut self, messages: &[Arc<Message>]) -> bool {
        let _ = messages;
        true
    }

    /// Appends a message, the one with this index, to what is written.
    fn add(&mut self, index: usize, message: &Message, style: Style, out: &mut Vec<u8>);
}

/// The messages of a request as they were written.
#[derive(Debug, Default)]
pub(super) struct Messages<W> {
    style: Option<Style>,
    /// Those that are written.
    given: Vec<Arc<Message>>,
    /// What the format's writer knows of them.
    pub(super) writer: W,
    /// Their JSON, without the list's brackets; perhaps the last item is still open.
    pub(super) json: Vec<u8>,
}

impl<W: MessageWriter> Messages<W> {
    /// Writes the messages that were not written yet; all of them, if these do not begin with those that were.
    pub(super) fn update(&mut self, messages: &[Arc<Message>], style: Style) {
        let known = &self.given;
        let grew = messages.len() >= known.len() && known.iter().zip(messages).all(|(a, b)| Arc::ptr_eq(a, b));
        if self.style != Some(style) || !grew || !self.writer.expect(messages.get(known.len()..).unwrap_or_default()) {
            *self = Messages { style: Some(style), given: Vec::new(), writer: W::default(), json: Vec::new() };
            self.writer.expect(messages);
        }
        for (index, message) in messages.iter().enumerate().skip(self.given.len()) {
            self.writer.add(index, message, style, &mut self.json);
            self.given.push(Arc::clone(message));
        }
    }
}

/// The tools of a request as they were written.
#[derive(Debug, Default)]
pub(super) struct Tools {
    of: Option<(Arc<Vec<ToolDescription>>, Quirks)>,
    json: Vec<Vec<u8>>,
}

impl Tools {
    /// Each tool's JSON. `write` appends that of one.
    pub(super) fn written(
        &mut self,
        tools: &Arc<Vec<ToolDescription>>,
        quirks: &Quirks,
        write: impl Fn(&ToolDescription, &Quirks, &mut Vec<u8>),
    ) -> &[Vec<u8>] {
        let same =
            |(known, with): &(Arc<Vec<ToolDescription>>, Quirks)| with == quirks && (Arc::ptr_eq(known, tools) || known == tools);
        if !self.of.as_ref().is_some_and(same) {
            self.json.clear();
            self.json.extend(tools.iter().map(|tool| {
                let mut json = Vec::new();
                write(tool, quirks, &mut json);
                json
            }));
            self.of = Some((Arc::clone(tools), *quirks));
        }
        &self.json
    }
}

/// A text, the system prompt, as it was written.
#[derive(Debug, Default)]
pub(super) struct Text {
    text: String,
    json: Vec<u8>,
}

impl Text {
    /// The text's JSON.
    pub(super) fn written(&mut self, text: &str) -> &[u8] {
        if self.json.is_empty() || self.text != text {
            self.json.clear();
            json::write(&mut self.json, text);
            text.clone_into(&mut self.text);
        }
        &self.json
    }
}
