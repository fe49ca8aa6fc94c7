//! What is compared of an answer, and what of it must not be lost.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::fixture::Fixture;
use super::stream::is_opaque;
use crate::answer_reader::AnswerReader;
use crate::delta::{BlockStart, Delta, MessageBuilder};
use crate::error::Error;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall};
use crate::sse::Splitter;
use crate::table::codes;

/// An answer, with the pieces in which it came.
pub(super) struct Answer {
    message: AssistantMessage,
    /// Of texts, of thinking and of calls' arguments, in their order.
    pieces: Vec<(Kind, String)>,
    /// Of each call, the pieces of its arguments.
    calls: Vec<Vec<String>>,
    sources: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call(usize),
}

/// The answer of a stream, read as a run reads it.
pub(super) fn read(protocol: &str, stream: &str) -> Result<Answer, Error> {
    let head = json!({ "role": "assistant", "content": [], "provider": "p", "protocol": protocol, "model": "m", "timestamp": 0 });
    let Message::Assistant(head) = serde_json::from_value(head).unwrap() else { panic!("an assistant's") };
    let mut builder = MessageBuilder::new(head, 1, None, usize::MAX);
    let mut reader = AnswerReader::new(Fixture::of_protocol(protocol).decoder(), "p", false);
    let (mut splitter, mut deltas) = (Splitter::default(), Vec::new());
    let mut more = splitter.feed(stream.as_bytes(), |frame| reader.frame(&frame, &mut deltas))?;
    if more {
        more = splitter.finish(|frame| reader.frame(&frame, &mut deltas))?;
    }
    if more {
        reader.end(&mut deltas)?;
    }
    let (mut kinds, mut pieces, mut calls, mut sources) = (BTreeMap::new(), Vec::new(), Vec::new(), Vec::new());
    for delta in &deltas {
        match delta {
            Delta::Start { key, block: BlockStart::Text } => drop(kinds.insert(*key, Kind::Text)),
            Delta::Start { key, block: BlockStart::Thinking { .. } } => drop(kinds.insert(*key, Kind::Thinking)),
            Delta::Start { key, block: BlockStart::ToolCall { .. } } => {
                kinds.insert(*key, Kind::Call(calls.len()));
                calls.push(Vec::new());
            }
            Delta::Append { key, text } => {
                let kind = kinds[key];
                if let Kind::Call(at) = kind {
                    calls[at].push(text.clone());
                }
                pieces.push((kind, text.clone()));
            }
            Delta::Diagnostic { code, data, .. } if code == codes::CITATIONS => sources.push((**data).clone()),
            _ => {}
        }
    }
    deltas.into_iter().try_for_each(|delta: Delta| builder.apply(delta).map(drop))?;
    while builder.end_next().is_some() {}
    Ok(Answer { message: builder.finish(None), pieces, calls, sources })
}

