//! Bytes to frames: server-sent events, split as the WHATWG standard says
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>), with two liberties that
//! recorded traffic needs: `id` and `retry` are ignored, and a last frame without its blank line is given at the end. Servers
//! also send what is no event stream: an error in a field of that name (llama.cpp) is a frame, and so is a whole body of JSON.
//!
//! A frame that lies within one chunk is handed out without a copy.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use memchr::memchr2;
use serde::de::IgnoredAny;

use crate::error::{Error, ErrorKind};

/// The most bytes one frame may have.
pub(crate) const MAX_FRAME_BYTES: usize = 16 << 20;

/// The most bytes of stray lines that are kept.
pub(crate) const MAX_STRAY_BYTES: usize = 64 << 10;

/// One frame: its `event` field (empty when there is none) and its data lines, joined with `\n`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame<'a> {
    /// Its `event` field; empty when there is none. Of an `error` field, that name.
    pub event: Cow<'a, str>,
    /// Its data lines, joined with `\n`.
    pub data: Cow<'a, str>,
    /// Whether bytes of the data were not UTF-8: U+FFFD stands for them.
    pub invalid_utf8: bool,
    /// Whether it is the whole body, in JSON, of an answer that is no event stream.
    pub is_body: bool,
}

/// Splits a stream that comes in chunks.
#[derive(Debug, Default)]
pub struct Splitter {
    /// The bytes of a line that has no end yet: the search for the end goes on after them.
    rest: Vec<u8>,
    /// What the lines before it say of a frame that is not complete yet. They are read once, however many there are.
    fields: Fields<'static>,
    /// How many bytes those lines had.
    read: usize,
    /// Whether the stream's first bytes, perhaps a byte-order mark, are behind us.
    begun: bool,
    /// Whether the stream begins as JSON does: then it is kept to its end.
    is_json: bool,
    /// Whether the last byte was a CR whose LF may follow.
    after_cr: bool,
    /// The lines that are no field of a frame: servers break off with a page or with an error in bare JSON.
    stray: Vec<u8>,
}

impl Splitter {
    /// Takes a chunk in and hands each frame that it completes to `give`, which says whether to go on.
    ///
    /// # Errors
    /// `limit` when a frame grows too large; whatever `give` fails with.
    pub fn feed(&mut self, chunk: &[u8], mut give: impl FnMut(Frame<'_>) -> Result<bool, Error>) -> Result<bool, Error> {
        if self.rest.is_empty() && self.begun {
            let end = split(chunk, 0, std::mem::take(&mut self.fields), &mut self.after_cr, &mut self.stray, &mut give)?;
            // Nearly all chunks end with a frame: then nothing is left of them.
            if end.completed == Some(chunk.len()) {
                self.read = 0;
                return Ok(end.more);
            }
            self.rest.extend_from_slice(chunk.get(end.used..).unwrap_or_default());
            return self.keep(end.owned());
        }
        let mut rest = std::mem::take(&mut self.rest);
        let mut searched = rest.len();
        rest.extend_from_slice(chunk);
        if !self.begun {
            // The mark may come in pieces: wait until the first three bytes are there or differ from it.
            let mark = b"\xEF\xBB\xBF";
            if rest.len() < mark.len() && mark.starts_with(&rest) {
                self.rest = rest;
                return Ok(true);
            }
            if rest.starts_with(mark) {
                rest.drain(..mark.len());
            }
            // Some servers send line ends as signs of life, also before a body of JSON.
            rest.drain(..rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count());
            let first = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
            self.begun = first.is_some();
            self.is_json = matches!(first, Some(b'{' | b'['));
            searched = 0;
        }
        if self.is_json || !self.begun {
            self.rest = rest;
            return self.keep(End { more: true, ..End::default() });
        }
        let end = split(&rest, searched, std::mem::take(&mut self.fields), &mut self.after_cr, &mut self.stray, &mut give)?;
        let end = end.owned();
        rest.drain(..end.used);
        self.rest = rest;
        self.keep(end)
    }

    fn keep(&mut self, end: End<'static>) -> Result<bool, Error> {
        self.fields = end.fields;
        self.read = end.used - end.completed.unwrap_or_default() + if end.completed.is_some() { 0 } else { self.read };
        if self.read + self.rest.len() > MAX_FRAME_BYTES {
            let limit = MAX_FRAME_BYTES >> 20;
            return Err(Error::new(ErrorKind::Limit, format!("a frame of the model's stream is larger than {limit} MiB")));
        }
        Ok(end.more)
    }

    /// The stream ended cleanly: what is left is a frame too, if it has data.
    ///
    /// # Errors
    /// Whatever `give` fails with.
    pub fn finish(&mut self, mut give: impl FnMut(Frame<'_>) -> Result<bool, Error>) -> Result<bool, Error> {
        let mut rest = std::mem::take(&mut self.rest);
        if self.is_json && rest.len() > 2 && serde_json::from_slice::<IgnoredAny>(&rest).is_ok() {
            let (data, invalid_utf8) = lossy(Cow::Owned(rest));
            return give(Frame { data, invalid_utf8, is_body: true, ..Frame::default() });
        }
        rest.extend_from_slice(b"\n\n");
        let mut after_cr = false;
        let fields = std::mem::take(&mut self.fields);
        split(&rest, 0, fields, &mut after_cr, &mut self.stray, &mut give).map(|end| end.more)
    }

    /// The lines that belonged to no frame, as far as they are kept.
    pub fn stray(&self) -> &[u8] {
        &self.stray
    }
}

/// How far a split came.
#[derive(Default)]
struct End<'a> {
    /// How many bytes the complete lines took.
    used: usize,
    /// Where the last complete frame ended.
    completed: Option<usize>,
    /// What the lines after it say.
    fields: Fields<'a>,
    /// Whether to go on.
    more: bool,
}

impl End<'_> {
    fn owned(self) -> End<'static> {
        let owned = |bytes: Cow<'_, [u8]>| Cow::Owned(bytes.into_owned());
        let Fields { event, data, error } = self.fields;
        // Mostly there is nothing: chunks end with frames.
        let event = if event.is_empty() { Cow::Borrowed(&[] as &[u8]) } else { owned(event) };
        let fields = Fields { event, data: data.map(owned), error: error.map(owned) };
        End { used: self.used, completed: self.completed, fields, more: self.more }
    }
}

