//! Vendors as data. Adding one is adding a row; `docs/providers.md` shows the same table to people.

use super::quirks::{CallIds, MaxTokensField, Quirks, ReasoningField, SessionHeader, SystemRole, ThinkingStyle};

/// What is the same for all models of a vendor.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    /// Where it is; empty when only its user can say.
    pub(crate) base_url: &'static str,
    /// The environment variables of its key; the first that is set counts.
    pub(crate) key_variables: &'static [&'static str],
    /// Whether it answers without a key.
    pub(crate) key_optional: bool,
    pub(crate) protocol: &'static str,
    pub(crate) place: Place,
    /// What its servers do differently from the plain wire format, by model id where that matters.
    pub(crate) adjust: fn(&mut Quirks, &str),
}

/// How a provider arranges its addresses and what authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// As the wire format says.
    Plain,
    /// Deployments and `api-version` in the address; a key in `api-key`, or a token.
    Azure,
    /// Project, location and model in the address; tokens of Google.
    Vertex,
}

const PLAIN: Provider = Provider {
    name: "",
    base_url: "",
    key_variables: &[],
    key_optional: false,
    protocol: "openai_chat",
    place: Place::Plain,
    adjust: |_, _| {},
};

/// The newest of OpenAI's models think, and take instructions in the role `developer`.
fn openai_thinks(model: &str) -> bool {
    let o_series = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    o_series || (model.starts_with("gpt-") && !model.starts_with("gpt-3") && !model.starts_with("gpt-4"))
}

fn openai(quirks: &mut Quirks, model: &str) {
    quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
    quirks.cache_key = true;
    quirks.call_ids = if quirks.call_ids == CallIds::Any { CallIds::Openai } else { quirks.call_ids };
    quirks.store = true;
    // https://platform.openai.com/docs/guides/prompt-caching#extended-prompt-cache-retention
    quirks.long_cache = model.starts_with("gpt-4.1") || model.starts_with("gpt-5");
    if openai_thinks(model) {
        quirks.system_role = SystemRole::Developer;
        quirks.temperature = false;
    } else {
        quirks.thinking = ThinkingStyle::None;
        quirks.encrypted_reasoning = false;
    }
}

/// The models of Anthropic since 4.6 choose the amount of thinking themselves and need no word for thinking between calls; since
/// Opus 4.7 they take no temperature. Ids are `claude-3-7-sonnet-20250219`, `claude-opus-4-6`, `claude-sonnet-4-5@20250929`.
fn claude(quirks: &mut Quirks, model: &str) {
    quirks.long_cache = true;
    let mut version = model.split(['-', '@', '.']).filter(|part| part.len() < 3).filter_map(|part| part.parse::<u32>().ok());
    let version = (version.next(), version.next().unwrap_or_default());
    match version {
        (Some(..3), _) | (Some(3), ..7) => quirks.thinking = ThinkingStyle::None,
        (Some(4), 6..) | (Some(5..), _) => quirks.thinking = ThinkingStyle::Adaptive,
        _ => {}
    }
    quirks.interleaved = matches!(version, (Some(4), _) | (None, _));
    if model.starts_with("claude-opus") && matches!(version, (Some(4), 7..) | (Some(5..), _)) {
        quirks.temperature = false;
    }
}

/// The first Gemini that is told a level instead of a number of tokens, and that checks signatures, is 3.
fn gemini(quirks: &mut Quirks, model: &str) {
    let version = model.strip_prefix("gemini-").and_then(|rest| rest.chars().next()).and_then(|digit| digit.to_digit(10));
    match version {
        Some(3..) => {
            quirks.thinking = ThinkingStyle::Level;
            quirks.signed_calls = true;
        }
        // Before 2.5 there is no thinking.
        Some(0 | 1) => quirks.thinking = ThinkingStyle::None,
        Some(2) if !model.starts_with("gemini-2.5") => quirks.thinking = ThinkingStyle::None,
        // Gemma and others do not say; a user's quirk can.
        None if !model.starts_with("claude") => quirks.thinking = ThinkingStyle::None,
        _ => {}
    }
}

