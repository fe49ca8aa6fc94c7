//! What servers do differently within one wire format, as data. A provider's row says what is true of its server, a few rules by
//! model id refine it, and a model's own `quirks` object overrides both, name by name.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;
use crate::json_error::read_value;
use crate::request::ThinkingLevel;

/// How a server differs. Canonical JSON: an object of these names; `docs/providers.md` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
pub struct Quirks {
    /// Chat: the field of the output limit.
    pub max_tokens_field: MaxTokensField,
    /// Chat and Responses: the role of the system prompt.
    pub system_role: SystemRole,
    /// Chat and Responses: the value of `strict` with each tool; not sent when null.
    pub strict: Option<bool>,
    /// Chat and Responses: whether `store: false` is sent.
    pub store: bool,
    /// Chat: whether `stream_options` is understood.
    pub stream_usage: bool,
    /// How thinking is asked for.
    pub thinking: ThinkingStyle,
    /// Whether a server thinks by default, so that a request without thinking must turn it off.
    pub thinking_off: bool,
    /// Chat, Responses and Bedrock: the words for how much thinking is asked for.
    pub efforts: Efforts,
    /// Chat: whether `reasoning_format: "parsed"` is sent, without which thinking would stand in the text.
    pub reasoning_format: bool,
    /// Chat: the field in which a model's own thinking goes back; not sent back when null.
    pub reasoning_field: Option<ReasoningField>,
    /// Chat: whether that field must stand, if empty, in each assistant message while thinking is on.
    pub reasoning_required: bool,
    /// Which ids of tool calls are taken.
    pub call_ids: CallIds,
    /// Chat: whether the content of a message that only has calls may be null, not an empty text.
    pub null_content: bool,
    /// Chat: whether messages may stand in any order. If not, a user's does not stand right behind tool results, and the model's
    /// only behind a user's or a result, and never at the end. Bedrock: whether other content may stand beside results.
    pub any_order: bool,
    /// Chat: whether a tool result names its tool.
    pub result_names: bool,
    /// Whether a tool result may hold images and other files.
    pub result_images: bool,
    /// Whether an image may be given by its address.
    pub image_urls: bool,
    /// Which documents are taken, beside texts.
    pub documents: FileInput,
    /// Which audio is taken.
    pub audio: FileInput,
    /// Chat: whether `tools` must be there, if empty, when the history has calls.
    pub empty_tools: bool,
    /// Chat: whether `tool_stream` is sent, without which arguments come only when they are whole.
    pub tool_stream: bool,
    /// Whether Anthropic's cache markers, on Bedrock its cache points, are understood.
    pub cache_markers: bool,
    /// Whether the marker on the last tool is understood, too.
    pub cache_tools: bool,
    /// Whether what is cached may be asked to stay longer (Anthropic: `ttl` of a marker, OpenAI: `prompt_cache_retention`).
    pub long_cache: bool,
    /// Whether `prompt_cache_key` is understood.
    pub cache_key: bool,
    /// The header that names the conversation, so that its cache is found; not sent when null.
    pub session_header: Option<SessionHeader>,
    /// Whether a temperature is taken. A model that takes none takes neither `top_p`, `top_k` nor penalties.
    pub temperature: bool,
    /// Whether `top_p` is taken beside a temperature.
    pub temperature_and_top_p: bool,
    /// Chat and Bedrock: whether `stop_sequences` are taken.
    pub stop_sequences: bool,
    /// Chat, Anthropic, Gemini and Bedrock: whether `top_k` is taken.
    pub top_k: bool,
    /// Chat and Gemini: whether the penalties for repetition are taken.
    pub penalties: bool,
    /// Chat: the field of the seed; not sent when null.
    pub seed_field: Option<SeedField>,
    /// Anthropic and Bedrock: whether the model can be made to call a tool.
    pub forced_tools: bool,
    /// Anthropic and Bedrock: whether thinking between calls must be asked for.
    pub interleaved: bool,
    /// Anthropic: whether thinking goes back with an empty signature. Bedrock: whether it goes back without one.
    pub empty_signatures: bool,
    /// Responses: whether encrypted reasoning is asked for and sent back.
    pub encrypted_reasoning: bool,
    /// Gemini: whether the first call of a turn must have a signature, if only the marker that skips the check.
    pub signed_calls: bool,
    /// Whether the text of an answer can be held to a JSON Schema.
    pub native_output: NativeOutput,
}

