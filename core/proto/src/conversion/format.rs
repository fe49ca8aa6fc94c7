//! The formats, a closed list.

use crate::did_you_mean::nearest;
use crate::error::Error;

/// Whose messages are read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Format {
    /// The `messages` of OpenAI's Chat Completions, and of servers that are compatible with it.
    OpenaiChat,
    /// The items of OpenAI's Responses: its `input`, and a response's `output`.
    OpenaiResponses,
    /// The `messages` of Anthropic's Messages.
    Anthropic,
    /// The `contents` of Gemini, in the spelling of its JSON or of its Python package.
    Gemini,
    /// `UIMessage`s of the AI SDK, versions 5 to 7.
    AiSdk,
    /// A session of pi's coding agent: the entries of its file.
    Pi,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] =
        [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini, Format::AiSdk, Format::Pi];

    /// The word for it, for example `openai_chat`. The wire formats have the words of their protocols.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::OpenaiChat => "openai_chat",
            Format::OpenaiResponses => "openai_responses",
            Format::Anthropic => "anthropic",
            Format::Gemini => "gemini",
            Format::AiSdk => "ai_sdk",
            Format::Pi => "pi",
        }
    }

    /// The format of this word.
    ///
    /// # Errors
    /// `invalid_argument`: there is none; the text names those there are.
    pub fn parse(word: &str) -> Result<Format, Error> {
        let words = Format::ALL.map(Format::as_str);
        Format::ALL.into_iter().find(|format| format.as_str() == word).ok_or_else(|| {
            let advice = match nearest(word, words) {
                Some(right) => format!("did you mean {right:?}?"),
                None => format!("known are {}", words.join(", ")),
            };
            Error::invalid_argument(format!("format: unknown format {word:?}; {advice}"))
        })
    }

    /// The protocol of what a model said in this format; of the others each message says it, or nothing does.
    pub(super) fn protocol(self) -> Option<&'static str> {
        (!matches!(self, Format::AiSdk | Format::Pi)).then_some(self.as_str())
    }
}
