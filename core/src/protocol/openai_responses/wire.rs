//! The events of a stream and the items in them, as they are read.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub(super) enum Event<'a> {
    Piece(Piece<'a>),
    Other(Value),
}

/// A `….delta`, nearly all of a stream: one flat struct, read without a JSON tree.
#[derive(Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    /// Signed: a server may begin with -1.
    #[serde(default)]
    pub(super) output_index: Option<i64>,
    #[serde(borrow, default)]
    pub(super) item_id: Option<&'a RawValue>,
    pub(super) delta: String,
}

/// Reads an event.
///
/// # Errors
/// What is not JSON.
pub(super) fn read(data: &str) -> Result<Event<'_>, serde_json::Error> {
    match serde_json::from_str::<Piece<'_>>(data) {
        Ok(piece) => Ok(Event::Piece(piece)),
        // Events without a `delta`: few, so a JSON tree will do.
        Err(_) => serde_json::from_str(data).map(Event::Other),
    }
}

/// A text field; empty when it is missing.
pub(super) fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of a list field.
pub(super) fn parts<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// Parts are `output_text` or `refusal`; their annotations are not kept.
pub(super) fn text_of(item: &Value) -> String {
    parts(item, "content")
        .map(|part| if part.get("text").is_some() { word(part, "text") } else { word(part, "refusal") })
        .collect()
}

/// The summary, or of open models the reasoning itself.
pub(super) fn thinking_of(item: &Value) -> String {
    let all = |name| parts(item, name).map(|part| word(part, "text")).collect::<String>();
    Some(all("summary")).filter(|summary| !summary.is_empty()).unwrap_or_else(|| all("content"))
}

/// Text, as documented, or the object itself.
pub(super) fn arguments_of(value: &Value) -> String {
    match value.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}
