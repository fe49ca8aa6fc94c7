//! Messages as turns, for formats whose messages are lists of blocks with the roles `user` and `assistant` in turn: Anthropic's
//! and Bedrock's.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use serde::Serialize;

use super::format::{GO_ON, follows, see};
use super::incremental::{MessageWriter, Style};
use super::json;
use crate::message::{ContentBlock, Message, ToolResultMessage};
use crate::quirks::Quirks;

/// A content block as a format writes it.
pub(super) trait Block<'a>: Serialize + Sized {
    /// Text.
    fn text(text: Cow<'a, str>) -> Self;

    /// The result of a call.
    fn result(result: &'a ToolResultMessage, content: Vec<Self>) -> Self;

    fn is_thinking(&self) -> bool;

    fn is_result(&self) -> bool;

    /// Whether a cache marker may stand at it, or right behind it, if the model's tools and results may have one or not.
    fn takes_marker(&self, _of_tools: bool) -> bool {
        true
    }

    /// The block's text without white space at its end, if it is one.
    fn trim_end(&mut self) -> Option<&str>;
}

/// How a format writes the blocks of messages.
pub(super) trait Blocks: Debug + Clone + Default {
    type Block<'a>: Block<'a>;

    /// Whether a document must have text beside it in its message.
    const TEXT_BESIDE_DOCUMENTS: bool = false;

    /// An image or a document; none where the format has no such.
    fn file<'a>(&mut self, block: &'a ContentBlock) -> Option<Self::Block<'a>>;

    /// A block of the model's message, but for text.
    fn of_assistant<'a>(block: &'a ContentBlock, quirks: &Quirks) -> Option<Self::Block<'a>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

/// A message of the API: neighbours of one role are one.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    role: Role,
    /// The index of the first message in it.
    pub(super) first_message: usize,
    /// Where it begins in what is written.
    pub(super) start: usize,
    /// Where its last block ends.
    end: usize,
    /// Whether a cache marker may stand there.
    takes_marker: bool,
    begins_with_thinking: bool,
    has_results: bool,
    /// Whether it has other blocks, too.
    has_others: bool,
}

/// The messages as turns, of which the last is open. Results are blocks of a user message, all of a turn in one, before anything
/// else in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns<F> {
    format: F,
    list: List,
}

#[derive(Debug, Clone, Default)]
struct List {
    closed: Vec<Turn>,
    open: Option<Turn>,
    /// Files that their results may not hold follow the results.
    files: Vec<u8>,
    /// Whether a cache marker may stand behind the last of them.
    files_take_marker: bool,
    /// The index of the message that is being added.
    index: usize,
    /// Whether nothing may stand beside results in their message.
    results_alone: bool,
    /// Whether a cache marker may stand behind results.
    marks_results: bool,
}

impl<F: Blocks> MessageWriter for Turns<F> {
    fn add(&mut self, index: usize, message: &Message, style: Style, out: &mut Vec<u8>) {
        let Turns { format, list } = self;
        list.index = index;
        (list.results_alone, list.marks_results) = (!style.quirks.any_order, style.quirks.cache_tools);
        if !matches!(message, Message::ToolResult(_)) {
            list.add_files::<F>(out);
        }
        match message {
            Message::User(user) => {
                let is_said = |block: &ContentBlock| matches!(block, ContentBlock::Text { text, .. } if !text.trim().is_empty());
                let beside = text_beside::<F>(&user.content).filter(|_| !user.content.iter().any(is_said));
                let blocks = user.content.iter().filter_map(|block| user_block(format, block));
                list.add_blocks::<F>(Role::User, blocks.chain(beside), out);
            }
            Message::Assistant(assistant) => {
                let blocks = assistant.content.iter().filter_map(|block| assistant_block::<F>(block, &style.quirks));
                list.add_blocks::<F>(Role::Assistant, blocks, out);
            }
            Message::ToolResult(result) => {
                let mut files: Vec<F::Block<'_>> = result.content.iter().filter_map(|block| format.file(block)).collect();
                // The result of a call that failed may hold only text.
                if !style.quirks.result_images || result.is_error {
                    let beside = text_beside::<F>(&result.content).filter(|_| !files.is_empty());
                    for file in files.drain(..).chain(beside) {
                        list.files_take_marker = file.takes_marker(style.quirks.cache_tools);
                        json::item(&mut list.files, file);
                    }
                }
                list.add_blocks::<F>(Role::User, [result_block(result, files)], out);
            }
            Message::Custom(_) => {}
        }
    }
}

