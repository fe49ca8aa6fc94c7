//! What a run is started with, and what can be given as it.

use std::borrow::Borrow;

use serde_json::Value;

use crate::error::Error;
use crate::json_error::{Unread, shown};
use crate::message::{ContentBlock, Message, UserMessage};

/// What a run is started with: text, text with files, a message, or several.
///
/// ```
/// # mod agent_loop { pub mod message { pub use agent_loop_proto::{media::*, message::*, prompt::Prompt}; } }
/// use agent_loop::message::{ContentBlock, Media, Prompt};
///
/// let text: Prompt = "What is this?".into();
/// let image = ContentBlock::Image(Media::url("https://example.com/cat.png"));
/// let with_image: Prompt = vec![ContentBlock::text("What is this?"), image].into();
/// # let _ = (text, with_image);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt(#[doc(hidden)] pub Vec<Message>);

impl Prompt {
    /// Reads a prompt in JSON: a string, an array of `text` blocks and files, a message, or an array of messages.
    ///
    /// # Errors
    /// `invalid_argument`: says what was found instead, and where.
    pub fn from_json(value: Value) -> Result<Prompt, Error> {
        Prompt::from_json_of("prompt", value)
    }

    /// As [`Prompt::from_json`], with the name of the argument for the error.
    ///
    /// # Errors
    /// As [`Prompt::from_json`].
    #[doc(hidden)]
    pub fn from_json_of(argument: &str, value: Value) -> Result<Prompt, Error> {
        let placed = |text: &str| {
            let colon = if text.starts_with('[') { "" } else { ": " };
            format!("{argument}{colon}{text}")
        };
        Prompt::given(value).map_err(|unread| unread.reworded(placed).invalid_argument())
    }

    /// As [`Prompt::from_json`], for who names the place in the error.
    pub(crate) fn given(value: Value) -> Result<Prompt, Unread> {
        match value {
            Value::String(text) => Ok(text.into()),
            Value::Object(map) if map.contains_key("role") => Ok(Message::given(Value::Object(map))?.into()),
            Value::Array(items) if items.is_empty() => {
                Err(Unread::from("the list is empty; give at least one message".to_owned()))
            }
            Value::Array(items) if items.iter().all(|item| item.get("role").is_some()) => {
                let read = |(i, item)| Message::given(item).map_err(|unread| unread.at(format_args!("[{i}]")));
                Ok(Prompt(items.into_iter().enumerate().map(read).collect::<Result<_, _>>()?))
            }
            Value::Array(items) => {
                let read = |(i, item)| ContentBlock::given(item).map_err(|unread| unread.at(format_args!("content[{i}]")));
                Ok(items.into_iter().enumerate().map(read).collect::<Result<Vec<ContentBlock>, _>>()?.into())
            }
            other => Err(Unread::from(format!("expected text, a message or a list of messages, got {}", shown(&other)))),
        }
    }

    /// The messages, each with a timestamp: `now_ms` where none was given.
    #[doc(hidden)]
    pub fn into_messages(self, now_ms: u64) -> Vec<Message> {
        let mut messages = self.0;
        messages.iter_mut().filter_map(Message::undated).for_each(|timestamp| *timestamp = now_ms);
        messages
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Prompt {
        Prompt(vec![Message::user(text, 0)])
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Prompt {
        Prompt(vec![Message::user(text, 0)])
    }
}

impl From<Vec<ContentBlock>> for Prompt {
    fn from(content: Vec<ContentBlock>) -> Prompt {
        Prompt(vec![Message::User(UserMessage::new(content))])
    }
}

impl From<Message> for Prompt {
    fn from(message: Message) -> Prompt {
        Prompt(vec![message])
    }
}

impl From<Vec<Message>> for Prompt {
    fn from(messages: Vec<Message>) -> Prompt {
        Prompt(messages)
    }
}

/// Refuses new messages of a user that say nothing. Vendors refuse empty text, Anthropic also text of only white space, and
/// repair takes both out: the model would be asked without the message that the run began with. Those of a stored history are
/// not checked here: repair leaves them out.
///
/// # Errors
/// `invalid_argument`: which message.
pub(crate) fn check_says_something<M: Borrow<Message>>(messages: &[M]) -> Result<(), Error> {
    let says_something = |block: &ContentBlock| match block {
        ContentBlock::Text { text, .. } => !text.trim().is_empty(),
        ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => true,
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => false,
    };
    let is_empty = |message: &M| match message.borrow() {
        Message::User(user) => !user.content.iter().any(says_something),
        Message::Assistant(_) | Message::ToolResult(_) | Message::Custom(_) => false,
    };
    let Some(place) = messages.iter().position(is_empty) else {
        return Ok(());
    };
    let place = if messages.len() == 1 { String::new() } else { format!("[{place}]: ") };
    Err(Error::invalid_argument(format!(
        "{place}the user message is empty: it has no image or other file, and no text but white space"
    )))
}
