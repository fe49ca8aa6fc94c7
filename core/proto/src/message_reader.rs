//! Reading messages from JSON: those that a call is given, strictly, and those of a stored history, which may come from another
//! program or version.

mod fields;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use self::fields::UnknownField;
use crate::error::Error;
use crate::json_error::{Unread, read_value, shown};
use crate::json_reader::from_value;
use crate::media;
use crate::message::{ContentBlock, Message};

const ROLES: [&str; 3] = ["user", "assistant", "tool_result"];

impl Message {
    /// Reads one message that a call is given, in canonical JSON; its content may be a plain string.
    /// A stored history is read by [`read_history`], or with serde.
    ///
    /// # Errors
    /// `invalid_argument`: says which field is wrong; for a field or a role of another format, what stands for it here.
    pub fn from_json(value: Value) -> Result<Message, Error> {
        Message::given(value).map_err(|unread| unread.at("message").invalid_argument())
    }

    /// As [`Message::from_json`], for who names the place in the error.
    ///
    /// # Errors
    /// What is wrong with the message.
    #[doc(hidden)]
    pub fn given(value: Value) -> Result<Message, Unread> {
        if let Value::Object(map) = &value {
            check(map)?;
        }
        let message: Message = from_value(&value)?;
        message.check_depth()?;
        Ok(message)
    }
}

impl ContentBlock {
    /// Reads a block that a call is given.
    ///
    /// # Errors
    /// What is wrong with it.
    #[doc(hidden)]
    pub fn given(value: Value) -> Result<ContentBlock, Unread> {
        check_block(&value)?;
        ContentBlock::stored(&value)
    }

    /// Reads a block of a stored history.
    pub(crate) fn stored(value: &Value) -> Result<ContentBlock, Unread> {
        let kind = type_of_block(value).map_err(|why| Unread::new(why, block(value).err()))?;
        // The place of an error is searched only if there is one.
        let placed = |_| match media::wrong(kind, value) {
            Some(why) => Err(Unread::from(why)),
            None => read_value(value),
        };
        block(value).or_else(placed).map_err(|unread| unread.at(format_args!("{kind} block")))
    }
}

fn type_of_block(value: &Value) -> Result<&str, String> {
    let Some(map) = value.as_object() else {
        let example = "{\"type\": \"text\", \"text\": \"…\"}";
        return Err(format!("expected a block such as {example}, got {}", shown(value)));
    };
    match map.get("type") {
        None | Some(Value::Null) => Err(format!("type is missing; the types of blocks are {}", fields::KINDS.join(", "))),
        Some(Value::String(kind)) if fields::of_block(kind).is_none() => Err(fields::unknown_type(kind)),
        Some(Value::String(kind)) => Ok(kind),
        Some(other) => Err(format!("type: expected a word such as \"text\", got {}", shown(other))),
    }
}

/// Reads the messages of a stored history. A field that no message has, or an `id` that is no text or is there twice, is moved to
/// `metadata.unknown`; the fields of a block go there under the block's place, for example `content[0]`. Each such message is
/// reported when the transcript is checked, repaired or sent to a model (`unknown_field`).
///
/// # Errors
/// `invalid_argument`: what is not a list of messages, and where; a message without a role, without content, or with a block of
/// another format.
pub fn read_history(value: Value) -> Result<Vec<Message>, Error> {
    read_history_of("history", value)
}

/// Reads an array of messages that a call or a hook gives.
///
/// # Errors
/// What is no array of messages, or which of them is wrong, and why.
#[doc(hidden)]
pub fn given_messages(value: Value) -> Result<Vec<Arc<Message>>, Unread> {
    let read = |(i, message): (usize, Value)| match Message::given(message) {
        Ok(message) => Ok(Arc::new(message)),
        Err(unread) => Err(unread.at(format_args!("[{i}]"))),
    };
    array_of_messages(value)?.into_iter().enumerate().map(read).collect()
}

/// What is not an array is most often an object that has one, or a single message.
fn array_of_messages(value: Value) -> Result<Vec<Value>, Unread> {
    let advice = match &value {
        Value::Array(_) => "",
        Value::Object(map) if map.get("messages").is_some_and(Value::is_array) => "; give its \"messages\" alone",
        Value::Object(map) if map.contains_key("role") => "; put a single message into an array",
        _ => "",
    };
    match value {
        Value::Array(list) => Ok(list),
        other => Err(format!("expected an array of messages, got {}{advice}", shown(&other)).into()),
    }
}

