//! What is wrong with JSON, in the words of who wrote it. serde names Rust's types and often not the field; a text from here says
//! where the wrong value is, what was expected, and what was found.
//!
//! Not for JSON of servers that is read with a fallback: there no user sees the error.

#[cfg(test)]
mod tests;

use std::fmt::{self, Display, Formatter};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::did_you_mean::nearest;
use crate::error::{Error, shortened};
use crate::json_reader::{from_value, from_value_at};

/// Longer values are cut in an error.
const MOST_QUOTED: usize = 120;
/// In larger objects and arrays the wrong place is not looked for: each entry costs one reading.
const MOST_SEARCHED: usize = 64;
/// Nor in larger values, in bytes: each reading copies what stands before the entry.
const MOST_COPIED: usize = 4 << 20;

/// Why a value was not read: what is wrong in the user's words, and the reader's own error, if one was the reason.
#[derive(Debug)]
pub struct Unread {
    text: String,
    source: Option<serde_json::Error>,
}

impl Unread {
    /// What is wrong, and what the reader says of it.
    pub(crate) fn new(text: String, source: Option<serde_json::Error>) -> Unread {
        Unread { text, source }
    }

    /// The same, in what contains the value: `content[0]`.
    #[must_use]
    pub fn at(self, place: impl Display) -> Unread {
        self.reworded(|text| format!("{place}: {text}"))
    }

    /// The same with another text.
    #[must_use]
    pub fn reworded(mut self, text: impl FnOnce(&str) -> String) -> Unread {
        self.text = text(&self.text);
        self
    }

    /// The error of a call that was given the value, with its source.
    pub fn invalid_argument(self) -> Error {
        let error = Error::invalid_argument(self.text);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }
}

