//! JSON as models write it. Repair is limited to what changes no meaning.

use serde_json::Value;

/// JSON as models write it: control characters and bad escapes inside strings are escaped.
pub(crate) fn lenient_json(text: &str) -> Option<Value> {
    text.parse().or_else(|_| escaped(text).parse::<Value>()).ok()
}

/// The text with raw control characters and invalid escapes inside its strings escaped, and unpaired surrogates replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                in_string = !in_string;
                out.push(c);
            }
            '\\' if in_string => {
                let rest = text.get(at + 1..).unwrap_or_default();
                match rest.chars().next() {
                    Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => {
                        out.push(c);
                        out.extend(chars.next().map(|(_, escaped)| escaped));
                    }
                    Some('u') if hex4(rest).is_some() => {
                        let unit = hex4(rest).unwrap_or_default();
                        let low = rest.get(5..).and_then(|r| r.strip_prefix('\\')).and_then(hex4);
                        let pair = (0xD800..0xDC00).contains(&unit) && low.is_some_and(|l| (0xDC00..0xE000).contains(&l));
                        let taken = if pair { 11 } else { 5 };
                        if pair || !(0xD800..0xE000).contains(&unit) {
                            out.push('\\');
                            out.push_str(rest.get(..taken).unwrap_or_default());
                        } else {
                            out.push('\u{FFFD}');
                        }
                        for _ in 0..taken {
                            chars.next();
                        }
                    }
                    _ => out.push_str("\\\\"),
                }
            }
            c if in_string && c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// The code unit of `uXXXX` at the start of the text.
fn hex4(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}
