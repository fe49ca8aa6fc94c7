//! Summaries that a model has written of parts of a transcript. They stand in it as messages of two roles of the engine's own,
//! which no model gets as they are:
//!
//! - `context_summary` `{role, summary, keeps, model, usage, timestamp}`: of what comes before the last `keeps` messages;
//! - `result_summary` `{role, summary, tool_call_id, model, usage, timestamp}`: of a tool's result.
//!
//! Whoever removes such a message has the original again.

use serde_json::{Map, Value, json};

use super::results::{READ_RESULT, without_middle};
use crate::message::{ContentBlock, Message, ToolResultMessage, UserMessage};
use crate::usage::Usage;

const OF_CONTEXT: &str = "context_summary";
const OF_RESULT: &str = "result_summary";

/// What a summary stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Summarized {
    /// What comes before so many messages.
    Before { keeps: usize },
    /// The result of a call.
    Result { tool_call_id: String },
}

/// A summary in a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary<'a> {
    pub(crate) text: &'a str,
    pub(crate) of: Summarized,
}

impl Summary<'_> {
    /// The summary, if the message is one.
    pub(crate) fn read(message: &Message) -> Option<Summary<'_>> {
        let Message::Custom(map) = message else { return None };
        let text = map.get("summary")?.as_str()?;
        let of = match map.get("role")?.as_str()? {
            OF_CONTEXT => Summarized::Before { keeps: usize::try_from(map.get("keeps")?.as_u64()?).ok()? },
            OF_RESULT => Summarized::Result { tool_call_id: map.get("tool_call_id")?.as_str()?.to_owned() },
            _ => return None,
        };
        Some(Summary { text, of })
    }

    /// The message that a model gets in place of what was left out.
    pub(super) fn message(&self) -> Message {
        let text = format!("[Summary of the earlier part of this conversation, which is left out here]\n{}", self.text);
        // Where hooks have changed what follows, the request is made to fit once more.
        let metadata = Some(json!({ "keep": true }));
        Message::User(UserMessage { metadata, ..UserMessage::new(vec![ContentBlock::text(text)]) })
    }

    /// The result that a model gets.
    pub(super) fn of_result(&self, result: &ToolResultMessage, reads_on: bool) -> Message {
        let bytes = result.model_text().len();
        let read_on = match reads_on {
            true => format!("; call {READ_RESULT} with tool_call_id {:?} and offset 0 to read it", result.tool_call_id),
            false => String::new(),
        };
        let text = format!("[Summary of a result of {bytes} bytes{read_on}]\n{}", self.text);
        let files = result.content.iter().filter(|block| block.is_file()).cloned();
        let content = std::iter::once(ContentBlock::text(text)).chain(files).collect();
        Message::ToolResult(ToolResultMessage { content, ..result.clone() })
    }
}

/// The message of a transcript that has a summary. `model` is who wrote it.
pub(crate) fn summary_message(of: &Summarized, text: &str, model: &str, usage: &Usage, timestamp: u64) -> Message {
    let (role, name, value): (_, _, Value) = match of {
        Summarized::Before { keeps } => (OF_CONTEXT, "keeps", (*keeps).into()),
        Summarized::Result { tool_call_id } => (OF_RESULT, "tool_call_id", tool_call_id.as_str().into()),
    };
    let mut map = Map::new();
    map.insert("role".to_owned(), role.into());
    map.insert("summary".to_owned(), text.into());
    map.insert(name.to_owned(), value);
    map.insert("model".to_owned(), model.into());
    map.insert("usage".to_owned(), json!(usage));
    map.insert("timestamp".to_owned(), timestamp.into());
    Message::Custom(map)
}

/// Messages as a text, for a model that writes their summary: at most so many bytes of a result, and of it all.
pub(crate) fn as_text<'a>(messages: impl IntoIterator<Item = &'a Message>, most_of_result: usize, most: usize) -> String {
    let mut text = String::new();
    let mut add = |role: &str, part: &str| {
        for piece in ["[", role, "]\n", part, "\n\n"] {
            text.push_str(piece);
        }
    };
    for message in messages {
        match message {
            Message::User(user) => add("user", &text_of(&user.content)),
            Message::Assistant(assistant) if assistant.has_failed() => {}
            Message::Assistant(assistant) => {
                let said = assistant.text();
                if !said.is_empty() {
                    add("assistant", &said);
                }
                for call in assistant.tool_calls() {
                    let arguments = json!(call.arguments).to_string();
                    add(&format!("call of {}", call.name), &shortened(arguments, most_of_result));
                }
            }
            Message::ToolResult(result) => {
                let of = if result.is_error { "error of" } else { "result of" };
                add(&format!("{of} {}", result.tool_name), &shortened(result.model_text(), most_of_result));
            }
            Message::Custom(_) => {}
        }
    }
    shortened(text, most)
}

fn text_of(content: &[ContentBlock]) -> String {
    let texts = content.iter().map(|block| match block {
        ContentBlock::Image(_) => "(an image)".into(),
        ContentBlock::Audio(_) => "(audio)".into(),
        ContentBlock::Document(media) => block.as_text().unwrap_or_else(|| match media.short_name() {
            Some(name) => format!("(the document {name})").into(),
            None => "(a document)".into(),
        }),
        _ => block.as_text().unwrap_or_default(),
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The text, with at most so many bytes.
fn shortened(text: String, most: usize) -> String {
    if text.len() <= most { text } else { without_middle(&text, most, |_| String::new()) }
}
