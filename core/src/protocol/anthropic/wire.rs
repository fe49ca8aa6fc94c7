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
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) partial_json: Option<String>,
    pub(super) content: Option<String>,
    pub(super) encrypted_content: Option<String>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
}
