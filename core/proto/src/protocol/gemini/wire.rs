//! The chunks of a stream, as they are read.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Number;
use serde_json::value::RawValue;

use crate::protocol::fit::Kind;
use crate::protocol::scan::Scan;
use crate::usage::optional_count;

/// A chunk with one piece and the tokens so far, as nearly all of a stream are.
pub(super) struct Piece<'a> {
    pub(super) said: Said<'a>,
    pub(super) counts: Option<Counts>,
}

/// What such a chunk has.
pub(super) enum Said<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
    /// More of the text at a path in a call's arguments: path, text.
    Argument(Cow<'a, str>, Cow<'a, str>),
}

/// What is known of the answer, so that a chunk that repeats it says nothing new.
#[derive(Default)]
pub(super) struct Known {
    pub(super) id: bool,
    pub(super) model: bool,
    /// The place of the candidate that is read: the first of the first chunk that has any. We ask for one.
    pub(super) candidate: Option<i64>,
}

/// Reads such a chunk; `None` for every other, which is one with a `responseId` or `modelVersion`, too, while that is not known.
pub(super) fn piece<'a>(chunk: &'a str, known: &Known) -> Option<Piece<'a>> {
    if known.candidate.is_some_and(|place| place != 0) {
        return None;
    }
    let (mut said, mut counts, mut candidates, mut parts) = (None, None, 0, 0);
    Scan::whole(chunk, |scan, name| match name {
        "candidates" => scan.list(|scan| {
            candidates += 1;
            scan.object(|scan, name| match name {
                "index" => (scan.natural()? == 0).then_some(()),
                "content" => scan.object(|scan, name| match name {
                    "parts" => scan.list(|scan| {
                        parts += 1;
                        said = Some(part(scan)?);
                        Some(())
                    }),
                    _ => scan.skip(),
                }),
                "safetyRatings" | "avgLogprobs" | "tokenCount" => scan.skip(),
                _ => scan.null(),
            })
        }),
        "usageMetadata" => {
            counts = Some(Counts::scan(scan)?);
            Some(())
        }
        "error" | "promptFeedback" => scan.null(),
        "responseId" if !known.id => scan.null(),
        "modelVersion" if !known.model => scan.null(),
        _ => scan.skip(),
    })?;
    said.filter(|_| candidates == 1 && parts == 1).map(|said| Piece { said, counts })
}

fn part<'a>(scan: &mut Scan<'a>) -> Option<Said<'a>> {
    let (mut text, mut thought, mut argument) = (None, false, None);
    scan.object(|scan, name| {
        match name {
            "text" => text = Some(scan.string()?),
            "thought" => thought = scan.boolean()?,
            "functionCall" => argument = Some(self::argument(scan)?),
            _ => return None,
        }
        Some(())
    })?;
    match (text, argument) {
        (Some(text), None) if thought => Some(Said::Thinking(text)),
        (Some(text), None) => Some(Said::Text(text)),
        (None, Some((path, text))) => Some(Said::Argument(path, text)),
        _ => None,
    }
}

/// One text of a call that goes on.
fn argument<'a>(scan: &mut Scan<'a>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let (mut goes_on, mut pieces, mut path, mut text) = (false, 0, None, None);
    scan.object(|scan, name| {
        match name {
            "partialArgs" => scan.list(|scan| {
                pieces += 1;
                scan.object(|scan, name| {
                    match name {
                        "jsonPath" => path = Some(scan.string()?),
                        "stringValue" => text = Some(scan.string()?),
                        "willContinue" => drop(scan.boolean()?),
                        _ => return None,
                    }
                    Some(())
                })
            })?,
            "willContinue" => goes_on = scan.boolean()?,
            _ => return None,
        }
        Some(())
    })?;
    path.zip(text).filter(|_| goes_on && pieces == 1)
}

/// What the fields of a chunk are. Servers that differ are understood as far as they fit.
pub(super) const CHUNK: Kind = Kind::Object(&[
    ("candidates", Kind::List(&CANDIDATE)),
    ("promptFeedback", Kind::Object(&[("blockReason", Kind::Text), ("blockReasonMessage", Kind::Text)])),
]);
const CANDIDATE: Kind = Kind::Object(&[
    ("index", Kind::Number),
    ("content", Kind::Object(&[("parts", Kind::List(&Kind::Any))])),
    ("finishReason", Kind::Text),
    ("finishMessage", Kind::Text),
]);
/// What the fields of a part of text, thinking or a call are.
pub(super) const PART: Kind =
    Kind::Object(&[("text", Kind::Text), ("thought", Kind::Flag), ("thoughtSignature", Kind::Text), ("functionCall", CALL)]);
/// Not its arguments: what is wrong in them is never taken for something else.
const CALL: Kind = Kind::Object(&[("id", Kind::Text), ("name", Kind::Text)]);
/// What the counts are.
pub(super) const COUNTS: Kind = Kind::Object(&[
    ("promptTokenCount", Kind::Number),
    ("cachedContentTokenCount", Kind::Number),
    ("candidatesTokenCount", Kind::Number),
    ("thoughtsTokenCount", Kind::Number),
]);

/// Any chunk. Everything is optional: it may have only usage, or a reason without content. What may be of a kind that we do not
/// know stays as it came. Whatever counts here stops [`piece`], too, and stands in the property of `scan/tests.rs`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default)]
    pub(super) usage_metadata: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) prompt_feedback: Option<PromptFeedback>,
    #[serde(borrow, default)]
    pub(super) response_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) model_version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// Whether it has nothing that a chunk has.
    pub(super) fn is_bare(&self) -> bool {
        self.candidates.is_none() && self.usage_metadata.is_none() && self.prompt_feedback.is_none() && self.error.is_none()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    /// Missing where it is 0.
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(borrow, default)]
    pub(super) content: Option<Content<'a>>,
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
pub(super) struct Content<'a> {
    #[serde(borrow, default)]
    pub(super) parts: Option<Vec<&'a RawValue>>,
}

/// A part of text, thinking or a call.
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

impl PartialArg {
    pub(super) fn text(json_path: String, text: String) -> PartialArg {
        PartialArg { json_path, string_value: Some(text), number_value: None, bool_value: None }
    }
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
    #[serde(default, deserialize_with = "optional_count")]
    pub(super) prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "optional_count")]
    pub(super) cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "optional_count")]
    pub(super) candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "optional_count")]
    pub(super) thoughts_token_count: Option<u64>,
}

impl Counts {
    fn scan(scan: &mut Scan<'_>) -> Option<Counts> {
        let mut counts = Counts::default();
        scan.object(|scan, name| {
            let count = match name {
                "promptTokenCount" => &mut counts.prompt_token_count,
                "cachedContentTokenCount" => &mut counts.cached_content_token_count,
                "candidatesTokenCount" => &mut counts.candidates_token_count,
                "thoughtsTokenCount" => &mut counts.thoughts_token_count,
                _ => return scan.skip(),
            };
            *count = Some(scan.natural()?);
            Some(())
        })?;
        Some(counts)
    }
}