pub(crate) const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        protocol: "anthropic",
        adjust: claude,
        ..PLAIN
    },
    Provider {
        name: "openai",
        base_url: "https://api.openai.com",
        key_variables: &["OPENAI_API_KEY"],
        protocol: "openai_responses",
        adjust: openai,
        ..PLAIN
    },
    Provider {
        name: "azure-openai",
        key_variables: &["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"],
        protocol: "openai_responses",
        place: Place::Azure,
        adjust: openai,
        ..PLAIN
    },
    Provider {
        name: "google",
        base_url: "https://generativelanguage.googleapis.com",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        protocol: "gemini",
        adjust: gemini,
        ..PLAIN
    },
    Provider {
        name: "google-vertex",
        base_url: "https://{location}-aiplatform.googleapis.com",
        protocol: "gemini",
        place: Place::Vertex,
        adjust: |quirks, model| {
            gemini(quirks, model);
            // Vertex refuses ids and the marker that skips the check of signatures.
            quirks.signed_calls = false;
            if model.starts_with("claude") {
                claude(quirks, model);
            } else {
                quirks.call_ids = CallIds::Omitted;
            }
        },
        ..PLAIN
    },
    Provider {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
        adjust: |quirks, model| {
            quirks.thinking = ThinkingStyle::NestedEffort;
            quirks.reasoning_field = Some(ReasoningField::ReasoningDetails);
            quirks.session_header = Some(SessionHeader::SessionId);
            quirks.call_ids = CallIds::Openai;
            if model.starts_with("anthropic/") {
                quirks.cache_markers = true;
                quirks.long_cache = true;
                quirks.call_ids = CallIds::Anthropic;
            }
        },
        ..PLAIN
    },
    Provider {
        name: "groq",
        base_url: "https://api.groq.com/openai/v1",
        key_variables: &["GROQ_API_KEY"],
        adjust: |quirks, _| quirks.reasoning_field = Some(ReasoningField::Reasoning),
        ..PLAIN
    },
    Provider {
        name: "deepseek",
        base_url: "https://api.deepseek.com",
        key_variables: &["DEEPSEEK_API_KEY"],
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Type;
            quirks.thinking_off = true;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
            quirks.reasoning_required = true;
        },
        ..PLAIN
    },
    Provider {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        key_variables: &["MISTRAL_API_KEY"],
        adjust: |quirks, model| {
            quirks.stream_usage = false;
            quirks.call_ids = CallIds::Mistral;
            quirks.null_content = false;
            quirks.user_after_results = false;
            quirks.result_names = true;
            quirks.result_images = true;
            quirks.session_header = Some(SessionHeader::Affinity);
            quirks.cache_key = true;
            quirks.reasoning_field = Some(ReasoningField::Content);
            quirks.thinking = if model.starts_with("magistral") { ThinkingStyle::PromptMode } else { ThinkingStyle::Effort };
        },
        ..PLAIN
    },
    Provider {
        name: "xai",
        base_url: "https://api.x.ai/v1",
        key_variables: &["XAI_API_KEY"],
        adjust: |quirks, _| quirks.session_header = Some(SessionHeader::GrokConversation),
        ..PLAIN
    },
    Provider {
        name: "together",
        base_url: "https://api.together.ai/v1",
        key_variables: &["TOGETHER_API_KEY"],
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::NestedSwitch;
            quirks.thinking_off = true;
        },
        ..PLAIN
    },
    Provider {
        name: "fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        key_variables: &["FIREWORKS_API_KEY"],
        adjust: |quirks, _| {
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
            quirks.session_header = Some(SessionHeader::SessionAffinity);
        },
        ..PLAIN
    },
    Provider {
        name: "cerebras",
        base_url: "https://api.cerebras.ai/v1",
        key_variables: &["CEREBRAS_API_KEY"],
        adjust: |quirks, _| quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens,
        ..PLAIN
    },
    Provider { name: "huggingface", base_url: "https://router.huggingface.co/v1", key_variables: &["HF_TOKEN"], ..PLAIN },
    Provider {
        name: "moonshot",
        base_url: "https://api.moonshot.ai/v1",
        key_variables: &["MOONSHOT_API_KEY"],
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Type;
            quirks.thinking_off = true;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
            quirks.reasoning_required = true;
        },
        ..PLAIN
    },
    Provider {
        name: "zai",
        base_url: "https://api.z.ai/api/paas/v4",
        key_variables: &["ZAI_API_KEY"],
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Type;
            quirks.thinking_off = true;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
        },
        ..PLAIN
    },
    Provider {
        name: "minimax",
        base_url: "https://api.minimax.io/anthropic",
        key_variables: &["MINIMAX_API_KEY"],
        protocol: "anthropic",
        ..PLAIN
    },
    Provider {
        name: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        key_variables: &["OLLAMA_API_KEY"],
        key_optional: true,
        adjust: |quirks, _| quirks.reasoning_field = Some(ReasoningField::Reasoning),
        ..PLAIN
    },
    Provider {
        name: "lmstudio",
        base_url: "http://127.0.0.1:1234/v1",
        key_variables: &["LMSTUDIO_API_KEY"],
        key_optional: true,
        ..PLAIN
    },
    Provider {
        name: "vllm",
        base_url: "http://127.0.0.1:8000/v1",
        key_variables: &["VLLM_API_KEY"],
        key_optional: true,
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Template;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
        },
        ..PLAIN
    },
    Provider {
        name: "llama-cpp",
        base_url: "http://127.0.0.1:8080/v1",
        key_variables: &["LLAMA_API_KEY"],
        key_optional: true,
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Template;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
        },
        ..PLAIN
    },
    Provider { name: "openai-compatible", key_variables: &["OPENAI_COMPATIBLE_API_KEY"], key_optional: true, ..PLAIN },
];

pub(crate) fn provider(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// Whose own address this host is: a server is known by it when its provider is not named.
pub(crate) fn at_host(host: &str) -> Option<&'static Provider> {
    let host_of = |url: &'static str| url.split_once("://")?.1.split(['/', ':']).next();
    // An address of one's own machine says nothing of what runs there.
    PROVIDERS.iter().find(|p| p.base_url.starts_with("https://") && host_of(p.base_url) == Some(host))
}
