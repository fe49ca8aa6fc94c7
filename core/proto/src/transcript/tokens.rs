//! How many tokens a message has, about.
//!
//! Each model counts in its own way, and none of it is needed: what a provider reports of each request corrects the estimate
//! ([`super::fitting`]).

use std::sync::Arc;

use crate::base64;
use crate::media::{Media, is_text};
use crate::message::{ContentBlock, Message};
use crate::size;

/// Bytes of ASCII in a token, about: of English four, of code and JSON somewhat less.
const ASCII_PER_TOKEN: u64 = 4;
/// Twice the tokens of three characters of another alphabet: from Cyrillic (less) to Chinese (more).
const OTHER_PER_THREE: u64 = 2;
/// What a provider adds around a message.
const PER_MESSAGE: u64 = 4;
/// What a provider adds around a call.
const PER_CALL: u64 = 8;
/// An image: 258 to 1,600 tokens, by model and size, <https://platform.claude.com/docs/en/build-with-claude/vision>.
const PER_IMAGE: u64 = 1_500;
/// A page of a PDF, as text and image: 1,500 to 3,000 tokens,
/// <https://platform.claude.com/docs/en/build-with-claude/pdf-support>.
const PER_PAGE: u64 = 2_000;
/// What a page occupies in a PDF, about.
const BYTES_PER_PAGE: u64 = 50_000;
/// How many pages a document has that is given by its address, about.
const PAGES_AT_ADDRESS: u64 = 10;
/// Audio: 32 tokens a second, <https://ai.google.dev/gemini-api/docs/audio>, of 128 kbit.
const AUDIO_BYTES_PER_TOKEN: u64 = 500;
/// Audio at an address, which may be of any length: a minute.
const PER_AUDIO: u64 = 32 * 60;

/// The tokens of these messages for a model, about.
///
/// ```
/// # use std::sync::Arc;
/// use agent_loop_proto::{message::Message, transcript};
/// let messages = [Arc::new(Message::user("How many tokens are these?", 0))];
/// assert_eq!(transcript::estimate_tokens(&messages), 11);
/// ```
pub fn estimate_tokens(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| of_message(message, u64::MAX)).sum()
}

/// The tokens of a message for a model, about. Those of a role of the application, and of messages that failed, are not sent. Of
/// a tool's result go at most so many.
pub(super) fn of_message(message: &Message, most_of_result: u64) -> u64 {
    let blocks = |content: &[ContentBlock]| content.iter().map(of_block).sum::<u64>();
    match message {
        Message::User(user) => PER_MESSAGE + blocks(&user.content),
        Message::Assistant(assistant) if assistant.has_failed() => 0,
        Message::Assistant(assistant) => PER_MESSAGE + blocks(&assistant.content),
        Message::ToolResult(result) => {
            let is_text = |block: &&ContentBlock| matches!(block, ContentBlock::Text { .. });
            let text: u64 = result.content.iter().filter(is_text).map(of_block).sum();
            let other: u64 = result.content.iter().filter(|block| !is_text(block)).map(of_block).sum();
            PER_MESSAGE + text.min(most_of_result) + other
        }
        Message::Custom(_) => 0,
    }
}

fn of_block(block: &ContentBlock) -> u64 {
    match block {
        ContentBlock::Text { text, .. } => of_text(text),
        ContentBlock::Thinking { thinking, .. } => of_text(thinking),
        ContentBlock::Image(_) => PER_IMAGE,
        ContentBlock::Document(media) => of_document(media),
        ContentBlock::Audio(media) => match media.as_data() {
            Some((data, _)) => (base64::length(data) as u64 / AUDIO_BYTES_PER_TOKEN).max(1),
            None => PER_AUDIO,
        },
        ContentBlock::ToolCall(call) => PER_CALL + of_text(&call.name) + of_bytes(size::of_json(&call.arguments)),
        ContentBlock::Opaque { data, .. } => of_bytes(size::of_json(data)),
    }
}

/// A text by its characters; of another document a page is guessed for so many bytes, as nothing but the file knows them.
fn of_document(media: &Media) -> u64 {
    match media.as_data() {
        Some((data, kind)) if is_text(kind) => of_bytes(base64::length(data)),
        Some((data, _)) => (base64::length(data) as u64).div_ceil(BYTES_PER_PAGE) * PER_PAGE,
        None => PAGES_AT_ADDRESS * PER_PAGE,
    }
}

/// The tokens of a text, about.
pub(crate) fn of_text(text: &str) -> u64 {
    // Most texts, and faster than to count.
    if text.is_ascii() {
        return of_bytes(text.len());
    }
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    // What is no byte that continues a character.
    let others = text.bytes().filter(|byte| *byte >= 0xC0).count() as u64;
    ascii.div_ceil(ASCII_PER_TOKEN) + (others * OTHER_PER_THREE).div_ceil(3)
}

/// The tokens of JSON of this size, about.
pub(crate) fn of_bytes(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(ASCII_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_message_is_estimated_by_what_a_model_gets_of_it() {
        let tokens = |message: serde_json::Value| of_message(&from_value(message).unwrap(), 100);
        let text = "a".repeat(400);
        assert_eq!(tokens(json!({ "role": "user", "content": text })), 104);
        assert_eq!(tokens(json!({ "role": "user", "content": "снег" })), 7);
        let image = json!({ "type": "image", "data": "aGk=", "mime_type": "image/png" });
        assert_eq!(tokens(json!({ "role": "user", "content": [image] })), 1_504);
        let data = "QUJD".repeat(20_000);
        let file = |block: serde_json::Value| tokens(json!({ "role": "user", "content": [block] })) - 4;
        assert_eq!(file(json!({ "type": "document", "data": data, "mime_type": "text/plain" })), 15_000);
        assert_eq!(file(json!({ "type": "document", "data": data, "mime_type": "application/pdf" })), 4_000);
        assert_eq!(file(json!({ "type": "document", "url": "https://h/a.pdf" })), 20_000);
        assert_eq!(file(json!({ "type": "audio", "data": data, "mime_type": "audio/wav" })), 120);
        assert_eq!(file(json!({ "type": "audio", "url": "https://h/a.wav" })), 1_920);
        let call = json!({ "type": "tool_call", "id": "1", "name": "read", "arguments": { "path": "a.txt" } });
        assert_eq!(tokens(json!({ "role": "assistant", "content": [call] })), 4 + 8 + 1 + 4);
        assert_eq!(tokens(json!({ "role": "tool_result", "tool_call_id": "1", "content": text.repeat(9) })), 104);
        assert_eq!(
            tokens(json!({ "role": "assistant", "stop_reason": "error", "content": [{ "type": "text", "text": text }] })),
            0
        );
        assert_eq!(tokens(json!({ "role": "note", "text": text })), 0);
    }
}
