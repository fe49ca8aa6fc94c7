//! When an object that a tool returns is a full result, when it is meant as one and is wrong, and when it is the JSON of somebody
//! else, which goes to the model as it is.
//!
//! A full result has an array of blocks as its `content`: text and files. Its other fields are spelled as here or as in
//! JavaScript and by MCP servers (`isError`). What is meant as a full result and is wrong is refused: taken as plain JSON, a
//! failure would count as a success. Other JSON has fields of its own beside those, or none that says how the call went.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::did_you_mean::Spelling;
use crate::json_error::shown;
use crate::message::ContentBlock;

#[cfg(test)]
mod tests;

/// The fields of a full result, and their names folded.
const FIELDS: [(&str, &str); 4] =
    [("content", "content"), ("details", "details"), ("is_error", "iserror"), ("terminate", "terminate")];
/// What the result of an MCP server may have beside, folded.
const OF_MCP: [&str; 2] = ["meta", "structuredcontent"];
/// What is written by mistake for the content, with a text.
const TEXTS: [&str; 6] = ["text", "message", "error", "reason", "output", "result"];

/// What is read of a full result, but for its details.
pub(super) struct FullResult {
    pub(super) content: Vec<ContentBlock>,
    pub(super) is_error: bool,
    pub(super) terminate: bool,
}

impl FullResult {
    /// The full result that the object is; `None` for plain JSON.
    ///
    /// # Errors
    /// Which field of a full result is wrong.
    pub(super) fn of(map: &Map<String, Value>) -> Result<Option<FullResult>, String> {
        let content = match map.get("content") {
            Some(Value::Array(blocks)) if !blocks.is_empty() || map.keys().all(|name| is_like_a_field(name)) => {
                blocks.iter().map(block).collect::<Result<Vec<_>, _>>().ok()
            }
            _ => None,
        };
        match content {
            None if is_meant(map) => Err(wrong(map)),
            None => Ok(None),
            Some(content) => {
                map.keys().find_map(|name| misspelt(map, name)).map_or(Ok(()), Err)?;
                let (is_error, terminate) = (flag(map, "is_error")?, flag(map, "terminate")?);
                Ok(Some(FullResult { content, is_error, terminate }))
            }
        }
    }
}

/// A name without what tells one spelling from another.
fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|b| b.is_ascii_lowercase()) {
        return Cow::Borrowed(name);
    }
    name.chars().filter(|c| *c != '_' && *c != '-').map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether two names are the same but for one letter more, less or another, or two that are swapped. Each object that a tool
/// returns is looked at: a general distance costs a hundred times as much.
fn is_near(name: &str, field: &str) -> bool {
    let begin = name.chars().zip(field.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>();
    let (name, field) = (name.get(begin..).unwrap_or_default(), field.get(begin..).unwrap_or_default());
    let same_end = name.chars().rev().zip(field.chars().rev()).take_while(|(a, b)| a == b).count();
    let mut rest = name.chars().take(name.chars().count() - same_end);
    let mut others = field.chars().take(field.chars().count() - same_end);
    match ([rest.next(), rest.next(), rest.next()], [others.next(), others.next(), others.next()]) {
        ([_, None, _], [_, None, _]) => true,
        ([a, b, None], [c, d, None]) => a == d && b == c,
        _ => false,
    }
}

/// The field of this name in any spelling, and otherwise the one whose name it nearly is.
fn field_of(name: &str) -> Result<&'static str, Option<&'static str>> {
    let name = folded(name);
    // A word of its own.
    if name == "context" {
        return Err(None);
    }
    if let Some((field, _)) = FIELDS.into_iter().find(|(_, folded)| *folded == name) {
        return Ok(field);
    }
    if name.starts_with("iserr") {
        return Err(Some("is_error"));
    }
    Err(FIELDS.into_iter().find(|(_, folded)| is_near(&name, folded)).map(|(field, _)| field))
}

fn is_like_a_field(name: &str) -> bool {
    field_of(name) != Err(None) || OF_MCP.contains(&&*folded(name))
}

/// Whether an object that is no full result was meant as one.
fn is_meant(map: &Map<String, Value>) -> bool {
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    if map.keys().all(|name| is_like_a_field(name)) {
        let content = map.iter().find(|(name, _)| matches!(field_of(name), Ok("content") | Err(Some("content"))));
        // Lists of other things than blocks are common, also in what MCP servers return.
        let is_other = content.is_some_and(|(_, content)| !content.is_array());
        let says_how_it_went = map.iter().any(|(name, value)| match field_of(name) {
            Ok("is_error" | "terminate") => is_set(value) || is_other,
            Err(Some("is_error" | "terminate")) => content.is_some() && (is_set(value) || is_other),
            _ => false,
        });
        return says_how_it_went || content.is_some_and(|(_, content)| has_only_wrong_blocks(content));
    }
    // A text under another name than the content's.
    let is_true =
        |(name, value): (&String, &Value)| *value == Value::Bool(true) && matches!(field_of(name), Ok("is_error" | "terminate"));
    let is_text = |(name, value): (&String, &Value)| TEXTS.contains(&name.as_str()) && value.is_string();
    map.iter().any(is_true) && map.iter().any(is_text) && map.iter().all(|field| is_text(field) || is_like_a_field(field.0))
}

/// Whether the items are meant as blocks: each is a text or an image, by a field that is `type` or nearly so.
fn has_only_wrong_blocks(content: &Value) -> bool {
    content.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(|item| kind_of(item).is_some()))
}

