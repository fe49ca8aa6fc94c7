//! Unpaired surrogates in JSON. An escape such as `\ud83d` is one half of a surrogate pair; JavaScript hosts, and servers that
//! cut text into chunks, write it without the other half, and strict JSON readers refuse it. Here U+FFFD takes its place.

use serde_json::Value;

use crate::error::Error;
use crate::json_error::words;

/// Reads JSON; the escape of an unpaired surrogate becomes U+FFFD.
///
/// ```
/// let value = agent_loop_proto::surrogate::read_json(r#"{"text": "cut \ud83d"}"#).unwrap();
/// assert_eq!(value["text"], "cut \u{fffd}");
/// ```
///
/// # Errors
/// `invalid_argument`: the text is not JSON, and where.
pub fn read_json(text: &str) -> Result<Value, Error> {
    value(text).map_err(|error| Error::invalid_argument(format!("not JSON: {}", words(&error))).with_source(error))
}

/// Any JSON; the escape of an unpaired surrogate becomes U+FFFD.
///
/// # Errors
/// The text is not JSON.
pub fn value(text: &str) -> serde_json::Result<Value> {
    // Not `from_str`, which is generic: `parse` is compiled once, in serde_json, where it is compiled for speed.
    read(text, str::parse)
}

/// Reads with `take`; if that fails and the text has unpaired surrogates, once more with these replaced.
///
/// # Errors
/// The first failure of `take`.
pub fn read<R>(text: &str, mut take: impl FnMut(&str) -> serde_json::Result<R>) -> serde_json::Result<R> {
    take(text).or_else(|error| match sanitized(text) {
        Some(sanitized) => take(&sanitized).map_err(|_| error),
        None => Err(error),
    })
}

/// The JSON text with U+FFFD in the place of each unpaired surrogate; `None` when there are none.
pub fn sanitized(json: &str) -> Option<String> {
    let mut out = String::new();
    let (mut done, mut at) = (0, 0);
    while let Some(offset) = json.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + offset;
        let (unit, next) = (unit_at(json, escape), unit_at(json, escape + 6));
        at = match (unit, next) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => escape + 12,
            (Some(0xD800..0xE000), _) => {
                out.push_str(json.get(done..escape).unwrap_or_default());
                out.push_str("\\ufffd");
                done = escape + 6;
                done
            }
            (Some(_), _) => escape + 6,
            // Of `\\ud83d`, the second backslash begins no escape.
            (None, _) => escape + 2,
        };
    }
    (done > 0).then(|| out + json.get(done..).unwrap_or_default())
}

/// The code unit of the escape `\uXXXX` at this place, if one is there.
fn unit_at(json: &str, at: usize) -> Option<u32> {
    let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unpaired_surrogates_are_replaced() {
        for (given, wanted) in [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""a\uD83Db\uDE00c""#, Some(r#""a\ufffdb\ufffdc""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\\\ud83d é""#, Some(r#""\\\ufffd é""#)),
            (r#""\u00e9 \n \ud8""#, None),
            ("\"\\é\"", None),
            ("plain", None),
        ] {
            assert_eq!(sanitized(given).as_deref(), wanted, "{given}");
        }
    }

    #[test]
    fn json_with_an_unpaired_surrogate_is_read_and_other_faults_are_reported_unchanged() {
        assert_eq!(read_json(r#"["\ud83d", "\ud83d\ude00"]"#).unwrap(), serde_json::json!(["\u{fffd}", "😀"]));
        let error = read_json("{\"a\": ").unwrap_err();
        assert_eq!(error.to_string(), "invalid_argument: not JSON: it ends where a value is expected (line 1, column 6)");
        assert!(read_json(r#"["\ud83d""#).is_err(), "sanitizing does not hide another fault");
    }
}
