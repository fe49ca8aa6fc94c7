//! The events of a stream and the items in them, as they are read.

use std::borrow::Cow;

use serde_json::Value;

use crate::protocol::scan::Scan;

/// A `….delta`, nearly all of a stream.
pub(super) struct Piece<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) output_index: i64,
    /// Of a thought, which part of it.
    pub(super) part: Option<u64>,
    pub(super) delta: Cow<'a, str>,
}

/// Reads such an event; `None` for every other.
pub(super) fn piece(event: &str) -> Option<Piece<'_>> {
    let (mut kind, mut output_index, mut part, mut delta) = (None, None, None, None);
    Scan::whole(event, |scan, name| {
        match name {
            "type" => kind = Some(scan.string().filter(|kind| kind.ends_with(".delta"))?),
            "output_index" => output_index = i64::try_from(scan.natural()?).ok(),
            "summary_index" | "content_index" => part = Some(scan.natural()?),
            "delta" => delta = Some(scan.string()?),
            _ => scan.skip()?,
        }
        Some(())
    })?;
    Some(Piece { kind: kind?, output_index: output_index?, part, delta: delta? })
}

/// A text field; empty when it is missing.
pub(super) fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What kind of item it is: its type, or what its fields say where that is missing; empty where they say nothing.
pub(super) fn type_of(item: &Value) -> &str {
    let given = word(item, "type");
    let known = ["message", "reasoning", "function_call"];
    match known.into_iter().find(|kind| given.eq_ignore_ascii_case(kind)) {
        Some(kind) => kind,
        None if !given.is_empty() => given,
        None if !word(item, "call_id").is_empty() && item.get("arguments").is_some() => "function_call",
        None if item.get("summary").is_some_and(Value::is_array) => "reasoning",
        None if item.get("content").is_some_and(Value::is_array) && !word(item, "role").is_empty() => "message",
        None => "",
    }
}

/// The elements of a list field.
pub(super) fn parts<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// The sources that a message names.
pub(super) fn annotations_of(item: &Value) -> Vec<Value> {
    parts(item, "content").flat_map(|part| parts(part, "annotations")).cloned().collect()
}

/// Parts are `output_text` or `refusal`.
pub(super) fn text_of(item: &Value) -> String {
    parts(item, "content")
        .map(|part| if part.get("text").is_some() { word(part, "text") } else { word(part, "refusal") })
        .collect()
}

/// What stands between the parts of a thought: each is a paragraph, or several.
pub(super) const BETWEEN: &str = "\n\n";

/// The summary, or of open models the reasoning itself.
pub(crate) fn thinking_of(item: &Value) -> String {
    let all = |name| {
        let texts = parts(item, name).map(|part| word(part, "text")).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join(BETWEEN)
    };
    Some(all("summary")).filter(|summary| !summary.is_empty()).unwrap_or_else(|| all("content"))
}

/// What of a message's item goes back with its text: its id and phase, in JSON.
pub(crate) fn text_signature(item: &Value) -> Option<String> {
    let known = ["id", "phase"].map(|name| (name, word(item, name))).into_iter().filter(|(_, word)| !word.is_empty());
    let known: serde_json::Map<String, Value> = known.map(|(name, word)| (name.to_owned(), word.into())).collect();
    (!known.is_empty()).then(|| Value::Object(known).to_string())
}

/// Text, as documented, or the object itself.
pub(super) fn arguments_of(value: &Value) -> String {
    match value.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        // PHP writes an empty object so.
        Some(Value::Array(list)) if list.is_empty() => String::new(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => String::new(),
        Some(other) => other.to_string(),
    }
}