/// The name of the field that says that an item is a text or an image: `type`, or nearly so.
fn kind_of(item: &Value) -> Option<&String> {
    let says_kind =
        |(name, kind): &(&String, &Value)| matches!(kind.as_str(), Some("text" | "image")) && is_near(&folded(name), "type");
    Some(item.as_object()?.iter().find(says_kind)?.0)
}

/// What is wrong with an object that was meant as a full result.
fn wrong(map: &Map<String, Value>) -> String {
    const EXAMPLE: &str = "[{\"type\": \"text\", \"text\": \"…\"}]";
    if let Some(why) = map.keys().find_map(|name| misspelt(map, name)) {
        return why;
    }
    let blocks = match map.get("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(other) => return format!("content: expected an array of blocks such as {EXAMPLE}, got {}", shown(other)),
        None => return format!("content is missing; it is an array of blocks such as {EXAMPLE}"),
    };
    let in_blocks = blocks.iter().enumerate().find_map(|(i, item)| Some(format!("content[{i}]: {}", block(item).err()?)));
    in_blocks.unwrap_or_else(|| "content: expected an array of blocks".to_owned())
}

/// The error for a field that a full result does not have, if it was meant as one of its fields.
fn misspelt(map: &Map<String, Value>, name: &str) -> Option<String> {
    let is_text = || TEXTS.contains(&name) && !map.contains_key("content") && map.get(name).is_some_and(Value::is_string);
    let meant = match field_of(name) {
        Ok(field) if field == name || Spelling::Camel.spell(field) == name => return None,
        Ok(field) | Err(Some(field)) => field,
        // So others say that a call failed.
        Err(None) if name == "error" && map.get(name) == Some(&Value::Bool(true)) => "is_error",
        Err(None) if is_text() => "content",
        Err(None) => return None,
    };
    let is_camel = map.keys().any(|name| name.contains(char::is_uppercase));
    let camel = Spelling::Camel.spell(meant);
    // All in lower case it says nothing of the language's spelling.
    if !is_camel && camel != meant && name.bytes().all(|b| b.is_ascii_lowercase()) && name.starts_with("is") {
        return Some(format!("unknown field {name:?}; did you mean {meant:?} or {camel:?}?"));
    }
    let meant = if is_camel { camel.as_str() } else { meant };
    Some(format!("unknown field {name:?}; did you mean {meant:?}?"))
}

/// A field that is true or false, in either spelling. Null is as if it were not there.
fn flag(map: &Map<String, Value>, field: &str) -> Result<bool, String> {
    let mut is_true = false;
    for name in [field, &Spelling::Camel.spell(field)] {
        match map.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Bool(value)) => is_true |= *value,
            Some(other) => return Err(format!("{name}: expected true or false, got {}", shown(other))),
        }
    }
    Ok(is_true)
}

/// A block of a result. Of a file, the type is also read as MCP servers and JavaScript spell it.
fn block(value: &Value) -> Result<ContentBlock, String> {
    match value.get("type") {
        None if value.is_object() => {
            return Err(match kind_of(value) {
                Some(name) => format!("unknown field {name:?}; did you mean \"type\"?"),
                None => "type is missing; a result has text, image, document and audio blocks".to_owned(),
            });
        }
        Some(Value::String(kind)) if !matches!(kind.as_str(), "text" | "image" | "document" | "audio") => {
            return Err(format!("a result has text, image, document and audio blocks only, not {kind:?}"));
        }
        _ => {}
    }
    Ok(match value.get("mimeType").filter(|_| value.get("mime_type").is_none()) {
        Some(mime_type) if value.get("type").is_some_and(|kind| kind != "text") => {
            let fields =
                ["type", "data", "url", "name"].into_iter().filter_map(|name| Some((name.to_owned(), value.get(name)?.clone())));
            let fields = fields.chain([("mime_type".to_owned(), mime_type.clone())]).collect();
            ContentBlock::stored(&Value::Object(fields))?
        }
        _ => ContentBlock::stored(value)?,
    })
}
