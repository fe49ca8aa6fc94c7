//! What was asked: the log's entry, and what a conversation looks like from outside.

use std::collections::BTreeMap;
use std::fmt;

use hyper::http::request::Parts;
use serde::Serialize;
use serde_json::Value;

use crate::Last;

/// A request as the mock received it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path as it was sent, with its query.
    pub path: String,
    /// Headers by lower-case name; repeated ones are joined by `, `.
    pub headers: BTreeMap<String, String>,
    /// The body: its JSON; a string if it is not JSON; null if it is empty.
    pub body: Value,
    /// The body's bytes.
    #[serde(skip)]
    pub(crate) sent: Vec<u8>,
    /// Which answer of the script it got, counted from 0. `None`: it was refused, or none fitted and it got a 500.
    pub answer: Option<usize>,
    /// What the strict checks had against it; for Chat Completions and Responses also the flavour they were made as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl Request {
    pub(crate) fn new(head: &Parts, body: &[u8]) -> Request {
        let mut headers = BTreeMap::new();
        for (name, value) in &head.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            headers
                .entry(name.as_str().to_owned())
                .and_modify(|all: &mut String| all.extend([", ", &value]))
                .or_insert_with(|| value.clone().into_owned());
        }
        let sent = body.to_vec();
        let body = match body {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned())),
        };
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Request { method: head.method.to_string(), path, headers, body, sent, answer: None, refused: None }
    }

    pub(crate) fn path_without_query(&self) -> &str {
        self.path.split_once('?').map_or(&self.path, |(path, _)| path)
    }

    /// The conversation in the body; `None` if there is none.
    pub(crate) fn conversation(&self) -> Option<Conversation> {
        Conversation::read(&self.body)
    }
}

/// What a script can ask about a conversation, in whichever wire format it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversation {
    pub(crate) user_messages: usize,
    pub(crate) last: Option<Last>,
    pub(crate) tools: bool,
}

impl Conversation {
    /// Reads `messages` of Chat Completions, of Anthropic's Messages and of Bedrock, `input` of Responses, `contents` of Gemini.
    fn read(body: &Value) -> Option<Conversation> {
        let list = |name: &str| body.get(name).and_then(Value::as_array);
        let kinds: Vec<Last> = if let Some(messages) = list("messages") {
            messages.iter().map(kind).collect()
        } else if let Some(contents) = list("contents") {
            contents.iter().map(gemini_kind).collect()
        } else if let Some(items) = list("input") {
            items.iter().map(item_kind).collect()
        } else {
            // A single question.
            body.get("input")?.as_str().map(|_| vec![Last::User])?
        };
        Some(Conversation {
            user_messages: kinds.iter().filter(|kind| **kind == Last::User).count(),
            last: kinds.last().copied(),
            tools: [body.get("tools"), body.pointer("/toolConfig/tools")]
                .into_iter()
                .flatten()
                .any(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty())),
        })
    }
}

/// Who speaks in a message. Chat has a role for tool results; Anthropic puts them into a user message, which counts as the
/// user's only if something else is in it too.
fn kind(message: &Value) -> Last {
    match message.get("role").and_then(Value::as_str) {
        Some("tool") => Last::ToolResult,
        Some("assistant") => Last::Assistant,
        Some("user") => {
            let blocks = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            // Bedrock has a field for each type.
            let is_result = |block: &Value| {
                block.get("type").is_some_and(|kind| kind == "tool_result")
                    || ["toolResult", "cachePoint"].iter().any(|name| block.get(name).is_some())
            };
            if !blocks.is_empty() && blocks.iter().all(is_result) { Last::ToolResult } else { Last::User }
        }
        _ => Last::System,
    }
}

/// Responses has an item for each result, and none of the model's own is a message of the user.
fn item_kind(item: &Value) -> Last {
    match item.get("type").and_then(Value::as_str) {
        None | Some("message") => kind(item),
        Some(kind) if kind.ends_with("_output") => Last::ToolResult,
        Some(_) => Last::Assistant,
    }
}

