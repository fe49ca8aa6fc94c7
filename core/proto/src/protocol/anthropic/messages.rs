//! The blocks of messages.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::media::Media;
use crate::message::{ContentBlock, ToolResultMessage};
use crate::protocol::json;
use crate::protocol::turns::{self, assistant_block, user_block};
use crate::quirks::Quirks;

/// The messages of a request.
pub(super) type Turns = turns::Turns<Blocks>;

/// A content block of the API.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
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
pub(super) enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
    Text { media_type: &'static str, data: String },
}

impl<'a> turns::Block<'a> for Block<'a> {
    fn text(text: Cow<'a, str>) -> Block<'a> {
        Block::Text { text }
    }

    fn result(result: &'a ToolResultMessage, content: Vec<Block<'a>>) -> Block<'a> {
        Block::ToolResult { tool_use_id: &result.tool_call_id, content, is_error: result.is_error }
    }

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

/// How the blocks are written.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks;

impl turns::Blocks for Blocks {
    type Block<'a> = Block<'a>;

    /// There is no audio.
    fn file<'a>(&mut self, block: &'a ContentBlock) -> Option<Block<'a>> {
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

    /// Thinking stands where it stood, with its signature; thinking without one is text, without tags, which models imitate.
    fn of_assistant<'a>(block: &'a ContentBlock, quirks: &Quirks) -> Option<Block<'a>> {
        match block {
            ContentBlock::Thinking { signature: Some(data), redacted: true, .. } => Some(Block::RedactedThinking { data }),
            ContentBlock::Thinking { redacted: true, .. } => None,
            ContentBlock::Thinking { thinking, signature: Some(signature), .. } => Some(Block::Thinking { thinking, signature }),
            ContentBlock::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
            ContentBlock::Thinking { thinking, .. } if quirks.empty_signatures => {
                Some(Block::Thinking { thinking, signature: "" })
            }
            ContentBlock::Thinking { thinking, .. } => Some(Block::Text { text: thinking.into() }),
            ContentBlock::ToolCall(call) => Some(Block::ToolUse { id: &call.id, name: &call.name, input: &call.arguments }),
            ContentBlock::Opaque { data, .. } => Some(Block::Opaque(Cow::Borrowed(data))),
            _ => None,
        }
    }
}

fn source(media: &Media) -> Source<'_> {
    match media.as_data() {
        Some((data, media_type)) => Source::Base64 { media_type, data },
        None => Source::Url { url: media.as_url().unwrap_or_default() },
    }
}

/// A block of a user's or a tool's message; for conversions of transcripts.
pub(crate) fn user_json(block: &ContentBlock) -> Option<Value> {
    user_block(&mut Blocks, block).map(json::value)
}

/// A block of a model's message, likewise.
pub(crate) fn assistant_json(block: &ContentBlock) -> Option<Value> {
    assistant_block::<Blocks>(block, &Quirks::PLAIN).map(json::value)
}
