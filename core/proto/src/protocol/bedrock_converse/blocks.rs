//! The blocks of messages: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html>.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::base64;
use crate::media::{Media, extension};
use crate::message::{ContentBlock, ToolResultMessage};
use crate::protocol::turns;
use crate::quirks::Quirks;

/// The messages of a request.
pub(super) type Turns = turns::Turns<Blocks>;

/// A content block of the API.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Image {
        format: &'a str,
        source: Source<'a>,
    },
    Document {
        format: &'a str,
        name: String,
        source: Source<'a>,
    },
    ReasoningContent(Reasoning<'a>),
    #[serde(rename_all = "camelCase")]
    ToolUse {
        tool_use_id: &'a str,
        name: &'a str,
        input: &'a Map<String, Value>,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
    },
    #[serde(untagged)]
    Opaque(&'a Value),
}

/// The bytes of a file, in base64.
#[derive(Debug, Serialize)]
pub(super) struct Source<'a> {
    bytes: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reasoning<'a> {
    ReasoningText {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    RedactedContent(&'a str),
}

impl<'a> turns::Block<'a> for Block<'a> {
    fn text(text: Cow<'a, str>) -> Block<'a> {
        Block::Text(text)
    }

    /// Only some families know the status, and a success needs none.
    fn result(result: &'a ToolResultMessage, content: Vec<Block<'a>>) -> Block<'a> {
        Block::ToolResult { tool_use_id: &result.tool_call_id, content, status: result.is_error.then_some("error") }
    }

    fn is_thinking(&self) -> bool {
        matches!(self, Block::ReasoningContent(_))
    }

    fn is_result(&self) -> bool {
        matches!(self, Block::ToolResult { .. })
    }

    /// Nova refuses a marker behind a result ("extraneous key [cachePoint] is not permitted") and an image; Claude one behind a
    /// document that is no PDF ("messages.0.content.2.type: Field required").
    fn takes_marker(&self, of_tools: bool) -> bool {
        match self {
            Block::Text(_) => true,
            Block::Document { format, .. } => of_tools && *format == "pdf",
            _ => of_tools,
        }
    }

    fn trim_end(&mut self) -> Option<&str> {
        let Block::Text(text) = self else {
            return None;
        };
        let end = text.trim_end().len();
        if end < text.len() {
            text.to_mut().truncate(end);
        }
        Some(text)
    }
}

/// How the blocks are written. Names of documents must differ: it counts them.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    documents: u64,
}

impl turns::Blocks for Blocks {
    type Block<'a> = Block<'a>;

    const TEXT_BESIDE_DOCUMENTS: bool = true;

    /// By their data alone; there is no audio.
    fn file<'a>(&mut self, block: &'a ContentBlock) -> Option<Block<'a>> {
        match block {
            ContentBlock::Image(media) => {
                let (data, kind) = media.as_data()?;
                let (_, format) = kind.split_once('/')?;
                Some(Block::Image { format, source: Source { bytes: data.into() } })
            }
            ContentBlock::Document(media) => {
                let (data, kind) = media.as_data()?;
                let (format, bytes) = match media.text() {
                    Some(text) => (text_format(kind), Cow::Owned(base64::encode(text.as_bytes()))),
                    None => (extension(kind).unwrap_or("pdf"), Cow::Borrowed(data)),
                };
                self.documents += 1;
                Some(Block::Document { format, name: document_name(media, self.documents), source: Source { bytes } })
            }
            _ => None,
        }
    }

    /// Thinking stands where it stood, with its signature; of models that sign it, thinking without one is text.
    fn of_assistant<'a>(block: &'a ContentBlock, quirks: &Quirks) -> Option<Block<'a>> {
        let reasoning = |reasoning| Some(Block::ReasoningContent(reasoning));
        match block {
            ContentBlock::Thinking { signature: Some(data), redacted: true, .. } => reasoning(Reasoning::RedactedContent(data)),
            ContentBlock::Thinking { redacted: true, .. } => None,
            ContentBlock::Thinking { thinking: text, signature: Some(signature), .. } => {
                reasoning(Reasoning::ReasoningText { text, signature: Some(signature) })
            }
            ContentBlock::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
            ContentBlock::Thinking { thinking: text, .. } if quirks.empty_signatures => {
                reasoning(Reasoning::ReasoningText { text, signature: None })
            }
            ContentBlock::Thinking { thinking, .. } => Some(Block::Text(thinking.into())),
            ContentBlock::ToolCall(call) => {
                Some(Block::ToolUse { tool_use_id: &call.id, name: &call.name, input: &call.arguments })
            }
            ContentBlock::Opaque { data, .. } => Some(Block::Opaque(data)),
            _ => None,
        }
    }
}

/// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html>, in characters.
const LONGEST_NAME: usize = 200;

/// The API's word for a type of text.
fn text_format(kind: &str) -> &'static str {
    match kind {
        "text/csv" => "csv",
        "text/html" => "html",
        "text/markdown" => "md",
        _ => "txt",
    }
}

/// The name of the document of this number: letters, digits, single spaces and a few signs. Only those behind the first have a
/// number, in brackets, which names have not.
fn document_name(media: &Media, number: u64) -> String {
    let given = media.short_name().unwrap_or_default();
    let mut name = String::with_capacity(given.len());
    for c in given.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '(' | ')') => name.push(c),
            c if c.is_whitespace() => {
                if !name.is_empty() && !name.ends_with(' ') {
                    name.push(' ');
                }
            }
            _ => name.push('-'),
        }
    }
    let name = if name.bytes().any(|byte| byte.is_ascii_alphanumeric()) { name.trim_end() } else { "document" };
    if number == 1 {
        return name.to_owned();
    }
    let number = format!(" [{number}]");
    // All are ASCII.
    let room = LONGEST_NAME.saturating_sub(number.len()).min(name.len());
    format!("{}{number}", name.get(..room).unwrap_or_default().trim_end())
}