/// As [`read_history`], with the name of the argument for the error.
///
/// # Errors
/// As [`read_history`].
#[doc(hidden)]
pub fn read_history_of(argument: &str, value: Value) -> Result<Vec<Message>, Error> {
    let list = array_of_messages(value).map_err(|unread| unread.at(argument).invalid_argument())?;
    let mut ids = HashSet::new();
    let mut messages = Vec::with_capacity(list.len());
    for (i, mut value) in list.into_iter().enumerate() {
        if let Value::Object(map) = &mut value
            && is_standard(map)
            && let Some(id) = map.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
            && !ids.insert(id.to_owned())
            && let Some(id) = map.shift_remove("id")
        {
            let unknown = Map::from_iter([("id".to_owned(), id)]);
            keep_unknown(map, unknown);
        }
        let read = from_value(&value);
        let read: Message = read.map_err(|e| Error::invalid_argument(format!("{argument}: [{i}]: {e}")).with_source(e))?;
        read.check_depth().map_err(|why| Error::invalid_argument(format!("{argument}: [{i}]: {why}")))?;
        messages.push(read);
    }
    Ok(messages)
}

/// The names of all fields of messages and blocks.
pub fn field_names() -> impl Iterator<Item = &'static str> {
    let messages = ROLES.into_iter().filter_map(fields::of_message);
    messages.chain(fields::KINDS.into_iter().filter_map(fields::of_block)).flatten().copied()
}

fn is_standard(map: &Map<String, Value>) -> bool {
    map.get("role").and_then(Value::as_str).is_some_and(|role| ROLES.contains(&role))
}

/// Refuses a role of another format, and fields that are not known: they would be lost.
fn check(map: &Map<String, Value>) -> Result<(), String> {
    // A missing one is reported by who reads it.
    let Some(role) = map.get("role").and_then(Value::as_str) else {
        return Ok(());
    };
    if let Some(advice) = foreign_role(role) {
        return Err(foreign_role_error(role, advice));
    }
    let Some(known) = fields::of_message(role) else {
        return Ok(());
    };
    let of = format!("{role} message");
    if let Some(name) = fields::unknown(map, "role", known).next() {
        return Err(UnknownField { of: &of, name, known, is_block: false }.to_string());
    }
    if let Some(id) = map.get("id").filter(|id| !id.is_null())
        && id.as_str().is_none_or(str::is_empty)
    {
        return Err(format!("{of}: id: expected text that is not empty, got {}", shown(id)));
    }
    let blocks = map.get("content").and_then(Value::as_array).into_iter().flatten().enumerate();
    for (i, block) in blocks {
        check_block(block).map_err(|why| format!("{of}: content[{i}]: {why}"))?;
    }
    Ok(())
}

fn check_block(block: &Value) -> Result<(), String> {
    let Some((map, kind, known)) = known_block(block) else {
        return Ok(());
    };
    match fields::unknown(map, "type", known).next() {
        Some(name) => Err(UnknownField { of: &format!("{kind} block"), name, known, is_block: true }.to_string()),
        None => Ok(()),
    }
}

fn known_block(block: &Value) -> Option<(&Map<String, Value>, &str, &'static [&'static str])> {
    let map = block.as_object()?;
    let kind = map.get("type")?.as_str()?;
    Some((map, kind, fields::of_block(kind)?))
}

/// The text of the error for a role of another format.
pub(crate) fn foreign_role_error(role: &str, advice: &str) -> String {
    let format = if role == "model" { "gemini" } else { "openai_chat" };
    format!("the role {role:?} is of another format; {advice}{}", fields::converter(format))
}

/// The advice for a role of the wire formats, which is unlikely to be a custom role.
pub(crate) fn foreign_role(role: &str) -> Option<&'static str> {
    Some(match role {
        "system" | "developer" => "use the system prompt for instructions",
        "tool" | "function" => "a tool's result has the role \"tool_result\", with tool_call_id and tool_name",
        "model" => "a message of the model has the role \"assistant\"",
        _ => return None,
    })
}

/// The role that a custom one was probably meant to be.
pub(crate) fn similar_role(role: &str) -> Option<&'static str> {
    let lower = role.to_lowercase();
    ROLES.into_iter().find(|known| role != *known && strsim::damerau_levenshtein(&lower, known) <= 2)
}

/// The names of the fields that reading a stored history has put aside.
pub(crate) fn unknown_fields(message: &Message) -> Option<&Map<String, Value>> {
    message.metadata()?.get("unknown")?.as_object().filter(|unknown| !unknown.is_empty())
}