/// See [`Quirks::documents`] and [`Quirks::audio`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileInput {
    /// None, or it is not known.
    No,
    /// Those that are given with their data.
    Data,
    /// Those that are given by an address, too.
    DataOrUrl,
}

/// See [`Quirks::native_output`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeOutput {
    /// No, or it is not known.
    No,
    /// In a request without tools.
    WithoutTools,
    /// Yes.
    Yes,
}

/// See [`Quirks::max_tokens_field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// See [`Quirks::seed_field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedField {
    /// `seed`.
    Seed,
    /// `random_seed` (Mistral).
    RandomSeed,
}

/// See [`Quirks::system_role`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// `system`.
    System,
    /// `developer`.
    Developer,
}

/// See [`Quirks::reasoning_field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningField {
    /// `reasoning_content`.
    ReasoningContent,
    /// `reasoning`.
    Reasoning,
    /// `reasoning_text`.
    ReasoningText,
    /// OpenRouter's list, with what is encrypted in it.
    ReasoningDetails,
    /// Parts of `content` (Mistral).
    Content,
    /// The one in which it came, beside the tool calls of its message: what is assumed of unknown servers.
    AsReceived,
}

/// See [`Quirks::session_header`]; the word is the header's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionHeader {
    /// `x-affinity`.
    #[serde(rename = "x-affinity")]
    Affinity,
    /// `x-session-affinity`.
    #[serde(rename = "x-session-affinity")]
    SessionAffinity,
    /// `x-session-id`.
    #[serde(rename = "x-session-id")]
    SessionId,
    /// `x-grok-conv-id`.
    #[serde(rename = "x-grok-conv-id")]
    GrokConversation,
}

impl SessionHeader {
    /// The header's name.
    pub fn name(self) -> &'static str {
        match self {
            SessionHeader::Affinity => "x-affinity",
            SessionHeader::SessionAffinity => "x-session-affinity",
            SessionHeader::SessionId => "x-session-id",
            SessionHeader::GrokConversation => "x-grok-conv-id",
        }
    }
}

/// How a server is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingStyle {
    /// Not at all: nothing is sent.
    None,
    /// Anthropic, also on Bedrock, and Gemini 2.5: so many tokens.
    Budget,
    /// Newer models of Anthropic, also on Bedrock: an effort, the model chooses the amount.
    Adaptive,
    /// Gemini 3: a level. Bedrock `reasoningConfig` (Nova 2).
    Level,
    /// Chat and Bedrock (gpt-oss) `reasoning_effort`, Responses `reasoning.effort`.
    Effort,
    /// Chat and Responses `reasoning: {effort}` (OpenRouter), also on Bedrock (GPT-5 and later).
    NestedEffort,
    /// Chat `reasoning: {enabled}` (Together).
    NestedSwitch,
    /// Chat `thinking: {type}` (DeepSeek, Moonshot, Z.ai).
    Type,
    /// Chat `enable_thinking` (Qwen's own service).
    EnableThinking,
    /// Chat `chat_template_kwargs: {enable_thinking}` (templates on vLLM, llama.cpp).
    Template,
    /// Chat `prompt_mode: "reasoning"` (Mistral's Magistral).
    PromptMode,
}