/// Gemini puts results into a user turn; pictures beside them belong to them, text does not.
fn gemini_kind(content: &Value) -> Last {
    let parts = content.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let any = |field: &str| parts.iter().any(|part| part.get(field).is_some());
    match content.get("role").and_then(Value::as_str) {
        Some("model") => Last::Assistant,
        _ if any("functionResponse") && !any("text") => Last::ToolResult,
        _ => Last::User,
    }
}

impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user_messages {}", self.user_messages)?;
        if let Some(last) = self.last {
            write!(f, ", last {last}")?;
        }
        write!(f, ", tools {}", self.tools)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> Conversation {
        Conversation::read(&body).expect("a conversation")
    }

    #[test]
    fn chat_counts_user_messages_and_sees_the_tool_result() {
        let conversation = read(json!({
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "15 * 23?"},
                {"role": "assistant", "tool_calls": []},
                {"role": "tool", "tool_call_id": "1", "content": "345"},
            ],
            "tools": [{}],
        }));
        assert_eq!(conversation, Conversation { user_messages: 1, last: Some(Last::ToolResult), tools: true });
    }

    #[test]
    fn anthropics_tool_results_are_not_user_messages() {
        let result = json!({"type": "tool_result", "tool_use_id": "1", "content": "345"});
        let conversation = read(json!({"messages": [
            {"role": "user", "content": [{"type": "text", "text": "15 * 23?"}]},
            {"role": "assistant", "content": []},
            {"role": "user", "content": [result, result]},
        ]}));
        assert_eq!(conversation, Conversation { user_messages: 1, last: Some(Last::ToolResult), tools: false });

        let steered = read(json!({"messages": [{"role": "user", "content": [result, {"type": "text", "text": "Stop."}]}]}));
        assert_eq!(steered.last, Some(Last::User), "the user spoke beside the result");
        assert_eq!(steered.user_messages, 1);
    }

    #[test]
    fn responses_and_gemini_have_the_same_states() {
        let asked = json!({"role": "user", "content": "15 * 23?"});
        let called = json!({"type": "function_call", "call_id": "1", "name": "calculator", "arguments": "{}"});
        let result = json!({"type": "function_call_output", "call_id": "1", "output": "345"});
        for (input, users, last) in [
            (json!("15 * 23?"), 1, Last::User),
            (json!([asked]), 1, Last::User),
            (json!([asked, called]), 1, Last::Assistant),
            (
                json!([{"role": "developer", "content": "Brief."}, asked, {"type": "reasoning"}, called, result]),
                1,
                Last::ToolResult,
            ),
            (json!([asked, called, result, {"type": "message", "role": "user", "content": []}]), 2, Last::User),
        ] {
            let expected = Conversation { user_messages: users, last: Some(last), tools: false };
            assert_eq!(read(json!({"input": input})), expected, "{input}");
        }

        let asked = json!({"role": "user", "parts": [{"text": "15 * 23?"}]});
        let called = json!({"role": "model", "parts": [{"functionCall": {"name": "calculator"}}]});
        let result = json!({"role": "user", "parts": [{"functionResponse": {"name": "calculator"}}, {"inlineData": {}}]});
        for (contents, users, last) in [
            (json!([asked]), 1, Last::User),
            (json!([asked, called]), 1, Last::Assistant),
            (json!([asked, called, result]), 1, Last::ToolResult),
            (json!([asked, called, result, asked]), 2, Last::User),
        ] {
            let expected = Conversation { user_messages: users, last: Some(last), tools: true };
            assert_eq!(read(json!({"contents": contents, "tools": [{}]})), expected, "{contents}");
        }
    }

    #[test]
    fn other_requests_hold_no_conversation() {
        assert_eq!(Conversation::read(&Value::Null), None);
        assert_eq!(Conversation::read(&json!({"messages": "hello"})), None);
        assert_eq!(read(json!({"messages": [], "tools": []})), Conversation { user_messages: 0, last: None, tools: false });
    }
}
