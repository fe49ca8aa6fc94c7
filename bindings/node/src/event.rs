//! Batches of events as JSON text.
//!
//! A batch is an array. A run of deltas, by far the most of what a model sends, is one array in it:
//! `[type, seq, turn, content_index, delta, delta, …]`, their `seq` counting up from the first. Every other event is an
//! object. `lib/event.ts` reads both. A batch has a bounded number of bytes: a longer event is alone, and may be taken apart.

use agent_loop::{Event, EventData};

use crate::pieces::{self, Pieces};

/// A batch ends with the event that exceeds this number of bytes.
const BYTES: usize = 4 << 20;

/// A batch.
pub(crate) struct Batch {
    pub(crate) text: String,
    /// How many events it has.
    pub(crate) events: usize,
    /// The rest of its only event, if that is long. The text is then an object.
    pub(crate) rest: Option<Vec<String>>,
}

/// The batch of the first events, at least one.
pub(crate) fn batch(events: &[Event]) -> Batch {
    let mut text = String::with_capacity(events.len() * 24 + 32);
    text.push('[');
    let mut open: Option<Deltas> = None;
    let mut taken = 0;
    for event in events {
        if text.len() > BYTES {
            break;
        }
        let delta = delta(event);
        if let (Some(deltas), Some((next, piece))) = (&mut open, &delta)
            && deltas.is_followed_by(next)
        {
            deltas.next_seq += 1;
            text.push(',');
            push_string(&mut text, piece);
            taken += 1;
            continue;
        }
        if open.take().is_some() {
            text.push(']');
        }
        let pieces = if delta.is_some() { Pieces::of(String::new()) } else { pieces::event(event) };
        if pieces.rest.is_some() || pieces.head.len() > pieces::whole() {
            if taken == 0 {
                let text = if pieces.rest.is_some() { pieces.head } else { format!("[{}]", pieces.head) };
                return Batch { text, events: 1, rest: pieces.rest };
            }
            // It is the next batch.
            break;
        }
        taken += 1;
        if text.len() > 1 {
            text.push(',');
        }
        match delta {
            Some((deltas, piece)) => {
                text.push_str(&format!("[\"{}\",{},{},{},", deltas.kind, event.seq, deltas.turn, deltas.content_index));
                push_string(&mut text, piece);
                open = Some(deltas);
            }
            None => text.push_str(&pieces.head),
        }
    }
    if open.is_some() {
        text.push(']');
    }
    text.push(']');
    Batch { text, events: taken, rest: None }
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