impl ThinkingStyle {
    const ALL: [ThinkingStyle; 11] = [
        ThinkingStyle::None,
        ThinkingStyle::Budget,
        ThinkingStyle::Adaptive,
        ThinkingStyle::Level,
        ThinkingStyle::Effort,
        ThinkingStyle::NestedEffort,
        ThinkingStyle::NestedSwitch,
        ThinkingStyle::Type,
        ThinkingStyle::EnableThinking,
        ThinkingStyle::Template,
        ThinkingStyle::PromptMode,
    ];

    /// The word for it, in quotes.
    fn quoted(self) -> String {
        serde_json::to_string(&self).unwrap_or_default()
    }

    /// Why this cannot be asked for in a wire format.
    pub(crate) fn misplaced(self, protocol: &str) -> String {
        let fitting: Vec<String> = Self::ALL.into_iter().filter(|style| style.is_of(protocol)).map(Self::quoted).collect();
        format!("thinking {} cannot be asked for in {protocol}, which takes {}", self.quoted(), fitting.join(", "))
    }

    /// Whether requests of a wire format have a place for it.
    pub(crate) fn is_of(self, protocol: &str) -> bool {
        match self {
            ThinkingStyle::None => true,
            ThinkingStyle::Budget => matches!(protocol, "anthropic" | "gemini" | "bedrock_converse"),
            ThinkingStyle::Adaptive => matches!(protocol, "anthropic" | "bedrock_converse"),
            ThinkingStyle::Level => matches!(protocol, "gemini" | "bedrock_converse"),
            // Responses has only the nested one, by whichever name it is called.
            ThinkingStyle::Effort | ThinkingStyle::NestedEffort => {
                matches!(protocol, "openai_chat" | "openai_responses" | "bedrock_converse")
            }
            ThinkingStyle::NestedSwitch
            | ThinkingStyle::Type
            | ThinkingStyle::EnableThinking
            | ThinkingStyle::Template
            | ThinkingStyle::PromptMode => protocol == "openai_chat",
        }
    }
}

/// A word for how much thinking is asked for, from little to much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// `minimal`.
    Minimal,
    /// `low`.
    Low,
    /// `medium`.
    Medium,
    /// `high`.
    High,
    /// `xhigh`.
    Xhigh,
    /// `max`.
    Max,
    /// The only word besides "none" that some models take.
    Default,
}

impl Effort {
    const ALL: [Effort; 7] =
        [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh, Effort::Max, Effort::Default];

    fn as_str(self) -> &'static str {
        match self {
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Xhigh => "xhigh",
            Effort::Max => "max",
            Effort::Default => "default",
        }
    }
}

/// See [`Quirks::efforts`]: a set of words; in JSON a list. Most models refuse a word that is not among theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Effort>", into = "Vec<Effort>")]
pub struct Efforts(u8);

impl Efforts {
    /// What every server with efforts takes.
    pub(crate) const USUAL: Efforts = Efforts::of(&[Effort::Low, Effort::Medium, Effort::High]);

    pub(crate) const fn of(words: &[Effort]) -> Efforts {
        let (mut set, mut rest) = (0, words);
        while let [word, others @ ..] = rest {
            set |= 1 << *word as u8;
            rest = others;
        }
        Efforts(set)
    }

    fn words(self) -> impl DoubleEndedIterator<Item = Effort> {
        Effort::ALL.into_iter().filter(move |word| self.0 & (1 << *word as u8) != 0)
    }

    /// The word for a level: the least that is not below it, else the greatest; none when the level is off or there are no words.
    pub(crate) fn word(self, level: ThinkingLevel) -> Option<&'static str> {
        let wanted = match level {
            ThinkingLevel::Off => return None,
            ThinkingLevel::Minimal => Effort::Minimal,
            ThinkingLevel::Low => Effort::Low,
            ThinkingLevel::Medium => Effort::Medium,
            ThinkingLevel::High => Effort::High,
            ThinkingLevel::Xhigh => Effort::Xhigh,
        };
        self.words().find(|word| *word >= wanted).or_else(|| self.words().next_back()).map(Effort::as_str)
    }
}

