//! The frames of a stream, as they are read.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// `content_block_delta`, nearly all of a stream: one flat struct, read without a JSON tree.
#[derive(Deserialize)]
pub(super) struct BlockDelta<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) index: u32,
    #[serde(borrow, default)]
    pub(super) delta: Piece<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) signature: String,
    pub(super) partial_json: String,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
}
