//! Values as JSON text, in pieces where one JavaScript string may not hold it.
//!
//! What grows without bound are lists of messages: those of `agent_end`, `turn_end` and a result. Where such a value is long, its
//! head crosses with an empty list, and each message as a text of its own; `lib/pieces.ts` puts them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_loop::{Event, EventData, Message, RunResult};
use napi_derive::napi;
use serde::Serialize;
use serde_json::json;

use crate::camel_case;

/// The most bytes of a text that is not taken apart.
static WHOLE: AtomicUsize = AtomicUsize::new(32 << 20);
/// The most UTF-16 code units of a JavaScript string: V8's limit.
static STRING: AtomicUsize = AtomicUsize::new((1 << 29) - 24);

/// A value as JSON text.
pub(crate) struct Pieces {
    /// The value, its list empty if there are more pieces. Empty if it is too long for a JavaScript string even so.
    pub(crate) head: String,
    /// The elements of its list.
    pub(crate) rest: Option<Vec<String>>,
}

impl Pieces {
    /// A short text, or the end of a wait that has none.
    pub(crate) fn of(head: String) -> Pieces {
        Pieces { head, rest: None }
    }

    /// `without` is the value without its list.
    fn new<T: Serialize>(value: &T, without: impl FnOnce() -> Option<(T, Vec<Arc<Message>>)>) -> Pieces {
        let head = camel_case::to_json(value);
        if head.len() <= WHOLE.load(Ordering::Relaxed) {
            return Pieces::of(head);
        }
        match without() {
            Some((value, messages)) => {
                drop(head);
                let rest = messages.iter().map(|message| piece(message)).collect();
                Pieces { head: fitting(camel_case::to_json(&value)).unwrap_or_default(), rest: Some(rest) }
            }
            None => Pieces::of(fitting(head).unwrap_or_default()),
        }
    }
}

/// An event. One that is too long for a JavaScript string is a diagnostic that says so.
pub(crate) fn event(event: &Event) -> Pieces {
    let pieces = Pieces::new(event, || {
        let mut event = event.clone();
        let messages = match &mut event.data {
            EventData::AgentEnd { messages, .. } => messages,
            EventData::TurnEnd { tool_results, .. } => tool_results,
            _ => return None,
        };
        let messages = std::mem::take(messages);
        Some((event, messages))
    });
    if pieces.head.is_empty() { Pieces::of(left_out(event)) } else { pieces }
}

/// A run's result.
pub(crate) fn result(result: &RunResult) -> Pieces {
    Pieces::new(result, || {
        let mut result = result.clone();
        let messages = std::mem::take(&mut result.messages);
        Some((result, messages))
    })
}

/// The first of these messages as a JSON array: as many as one text should have, at least one.
pub(crate) fn messages(messages: &[Arc<Message>]) -> String {
    let mut text = String::from("[");
    for message in messages {
        let message = piece(message);
        if text.len() > 1 {
            if text.len() + message.len() > WHOLE.load(Ordering::Relaxed) {
                break;
            }
            text.push(',');
        }
        text.push_str(&message);
    }
    text.push(']');
    text
}

/// The text, unless JavaScript could not hold it.
pub(crate) fn fitting(text: String) -> Option<String> {
    (units(&text) <= STRING.load(Ordering::Relaxed)).then_some(text)
}

/// The length of a text in JavaScript.
fn units(text: &str) -> usize {
    // No text has more of them than bytes.
    if text.len() <= STRING.load(Ordering::Relaxed) { text.len() } else { text.encode_utf16().count() }
}

/// A message of a list. In place of one that is too long stands a message of the role `left_out`.
fn piece(message: &Message) -> String {
    let text = camel_case::to_json(message);
    let characters = units(&text);
    fitting(text).unwrap_or_else(|| json!({ "role": "left_out", "of": message.role(), "characters": characters }).to_string())
}

/// What stands for an event that is too long.
fn left_out(event: &Event) -> String {
    let characters = units(&camel_case::to_json(event));
    let (kind, limit) = (event.data.kind(), STRING.load(Ordering::Relaxed));
    let mut event = event.clone();
    event.data = EventData::Diagnostic {
        code: "event_left_out".into(),
        message: format!(
            "the event {kind} was left out: its JSON has {characters} characters, and a JavaScript string has at most {limit}; \
             let tools return less"
        ),
        data: Box::new(json!({ "type": kind, "characters": characters })),
    };
    camel_case::to_json(&event)
}

/// For tests, which would need gigabytes: sets the length of a text that is taken apart, and of the longest JavaScript string.
#[napi(catch_unwind)]
pub fn set_text_limits(whole: u32, string: u32) {
    WHOLE.store(whole as usize, Ordering::Relaxed);
    STRING.store(string as usize, Ordering::Relaxed);
}

/// The most bytes of a text that is not taken apart.
pub(crate) fn whole() -> usize {
    WHOLE.load(Ordering::Relaxed)
}
