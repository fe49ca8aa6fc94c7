//! The fields of messages and blocks, and what a field of another format may mean.

use std::fmt::{self, Display, Formatter};

use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde_json::{Map, Value};

use crate::did_you_mean::nearest;
use crate::message::{AssistantMessage, ToolCall, ToolResultMessage, UserMessage};

/// The fields that a message of this role has beside `role`; `None` for a custom role, whose fields are the application's.
pub(super) fn of_message(role: &str) -> Option<&'static [&'static str]> {
    Some(match role {
        "user" => names::<UserMessage>(),
        "assistant" => names::<AssistantMessage>(),
        "tool_result" => names::<ToolResultMessage>(),
        _ => return None,
    })
}

/// The fields that a block of this type has beside `type`; `None` for a type that is not known, which reading refuses.
pub(super) fn of_block(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "text" => &["text", "signature"],
        "thinking" => &["thinking", "signature", "redacted"],
        "image" | "audio" => &["data", "url", "mime_type"],
        "document" => &["data", "url", "mime_type", "name"],
        "tool_call" => names::<ToolCall>(),
        "opaque" => &["protocol", "data"],
        _ => return None,
    })
}

/// The types of blocks.
pub(super) const KINDS: [&str; 7] = ["text", "thinking", "image", "document", "audio", "tool_call", "opaque"];

/// The text of the error for a type of block that is not known, with what it means in another format.
pub(super) fn unknown_type(kind: &str) -> String {
    let advice = match kind {
        "input_text" | "output_text" => "a text is a block {\"type\": \"text\", \"text\"}",
        "image_url" | "input_image" => "an image is a block {\"type\": \"image\", \"url\"}, or with \"data\" and \"mime_type\"",
        "file" | "input_file" => "a file is a block {\"type\": \"document\", \"data\", \"mime_type\"}",
        "input_audio" => "a sound is a block {\"type\": \"audio\", \"data\", \"mime_type\"}",
        "tool_use" | "function_call" => "a call is a block {\"type\": \"tool_call\", \"id\", \"name\", \"arguments\"}",
        "function_call_output" => "a tool's result is a message with the role \"tool_result\"",
        "tool_result" => "a tool's result is a message of its own, with the role \"tool_result\"",
        "reasoning" | "redacted_thinking" => "the model's reasoning is a block {\"type\": \"thinking\", \"thinking\"}",
        _ => match nearest(kind, KINDS) {
            Some(right) => return format!("unknown type {kind:?}; did you mean {right:?}?"),
            None => return format!("unknown type {kind:?}; known are {}", KINDS.join(", ")),
        },
    };
    let format = match kind {
        "image_url" | "file" | "input_audio" => "openai_chat",
        "tool_use" | "tool_result" | "redacted_thinking" => "anthropic",
        _ => "openai_responses",
    };
    format!("the type {kind:?} is of another format; {advice}{}", converter(format))
}

/// Which converter reads messages of another format.
pub(super) fn converter(format: &str) -> String {
    format!("; transcript import reads such messages (format {format:?})")
}

/// A field that a message or a block does not have.
pub(super) struct UnknownField<'a> {
    /// For example `user message` or `text block`.
    pub(super) of: &'a str,
    pub(super) name: &'a str,
    pub(super) known: &'static [&'static str],
    pub(super) is_block: bool,
}

impl Display for UnknownField<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let UnknownField { of, name, known, is_block } = self;
        write!(f, "{of}: unknown field {name:?}; ")?;
        match meaning(of, name) {
            Some(meaning) => {
                f.write_str(meaning)?;
                format_of(name).map_or(Ok(()), |format| f.write_str(&converter(format)))
            }
            None => match nearest(name, known.iter().copied()) {
                Some(right) => write!(f, "did you mean {right:?}?"),
                None if *is_block => write!(f, "a block's fields are {}", known.join(", ")),
                None => f.write_str("the application's own data goes into \"metadata\""),
            },
        }
    }
}

/// What a field of another format stands for here.
fn meaning(of: &str, name: &str) -> Option<&'static str> {
    const CALLS: &str = "a model's calls are blocks {\"type\": \"tool_call\", \"id\", \"name\", \"arguments\"} in the content of \
                         an assistant message";
    const RESULT: &str = "a tool's result has the role \"tool_result\", \"tool_call_id\" and \"tool_name\"";
    const THINKING: &str = "a model's reasoning is a block {\"type\": \"thinking\", \"thinking\"} in the content of an assistant \
                            message";
    const ARGUMENTS: &str = "the arguments of a call are the object \"arguments\"";
    Some(match (of, name) {
        (_, "tool_calls" | "function_call" | "functionCall" | "tool_use") => CALLS,
        ("image block" | "audio block", "name") => "only a document has a name",
        ("tool_result message", "name") => "the name of a tool is \"tool_name\"",
        ("tool_result message", "tool_use_id" | "call_id") => "the id of the call is \"tool_call_id\"",
        (_, "tool_use_id" | "tool_call_id" | "call_id" | "tool_name" | "function_response" | "functionResponse") => RESULT,
        (_, "name") => "a message has no name of its author; keep it in \"metadata\"",
        ("thinking block", "text") => "the text of this block is \"thinking\"",
        (_, "reasoning_content" | "reasoning" | "reasoning_details" | "reasoning_text") => THINKING,
        ("user message" | "assistant message" | "tool_result message", "thinking") => THINKING,
        (_, "refusal") => "a refusal is a text block, with the stop_reason \"refusal\"",
        (_, "parts" | "text" | "output") => "the content of a message is \"content\": text or an array of blocks",
        ("tool_call block", "input" | "args" | "parameters" | "function") => ARGUMENTS,
        ("image block" | "document block" | "audio block", "source" | "image_url" | "file" | "file_data" | "input_audio") => {
            "a file is \"data\" (base64) with \"mime_type\", or a \"url\""
        }
        ("image block" | "document block" | "audio block", "media_type") => "the kind of a file is \"mime_type\"",
        ("document block", "title" | "filename") => "the name of a document is \"name\"",
        (_, "cache_control") => "where caches begin is decided by the option \"cache_retention\"",
        (_, "finish_reason") => "why a message ended is \"stop_reason\"",
        _ => return None,
    })
}

/// The format that has such a field, where only one does.
fn format_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "tool_calls" | "function_call" | "function" | "reasoning_content" | "reasoning_details" | "refusal" | "finish_reason" => {
            "openai_chat"
        }
        "tool_use" | "tool_use_id" | "source" | "media_type" => "anthropic",
        "call_id" | "output" => "openai_responses",
        "functionCall" | "functionResponse" | "function_response" => "gemini",
        "parts" => "ai_sdk",
        _ => return None,
    })
}

/// The names of a struct's fields, from what its reader asks for: a field that is added to it is known here.
fn names<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // It fails by design: the names are all that is wanted.
    let _ = T::deserialize(FieldNames(&mut names));
    names
}

struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(Self::Error::custom("only the names are asked for"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("only structs are asked for"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The fields of an object that are not known, in its order.
pub(super) fn unknown<'a>(map: &'a Map<String, Value>, tag: &'a str, known: &'a [&str]) -> impl Iterator<Item = &'a String> {
    map.keys().filter(move |name| name.as_str() != tag && !known.contains(&name.as_str()))
}
