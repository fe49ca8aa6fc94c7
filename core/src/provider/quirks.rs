//! What servers do differently within one wire format, as data. A provider's row says what is true of its server, a few rules by
//! model id refine it, and a model's own `quirks` object overrides both, name by name.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::names::{Spelling, canonical_names};

/// How a server differs. Canonical JSON: an object of these names; `docs/providers.md` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quirks {
    /// Chat: the field of the output limit.
    pub(crate) max_tokens_field: MaxTokensField,
    /// Chat and Responses: the role of the system prompt.
    pub(crate) system_role: SystemRole,
    /// Chat and Responses: the value of `strict` with each tool; not sent when null.
    pub(crate) strict: Option<bool>,
    /// Chat and Responses: whether `store: false` is sent.
    pub(crate) store: bool,
    /// Chat: whether `stream_options` is understood.
    pub(crate) stream_usage: bool,
    /// How thinking is asked for.
    pub(crate) thinking: ThinkingStyle,
    /// Whether a server that thinks by default must be told when it shall not.
    pub(crate) thinking_off: bool,
    /// Chat: the field in which a model's own thinking goes back; not sent back when null.
    pub(crate) reasoning_field: Option<ReasoningField>,
    /// Chat: whether that field must stand, if empty, in each assistant message while thinking is on.
    pub(crate) reasoning_required: bool,
    /// Which ids of tool calls are taken.
    pub(crate) call_ids: CallIds,
    /// Chat: whether the content of a message that only has calls may be null, not an empty text.
    pub(crate) null_content: bool,
    /// Chat: whether a user message may stand right behind tool results.
    pub(crate) user_after_results: bool,
    /// Chat: whether a tool result names its tool.
    pub(crate) result_names: bool,
    /// Whether a tool result may hold images.
    pub(crate) result_images: bool,
    /// Chat: whether `tools` must be there, if empty, when the history has calls.
    pub(crate) empty_tools: bool,
    /// Whether Anthropic's cache markers are understood.
    pub(crate) cache_markers: bool,
    /// Whether the marker on the last tool is understood, too.
    pub(crate) cache_tools: bool,
    /// Whether `prompt_cache_key` is understood.
    pub(crate) cache_key: bool,
    /// The header that names the conversation, so that its cache is found; not sent when null.
    pub(crate) session_header: Option<SessionHeader>,
    /// Whether a temperature is taken.
    pub(crate) temperature: bool,
    /// Anthropic: whether thinking goes back with an empty signature.
    pub(crate) empty_signatures: bool,
    /// Responses: whether encrypted reasoning is asked for and sent back.
    pub(crate) encrypted_reasoning: bool,
    /// Gemini: whether the first call of a turn must have a signature, if only the marker that skips the check.
    pub(crate) signed_calls: bool,
}

/// See [`Quirks::max_tokens_field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

/// See [`Quirks::system_role`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SystemRole {
    System,
    Developer,
}

/// See [`Quirks::reasoning_field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningField {
    ReasoningContent,
    Reasoning,
    ReasoningText,
    /// OpenRouter's list, with what is encrypted in it.
    ReasoningDetails,
}

/// See [`Quirks::session_header`]; the word is the header's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SessionHeader {
    #[serde(rename = "x-affinity")]
    Affinity,
    #[serde(rename = "x-session-affinity")]
    SessionAffinity,
    #[serde(rename = "x-session-id")]
    SessionId,
    #[serde(rename = "x-grok-conv-id")]
    GrokConversation,
}

impl SessionHeader {
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) enum ThinkingStyle {
    /// Not at all: nothing is sent.
    None,
    /// Anthropic and Gemini 2.5: so many tokens.
    Budget,
    /// Newer models of Anthropic: an effort, the model chooses the amount.
    Adaptive,
    /// Gemini 3: a level.
    Level,
    /// Chat `reasoning_effort`, Responses `reasoning.effort`.
    Effort,
    /// Chat `reasoning: {effort}` (OpenRouter).
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

/// Which ids of tool calls a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallIds {
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

const NAMES: &[&str] = &[
    "max_tokens_field",
    "system_role",
    "strict",
    "store",
    "stream_usage",
    "thinking",
    "thinking_off",
    "reasoning_field",
    "reasoning_required",
    "call_ids",
    "null_content",
    "user_after_results",
    "result_names",
    "result_images",
    "empty_tools",
    "cache_markers",
    "cache_tools",
    "cache_key",
    "session_header",
    "temperature",
    "empty_signatures",
    "encrypted_reasoning",
    "signed_calls",
];

impl Quirks {
    /// What is taken to be true when nothing is known of a server: what every one of them understands.
    pub(crate) const PLAIN: Quirks = Quirks {
        max_tokens_field: MaxTokensField::MaxTokens,
        system_role: SystemRole::System,
        strict: None,
        store: false,
        stream_usage: true,
        thinking: ThinkingStyle::Effort,
        thinking_off: false,
        reasoning_field: None,
        reasoning_required: false,
        call_ids: CallIds::Any,
        null_content: true,
        user_after_results: true,
        result_names: false,
        result_images: false,
        empty_tools: false,
        cache_markers: false,
        cache_tools: false,
        cache_key: false,
        session_header: None,
        temperature: true,
        empty_signatures: false,
        encrypted_reasoning: false,
        signed_calls: false,
    };

    /// The quirks with a model's own in their places.
    ///
    /// # Errors
    /// `invalid_argument`: names the unknown or wrong quirk.
    pub(crate) fn overridden(self, own: &Map<String, Value>) -> Result<Quirks, Error> {
        if own.is_empty() {
            return Ok(self);
        }
        let own = canonical_names("quirk", own.clone(), NAMES, Spelling::Camel)?;
        let mut all = serde_json::to_value(self).unwrap_or_default();
        if let Some(all) = all.as_object_mut() {
            for (name, value) in own {
                all.insert(name.clone(), value.clone());
                // One at a time, so that the error can say which it was.
                if let Err(error) = serde_json::from_value::<Quirks>(Value::Object(all.clone())) {
                    return Err(Error::invalid_argument(format!("model: quirks: {name}: {error}")));
                }
            }
        }
        serde_json::from_value(all).map_err(|error| Error::invalid_argument(format!("model: quirks: {error}")))
    }
}
