//! Batches of events as JSON text.
//!
//! A batch is an array. A run of deltas, by far the most of what a model sends, is one array in it:
//! `[type, seq, turn, content_index, delta, delta, …]`, their `seq` counting up from the first. Every other event is an
//! object. `lib/event.ts` reads both.

use agent_loop::{Event, EventData};

use crate::camel_case;

/// The batch as JSON text.
pub(crate) fn batch(events: &[Event]) -> String {
    let mut text = String::with_capacity(events.len() * 24 + 32);
    text.push('[');
    let mut open: Option<Deltas> = None;
    for event in events {
        let delta = delta(event);
        if let (Some(deltas), Some((next, piece))) = (&mut open, &delta)
            && deltas.is_followed_by(next)
        {
            deltas.next_seq += 1;
            text.push(',');
            push_string(&mut text, piece);
            continue;
        }
        if open.take().is_some() {
            text.push(']');
        }
        if text.len() > 1 {
            text.push(',');
        }
        match delta {
            Some((deltas, piece)) => {
                text.push_str(&format!("[\"{}\",{},{},{},", deltas.kind, event.seq, deltas.turn, deltas.content_index));
                push_string(&mut text, piece);
                open = Some(deltas);
            }
            None => text.push_str(&camel_case::to_json(event)),
        }
    }
    if open.is_some() {
        text.push(']');
    }
    text.push(']');
    text
}

/// What consecutive deltas of a batch have in common.
struct Deltas {
    kind: &'static str,
    turn: u32,
    content_index: u32,
    next_seq: u64,
}

impl Deltas {
    fn is_followed_by(&self, other: &Deltas) -> bool {
        // The other's `next_seq` is one more than its `seq`.
        self.kind == other.kind
            && self.turn == other.turn
            && self.content_index == other.content_index
            && self.next_seq + 1 == other.next_seq
    }
}

/// The delta, if the event is one.
fn delta(event: &Event) -> Option<(Deltas, &str)> {
    let EventData::MessageUpdate(update) = &event.data else {
        return None;
    };
    let deltas = Deltas { kind: update.kind(), turn: event.turn, content_index: update.content_index(), next_seq: event.seq + 1 };
    update.delta().map(|delta| (deltas, delta))
}

/// Appends the text as a JSON string.
fn push_string(out: &mut String, text: &str) {
    let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // Serializing text cannot fail.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}
