//! The chunks of a stream, as they are read. Servers differ in what they leave out, repeat or set to null: everything is
//! optional, and numbers or objects where text is meant do not fail the chunk.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::fit::Kind;
use crate::protocol::scan::Scan;
use crate::surrogate;

/// A chunk with one piece of text, thinking or a call's arguments and nothing else that counts, as nearly all of a stream are.
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    /// With the field it came in.
    Thinking(&'static str, Cow<'a, str>),
    Arguments(i64, Cow<'a, str>),
}

/// What is known of the answer, so that a chunk that repeats it says nothing new.
#[derive(Default)]
pub(super) struct Known {
    pub(super) id: bool,
    pub(super) model: bool,
    /// The place of the choice that is read: the first of the first chunk that has any. We ask for one.
    pub(super) choice: Option<i64>,
}

/// Reads such a chunk; `None` for every other, which is one with an `id` or a `model`, too, while that is not known.
pub(super) fn piece<'a>(chunk: &'a str, known: &Known) -> Option<Piece<'a>> {
    if known.choice.is_some_and(|place| place != 0) {
        return None;
    }
    let (mut pieces, mut choices) = (Pieces::default(), 0);
    Scan::whole(chunk, |scan, name| match name {
        "choices" => scan.list(|scan| {
            choices += 1;
            scan.object(|scan, name| match name {
                "index" => (scan.natural()? == 0).then_some(()),
                "delta" => scan.object(|scan, name| pieces.field(scan, name)),
                "finish_reason" | "error" | "usage" => scan.null(),
                _ => scan.skip(),
            })
        }),
        "usage" | "error" | "x_groq" => scan.null(),
        "id" if !known.id => scan.null(),
        "model" if !known.model => scan.null(),
        "citations" | "search_results" => scan.nothing(),
        "object" => (scan.string()? != "error").then_some(()),
        _ => scan.skip(),
    })?;
    let Pieces { text, thinking, arguments } = pieces;
    match (text, thinking, arguments) {
        _ if choices != 1 => None,
        (Some(text), None, None) => Some(Piece::Text(text)),
        (None, Some((field, text)), None) => Some(Piece::Thinking(field, text)),
        (None, None, Some((index, text))) => Some(Piece::Arguments(index, text)),
        _ => None,
    }
}

#[derive(Default)]
struct Pieces<'a> {
    text: Option<Cow<'a, str>>,
    thinking: Option<(&'static str, Cow<'a, str>)>,
    arguments: Option<(i64, Cow<'a, str>)>,
}

impl<'a> Pieces<'a> {
    fn field(&mut self, scan: &mut Scan<'a>, name: &str) -> Option<()> {
        let field = match name {
            "content" => {
                self.text = scan.string_or_null()?.filter(|text| !text.is_empty());
                return Some(());
            }
            "tool_calls" if scan.is_null() => return scan.null(),
            "tool_calls" => return scan.list(|scan| self.call(scan)),
            "refusal" | "reasoning_details" => return scan.null(),
            "images" | "annotations" => return scan.nothing(),
            "reasoning_content" => "reasoning_content",
            "reasoning" => "reasoning",
            "reasoning_text" => "reasoning_text",
            _ => return scan.skip(),
        };
        if let Some(text) = scan.string_or_null()?.filter(|text| !text.is_empty()) {
            // Of several fields, the general reader knows which counts.
            self.thinking.replace((field, text)).is_none().then_some(())?;
        }
        Some(())
    }

    /// More of one call, by its index alone.
    fn call(&mut self, scan: &mut Scan<'a>) -> Option<()> {
        let (mut index, mut arguments) = (None, None);
        scan.object(|scan, name| {
            match name {
                "index" => index = i64::try_from(scan.natural()?).ok(),
                "function" => scan.object(|scan, name| {
                    match name {
                        "arguments" => arguments = Some(scan.string()?),
                        "name" => return scan.null(),
                        _ => scan.skip()?,
                    }
                    Some(())
                })?,
                "id" | "extra_content" => scan.null()?,
                _ => scan.skip()?,
            }
            Some(())
        })?;
        let text = arguments.filter(|text| !text.is_empty())?;
        self.arguments.replace((index?, text)).is_none().then_some(())
    }
}