/// Puts fields aside into `metadata.unknown`.
fn keep_unknown(map: &mut Map<String, Value>, unknown: Map<String, Value>) {
    if unknown.is_empty() {
        return;
    }
    let mut metadata = match map.shift_remove("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        // It has no place for a name.
        Some(other) => Map::from_iter([("value".to_owned(), other)]),
    };
    match metadata.get_mut("unknown").and_then(Value::as_object_mut) {
        Some(known) => known.extend(unknown),
        None => {
            metadata.insert("unknown".to_owned(), Value::Object(unknown));
        }
    }
    map.insert("metadata".to_owned(), Value::Object(metadata));
}

/// Takes what is not known out of a stored message of one of the three roles.
fn take_unknown(map: &mut Map<String, Value>, known: &[&str]) {
    let mut unknown = Map::new();
    let names: Vec<String> = fields::unknown(map, "role", known).cloned().collect();
    for name in names {
        if let Some(value) = map.shift_remove(&name) {
            unknown.insert(name, value);
        }
    }
    if let Some(id) = map.get("id").filter(|id| !id.is_null())
        && id.as_str().is_none_or(str::is_empty)
        && let Some(id) = map.shift_remove("id")
    {
        unknown.insert("id".to_owned(), id);
    }
    let blocks = map.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten().enumerate();
    for (i, block) in blocks {
        let names: Vec<String> = match known_block(block) {
            Some((fields, _, known)) => fields::unknown(fields, "type", known).cloned().collect(),
            None => continue,
        };
        let taken = |name: String| block.as_object_mut()?.shift_remove(&name).map(|value| (name, value));
        let of_block: Map<String, Value> = names.into_iter().filter_map(taken).collect();
        if !of_block.is_empty() {
            unknown.insert(format!("content[{i}]"), Value::Object(of_block));
        }
    }
    keep_unknown(map, unknown);
}

/// As derived for a type with a tag, but read as all other types are: `json_reader`.
impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ContentBlock, D::Error> {
        block(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn block(value: &Value) -> Result<ContentBlock, serde_json::Error> {
    #[derive(Deserialize)]
    struct Text {
        text: String,
        signature: Option<String>,
    }
    #[derive(Deserialize)]
    struct Thinking {
        thinking: String,
        signature: Option<String>,
        #[serde(default)]
        redacted: bool,
    }
    #[derive(Deserialize)]
    struct Opaque {
        protocol: String,
        data: Value,
    }
    Ok(match type_of_block(value).map_err(serde_json::Error::custom)? {
        "text" => {
            let Text { text, signature } = from_value(value)?;
            ContentBlock::Text { text, signature }
        }
        "thinking" => {
            let Thinking { thinking, signature, redacted } = from_value(value)?;
            ContentBlock::Thinking { thinking, signature, redacted }
        }
        "image" => ContentBlock::Image(media::read("image", value)?),
        "document" => ContentBlock::Document(media::read("document", value)?),
        "audio" => ContentBlock::Audio(media::read("audio", value)?),
        "tool_call" => ContentBlock::ToolCall(from_value(value)?),
        // "opaque": it is one of the known types.
        _ => {
            let Opaque { protocol, data } = from_value(value)?;
            ContentBlock::Opaque { protocol, data }
        }
    })
}

/// Reading a stored history: nothing of it is refused that can be kept.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        let mut map = match Value::deserialize(deserializer)? {
            Value::Object(map) => map,
            other => {
                let example = "{\"role\": \"user\", \"content\": \"…\"}";
                return Err(D::Error::custom(format!("expected a message such as {example}, got {}", shown(&other))));
            }
        };
        let role = match map.get("role") {
            Some(Value::String(role)) if !role.is_empty() => role.clone(),
            Some(other) => {
                return Err(D::Error::custom(format!("role: expected a word such as \"user\", got {}", shown(other))));
            }
            None => {
                return Err(D::Error::custom("role is missing; it is \"user\", \"assistant\", \"tool_result\" or a custom one"));
            }
        };
        if let Some(known) = fields::of_message(&role) {
            take_unknown(&mut map, known);
        }
        fn read<T: DeserializeOwned, E: serde::de::Error>(role: &str, map: Map<String, Value>) -> Result<T, E> {
            read_value(&Value::Object(map)).map_err(|why| E::custom(format!("{role} message: {why}")))
        }
        Ok(match role.as_str() {
            "user" => Message::User(read(&role, map)?),
            "assistant" => Message::Assistant(read(&role, map)?),
            "tool_result" => Message::ToolResult(read(&role, map)?),
            _ => Message::Custom(map),
        })
    }
}
