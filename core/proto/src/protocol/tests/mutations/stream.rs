//! Streams as lists of frames, and the fields of frames.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sse::Splitter;

/// A frame of a stream, with its JSON where it has some.
#[derive(Clone, PartialEq)]
pub(super) struct Frame {
    pub(super) event: String,
    pub(super) data: String,
    pub(super) value: Option<Value>,
}

impl Frame {
    pub(super) fn of(value: Value) -> Frame {
        Frame { event: String::new(), data: String::new(), value: Some(value) }
    }

    pub(super) fn text(data: &str) -> Frame {
        Frame { event: String::new(), data: data.to_owned(), value: None }
    }

    pub(super) fn json(&self) -> &Value {
        self.value.as_ref().unwrap_or(&Value::Null)
    }
}

/// The frames of a stream. What is no JSON of an object or a list stays as it is.
pub(super) fn frames(stream: &str) -> Vec<Frame> {
    let (mut splitter, mut found) = (Splitter::default(), Vec::new());
    let mut take = |event: &str, data: &str| {
        let value = serde_json::from_str(data).ok().filter(|value: &Value| value.is_object() || value.is_array());
        found.push(Frame { event: event.to_owned(), data: data.to_owned(), value });
        Ok(true)
    };
    splitter.feed(stream.as_bytes(), |frame| take(&frame.event, &frame.data)).unwrap();
    splitter.finish(|frame| take(&frame.event, &frame.data)).unwrap();
    found
}

/// Stands for JSON that is deeper than any that is read.
pub(super) const TOO_DEEP: &str = "@too deep@";

/// So many lists, one in the other.
pub(super) fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

pub(super) fn written<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> String {
    let mut out = String::new();
    for Frame { event, data, value } in frames {
        if !event.is_empty() {
            out += &format!("event: {event}\n");
        }
        let data = value.as_ref().map_or_else(|| data.clone(), Value::to_string);
        data.lines().for_each(|line| out += &format!("data: {line}\n"));
        out += "\n";
    }
    let marked = format!("\"{TOO_DEEP}\"");
    if out.contains(&marked) { out.replace(&marked, &nested(200)) } else { out }
}

/// Whether what stands under a field of this name is the model's or the server's own, and not read here.
pub(super) fn is_opaque(name: &str) -> bool {
    matches!(name, "args" | "input" | "arguments" | "tools" | "metadata" | "logprobs" | "safety_ratings" | "safetyRatings")
}

/// The fields of a frame as paths; elements of lists are `[]`.
pub(super) fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                found.insert(path.clone());
                if !is_opaque(name) && path.matches('.').count() < 6 {
                    paths(value, &path, found);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| paths(value, &format!("{at}[]"), found)),
        _ => {}
    }
}