/// What the fields of a chunk are. Servers that differ are understood as far as they fit.
pub(super) const CHUNK: Kind = Kind::Object(&[("choices", Kind::List(&CHOICE))]);
const CHOICE: Kind = Kind::Object(&[("index", Kind::Number), ("delta", DELTA)]);
const DELTA: Kind = Kind::Object(&[("tool_calls", Kind::List(&CALL))]);
const CALL: Kind = Kind::Object(&[("index", Kind::Number), ("function", Kind::Object(&[]))]);

/// Any chunk. Whatever counts here stops [`piece`], too, and stands in the property of `scan/tests.rs`.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    /// Groq puts the usage here, in some streams here alone.
    #[serde(borrow, default)]
    pub(super) x_groq: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    /// Perplexity's sources, all of them with each chunk: addresses, and what it found there.
    #[serde(borrow, default)]
    pub(super) citations: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) search_results: Option<&'a RawValue>,
    /// `"error"` where the error's fields stand at the top (vLLM, Mistral).
    #[serde(borrow, default)]
    pub(super) object: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// Whether it has nothing that a chunk has.
    pub(super) fn is_bare(&self) -> bool {
        self.choices.is_none() && self.usage.is_none()
    }
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(borrow, default)]
    pub(super) delta: Option<ChatDelta<'a>>,
    #[serde(default)]
    pub(super) finish_reason: Content,
    /// OpenRouter's report of a failure at the provider behind it.
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    /// Moonshot puts the usage here.
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct ChatDelta<'a> {
    #[serde(default)]
    pub(super) content: Content,
    #[serde(default)]
    pub(super) reasoning_content: Content,
    #[serde(default)]
    pub(super) reasoning: Content,
    #[serde(default)]
    pub(super) reasoning_text: Content,
    /// OpenRouter's list: pieces of text, signatures, and what is encrypted.
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) refusal: Content,
    /// What image models draw (OpenRouter, other gateways): <https://openrouter.ai/docs/features/multimodal/image-generation>.
    #[serde(borrow, default)]
    pub(super) images: Option<&'a RawValue>,
    /// The sources that the text names.
    #[serde(borrow, default)]
    pub(super) annotations: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<ToolDelta<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct ToolDelta<'a> {
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(default)]
    pub(super) id: Content,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionDelta<'a>>,
    /// Google's: `{google: {thought_signature}}`, <https://ai.google.dev/gemini-api/docs/thought-signatures#openai>.
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

impl ToolDelta<'_> {
    /// Whether nothing in it says which call it belongs to.
    pub(super) fn is_nameless(&self) -> bool {
        let named = self.function.as_ref().is_some_and(|function| !function.name.is_nothing());
        self.index.is_none() && self.id.is_nothing() && !named
    }
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(default)]
    pub(super) name: Content,
    /// Text, or an object where a server sends calls whole.
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A string; null, missing and other kinds are nothing; of a list (Mistral), the parts.
#[derive(Default)]
pub(super) enum Content {
    #[default]
    Nothing,
    Text(String),
    Parts(Vec<Value>),
}

impl Content {
    fn is_nothing(&self) -> bool {
        match self {
            Content::Nothing => true,
            Content::Text(text) => text.is_empty(),
            Content::Parts(_) => false,
        }
    }

    /// The text, unless there is none or it is empty.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Content::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, a list of parts, or null")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }

            fn visit_unit<E>(self) -> Result<Content, E> {
                Ok(Content::Nothing)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Content, E> {
                Ok(Content::Nothing)
            }

            fn visit_u64<E>(self, number: u64) -> Result<Content, E> {
                Ok(Content::Text(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Content, E> {
                Ok(Content::Text(number.to_string()))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Content, E> {
                Ok(Content::Nothing)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Content::Nothing)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// The elements of a list; none of anything else.
pub(super) fn list(raw: &RawValue) -> Vec<Value> {
    if let Value::Array(list) = general(raw.get()) { list } else { Vec::new() }
}

/// Any JSON; null where it is none.
pub(super) fn general(data: &str) -> Value {
    surrogate::value(data).unwrap_or_default()
}

/// Arguments come as text; a server that sends calls whole may send the object itself.
pub(super) fn arguments_text(raw: &RawValue) -> Option<String> {
    match surrogate::value(raw.get()) {
        Ok(Value::String(text)) => Some(text).filter(|text| !text.is_empty()),
        // PHP writes an empty object so.
        Ok(Value::Array(list)) if list.is_empty() => None,
        Ok(Value::Null | Value::Bool(_) | Value::Number(_)) | Err(_) => None,
        Ok(other) => Some(other.to_string()),
    }
}
