//! What a write leaves in the `details` of its result, so that it can be taken back: in this process or another one.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

/// The field of `details` that has it.
pub(super) const WRITE: &str = "write";

/// How many bytes that a write has replaced are kept. Beyond that it cannot be taken back.
pub(super) const MAX_KEPT: usize = 256 * 1024;

/// How large a file may be that is compared with what takes its place.
pub(super) const MAX_COMPARED: usize = 16 * 1024 * 1024;

/// What stands for a content: equal for equal ones only.
pub(super) fn hash(content: &[u8]) -> String {
    digest(&SHA256, content).as_ref().iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What was written where. `id` is another one for each write, and `path` is relative to `root`.
pub(super) fn record(id: &str, root: &str, path: &str, action: &str, after: &[u8]) -> Map<String, Value> {
    let record = json!({ "id": id, "root": root, "path": path, "action": action, "hash": hash(after), "bytes": after.len() });
    record.as_object().cloned().unwrap_or_default()
}

/// The part of the content before that is another one after: its place, how many bytes are there now, and what was there.
/// `None` if that is too much to be kept.
pub(super) fn replaced(before: &[u8], after: &[u8]) -> Option<Value> {
    let at = common(before.iter(), after.iter());
    let (before, after) = (before.get(at..)?, after.get(at..)?);
    let end = common(before.iter().rev(), after.iter().rev());
    let (before, length) = (before.get(..before.len() - end)?, after.len() - end);
    if before.len() > MAX_KEPT {
        return None;
    }
    Some(match std::str::from_utf8(before) {
        Ok(text) => json!({ "at": at, "length": length, "text": text }),
        Err(_) => json!({ "at": at, "length": length, "base64": STANDARD.encode(before) }),
    })
}

/// The content before, from the content after and what [`replaced`] has kept. `None` if that does not fit.
pub(super) fn restored(after: &[u8], kept: &Value) -> Option<Vec<u8>> {
    let number = |field: &str| kept.get(field)?.as_u64().and_then(|number| usize::try_from(number).ok());
    let at = number("at")?;
    let end = at.checked_add(number("length")?)?;
    let before = match (kept.get("text"), kept.get("base64")) {
        (Some(Value::String(text)), _) => text.as_bytes().to_vec(),
        (_, Some(Value::String(text))) => STANDARD.decode(text).ok()?,
        _ => return None,
    };
    Some([after.get(..at)?, &before, after.get(end..)?].concat())
}

fn common<'a>(one: impl Iterator<Item = &'a u8>, other: impl Iterator<Item = &'a u8>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}
