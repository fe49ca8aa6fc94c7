//! JSON that is still being written: the value as far as it has come.

use serde_json::Value;

use crate::lenient_json::lenient_json;

/// The value of the beginning of a JSON text. A text in it may end anywhere; a key, a number or a word that may go on is left
/// out. `None` while nothing can be said of the value.
pub(crate) fn partial_json(text: &str) -> Option<Value> {
    if let Some(whole) = lenient_json(text) {
        return Some(whole);
    }
    let mut open = Open::default();
    text.bytes().enumerate().for_each(|(at, byte)| open.take(at, byte));
    lenient_json(&open.closed(text)?)
}

/// What is open at a place of the text.
#[derive(Debug, Default)]
struct Open {
    /// What closes the lists and objects, from the outermost.
    brackets: Vec<u8>,
    /// Of each, whether the next text is a key.
    before_key: bool,
    /// How much of the text can be closed: up to a bracket, or a value that is whole.
    whole: usize,
    string: Option<Text>,
    /// Whether a number or a word goes on.
    in_word: bool,
}

/// A string that is open.
#[derive(Debug, Clone, Copy)]
struct Text {
    is_key: bool,
    /// The place behind what is whole of it: not within an escape.
    whole: usize,
    escape: Escape,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Escape {
    None,
    Begun,
    /// How many digits are to come.
    Digits(u8),
}

impl Open {
    fn take(&mut self, at: usize, byte: u8) {
        if let Some(text) = &mut self.string {
            match (text.escape, byte) {
                (Escape::None, b'\\') => text.escape = Escape::Begun,
                (Escape::None, b'"') => {
                    if !text.is_key {
                        self.whole = at + 1;
                    }
                    self.before_key = false;
                    self.string = None;
                    return;
                }
                (Escape::Begun, b'u') => text.escape = Escape::Digits(4),
                (Escape::Digits(2..), _) => {
                    if let Escape::Digits(left) = &mut text.escape {
                        *left -= 1;
                    }
                }
                (Escape::None | Escape::Begun | Escape::Digits(_), _) => text.escape = Escape::None,
            }
            if text.escape == Escape::None {
                text.whole = at + 1;
            }
            return;
        }
        let is_word = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        if self.in_word && !is_word {
            (self.in_word, self.whole) = (false, at);
        }
        match byte {
            b'"' => {
                let is_key = self.before_key;
                self.string = Some(Text { is_key, whole: at + 1, escape: Escape::None });
            }
            b'{' | b'[' => {
                self.brackets.push(if byte == b'{' { b'}' } else { b']' });
                (self.before_key, self.whole) = (byte == b'{', at + 1);
            }
            b'}' | b']' => {
                self.brackets.pop();
                (self.before_key, self.whole) = (false, at + 1);
            }
            b',' => self.before_key = self.brackets.last() == Some(&b'}'),
            _ => self.in_word = is_word,
        }
    }

    /// The text, cut and closed so that it can be read.
    fn closed(&self, text: &str) -> Option<String> {
        let (end, quote) = match self.string {
            Some(string) if !string.is_key => (string.whole, "\""),
            _ => (self.whole, ""),
        };
        let mut closed = text.get(..end)?.to_owned();
        closed.push_str(quote);
        closed.extend(self.brackets.iter().rev().map(|bracket| char::from(*bracket)));
        Some(closed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_read_as_far_as_it_has_come() {
        for (text, value) in [
            ("", None),
            ("  ", None),
            ("tr", None),
            ("true", Some(json!(true))),
            ("{", Some(json!({}))),
            ("{\"ci", Some(json!({}))),
            ("{\"city\"", Some(json!({}))),
            ("{\"city\":", Some(json!({}))),
            ("{\"city\": \"", Some(json!({ "city": "" }))),
            ("{\"city\": \"Os", Some(json!({ "city": "Os" }))),
            ("{\"city\": \"Os\\", Some(json!({ "city": "Os" }))),
            ("{\"city\": \"Os\\u00", Some(json!({ "city": "Os" }))),
            ("{\"city\": \"Os\\u00e9", Some(json!({ "city": "Osé" }))),
            ("{\"city\": \"a \\\"b", Some(json!({ "city": "a \"b" }))),
            ("{\"city\": \"Oslo\", \"t", Some(json!({ "city": "Oslo" }))),
            // A number may go on.
            ("{\"t\": 1", Some(json!({}))),
            ("{\"t\": 12,", Some(json!({ "t": 12 }))),
            ("{\"t\": 12 ", Some(json!({ "t": 12 }))),
            ("{\"t\": nul", Some(json!({}))),
            ("[1, 2", Some(json!([1]))),
            ("[1, 2, [\"a\", {\"b\": [tru", Some(json!([1, 2, ["a", { "b": [] }]]))),
            ("[[1], [2]", Some(json!([[1], [2]]))),
            ("\"te", Some(json!("te"))),
            ("{\"a\": {}, \"b\": [{\"c\": \"d\"}", Some(json!({ "a": {}, "b": [{ "c": "d" }] }))),
            ("{\"a\": \"line\nbreak", Some(json!({ "a": "line\nbreak" }))),
        ] {
            assert_eq!(partial_json(text), value, "{text}");
        }
    }

    #[test]
    fn each_beginning_of_a_value_gives_a_part_of_it() {
        let whole = json!({ "name": "Ö\"\\\u{1F600}", "n": [-1.5e3, true, null, { "x": [] }], "empty": "" });
        let text = whole.to_string();
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let part = partial_json(&text[..end]);
            assert_eq!(part.is_none(), end == 0, "{}", &text[..end]);
            if let Some(part) = part {
                assert!(is_part(&part, &whole), "{part} of {}", &text[..end]);
            }
        }
        assert_eq!(partial_json(&text), Some(whole));
    }

    fn is_part(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::Object(part), Value::Object(whole)) => {
                part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| is_part(part, whole)))
            }
            (Value::Array(part), Value::Array(whole)) => part.iter().zip(whole).all(|(part, whole)| is_part(part, whole)),
            (Value::String(part), Value::String(whole)) => whole.starts_with(&**part),
            _ => part == whole,
        }
    }
}