impl Display for Unread {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Unread {
    fn from(text: String) -> Unread {
        Unread { text, source: None }
    }
}

impl From<Unread> for String {
    fn from(unread: Unread) -> String {
        unread.text
    }
}

impl From<serde_json::Error> for Unread {
    fn from(error: serde_json::Error) -> Unread {
        Unread { text: words(&error), source: Some(error) }
    }
}

/// Reads a value.
///
/// # Errors
/// Where the value is wrong, and how: `usage: cost: expected an object, got 3`.
pub fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, Unread> {
    from_value_at::<T>(value).map_err(|(error, wrong)| {
        let text = error.to_string();
        let is_same = |value: &Value| from_value::<T>(value).is_err_and(|error| error.to_string() == text);
        let is_small = left_of(MOST_COPIED, value).is_some();
        let place = Failure { text: &text, is_same: &is_same, is_small }.leading_to(wrong, value).unwrap_or_default();
        Unread::from(error).reworded(|text| place + text)
    })
}

/// What is left of so many bytes for a value beside others; `None` if it is larger.
fn left_of(bytes: usize, value: &Value) -> Option<usize> {
    let left = bytes.checked_sub(size_of::<Value>())?;
    match value {
        Value::String(text) => left.checked_sub(text.len()),
        Value::Array(list) => list.iter().try_fold(left, left_of),
        Value::Object(map) => map.iter().try_fold(left, |left, (name, value)| left_of(left.checked_sub(name.len())?, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(left),
    }
}

/// A failed reading, and how to see whether another one fails in the same way.
struct Failure<'a> {
    text: &'a str,
    is_same: &'a dyn Fn(&Value) -> bool,
    /// Whether the whole may be copied.
    is_small: bool,
}

impl Failure<'_> {
    /// The names and indices that lead to a value, and on from there to what is wrong in it.
    fn leading_to(&self, wrong: *const Value, value: &Value) -> Option<String> {
        if std::ptr::eq(wrong, value) {
            return Some(self.place(value));
        }
        let on = |is_same: &dyn Fn(&Value) -> bool, inner| Failure { is_same, ..*self }.leading_to(wrong, inner);
        match value {
            Value::Object(map) => map.iter().find_map(|(name, inner)| {
                let with = |inner: &Value| {
                    let mut map = map.clone();
                    map.insert(name.clone(), inner.clone());
                    Value::Object(map)
                };
                on(&|inner| (self.is_same)(&with(inner)), inner).map(|inside| self.named(name, inside))
            }),
            Value::Array(list) => list.iter().enumerate().find_map(|(i, inner)| {
                let with = |inner: &Value| {
                    Value::Array(list.iter().take(i).chain([inner]).chain(list.iter().skip(i + 1)).cloned().collect())
                };
                on(&|inner| (self.is_same)(&with(inner)), inner).map(|inside| numbered(i, &inside))
            }),
            _ => None,
        }
    }

    /// The names and indices that lead to the wrong value where serde's own code reads: the first ones with which reading fails
    /// in the same way.
    fn place(&self, value: &Value) -> String {
        match value {
            _ if !self.is_small => String::new(),
            Value::Object(map) if map.len() <= MOST_SEARCHED && !self.is_of(map) => self.field(map).unwrap_or_default(),
            Value::Array(list) if list.len() <= MOST_SEARCHED && !(self.is_same)(&Value::Array(Vec::new())) => {
                self.item(list).unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    /// Whether it is the object itself that is wrong, or lacks a field.
    fn is_of(&self, map: &Map<String, Value>) -> bool {
        let missing = self.text.strip_prefix("missing field `").and_then(|rest| rest.split_once('`')).map(|(name, _)| name);
        match missing.filter(|name| !map.contains_key(*name)) {
            Some(name) => {
                let mut with = map.clone();
                with.insert(name.to_owned(), Value::Null);
                !(self.is_same)(&Value::Object(with))
            }
            None => (self.is_same)(&Value::Object(Map::new())),
        }
    }

    fn field(&self, map: &Map<String, Value>) -> Option<String> {
        // What kind of object it is comes first: without it, nothing else is read.
        let kind = map.get_key_value("type").map(|(name, kind)| (name.clone(), kind.clone()));
        let mut some = Map::from_iter(kind);
        for (name, inner) in map {
            let with = |inner: &Value| {
                let mut with = some.clone();
                with.insert(name.clone(), inner.clone());
                Value::Object(with)
            };
            if (self.is_same)(&with(inner)) {
                if self.text.starts_with(&format!("unknown field `{name}`")) {
                    return None;
                }
                let inside = Failure { is_same: &|inner| (self.is_same)(&with(inner)), ..*self }.place(inner);
                return Some(self.named(name, inside));
            }
            some.insert(name.clone(), inner.clone());
        }
        None
    }

    fn item(&self, list: &[Value]) -> Option<String> {
        let with = |i: usize, inner: &Value| Value::Array(list.iter().take(i).chain([inner]).cloned().collect());
        let (i, inner) = list.iter().enumerate().find(|(i, inner)| (self.is_same)(&with(*i, inner)))?;
        let inside = Failure { is_same: &|inner| (self.is_same)(&with(i, inner)), ..*self }.place(inner);
        Some(numbered(i, &inside))
    }

    /// The place in a field.
    fn named(&self, name: &str, inside: String) -> String {
        // Some texts name the field and the place in it themselves.
        if self.text.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', '['])) {
            return String::new();
        }
        match inside.starts_with('[') {
            // The variant of an enum has a name in Rust only.
            _ if name.starts_with(|c: char| c.is_ascii_uppercase()) => inside,
            true => format!("{name}{inside}"),
            false => format!("{name}: {inside}"),
        }
    }
}

/// The place in an item.
fn numbered(i: usize, inside: &str) -> String {
    if inside.starts_with('[') { format!("[{i}]{inside}") } else { format!("[{i}]: {inside}") }
}

/// The parser's text in plain words; the line and column are kept.
pub fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (line, column) = (error.line(), error.column());
    match text.strip_suffix(&format!(" at line {line} column {column}")) {
        Some("EOF while parsing a value") if column == 0 && line == 1 => "it is empty".to_owned(),
        Some(text) => format!("{} (line {line}, column {column})", in_words(text)),
        None => in_words(&text),
    }
}

/// A value for an error: its JSON, or the beginning of that.
pub fn shown(value: &Value) -> String {
    shortened(&value.to_string(), MOST_QUOTED)
}

fn in_words(text: &str) -> String {
    let name_after = |start: &str| text.strip_prefix(start)?.strip_prefix('`')?.split_once('`');
    if let Some((name, _)) = name_after("missing field ") {
        return format!("{name} is missing");
    }
    for what in ["unknown variant", "unknown field"] {
        if let Some((name, known)) = name_after(&format!("{what} ")) {
            let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
            let hint = match nearest(name, known.iter().copied()) {
                Some(right) => format!("did you mean {right:?}?"),
                None if known.is_empty() => "there are none here".to_owned(),
                None => format!("known are {}", known.join(", ")),
            };
            let what = if what == "unknown field" { what } else { "unknown value" };
            return format!("{what} {:?}; {hint}", shortened(name, MOST_QUOTED));
        }
    }
    let wrong = text.strip_prefix("invalid type: ").or_else(|| text.strip_prefix("invalid value: "));
    if let Some((got, expected)) = wrong.and_then(|wrong| wrong.rsplit_once(", expected ")) {
        return format!("expected {}, got {}", kind(expected), found(got));
    }
    syntax(text).unwrap_or(text).to_owned()
}

/// What serde expected.
fn kind(expected: &str) -> &str {
    match expected {
        "a string" | "string" | "str" | "a borrowed string" => "text",
        "a boolean" | "bool" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" | "a number" => "a number",
        "a sequence" => "an array",
        "a map" => "an object",
        "variant identifier" | "string or map" => "a word",
        "unit" => "null",
        _ if expected.starts_with("struct ") || expected.starts_with("internally tagged enum ") => "an object",
        _ if expected.starts_with("enum ") => "a word",
        _ => expected,
    }
}

/// What serde found, with the value where it shows it.
fn found(got: &str) -> String {
    let value =
        ["string ", "integer ", "floating point ", "boolean ", "character "].iter().find_map(|kind| got.strip_prefix(kind));
    match (got, value) {
        ("map", _) => "an object".to_owned(),
        ("sequence", _) => "an array".to_owned(),
        ("unit value" | "Option value", _) => "null".to_owned(),
        (_, Some(value)) => shortened(value.trim_matches('`'), MOST_QUOTED),
        (other, None) => other.to_owned(),
    }
}

/// What is wrong with the text itself.
fn syntax(text: &str) -> Option<&'static str> {
    Some(match text {
        "EOF while parsing a list" => "it ends in the middle of an array",
        "EOF while parsing an object" => "it ends in the middle of an object",
        "EOF while parsing a string" => "it ends in the middle of a text",
        "EOF while parsing a value" => "it ends where a value is expected",
        "expected value" => "expected a value: text in double quotes, a number, true, false, null, an array or an object",
        "expected ident" => "expected true, false or null",
        "expected `:`" => "expected a colon between a name and its value",
        "expected `,` or `]`" => "expected a comma or the end of the array",
        "expected `,` or `}`" => "expected a comma or the end of the object",
        "trailing characters" => "there is more after the end of the JSON; give one value",
        "trailing comma" => "there is a comma after the last value; leave it out",
        "key must be a string" => "expected a name in double quotes",
        "invalid escape" => "a backslash in a text begins an escape such as \\n, and this is none; write \\\\ for a backslash",
        "invalid number" => "this is not a number as JSON writes it",
        "number out of range" => "the number is too large",
        "invalid unicode code point" | "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "this escape stands for no character"
        }
        "recursion limit exceeded" => "it nests too deeply; use a flatter form",
        _ if text.starts_with("control character") => {
            "a line break or another control character stands in a text; write it as an escape such as \\n"
        }
        _ => return None,
    })
}
