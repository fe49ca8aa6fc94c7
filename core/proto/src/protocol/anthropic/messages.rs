//! The messages of a request.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::media::Media;
use crate::message::{ContentBlock, Message, ToolResultMessage};
use crate::protocol::format::{GO_ON, follows, see};
use crate::protocol::incremental::{MessageWriter, Style};
use crate::protocol::json;
use crate::quirks::Quirks;

/// A content block of the API.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<Cow<'a, str>>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    #[serde(untagged)]
    Opaque(Cow<'a, Value>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
    Text { media_type: &'static str, data: String },
}

impl Block<'_> {
    fn is_thinking(&self) -> bool {
        match self {
            Block::Thinking { .. } | Block::RedactedThinking { .. } => true,
            Block::Opaque(data) => data.get("type").is_some_and(|kind| kind == "thinking" || kind == "redacted_thinking"),
            _ => false,
        }
    }

    fn is_result(&self) -> bool {
        match self {
            Block::ToolResult { .. } => true,
            Block::Opaque(data) => data.get("type").is_some_and(|kind| kind == "tool_result"),
            _ => false,
        }
    }

    /// The block's text without white space at its end, if it is one.
    fn trim_end(&mut self) -> Option<&str> {
        let trimmed = |text: &str| text.trim_end().len();
        match self {
            Block::Text { text } => {
                let end = trimmed(text);
                if end < text.len() {
                    text.to_mut().truncate(end);
                }
                Some(text)
            }
            Block::Opaque(data) if data.get("text").is_some_and(Value::is_string) => {
                let Some(Value::String(text)) = data.to_mut().get_mut("text") else {
                    return None;
                };
                text.truncate(trimmed(text));
                Some(text)
            }
            _ => None,
        }
    }
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
    begins_with_thinking: bool,
    has_results: bool,
    /// Whether it has other blocks, too.
    has_others: bool,
}

/// The messages as turns, of which the last is open. Results are blocks of a user message, all of a turn in one, before anything
/// else in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns {
    closed: Vec<Turn>,
    open: Option<Turn>,
    /// Files that their results may not hold follow the results.
    files: Vec<u8>,
    /// The index of the message that is being added.
    index: usize,
}

impl MessageWriter for Turns {
    fn add(&mut self, index: usize, message: &Message, style: Style, out: &mut Vec<u8>) {
        self.index = index;
        if !matches!(message, Message::ToolResult(_)) {
            self.add_files(out);
        }
        match message {
            Message::User(user) => self.add_blocks(Role::User, user.content.iter().filter_map(user_block), out),
            Message::Assistant(assistant) => {
                let blocks = assistant.content.iter().filter_map(|block| assistant_block(block, &style.quirks));
                self.add_blocks(Role::Assistant, blocks, out);
            }
            Message::ToolResult(result) => {
                let mut files: Vec<Block<'_>> = result.content.iter().filter_map(file).collect();
                // The result of a call that failed may hold only text.
                if !style.quirks.result_images || result.is_error {
                    files.drain(..).for_each(|file| json::item(&mut self.files, file));
                }
                self.add_blocks(Role::User, [result_block(result, files)], out);
            }
            Message::Custom(_) => {}
        }
    }
}

impl Turns {
    /// Whether nothing is to be added at the end of a request.
    pub(super) fn has_ended(&self) -> bool {
        self.files.is_empty() && self.open.is_some()
    }

