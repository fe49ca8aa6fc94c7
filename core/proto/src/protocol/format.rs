//! What a wire format is: the traits of its encoder and its decoder, and the errors that decoders share.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::delta::Delta;
use crate::error::{Error, ErrorKind};
use crate::framing::Framing;
use crate::hosting::Hosting;
use crate::json_error::words;
use crate::message::ContentBlock;
use crate::model_spec::ModelSpec;
use crate::quirks::{Quirks, ThinkingReplay};
use crate::request::{IgnoredOption, Request};
use crate::sse::Frame;
use crate::surrogate;
use crate::table::codes;
use crate::usage::StopReason;

/// The model and server that a request is encoded for.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The model.
    pub spec: &'a ModelSpec,
    /// What its server does differently.
    pub quirks: &'a Quirks,
    /// How its provider arranges addresses.
    pub hosting: Hosting,
}

/// One wire format.
pub trait Protocol: Debug + Send + Sync {
    /// The canonical name, for example `openai_chat`.
    fn name(&self) -> &'static str;

    /// The behaviour that is assumed of an unknown server of this format.
    fn quirks(&self) -> Quirks;

    /// What happens to the thinking of the model's own earlier messages.
    fn thinking_replay(&self, quirks: &Quirks) -> ThinkingReplay {
        let _ = quirks;
        ThinkingReplay::Kept
    }

    /// Which files this format can carry.
    fn files(&self) -> FileTypes {
        FileTypes::ALL
    }

    /// Whether an answer without content is whole where it ends well and the vendor's word for that is this one. Most formats
    /// know no such thing, whatever word a gateway puts there.
    fn may_be_empty(&self, raw_stop_reason: &str) -> bool {
        let _ = raw_stop_reason;
        false
    }

    /// Whether the text of an answer can be held to this schema, where it can be held to one at all.
    fn takes_schema(&self, schema: &Value) -> bool {
        let _ = schema;
        true
    }

    /// How the frames of an answer stand in its bytes.
    fn framing(&self) -> Framing {
        Framing::Sse
    }

    /// The endpoint under the server's address, version first, for example `/v1/messages`.
    fn path(&self, model: &str) -> String;

    /// The header of the key.
    fn key_header(&self, key: &str) -> (&'static str, String);

    /// Headers of a request, but for the key's.
    fn headers(&self, request: &Request, target: Target<'_>) -> Vec<(&'static str, String)>;

    /// Encodes requests. For those of a run use [`EncodeCache`](super::EncodeCache), which keeps one.
    fn encoder(&self) -> Box<dyn Encoder>;

    /// Reads one answer.
    fn decoder(&self, target: Target<'_>) -> Box<dyn Decoder>;
}

/// Whether Anthropic's word for the end of an answer says that the model had nothing to add:
/// <https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons#empty-responses-with-end-turn>.
pub(super) fn had_nothing_to_add(raw_stop_reason: &str) -> bool {
    ["end_turn", "stop_sequence"].iter().any(|word| raw_stop_reason.eq_ignore_ascii_case(word))
}

/// The text of the user message that is sent where a server requires one and the transcript has none.
pub(super) const GO_ON: &str = "Continue.";

/// The text of a result that has only files, which follow it.
pub(super) fn follows(content: &[ContentBlock]) -> &'static str {
    if is_more_than_images(content) { "the file follows" } else { "the image follows" }
}

/// As [`follows`], of files that are beside it.
pub(super) fn see(content: &[ContentBlock]) -> &'static str {
    if is_more_than_images(content) { "see the file" } else { "see the image" }
}

fn is_more_than_images(content: &[ContentBlock]) -> bool {
    content.iter().any(|block| matches!(block, ContentBlock::Document(_) | ContentBlock::Audio(_)))
}

/// Which files a format can carry, whatever a server or model makes of them. Texts are carried by all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct FileTypes {
    /// The media types of images that servers of this format take; all when it is not known.
    pub images: Option<&'static [&'static str]>,
    /// Those of documents, but for texts.
    pub documents: Option<&'static [&'static str]>,
    /// Those of audio.
    pub audio: Option<&'static [&'static str]>,
    /// Whether a text is a document there, if a user has given it.
    pub text_documents: bool,
    /// Whether addresses may have other schemes than `https` and `http`.
    pub any_scheme: bool,
}

impl FileTypes {
    /// All files.
    pub const ALL: FileTypes = FileTypes { images: None, documents: None, audio: None, text_documents: true, any_scheme: true };
}

/// The document that each format knows.
pub(super) const PDF: &[&str] = &["application/pdf"];

/// What most servers take: <https://docs.claude.com/en/docs/build-with-claude/vision>,
/// <https://platform.openai.com/docs/guides/images-vision>.
pub(super) const USUAL_IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A request as it goes out.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// The body, in JSON.
    pub body: Vec<u8>,
    /// The options that do not reach the model as they were given.
    pub ignored: Vec<IgnoredOption>,
}

