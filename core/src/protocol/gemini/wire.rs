//! The chunks of a stream, as they are read. Everything is optional: a chunk may have only usage, or a reason without content.

use serde::Deserialize;
use serde_json::Number;
use serde_json::value::RawValue;

/// A chunk with only text, thinking and calls, as nearly all are: read in one pass, without a JSON tree.
pub(super) type Plain<'a> = Chunk<'a, Part<'a>, Counts>;

/// Any chunk. What may be of a kind that we do not know stays as it came.
pub(super) type Any<'a> = Chunk<'a, &'a RawValue, &'a RawValue>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk<'a, P, U> {
    #[serde(borrow, default = "none")]
    pub(super) candidates: Option<Vec<Candidate<'a, P>>>,
    #[serde(default = "none")]
    pub(super) usage_metadata: Option<U>,
    #[serde(default)]
    pub(super) prompt_feedback: Option<PromptFeedback>,
    #[serde(borrow, default)]
    pub(super) response_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a, P> {
    /// Missing where it is 0.
    #[serde(default)]
    pub(super) index: Option<u32>,
    #[serde(default = "none")]
    pub(super) content: Option<Content<P>>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
    #[serde(default)]
    pub(super) finish_message: Option<String>,
    #[serde(borrow, default)]
    pub(super) grounding_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) citation_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) url_context_metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Content<P> {
    #[serde(default = "none")]
    pub(super) parts: Option<Vec<P>>,
}

/// A default that, unlike serde's own, asks nothing of `T`.
fn none<T>() -> Option<T> {
    None
}

impl Plain<'_> {
    /// Whether all of its parts are of the kinds that a [`Part`] can hold.
    pub(super) fn is_plain(&self) -> bool {
        let contents = self.candidates.iter().flatten().filter_map(|candidate| candidate.content.as_ref());
        contents
            .flat_map(|content| content.parts.iter().flatten())
            .all(|part| part.text.is_some() || part.function_call.is_some())
    }
}

/// A part of text, thinking or a call: one flat struct, read without a JSON tree.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thought: Option<bool>,
    #[serde(default)]
    pub(super) thought_signature: Option<String>,
    #[serde(borrow, default)]
    pub(super) function_call: Option<FunctionCall<'a>>,
}

/// A call, whole or, on Vertex when asked for, in pieces: the name first, then values by path, then an empty call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(borrow, default)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) partial_args: Option<Vec<PartialArg>>,
    #[serde(default)]
    pub(super) will_continue: Option<bool>,
}

/// One value of a call's arguments; a text may come in several pieces of one path.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg {
    #[serde(default)]
    pub(super) json_path: String,
    #[serde(default)]
    pub(super) string_value: Option<String>,
    #[serde(default)]
    pub(super) number_value: Option<Number>,
    #[serde(default)]
    pub(super) bool_value: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    #[serde(default)]
    pub(super) block_reason: Option<String>,
    #[serde(default)]
    pub(super) block_reason_message: Option<String>,
}

/// The tokens so far. A count that is not repeated stands.
#[derive(Deserialize, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    #[serde(default)]
    pub(super) prompt_token_count: Option<u64>,
    #[serde(default)]
    pub(super) cached_content_token_count: Option<u64>,
    #[serde(default)]
    pub(super) candidates_token_count: Option<u64>,
    #[serde(default)]
    pub(super) thoughts_token_count: Option<u64>,
}