impl<F: Blocks> Turns<F> {
    /// Whether nothing is to be added at the end of a request.
    pub(super) fn has_ended(&self) -> bool {
        self.list.files.is_empty() && self.list.open.is_some()
    }

    /// Adds what only stands at the end of a request: pending files, and a first message where there is none.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        self.list.add_files::<F>(out);
        if self.list.open.is_none() {
            self.list.add_blocks::<F>(Role::User, [go_on::<F>()], out);
        }
    }

    /// Whether the model is to go on with something that it began without thinking: a tool loop, or its own message at the end.
    /// With a budget of thinking that is refused. A loop goes back over messages of nothing but results; one that the user spoke
    /// into began with the calls just answered. See
    /// <https://docs.claude.com/en/docs/build-with-claude/extended-thinking#extended-thinking-with-tool-use>.
    pub(super) fn go_on_without_thinking(&self) -> bool {
        let mut began = self.of_assistant_at_end();
        let mut turns = self.list.backwards();
        while let (Some(answer), Some(caller)) = (turns.next(), turns.next()) {
            if !answer.has_results || (began.is_some() && answer.has_others) {
                break;
            }
            began = Some(caller);
            if answer.has_others {
                break;
            }
        }
        began.is_some_and(|turn| !turn.begins_with_thinking)
    }

    /// The last turn, if it is the model's: the model goes on with it.
    fn of_assistant_at_end(&self) -> Option<&Turn> {
        self.list.open.as_ref().filter(|last| last.role == Role::Assistant)
    }

    /// Where blocks end that get a marker: where this request's messages end, and where those of the one before ended. There it
    /// is found even if a turn in between had more blocks than the server looks back over (20). With the system prompt and the
    /// tools that is four markers, the most there may be. Thinking and empty texts take none; what users say has neither. A turn
    /// whose last block takes none is passed over.
    fn marked(&self) -> impl Iterator<Item = usize> {
        let is_marked = |turn: &&Turn| turn.role == Role::User && turn.takes_marker;
        let mut ends = self.list.backwards().filter(is_marked).map(|turn| turn.end);
        let (last, before) = (ends.next(), ends.next());
        before.into_iter().chain(last)
    }

    /// Appends the list of messages. `written` has all of them, the last one open; `write` appends a part of it, with markers on
    /// the blocks that end at these places.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        written: &[u8],
        messages: &[Arc<Message>],
        thinks: bool,
        quirks: &Quirks,
        write: impl FnOnce(&mut Vec<u8>, &[u8], &mut dyn Iterator<Item = usize>),
    ) {
        out.push(b'[');
        match self.of_assistant_at_end() {
            Some(last) => {
                write(out, written.get(..last.start).unwrap_or_default(), &mut self.marked());
                last_turn::<F>(out, messages.get(last.first_message..).unwrap_or_default(), thinks, quirks);
            }
            None => {
                write(out, written, &mut self.marked());
                out.extend_from_slice(b"]}");
            }
        }
        out.push(b']');
    }
}

impl List {
    fn add_files<F: Blocks>(&mut self, out: &mut Vec<u8>) {
        if self.files.is_empty() {
            return;
        }
        let files = std::mem::take(&mut self.files);
        let takes_marker = self.files_take_marker;
        self.separate_from_results::<F>(out);
        let turn = self.turn(Role::User, out);
        json::items(out, &files);
        (turn.end, turn.takes_marker) = (out.len(), takes_marker);
        turn.has_others = true;
    }

