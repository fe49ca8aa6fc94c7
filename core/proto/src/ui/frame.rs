//! A frame of a stream: a server-sent event whose data is a JSON object, written as text without a tree of values.

use std::io;

use serde::Serialize;

/// A frame that is being written; `end` completes it.
pub(super) struct Frame<'a>(&'a mut String);

/// Begins a frame of a type.
pub(super) fn frame<'a>(out: &'a mut String, kind: &str) -> Frame<'a> {
    out.push_str("data: {\"type\":\"");
    out.push_str(kind);
    out.push('"');
    Frame(out)
}

impl Frame<'_> {
    /// A field of any type.
    pub(super) fn field<T: Serialize + ?Sized>(self, name: &str, value: &T) -> Self {
        self.0.push_str(",\"");
        self.0.push_str(name);
        self.0.push_str("\":");
        // Nothing that is written here can fail: all keys are texts, and there is room.
        let _ = serde_json::to_writer(Text(self.0), value);
        self
    }

    /// A field, if it has a value.
    pub(super) fn maybe<T: Serialize>(self, name: &str, value: Option<&T>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    pub(super) fn end(self) {
        self.0.push_str("}\n\n");
    }
}

/// Text as a writer. JSON is written in pieces that are texts each.
struct Text<'a>(&'a mut String);

impl io::Write for Text<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.push_str(std::str::from_utf8(piece).map_err(io::Error::other)?);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
