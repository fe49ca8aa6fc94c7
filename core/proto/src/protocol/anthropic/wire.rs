//! The frame that nearly all of a stream is: `content_block_delta` with a piece of text, thinking or a call's input.

use std::borrow::Cow;

use crate::protocol::scan::Scan;

/// A piece, and the block it belongs to.
pub(super) struct Piece<'a> {
    pub(super) index: u32,
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

/// Reads such a frame; `None` for every other.
pub(super) fn piece(frame: &str) -> Option<Piece<'_>> {
    let (mut index, mut is_delta, mut kind, mut text) = (None, false, None, None);
    Scan::whole(frame, |scan, name| {
        match name {
            "type" => is_delta = scan.string()? == "content_block_delta",
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
            _ => scan.skip()?,
        }
        Some(())
    })?;
    let (kind, (field, text)) = (kind?, text?);
    let right =
        matches!((&*kind, field), ("text_delta", "text") | ("thinking_delta", "thinking") | ("input_json_delta", "partial_json"));
    index.filter(|_| is_delta && right).map(|index| Piece { index, kind, text })
}