/// The fields of a frame so far.
#[derive(Debug, Default)]
struct Fields<'a> {
    event: Cow<'a, [u8]>,
    data: Option<Cow<'a, [u8]>>,
    error: Option<Cow<'a, [u8]>>,
}

/// Hands out the frames in `bytes`, the first of which begins with these fields. The first line has no end before `searched`.
fn split<'a>(
    bytes: &'a [u8],
    searched: usize,
    mut fields: Fields<'a>,
    after_cr: &mut bool,
    stray: &mut Vec<u8>,
    give: &mut impl FnMut(Frame<'_>) -> Result<bool, Error>,
) -> Result<End<'a>, Error> {
    let mut line_start = usize::from(*after_cr && bytes.first() == Some(&b'\n'));
    let mut completed = None;
    if !bytes.is_empty() {
        *after_cr = false;
    }
    let mut from = searched.max(line_start);
    loop {
        let Some(offset) = bytes.get(from..).and_then(|rest| memchr2(b'\n', b'\r', rest)) else {
            return Ok(End { used: line_start, completed, fields, more: true });
        };
        let end = from + offset;
        let line = bytes.get(line_start..end).unwrap_or_default();
        line_start = end + 1;
        if bytes.get(end) == Some(&b'\r') {
            match bytes.get(line_start) {
                Some(b'\n') => line_start += 1,
                Some(_) => {}
                None => *after_cr = true,
            }
        }
        from = line_start;
        if !line.is_empty() {
            field(line, &mut fields, stray);
            continue;
        }
        completed = Some(line_start);
        let done = std::mem::take(&mut fields);
        let mut more = true;
        if let Some(data) = done.data {
            more = give(frame(done.event, data))?;
        }
        if let Some(error) = done.error.filter(|_| more) {
            more = give(frame(Cow::Borrowed(b"error"), error))?;
        }
        if !more {
            return Ok(End { used: line_start, completed, fields, more });
        }
    }
}

fn field<'a>(line: &'a [u8], fields: &mut Fields<'a>, stray: &mut Vec<u8>) {
    // Nearly all lines, without a search for the colon.
    if let Some(value) = line.strip_prefix(b"data:") {
        return add_line(&mut fields.data, value.strip_prefix(b" ").unwrap_or(value));
    }
    if let Some(value) = line.strip_prefix(b"event:") {
        fields.event = Cow::Borrowed(value.strip_prefix(b" ").unwrap_or(value));
        return;
    }
    let (name, value) = match line.iter().position(|b| *b == b':') {
        Some(0) => return,
        Some(colon) => (line.get(..colon).unwrap_or_default(), line.get(colon + 1..).unwrap_or_default()),
        None => (line, &[] as &[u8]),
    };
    let value = value.strip_prefix(b" ").unwrap_or(value);
    match name {
        b"data" => add_line(&mut fields.data, value),
        b"error" => add_line(&mut fields.error, value),
        b"event" => fields.event = Cow::Borrowed(value),
        b"id" | b"retry" => {}
        _ if stray.len() + line.len() < MAX_STRAY_BYTES => {
            stray.extend_from_slice(line);
            stray.push(b'\n');
        }
        _ => {}
    }
}

fn frame<'a>(event: Cow<'a, [u8]>, data: Cow<'a, [u8]>) -> Frame<'a> {
    let (event, _) = lossy(event);
    let (data, invalid_utf8) = lossy(data);
    Frame { event, data, invalid_utf8, is_body: false }
}

fn add_line<'a>(lines: &mut Option<Cow<'a, [u8]>>, line: &'a [u8]) {
    match lines {
        None => *lines = Some(Cow::Borrowed(line)),
        Some(lines) => {
            let lines = lines.to_mut();
            lines.push(b'\n');
            lines.extend_from_slice(line);
        }
    }
}

/// The text of these bytes, and whether it was not UTF-8.
pub(crate) fn lossy(bytes: Cow<'_, [u8]>) -> (Cow<'_, str>, bool) {
    match bytes {
        // One check for nearly all; the replacing kind is slower.
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), false),
            Err(_) => (String::from_utf8_lossy(bytes), true),
        },
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => (Cow::Owned(text), false),
            Err(error) => (Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()), true),
        },
    }
}