impl From<Vec<Effort>> for Efforts {
    fn from(words: Vec<Effort>) -> Efforts {
        Efforts::of(&words)
    }
}

impl From<Efforts> for Vec<Effort> {
    fn from(efforts: Efforts) -> Vec<Effort> {
        efforts.words().collect()
    }
}

/// Which ids of tool calls a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    /// Whatever is not empty.
    Any,
    /// Letters, digits, `_` and `-`, at most 64.
    Anthropic,
    /// At most 40 characters.
    Openai,
    /// At most 64 characters.
    Responses,
    /// Exactly 9 letters or digits.
    Mistral,
    /// None is sent.
    Omitted,
}

/// What happens to a model's own thinking when it is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingReplay {
    /// It goes back.
    Kept,
    /// It goes back with its signature; without one it is text.
    SignedOrText,
    /// It goes back with its signature; without one it is dropped.
    SignedOrDropped,
    /// It does not go back.
    Dropped,
}

/// Names of all quirks.
pub(crate) const NAMES: &[&str] = &[
    "max_tokens_field",
    "system_role",
    "strict",
    "store",
    "stream_usage",
    "thinking",
    "thinking_off",
    "efforts",
    "reasoning_format",
    "reasoning_field",
    "reasoning_required",
    "call_ids",
    "null_content",
    "any_order",
    "result_names",
    "result_images",
    "image_urls",
    "documents",
    "audio",
    "empty_tools",
    "tool_stream",
    "cache_markers",
    "cache_tools",
    "long_cache",
    "cache_key",
    "session_header",
    "temperature",
    "temperature_and_top_p",
    "stop_sequences",
    "top_k",
    "penalties",
    "seed_field",
    "forced_tools",
    "interleaved",
    "empty_signatures",
    "encrypted_reasoning",
    "signed_calls",
    "native_output",
];

impl Quirks {
    /// The assumptions for an unknown server: what every server understands.
    pub(crate) const PLAIN: Quirks = Quirks {
        max_tokens_field: MaxTokensField::MaxTokens,
        system_role: SystemRole::System,
        strict: None,
        store: false,
        stream_usage: true,
        thinking: ThinkingStyle::Effort,
        thinking_off: false,
        efforts: Efforts::USUAL,
        reasoning_format: false,
        reasoning_field: None,
        reasoning_required: false,
        call_ids: CallIds::Any,
        null_content: true,
        any_order: true,
        result_names: false,
        result_images: false,
        image_urls: false,
        documents: FileInput::No,
        audio: FileInput::No,
        empty_tools: false,
        tool_stream: false,
        cache_markers: false,
        cache_tools: false,
        long_cache: false,
        cache_key: false,
        session_header: None,
        temperature: true,
        temperature_and_top_p: true,
        stop_sequences: true,
        top_k: true,
        penalties: true,
        seed_field: Some(SeedField::Seed),
        forced_tools: true,
        interleaved: false,
        empty_signatures: false,
        encrypted_reasoning: false,
        signed_calls: false,
        native_output: NativeOutput::No,
    };

    /// The quirks with a model's own in their places.
    ///
    /// # Errors
    /// `invalid_argument`: names the unknown or wrong quirk.
    pub(crate) fn overridden(self, own: &Map<String, Value>) -> Result<Quirks, Error> {
        if own.is_empty() {
            return Ok(self);
        }
        let own = canonical_names("quirk", own.clone(), NAMES, Spelling::Snake)?;
        let mut all = serde_json::to_value(self).unwrap_or_default();
        if let Some(all) = all.as_object_mut() {
            for (name, value) in own {
                all.insert(name.clone(), value.clone());
                // One at a time, so that the error can say which it was.
                if let Err(unread) = read_value::<Quirks>(&Value::Object(all.clone())) {
                    return Err(unread.at("model: quirks").invalid_argument());
                }
            }
        }
        read_value(&all).map_err(|unread| unread.at("model: quirks").invalid_argument())
    }
}
