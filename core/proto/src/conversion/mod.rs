//! In and out of other programs' transcripts: their messages become ours and ours theirs, with a report of what was not carried
//! over. Nothing is repaired on the way: a list that is valid for a service stays valid, and one that is not stays what it is.
//!
//! - `format` names the formats; each has a file: `openai_chat`, `openai_responses`, `anthropic`, `gemini`, `ai_sdk`, `pi`.
//! - `reading` and `writing` are what these have in common, `report` what a conversion gives.
//!
//! Blocks of the wire formats are written by their encoders. What these do for a request, and no other program wants (cache
//! markers, words that stand for what is empty, merging), is not done here.
//!
//! ```
//! use agent_loop_proto::conversion::{Format, export, import};
//! use serde_json::json;
//!
//! let theirs = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]);
//! let read = import(Format::OpenaiChat, &theirs, None).unwrap();
//! assert_eq!((read.system_prompt.as_str(), read.messages.len()), ("Be brief.", 1));
//! assert_eq!(export(Format::OpenaiChat, &read.messages, &read.system_prompt).messages, theirs);
//! ```

mod ai_sdk;
mod anthropic;
mod format;
mod gemini;
mod openai_chat;
mod openai_responses;
mod pi;
mod reading;
mod report;
#[cfg(test)]
mod tests;
mod writing;

use std::sync::Arc;

use serde_json::Value;

#[cfg(feature = "ui")]
pub(crate) use self::ai_sdk::{UNNAMED, ui_metadata, ui_output};
pub use self::format::Format;
use self::reading::At;
pub use self::report::{Author, Exported, Imported, Loss};
use crate::error::Error;
use crate::message::Message;
use crate::surrogate::read_json;

/// Reads messages of another program: a list, or its text (of pi's sessions, the lines of the file). `author`: who made what
/// the model said, where the messages do not say it.
///
/// # Errors
/// `invalid_argument`: what is no list of messages of this format; the text has the JSON pointer of what is wrong.
pub fn import(format: Format, messages: &Value, author: Option<&Author>) -> Result<Imported, Error> {
    let parsed;
    let messages = match messages {
        Value::String(text) => {
            parsed = parse(format, text)?;
            &parsed
        }
        messages => messages,
    };
    let at = At::new(messages, String::new());
    // What is not an array is most often a request that has one.
    let inner =
        ["messages", "input", "output", "contents"].into_iter().find(|name| messages.get(name).is_some_and(Value::is_array));
    if let (true, Some(name)) = (messages.is_object(), inner) {
        return Err(at.refused(format_args!("expected an array, got an object; give its {name:?} alone")));
    }
    if messages.is_null() {
        return at.expected("an array of messages");
    }
    match format {
        Format::OpenaiChat => openai_chat::import(&at, author),
        Format::OpenaiResponses => openai_responses::import(&at, author),
        Format::Anthropic => anthropic::import(&at, author),
        Format::Gemini => gemini::import(&at, author),
        Format::AiSdk => ai_sdk::import(&at, author),
        Format::Pi => pi::import(&at, author),
    }
}

fn parse(format: Format, text: &str) -> Result<Value, Error> {
    let is_lines = format == Format::Pi && !text.trim_start().starts_with('[');
    if !is_lines {
        return read_json(text).map_err(|error| error.reworded(|why| format!("messages: {why}")));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(i, line): (usize, &str)| {
        read_json(line).map_err(|error| error.reworded(|why| format!("messages: line {}: {why}", i + 1)))
    };
    lines.map(read).collect::<Result<Vec<_>, _>>().map(Value::Array)
}

/// Writes messages for another program. Where its lists have a place for the system prompt, it is their first message.
pub fn export(format: Format, messages: &[Arc<Message>], system_prompt: &str) -> Exported {
    match format {
        Format::OpenaiChat => openai_chat::export(messages, system_prompt),
        Format::OpenaiResponses => openai_responses::export(messages, system_prompt),
        Format::Anthropic => anthropic::export(messages, system_prompt),
        Format::Gemini => gemini::export(messages, system_prompt),
        Format::AiSdk => ai_sdk::export(messages, system_prompt),
        Format::Pi => pi::export(messages, system_prompt),
    }
}

impl Exported {
    /// The text of the messages: JSON, or the lines of a session of pi's.
    pub fn text(&self, format: Format) -> String {
        match &self.messages {
            Value::Array(entries) if format == Format::Pi => entries.iter().map(|entry| format!("{entry}\n")).collect(),
            messages => messages.to_string(),
        }
    }
}