    fn add_blocks<'a, F: Blocks>(&mut self, role: Role, blocks: impl IntoIterator<Item = F::Block<'a>>, out: &mut Vec<u8>) {
        for block in blocks {
            // The API demands that the user speaks first.
            if self.open.is_none() && role != Role::User {
                self.add_blocks::<F>(Role::User, [go_on::<F>()], out);
            }
            if role == Role::User && !block.is_result() {
                self.separate_from_results::<F>(out);
            }
            let takes_marker = block.takes_marker(self.marks_results);
            let turn = self.turn(role, out);
            json::item(out, &block);
            (turn.end, turn.takes_marker) = (out.len(), takes_marker);
            if block.is_result() {
                turn.has_results = true;
            } else {
                turn.begins_with_thinking |= !turn.has_results && !turn.has_others && block.is_thinking();
                turn.has_others = true;
            }
        }
    }

    /// Lets the model say something between results and what a user says, where both may not be in one message.
    fn separate_from_results<F: Blocks>(&mut self, out: &mut Vec<u8>) {
        if self.results_alone && self.open.as_ref().is_some_and(|open| open.role == Role::User && open.has_results) {
            self.add_blocks::<F>(Role::Assistant, [F::Block::text("Understood.".into())], out);
        }
    }

    /// The open turn of this role.
    fn turn(&mut self, role: Role, out: &mut Vec<u8>) -> &mut Turn {
        let before = match self.open.take() {
            Some(open) if open.role == role => return self.open.insert(open),
            before => before,
        };
        if let Some(before) = before {
            out.extend_from_slice(b"]}");
            self.closed.push(before);
        }
        let start = out.len();
        begin_turn(role, out);
        self.open.insert(Turn {
            role,
            first_message: self.index,
            start,
            end: start,
            takes_marker: false,
            begins_with_thinking: false,
            has_results: false,
            has_others: false,
        })
    }

    fn backwards(&self) -> impl Iterator<Item = &Turn> {
        self.closed.iter().chain(&self.open).rev()
    }
}

fn begin_turn(role: Role, out: &mut Vec<u8>) {
    json::separate(out);
    out.extend_from_slice(match role {
        Role::User => b"{\"role\":\"user\",\"content\":[",
        Role::Assistant => b"{\"role\":\"assistant\",\"content\":[",
    });
}

/// An assistant's message at the end, which the model goes on with, may not end in white space, nor hold thinking while thinking
/// is off.
fn last_turn<F: Blocks>(out: &mut Vec<u8>, messages: &[Arc<Message>], thinks: bool, quirks: &Quirks) {
    let content = messages.iter().filter_map(|message| message.as_assistant()).flat_map(|message| &message.content);
    let blocks = content.filter_map(|block| assistant_block::<F>(block, quirks));
    let mut blocks: Vec<F::Block<'_>> = blocks.filter(|block| thinks || !block.is_thinking()).collect();
    while blocks.last_mut().and_then(Block::trim_end).is_some_and(str::is_empty) {
        blocks.pop();
    }
    if blocks.is_empty() {
        return;
    }
    begin_turn(Role::Assistant, out);
    blocks.iter().for_each(|block| json::item(out, block));
    out.extend_from_slice(b"]}");
}

/// What stands beside documents, where something must.
fn text_beside<'a, F: Blocks>(content: &[ContentBlock]) -> Option<F::Block<'a>> {
    let has_any = F::TEXT_BESIDE_DOCUMENTS && content.iter().any(|block| matches!(block, ContentBlock::Document(_)));
    has_any.then(|| F::Block::text(see(content).into()))
}

fn go_on<F: Blocks>() -> F::Block<'static> {
    F::Block::text(GO_ON.into())
}

/// A block of a user's message.
pub(super) fn user_block<'a, F: Blocks>(format: &mut F, block: &'a ContentBlock) -> Option<F::Block<'a>> {
    match block {
        // Refused.
        ContentBlock::Text { text, .. } if text.trim().is_empty() => None,
        ContentBlock::Text { text, .. } => Some(F::Block::text(text.into())),
        ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => format.file(block),
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// A block of the model's message.
pub(super) fn assistant_block<'a, F: Blocks>(block: &'a ContentBlock, quirks: &Quirks) -> Option<F::Block<'a>> {
    match block {
        ContentBlock::Text { text, .. } if text.trim().is_empty() => None,
        ContentBlock::Text { text, .. } => Some(F::Block::text(text.into())),
        ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => None,
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => F::of_assistant(block, quirks),
    }
}

fn result_block<'a, B: Block<'a>>(result: &'a ToolResultMessage, files: Vec<B>) -> B {
    let text = result.model_text();
    // The API wants text beside files, and none that is white space.
    let text: Cow<'_, str> = match (text.trim().is_empty(), files.is_empty()) {
        (false, _) => text.into(),
        (true, false) => see(&result.content).into(),
        (true, true) if text.is_empty() => follows(&result.content).into(),
        (true, true) => "no output".into(),
    };
    B::result(result, std::iter::once(B::text(text)).chain(files).collect())
}
