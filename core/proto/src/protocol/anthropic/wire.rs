//! The frames that come often: `content_block_delta` with a piece of text, thinking or a call's input, which nearly all of a
//! stream is, and those that only close something or say that the server is there. And what frames, pieces and blocks are called.

use std::borrow::Cow;

use serde_json::Value;

use crate::protocol::scan::Scan;

/// A piece, and the block it belongs to.
pub(super) struct Piece<'a> {
    pub(super) index: u32,
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

/// A frame that comes often.
pub(super) enum Frequent<'a> {
    Piece(Piece<'a>),
    /// The block at this index is complete.
    BlockStop(u32),
    MessageStop,
    Ping,
}

/// Reads such a frame; `None` for every other.
pub(super) fn frequent(frame: &str) -> Option<Frequent<'_>> {
    let (mut index, mut word, mut kind, mut text, mut has_others) = (None, Cow::Borrowed(""), None, None, false);
    Scan::whole(frame, |scan, name| {
        match name {
            "type" => word = scan.string()?,
            "index" => index = Some(u32::try_from(scan.natural()?).ok()?),
            "delta" if kind.is_none() => scan.object(|scan, name| {
                match name {
                    "type" => kind = Some(scan.string()?),
                    "text" | "thinking" | "partial_json" if text.is_none() => text = Some((name, scan.string()?)),
                    _ => return None,
                }
                Some(())
            })?,
            "delta" => return None,
            _ => {
                has_others = true;
                scan.skip()?;
            }
        }
        Some(())
    })?;
    let is_bare = index.is_none() && kind.is_none() && text.is_none() && !has_others;
    match &*word {
        "content_block_delta" => {
            let (kind, (field, text)) = (kind?, text?);
            let is_right = matches!(
                (&*kind, field),
                ("text_delta", "text") | ("thinking_delta", "thinking") | ("input_json_delta", "partial_json")
            );
            index.filter(|_| is_right).map(|index| Frequent::Piece(Piece { index, kind, text }))
        }
        "content_block_stop" => index.map(Frequent::BlockStop),
        "message_stop" if is_bare => Some(Frequent::MessageStop),
        "ping" if is_bare => Some(Frequent::Ping),
        _ => None,
    }
}

/// The types of frames.
pub(super) const TYPES: &[&str] = &[
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "ping",
];

/// The kinds of pieces, by the field that has the piece.
pub(super) const NAMED_BY: &[(&str, &str)] = &[
    ("text_delta", "text"),
    ("thinking_delta", "thinking"),
    ("input_json_delta", "partial_json"),
    ("signature_delta", "signature"),
    ("citations_delta", "citation"),
    ("compaction_delta", "content"),
];

/// The type of a block, or what its fields say where that is missing; empty where they say nothing.
pub(super) fn kind_of(block: &Value) -> &str {
    let has = |name: &str| block.get(name).is_some();
    let given = block.get("type").and_then(Value::as_str).unwrap_or_default();
    let known = ["text", "thinking", "redacted_thinking", "tool_use"].into_iter().find(|kind| given.eq_ignore_ascii_case(kind));
    match known.unwrap_or(given) {
        "" if has("thinking") => "thinking",
        "" if has("text") => "text",
        "" if has("name") => "tool_use",
        "" if has("data") => "redacted_thinking",
        kind => kind,
    }
}
