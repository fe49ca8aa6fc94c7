//! JSON written straight to bytes, in the order of the calls.

use serde::Serialize;
use serde_json::Value;

/// Appends a value.
pub(super) fn write(out: &mut Vec<u8>, value: impl Serialize) {
    // It fails only for values that JSON has no form for, and none of these is written.
    let _ = serde_json::to_writer(out, &value);
}

/// A value as it is written.
pub(super) fn value(value: impl Serialize) -> Value {
    let mut out = Vec::new();
    write(&mut out, value);
    serde_json::from_slice(&out).unwrap_or_default()
}

/// Appends a comma, unless nothing of the list or object stands there yet.
pub(super) fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b'[' | b'{')) {
        out.push(b',');
    }
}

/// Appends an item to a list.
pub(super) fn item(out: &mut Vec<u8>, value: impl Serialize) {
    separate(out);
    write(out, value);
}

/// Appends items that are JSON already, separated by commas.
pub(super) fn items(out: &mut Vec<u8>, json: &[u8]) {
    if !json.is_empty() {
        separate(out);
        out.extend_from_slice(json);
    }
}

/// A list of items that are JSON already.
pub(super) fn list<'a>(out: &mut Vec<u8>, all: impl IntoIterator<Item = &'a [u8]>) {
    out.push(b'[');
    all.into_iter().for_each(|json| items(out, json));
    out.push(b']');
}

/// An object that is being written.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Object<'a> {
    pub(super) fn begin(out: &'a mut Vec<u8>) -> Object<'a> {
        out.push(b'{');
        Object { out }
    }

    /// Adds a field.
    pub(super) fn field(&mut self, name: &str, value: impl Serialize) {
        write(self.value_of(name), value);
    }

    /// Adds a field that has a value.
    pub(super) fn some(&mut self, name: &str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.field(name, value);
        }
    }

    /// Adds a field whose value is JSON already.
    pub(super) fn json(&mut self, name: &str, json: &[u8]) {
        self.value_of(name).extend_from_slice(json);
    }

    /// Adds a field whose value the caller appends.
    pub(super) fn value_of(&mut self, name: &str) -> &mut Vec<u8> {
        separate(self.out);
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }
}
