//! One frame less, more, again, or at another place.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::{Answer, Touched, outcome};
use super::stream::{Frame, written};
use super::{Outcomes, Tried};

pub(super) const MUTATIONS: &[&str] = &["missing", "repeated", "swapped", "also first", "also elsewhere", "also last"];

/// Where a frame may be added.
pub(super) const PLACES: &[&str] = &["first", "between", "last"];

/// What a frame is called in the table: its type, with what is in it.
fn label(protocol: &str, frame: &Frame) -> String {
    let value = frame.json();
    let word = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let fields = |path: &str| -> String {
        let map = value.pointer(path).and_then(Value::as_object).into_iter().flatten();
        let said = map.filter(|(_, value)| !value.is_null() && *value != "" && **value != json!([]));
        said.map(|(name, _)| format!(" {name}")).collect()
    };
    if frame.value.is_none() {
        return "mark".to_owned();
    }
    match protocol {
        "anthropic" | "openai_responses" => {
            let inner = ["/content_block/type", "/item/type"].map(word).concat();
            let kind = Some(word("/type")).filter(|kind| !kind.is_empty()).unwrap_or_else(|| frame.event.clone());
            format!("{kind} {inner}{}", word("/delta/type")).trim_end().to_owned()
        }
        "openai_chat" => {
            let has_reason = value.pointer("/choices/0/finish_reason").is_some_and(|reason| !reason.is_null());
            let ends = if has_reason { " finish_reason" } else { "" };
            let used = if value["usage"].is_object() { " usage" } else { "" };
            format!("chunk:{}{ends}{used}", fields("/choices/0/delta").replace(" role", ""))
        }
        _ => {
            let ends = if value.pointer("/candidates/0/finishReason").is_some() { " finishReason" } else { "" };
            format!("chunk:{}{ends}", fields("/candidates/0/content/parts/0"))
        }
    }
}

/// Frames that belong to no answer of the format.
fn strange(protocol: &str) -> Vec<(&'static str, Frame)> {
    let kinds = json!({
        "anthropic": { "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "odd" } },
        "openai_chat": { "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": { "content": "odd" } }] },
        "openai_responses": { "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "odd" },
        "gemini": { "candidates": [{ "index": 0, "content": { "role": "model", "parts": [{ "text": "odd" }] } }] },
    });
    let of = |name: &'static str| Some((name, Frame::of(kinds[name].clone()))).filter(|_| name != protocol);
    let mut all: Vec<_> = ["anthropic", "openai_chat", "openai_responses", "gemini"].into_iter().filter_map(of).collect();
    all.extend([
        ("an unknown type", Frame::of(json!({ "type": "odd.event", "odd": { "text": "odd" } }))),
        ("a sign of life", Frame::of(json!({ "type": "ping" }))),
        ("an empty object", Frame::of(json!({}))),
        ("an empty list", Frame::of(json!([]))),
        ("a number", Frame::text("7")),
        ("nothing", Frame::text("")),
        ("no JSON", Frame::text("odd")),
        ("half of JSON", Frame::text("{\"type\":")),
        ("an error", Frame::of(json!({ "error": { "type": "overloaded_error", "message": "odd" } }))),
        ("an error's message", Frame::of(json!({ "message": "odd" }))),
        ("an error by its event", Frame { event: "error".to_owned(), ..Frame::text("odd") }),
    ]);
    all
}

/// Tries all of it on a stream, on three frames of each kind at most.
pub(super) fn try_all(protocol: &str, stream: &[Frame], expected: &Answer, tried: &mut Tried, outcomes: &mut Outcomes) {
    let mut try_one = |name: String, mutation: &str, frames: Vec<&Frame>, touched: &Touched| {
        let outcome = outcome(protocol, &written(frames), expected, touched);
        outcomes.entry((name, mutation.to_owned())).or_default().insert(outcome);
    };
    let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, frame) in stream.iter().enumerate() {
        kinds.entry(label(protocol, frame)).or_default().push(place);
    }
    let with = |frame: &'static str| format!("one more: {frame}");
    for (kind, places) in kinds {
        let name = format!("frame {kind}");
        if !tried.may(&name, MUTATIONS[0]) {
            continue;
        }
        tried.count(&name, MUTATIONS[0]);
        let mut some = vec![places[0], places[places.len() / 2], places[places.len() - 1]];
        some.dedup();
        for place in some {
            let (before, frame, after) = (&stream[..place], &stream[place], &stream[place + 1..]);
            let mut less = Touched::default();
            less.less(frame.json(), &Value::Null);
            try_one(name.clone(), "missing", before.iter().chain(after).collect(), &less);
            let mut again = Touched::default();
            again.again(frame.json());
            try_one(name.clone(), "repeated", before.iter().chain([frame, frame]).chain(after).collect(), &again);
            for (mutation, at) in [("also first", 0), ("also elsewhere", stream.len() / 2), ("also last", stream.len() - 1)] {
                let frames = stream[..at].iter().chain([frame]).chain(&stream[at..]).collect();
                try_one(name.clone(), mutation, frames, &again);
            }
            if let [next, after @ ..] = after {
                let mut moved = Touched::default();
                moved.is_moved = true;
                // Pieces of one call in another order are other arguments.
                if label(protocol, next) == kind {
                    moved.again(frame.json());
                    moved.again(next.json());
                }
                try_one(name.clone(), "swapped", before.iter().chain([next, frame]).chain(after).collect(), &moved);
            }
        }
    }
    for (what, frame) in strange(protocol) {
        for (place, at) in PLACES.iter().zip([0, stream.len() / 2, stream.len() - 1]) {
            if tried.may(&with(what), place) {
                tried.count(&with(what), place);
                let frames = stream[..at].iter().chain([&frame]).chain(&stream[at..]).collect();
                try_one(with(what), place, frames, &Touched::default());
            }
        }
    }
}