    /// Adds what only stands at the end of a request: pending files, and a first message where there is none.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        self.add_files(out);
        if self.open.is_none() {
            self.add_blocks(Role::User, [go_on()], out);
        }
    }

    fn add_files(&mut self, out: &mut Vec<u8>) {
        if self.files.is_empty() {
            return;
        }
        let files = std::mem::take(&mut self.files);
        let turn = self.turn(Role::User, out);
        json::items(out, &files);
        turn.end = out.len();
        turn.has_others = true;
    }

    fn add_blocks<'a>(&mut self, role: Role, blocks: impl IntoIterator<Item = Block<'a>>, out: &mut Vec<u8>) {
        for block in blocks {
            // The API demands that the user speaks first.
            if self.open.is_none() && role != Role::User {
                self.add_blocks(Role::User, [go_on()], out);
            }
            let turn = self.turn(role, out);
            json::item(out, &block);
            turn.end = out.len();
            if block.is_result() {
                turn.has_results = true;
            } else {
                turn.begins_with_thinking |= !turn.has_results && !turn.has_others && block.is_thinking();
                turn.has_others = true;
            }
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
            begins_with_thinking: false,
            has_results: false,
            has_others: false,
        })
    }

    /// Whether the model is to go on with something that it began without thinking: a tool loop, or its own message at the end.
    /// With a budget of thinking that is refused. A loop goes back over messages of nothing but results; one that the user spoke
    /// into began with the calls just answered. See
    /// <https://docs.claude.com/en/docs/build-with-claude/extended-thinking#extended-thinking-with-tool-use>.
    pub(super) fn go_on_without_thinking(&self) -> bool {
        let mut began = self.of_assistant_at_end();
        let mut turns = self.backwards();
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

    fn backwards(&self) -> impl Iterator<Item = &Turn> {
        self.closed.iter().chain(&self.open).rev()
    }

    /// The last turn, if it is the model's: the model goes on with it.
    pub(super) fn of_assistant_at_end(&self) -> Option<&Turn> {
        self.open.as_ref().filter(|last| last.role == Role::Assistant)
    }

    /// Where blocks end that get a marker: where this request's messages end, and where those of the one before ended. There it
    /// is found even if a turn in between had more blocks than the server looks back over (20). With the system prompt and the
    /// tools that is four markers, the most there may be. Thinking and empty texts take none; what users say has neither.
    pub(super) fn marked(&self) -> impl Iterator<Item = usize> {
        let mut ends = self.backwards().filter(|turn| turn.role == Role::User).map(|turn| turn.end);
        let (last, before) = (ends.next(), ends.next());
        before.into_iter().chain(last)
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
pub(super) fn last_turn(out: &mut Vec<u8>, messages: &[Arc<Message>], thinks: bool, quirks: &Quirks) {
    let content = messages.iter().filter_map(|message| message.as_assistant()).flat_map(|message| &message.content);
    let blocks = content.filter_map(|block| assistant_block(block, quirks));
    let mut blocks: Vec<Block<'_>> = blocks.filter(|block| thinks || !block.is_thinking()).collect();
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

fn text(text: &str) -> Block<'_> {
    Block::Text { text: text.into() }
}

fn go_on() -> Block<'static> {
    text(GO_ON)
}

fn user_block(block: &ContentBlock) -> Option<Block<'_>> {
    match block {
        // Refused.
        ContentBlock::Text { text, .. } if text.trim().is_empty() => None,
        ContentBlock::Text { text: own, .. } => Some(text(own)),
        ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => file(block),
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// There is no audio.
fn file(block: &ContentBlock) -> Option<Block<'_>> {
    match block {
        ContentBlock::Image(media) => Some(Block::Image { source: source(media) }),
        ContentBlock::Document(media) => {
            let source = match media.text() {
                // The API knows no other text.
                Some(data) => Source::Text { media_type: "text/plain", data },
                None => source(media),
            };
            Some(Block::Document { source, title: media.short_name() })
        }
        _ => None,
    }
}

fn source(media: &Media) -> Source<'_> {
    match media.as_data() {
        Some((data, media_type)) => Source::Base64 { media_type, data },
        None => Source::Url { url: media.as_url().unwrap_or_default() },
    }
}

/// Thinking stands where it stood, with its signature; thinking without one is text, without tags, which models imitate.
fn assistant_block<'a>(block: &'a ContentBlock, quirks: &Quirks) -> Option<Block<'a>> {
    match block {
        ContentBlock::Thinking { signature: Some(data), redacted: true, .. } => Some(Block::RedactedThinking { data }),
        ContentBlock::Thinking { redacted: true, .. } => None,
        ContentBlock::Thinking { thinking, signature: Some(signature), .. } => Some(Block::Thinking { thinking, signature }),
        ContentBlock::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
        ContentBlock::Thinking { thinking, .. } if quirks.empty_signatures => Some(Block::Thinking { thinking, signature: "" }),
        ContentBlock::Thinking { thinking, .. } => Some(text(thinking)),
        ContentBlock::ToolCall(call) => Some(Block::ToolUse { id: &call.id, name: &call.name, input: &call.arguments }),
        ContentBlock::Opaque { data, .. } => Some(Block::Opaque(Cow::Borrowed(data))),
        ContentBlock::Text { .. } => user_block(block),
        ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => None,
    }
}

fn result_block<'a>(result: &'a ToolResultMessage, files: Vec<Block<'a>>) -> Block<'a> {
    let text = result.model_text();
    // The API wants text beside files, and none that is white space.
    let text: Cow<'_, str> = match (text.trim().is_empty(), files.is_empty()) {
        (false, _) => text.into(),
        (true, false) => see(&result.content).into(),
        (true, true) if text.is_empty() => follows(&result.content).into(),
        (true, true) => "no output".into(),
    };
    let content = std::iter::once(Block::Text { text }).chain(files).collect();
    Block::ToolResult { tool_use_id: &result.tool_call_id, content, is_error: result.is_error }
}

/// A block of a user's or a tool's message; for conversions of transcripts.
pub(crate) fn user_json(block: &ContentBlock) -> Option<Value> {
    user_block(block).map(json::value)
}

/// A block of a model's message, likewise.
pub(crate) fn assistant_json(block: &ContentBlock) -> Option<Value> {
    assistant_block(block, &Quirks::PLAIN).map(json::value)
}