/// Writes the requests of one wire format. It keeps what it wrote of a request: the next one, if its messages begin with the same
/// ones, costs what it adds.
pub trait Encoder: Debug + Send + Sync {
    /// The request's body, and what is not in it.
    fn encode(&mut self, request: &Request, target: Target<'_>) -> Encoded;
}

/// Reads one answer, frame by frame.
pub trait Decoder: Send {
    /// The format's name, where frames of another one can be recognised; else empty.
    fn protocol(&self) -> &'static str {
        ""
    }

    /// Reads a frame; returns whether more are expected.
    ///
    /// # Errors
    /// An error the provider sent in its stream, or `protocol`.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error>;

    /// The stream ended.
    ///
    /// # Errors
    /// `stream_truncated` when the closing event was missing.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Error>;
}

/// Reads a frame's JSON. Servers that cut text between the halves of a character send such halves: they are replaced.
/// A struct that borrows from the frame is read with [`surrogate::read`].
///
/// # Errors
/// `protocol`.
pub(super) fn read<T: DeserializeOwned>(provider: &str, data: &str) -> Result<T, Error> {
    surrogate::read(data, |data| serde_json::from_str(data)).map_err(|error| unreadable(provider, data, error))
}

/// As `trim`, which is long about Unicode's white space: nearly all frames have none around them.
pub(super) fn trimmed(data: &str) -> &str {
    match data.as_bytes() {
        [b'{', .., b'}'] => data,
        _ => data.trim(),
    }
}

/// The error for a frame that cannot be read.
pub(super) fn unreadable(provider: &str, data: &str, error: serde_json::Error) -> Error {
    let start: String = data.chars().take(200).collect();
    Error::new(ErrorKind::Protocol, format!("{provider} sent a frame that cannot be read ({}): {start}", words(&error)))
        .with_provider(provider)
        .with_source(error)
}

/// Why a provider refused, in its own words: not the model's, so no text of its message.
pub(super) fn refused(provider: &str, why: &str) -> Delta {
    Delta::Diagnostic {
        code: codes::REFUSAL.into(),
        message: format!("{provider} refused: {why}"),
        data: Box::new(json!({ "explanation": why })),
    }
}

/// Whether a frame is OpenAI's closing mark, `[DONE]`, as servers write it: in any case, or as JSON. Other formats have none, but
/// gateways send it there, too.
pub(crate) fn is_end_mark(data: &str) -> bool {
    data.len() <= "\"[DONE]\"".len() && data.trim_matches('"').eq_ignore_ascii_case("[DONE]")
}

/// Whether the value of an `error` field says anything: some servers send the field with every chunk.
pub(super) fn is_something(error: &RawValue) -> bool {
    !matches!(error.get(), "null" | "false" | "\"\"" | "{}" | "[]" | "0")
}

/// Reports the sources that an answer names.
pub(super) fn citations(citations: Vec<Value>) -> Delta {
    Delta::Diagnostic {
        code: codes::CITATIONS.into(),
        message: match citations.len() {
            1 => "a text names a source".to_owned(),
            count => format!("a text names {count} sources"),
        },
        data: Box::new(json!({ "citations": citations })),
    }
}

/// Reports a block, or an item, of a type that is only kept.
pub(super) fn opaque_block(what: &str, kind: &str) -> Delta {
    Delta::Diagnostic {
        code: codes::OPAQUE_BLOCK.into(),
        message: format!("{what} of type {kind:?} is kept and sent back as it came"),
        data: Box::new(json!({ "type": kind })),
    }
}

/// The end of a whole answer whose reason is missing or not a known word: what came says which it is. The answer counts, as new
/// words come up in each of the formats, and nothing is wrong with what came before.
pub(super) fn unknown_stop(provider: &str, raw: Option<String>, any_call: bool) -> [Delta; 2] {
    let reason = if any_call { StopReason::ToolUse } else { StopReason::Stop };
    let end = |reason| Delta::Stop { reason, raw: raw.clone() };
    [unknown_reason(provider, raw.as_deref(), reason), end(reason)]
}

/// Reports a reason for the answer's end that is missing or not a known word, and what it counts as.
pub(super) fn unknown_reason(provider: &str, raw: Option<&str>, reason: StopReason) -> Delta {
    let given = match raw {
        Some(raw) => format!("with an unknown reason, {raw:?}"),
        None => "without a reason".to_owned(),
    };
    let counts = reason.as_str();
    Delta::Diagnostic {
        code: codes::UNKNOWN_STOP_REASON.into(),
        message: format!("{provider} ended its answer {given}; it counts as {counts}"),
        data: Box::new(json!({ "raw_stop_reason": raw, "stop_reason": counts })),
    }
}

/// The error for a stream without its closing event.
pub(super) fn truncated(provider: &str, closing: &str) -> Error {
    Error::new(
        ErrorKind::StreamTruncated,
        format!("{provider}'s answer ended in the middle: the connection closed before {closing}"),
    )
    .with_provider(provider)
}
