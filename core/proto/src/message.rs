//! Messages of users, models and tools. Canonical JSON is snake_case with the fields in the order given here.
//!
//! ```
//! use agent_loop_proto::message::Message;
//! let message: Message = serde_json::from_str(r#"{"role":"user","content":"Hello"}"#).unwrap();
//! assert_eq!(message.text(), "Hello");
//! ```

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::depth;
use crate::error::Error;
use crate::json_error::shown;
use crate::media::Media;
use crate::usage::{StopReason, Usage};

/// The metadata of a message that says what is wrong with a typed final answer: how many wrong ones there were.
pub(crate) const OUTPUT_RETRY: &str = "output_retry";

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A user's message.
    User(UserMessage),
    /// A model's message.
    Assistant(AssistantMessage),
    /// The result of a tool call.
    ToolResult(ToolResultMessage),
    /// A custom message of the application: kept and emitted, never sent to a model unchanged. The object has its `role`.
    Custom(Map<String, Value>),
}

impl Message {
    /// A user message of one text block. `timestamp` is in milliseconds since the epoch.
    pub fn user(text: impl Into<String>, timestamp: u64) -> Message {
        Message::User(UserMessage { timestamp, ..UserMessage::new(vec![ContentBlock::text(text)]) })
    }

    /// `user`, `assistant`, `tool_result` or the application's own word.
    pub fn role(&self) -> &str {
        match self {
            Message::User(_) => "user",
            Message::Assistant(_) => "assistant",
            Message::ToolResult(_) => "tool_result",
            Message::Custom(map) => map.get("role").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// All text of the message, joined with nothing between the blocks.
    pub fn text(&self) -> String {
        match self {
            Message::User(m) => joined_text(&m.content),
            Message::Assistant(m) => m.text(),
            Message::ToolResult(m) => joined_text(&m.content),
            Message::Custom(_) => String::new(),
        }
    }

    /// The application's name for a message of one of the three roles.
    pub fn id(&self) -> Option<&str> {
        match self {
            Message::User(UserMessage { id, .. })
            | Message::Assistant(AssistantMessage { id, .. })
            | Message::ToolResult(ToolResultMessage { id, .. }) => id.as_deref(),
            Message::Custom(_) => None,
        }
    }

    /// What the application keeps with a message of one of the three roles.
    pub fn metadata(&self) -> Option<&Value> {
        match self {
            Message::User(UserMessage { metadata, .. })
            | Message::Assistant(AssistantMessage { metadata, .. })
            | Message::ToolResult(ToolResultMessage { metadata, .. }) => metadata.as_ref(),
            Message::Custom(_) => None,
        }
    }

    /// Whether the loop has written it, so that the model corrects its typed final answer.
    pub(crate) fn is_correction(&self) -> bool {
        matches!(self, Message::User(_)) && self.metadata().is_some_and(|metadata| metadata.get(OUTPUT_RETRY).is_some())
    }

    /// Refuses JSON that is too deep to be kept.
    pub(crate) fn check_depth(&self) -> Result<(), String> {
        let content = match self {
            Message::User(m) => &m.content,
            Message::Assistant(m) => &m.content,
            Message::ToolResult(m) => {
                depth::check("details", &m.details)?;
                &m.content
            }
            Message::Custom(map) => return depth::check_map("a custom message", map),
        };
        for block in content {
            match block {
                ContentBlock::ToolCall(call) => depth::check_map("arguments", &call.arguments)?,
                ContentBlock::Opaque { data, .. } => depth::check("the data of an opaque block", data)?,
                ContentBlock::Text { .. }
                | ContentBlock::Thinking { .. }
                | ContentBlock::Image(_)
                | ContentBlock::Document(_)
                | ContentBlock::Audio(_) => {}
            }
        }
        self.metadata().map_or(Ok(()), |metadata| depth::check("metadata", metadata))
    }

    /// Whether it has an id or metadata.
    pub(crate) fn is_labelled(&self) -> bool {
        self.id().is_some() || self.metadata().is_some()
    }

    /// The place of a timestamp that was not given.
    pub(crate) fn undated(&mut self) -> Option<&mut u64> {
        match self {
            Message::User(UserMessage { timestamp, .. })
            | Message::Assistant(AssistantMessage { timestamp, .. })
            | Message::ToolResult(ToolResultMessage { timestamp, .. }) => Some(timestamp).filter(|timestamp| **timestamp == 0),
            Message::Custom(_) => None,
        }
    }

    /// The message with a timestamp: `now_ms` where none was given.
    #[doc(hidden)]
    pub fn dated(mut self: Arc<Self>, now_ms: u64) -> Arc<Message> {
        if let Some(timestamp) = Arc::make_mut(&mut self).undated() {
            *timestamp = now_ms;
        }
        self
    }

    /// The assistant message, if it is one.
    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self {
            Message::Assistant(m) => Some(m),
            Message::User(_) | Message::ToolResult(_) | Message::Custom(_) => None,
        }
    }
}

/// What the user said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct UserMessage {
    /// `text`, `image`, `document` and `audio` blocks.
    #[serde(deserialize_with = "content_or_string")]
    pub content: Vec<ContentBlock>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: u64,
    /// The application's name for the message, unique in its transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Any JSON of the application, kept with the message and never sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl UserMessage {
    /// These blocks, without a time; a run dates it as it begins.
    pub fn new(content: Vec<ContentBlock>) -> UserMessage {
        UserMessage { content, timestamp: 0, id: None, metadata: None }
    }
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct AssistantMessage {
    /// `text`, `thinking`, `tool_call` and `opaque` blocks.
    #[serde(deserialize_with = "content_or_string")]
    pub content: Vec<ContentBlock>,
    /// Who served it.
    #[serde(default)]
    pub provider: String,
    /// In which wire format.
    #[serde(default)]
    pub protocol: String,
    /// The configured model id.
    #[serde(default)]
    pub model: String,
    /// The tokens used.
    #[serde(default)]
    pub usage: Usage,
    /// Why it ended; `None` in a partial message.
    #[serde(default)]
    pub stop_reason: Option<StopReason>,
    /// The vendor's own word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// The vendor's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The model that the server says has answered, where it names another one than was asked for: a gateway's choice, the
    /// version behind an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// There exactly when `stop_reason` is `error` or `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// When the request was made, in milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: u64,
    /// The application's name for the message, unique in its transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Any JSON of the application, kept with the message and never sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl AssistantMessage {
    /// These blocks of a model that is not named, complete (`stop`), without usage and time.
    pub fn new(content: Vec<ContentBlock>) -> AssistantMessage {
        AssistantMessage {
            content,
            provider: String::new(),
            protocol: String::new(),
            model: String::new(),
            usage: Usage::default(),
            stop_reason: Some(StopReason::Stop),
            raw_stop_reason: None,
            response_id: None,
            response_model: None,
            error: None,
            timestamp: 0,
            id: None,
            metadata: None,
        }
    }

    /// All text, joined with nothing between the blocks.
    pub fn text(&self) -> String {
        joined_text(&self.content)
    }

    /// The tool calls, in the order the model made them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether the model failed or was aborted while it answered: the message is in the transcript, but no model reads it.
    pub fn has_failed(&self) -> bool {
        self.stop_reason.is_some_and(|reason| reason.is_failure())
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ToolResultMessage {
    /// The call this answers.
    pub tool_call_id: String,
    /// The tool's name.
    #[serde(default)]
    pub tool_name: String,
    /// `text`, `image`, `document` and `audio` blocks: what the model sees.
    #[serde(deserialize_with = "content_or_string")]
    pub content: Vec<ContentBlock>,
    /// Anything for the application; never sent to the model.
    #[serde(default)]
    pub details: Value,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: u64,
    /// The application's name for the message, unique in its transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Any JSON of the application, kept with the message and never sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl ToolResultMessage {
    /// The answer to a call that did not fail, without details and time.
    pub fn new(tool_call_id: impl Into<String>, tool_name: impl Into<String>, content: Vec<ContentBlock>) -> ToolResultMessage {
        ToolResultMessage {
            tool_call_id: tool_call_id.into(),
            tool_name: tool_name.into(),
            content,
            details: Value::Null,
            is_error: false,
            timestamp: 0,
            id: None,
            metadata: None,
        }
    }

    /// Its text for the model: all text, or a placeholder where there is none (a model imagines an image otherwise).
    pub(crate) fn model_text(&self) -> String {
        let texts: Vec<_> = self.content.iter().filter_map(ContentBlock::as_text).filter(|text| !text.is_empty()).collect();
        if texts.is_empty() && !self.content.iter().any(|block| block.as_media().is_some()) {
            return "no output".to_owned();
        }
        texts.join("\n")
    }
}

/// A part of a message. Canonical JSON distinguishes them by `type`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// The vendor's signature, kept byte for byte.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The model's reasoning.
    Thinking {
        /// The reasoning's text; may be empty.
        thinking: String,
        /// The vendor's signature, kept byte for byte; of redacted thinking, its opaque data.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Whether the vendor hid the text.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    /// An image.
    Image(Media),
    /// A document: a PDF, a text, or what else the model takes as one.
    Document(Media),
    /// A recording of sound.
    Audio(Media),
    /// A tool call.
    ToolCall(ToolCall),
    /// What a vendor sent that is only kept and sent back.
    Opaque {
        /// The protocol it came through.
        protocol: String,
        /// As it came.
        data: Value,
    },
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> ContentBlock {
        ContentBlock::Text { text: text.into(), signature: None }
    }
}

/// What the model asks a tool to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ToolCall {
    /// Unique in its message.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; shared, not copied, by the message and the events of the call.
    #[serde(default, deserialize_with = "object_or_null")]
    pub arguments: Arc<Map<String, Value>>,
    /// The exact text, when no JSON object could be made of it; `arguments` is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<String>,
    /// The vendor's signature, kept byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl ToolCall {
    /// A call of a tool with these arguments.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Map<String, Value>) -> ToolCall {
        let (id, name) = (id.into(), name.into());
        ToolCall { id, name, arguments: Arc::new(arguments), raw_arguments: None, signature: None }
    }

    /// The arguments as JSON text.
    pub(crate) fn arguments_text(&self) -> String {
        serde_json::to_string(&self.arguments).unwrap_or_default()
    }
}

pub(crate) fn joined_text(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// A call's arguments; null is none.
fn object_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Map<String, Value>>, D::Error> {
    Option::<Arc<Map<String, Value>>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Content as an array of blocks; a plain string is one text block, null an empty array.
fn content_or_string<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(vec![ContentBlock::text(text)]),
        Value::Null => Ok(Vec::new()),
        Value::Array(blocks) => blocks
            .iter()
            .enumerate()
            .map(|(i, block)| ContentBlock::stored(block).map_err(|why| D::Error::custom(format!("content[{i}]: {why}"))))
            .collect(),
        other => Err(D::Error::custom(format!("content: expected an array of blocks or text, got {}", shown(&other)))),
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "role", rename_all = "snake_case")]
        enum Standard<'a> {
            User(&'a UserMessage),
            Assistant(&'a AssistantMessage),
            ToolResult(&'a ToolResultMessage),
        }
        match self {
            Message::User(m) => Standard::User(m).serialize(serializer),
            Message::Assistant(m) => Standard::Assistant(m).serialize(serializer),
            Message::ToolResult(m) => Standard::ToolResult(m).serialize(serializer),
            Message::Custom(map) => map.serialize(serializer),
        }
    }
}
