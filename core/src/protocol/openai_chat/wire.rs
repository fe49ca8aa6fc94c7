//! The chunks of a stream, as they are read. Servers differ in what they leave out, repeat or set to null: everything is
//! optional, and numbers or objects where text is meant do not fail the chunk.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    /// `"error"` where the error's fields stand at the top (vLLM, Mistral).
    #[serde(borrow, default)]
    pub(super) object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(borrow, default)]
    pub(super) delta: Option<ChatDelta<'a>>,
    #[serde(default)]
    pub(super) finish_reason: Content,
    /// OpenRouter tells here what went wrong at the provider behind it.
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