/// What of an answer is compared, by name.
fn facets(answer: &Answer) -> [(&'static str, Value); 10] {
    let message = &answer.message;
    let of = |pick: &dyn Fn(&ContentBlock) -> Option<Value>| Value::Array(message.content.iter().filter_map(pick).collect());
    let usage = &message.usage;
    let ids = message.tool_calls().map(|call| call.id.as_str()).chain(message.response_id.as_deref());
    let cost = usage.cost.as_ref().map(|cost| cost.total);
    [
        ("text", message.text().into()),
        ("thinking", of(&|block| if let ContentBlock::Thinking { thinking, .. } = block { Some(json!(thinking)) } else { None })),
        ("calls", message.tool_calls().map(called).collect::<Vec<_>>().into()),
        ("ids", ids.collect::<Vec<_>>().into()),
        ("model", json!(message.response_model)),
        (
            "signatures",
            of(&|block| match block {
                ContentBlock::Text { signature, .. } | ContentBlock::Thinking { signature, .. } => Some(json!(signature)),
                ContentBlock::ToolCall(call) => Some(json!(call.signature)),
                ContentBlock::Opaque { data, .. } => Some(data.clone()),
                ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => None,
            }),
        ),
        ("sources", json!(answer.sources)),
        ("usage", json!([usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning, cost])),
        ("stop_reason", json!(message.stop_reason)),
        ("raw_stop_reason", json!(message.raw_stop_reason)),
    ]
}

fn called(call: &ToolCall) -> Value {
    json!([call.name, call.arguments, call.raw_arguments])
}

/// What comes of a changed stream: `same`, `error` and its kind, `lost` and what that was not touched is missing, or `changed`
/// and what else differs.
pub(super) fn outcome(protocol: &str, stream: &str, expected: &Answer, touched: &Touched) -> String {
    match std::panic::catch_unwind(|| read(protocol, stream)) {
        Err(_) => "PANIC".to_owned(),
        Ok(Err(error)) => format!("error {}", error.kind()),
        Ok(Ok(answer)) => {
            let lost = lost(expected, &answer, touched);
            if !lost.is_empty() {
                return format!("lost {}", lost.join(" "));
            }
            let differs = facets(&answer).into_iter().zip(facets(expected)).filter(|(ours, theirs)| ours != theirs);
            let changed: Vec<&str> = differs.map(|((name, _), _)| name).collect();
            if changed.is_empty() { "same".to_owned() } else { format!("changed {}", changed.join(" ")) }
        }
    }
}

/// What a mutation takes away or changes: the texts, whole, of the fields that it touches. What stands elsewhere is not touched.
#[derive(Default)]
pub(super) struct Touched {
    texts: Vec<String>,
    /// Texts that only calls are made of: those of a frame that comes again, so that a call's arguments are others.
    of_calls: Vec<String>,
    /// Whether the order of pieces is another.
    pub(super) is_moved: bool,
}

impl Touched {
    /// What one frame has less than before.
    pub(super) fn less(&mut self, before: &Value, after: &Value) {
        let mut gone = texts(before);
        for text in texts(after) {
            if let Some(at) = gone.iter().position(|other| *other == text) {
                gone.swap_remove(at);
            }
        }
        self.texts.extend(gone);
    }

    /// A frame that comes once more, or elsewhere.
    pub(super) fn again(&mut self, frame: &Value) {
        self.of_calls.extend(texts(frame));
    }

    /// Whether a piece is made of what is touched, or ends it: what was not streamed comes whole.
    fn has(&self, piece: &str, is_call: bool) -> bool {
        let of_calls = self.of_calls.iter().filter(|_| is_call);
        self.texts.iter().chain(of_calls).filter(|text| !text.is_empty()).any(|text| {
            text == piece
                || is_call && text.starts_with(PIECE)
                || text.ends_with(piece)
                || text.len() > 2 && piece.contains(text.as_str())
        })
    }
}

/// Before the JSON of a piece of a call whose arguments come as values by path: its texts are no part of theirs.
const PIECE: &str = "a piece of a call: ";

/// The texts of a frame; of arguments that are no text, their JSON.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => {
            let of = |(name, value): (&String, &Value)| match value {
                Value::Object(_) if is_opaque(name) => vec![value.to_string()],
                Value::Object(map) if name == "functionCall" && !map.contains_key("args") => vec![format!("{PIECE}{value}")],
                value => texts(value),
            };
            map.iter().flat_map(of).collect()
        }
        _ => Vec::new(),
    }
}

/// The kinds of content of which something is missing that was not touched: pieces of text in their order, and whole calls.
fn lost(expected: &Answer, answer: &Answer, touched: &Touched) -> Vec<&'static str> {
    let mut lost = Vec::new();
    let joined = |kind: Option<Kind>| -> String {
        let of_kind = answer.pieces.iter().filter(|(other, _)| kind.is_none_or(|kind| kind == *other));
        of_kind.map(|(_, text)| text.as_str()).collect()
    };
    let all = joined(None);
    for (name, kind) in [("text", Kind::Text), ("thinking", Kind::Thinking)] {
        let pieces = expected.pieces.iter().filter(|(other, text)| *other == kind && !touched.has(text, false));
        let pieces: Vec<&str> = pieces.map(|(_, text)| text.trim()).filter(|text| !text.is_empty()).collect();
        let stand_in = |said: &str| {
            let mut rest = said;
            pieces.iter().all(|piece| match rest.find(piece) {
                Some(at) if !touched.is_moved => {
                    rest = &rest[at + piece.len()..];
                    true
                }
                found => found.is_some(),
            })
        };
        // What was taken for thinking may now be text, and the other way round.
        if !stand_in(&joined(Some(kind))) && !stand_in(&all) {
            lost.push(name);
        }
    }
    let mut there: Vec<Value> = answer.message.tool_calls().map(called).collect();
    for (call, pieces) in expected.message.tool_calls().zip(&expected.calls) {
        if touched.has(&call.name, true) || pieces.iter().any(|piece| touched.has(piece, true)) {
            continue;
        }
        match there.iter().position(|other| *other == called(call)) {
            Some(at) => drop(there.swap_remove(at)),
            None => {
                lost.push("calls");
                break;
            }
        }
    }
    lost
}
