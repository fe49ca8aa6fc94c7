//! The events that come often: `contentBlockDelta` with a piece of text, thinking or a call's input, which nearly all of a stream
//! is.

use std::borrow::Cow;

use crate::protocol::scan::Scan;

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
    Redacted,
    Call,
    /// Only kept and sent back.
    Opaque,
}

/// A piece, and the block it belongs to.
pub(super) struct Piece<'a> {
    pub(super) index: u32,
    pub(super) kind: Kind,
    pub(super) text: Cow<'a, str>,
}

/// Reads the data of such an event; `None` for every other. The field `p` is padding.
pub(super) fn piece(data: &str) -> Option<Piece<'_>> {
    let (mut index, mut found) = (None, None);
    Scan::whole(data, |scan, name| {
        match name {
            "contentBlockIndex" => index = Some(u32::try_from(scan.natural()?).ok()?),
            "delta" if found.is_none() => scan.object(|scan, name| {
                match name {
                    "text" if found.is_none() => found = Some((Kind::Text, scan.string()?)),
                    "toolUse" if found.is_none() => scan.object(|scan, name| {
                        found = Some((Kind::Call, scan.string().filter(|_| name == "input")?));
                        Some(())
                    })?,
                    "reasoningContent" if found.is_none() => scan.object(|scan, name| {
                        found = Some((Kind::Thinking, scan.string().filter(|_| name == "text")?));
                        Some(())
                    })?,
                    _ => return None,
                }
                Some(())
            })?,
            "delta" => return None,
            _ => scan.skip()?,
        }
        Some(())
    })?;
    let (kind, text) = found?;
    Some(Piece { index: index?, kind, text })
}
