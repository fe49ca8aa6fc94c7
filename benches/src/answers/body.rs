//! Events to the bytes of an HTTP/1.1 answer: head, and one chunk per event.

use bytes::{BufMut, Bytes, BytesMut};

use super::Answer;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\
    content-type: text/event-stream; charset=utf-8\r\n\
    cache-control: no-cache\r\n\
    transfer-encoding: chunked\r\n\r\n";

/// Frames `events`; the answer is cut before the event `cut_at`, between two chunks.
pub(super) fn chunked(events: &[String], cut_at: usize) -> Answer {
    let size: usize = events.iter().map(|event| event.len() + 16).sum();
    let mut out = BytesMut::with_capacity(HEAD.len() + size);
    out.put_slice(HEAD);
    let mut cut = out.len();
    for (i, event) in events.iter().enumerate() {
        if i == cut_at {
            cut = out.len();
        }
        out.put_slice(format!("{:x}\r\n", event.len()).as_bytes());
        out.put_slice(event.as_bytes());
        out.put_slice(b"\r\n");
    }
    out.put_slice(b"0\r\n\r\n");
    let mut first: Bytes = out.freeze();
    let rest = first.split_off(cut);
    Answer { first, rest }
}
