//! Vendors as data. Adding one is adding a row; `docs/providers.md` has the same table. What a row says is from the
//! vendor's own pages, linked there, except where a comment says otherwise.

use super::sign_in::{self, SignInRow};
use crate::hosting::Hosting;
use crate::quirks::{
    CallIds, Effort, Efforts, FileInput, MaxTokensField, NativeOutput, Quirks, ReasoningField, SeedField, SessionHeader,
    SystemRole, ThinkingStyle,
};

/// What is the same for all models of a vendor.
#[derive(Debug)]
pub struct Provider {
    /// The name, for example `anthropic`.
    pub name: &'static str,
    /// Where it is; empty when only its user can say.
    pub base_url: &'static str,
    /// The environment variables of its key; the first that is set counts.
    pub key_variables: &'static [&'static str],
    /// The page where its users make a key; empty where there is none.
    pub key_page: &'static str,
    /// How its users sign in, where it lets the programs of others ask for it.
    pub sign_in: Option<&'static SignInRow>,
    /// Whether it answers without a key.
    pub key_optional: bool,
    /// The wire format that its servers usually speak.
    pub protocol: &'static str,
    /// How it arranges addresses and keys.
    pub hosting: Hosting,
    /// What its servers do differently from the plain wire format, by model id where that matters.
    pub adjust: fn(&mut Quirks, &str),
}

const PLAIN: Provider = Provider {
    name: "",
    base_url: "",
    key_variables: &[],
    key_page: "",
    sign_in: None,
    key_optional: false,
    protocol: "openai_chat",
    hosting: Hosting::Plain,
    adjust: |_, _| {},
};

/// The newest of OpenAI's models think, and take instructions in the role `developer`.
fn openai_thinks(model: &str) -> bool {
    let o_series = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    o_series || (model.starts_with("gpt-") && !model.starts_with("gpt-3") && !model.starts_with("gpt-4"))
}

/// <https://developers.openai.com/api/docs/guides/reasoning>
fn openai(quirks: &mut Quirks, model: &str) {
    quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
    quirks.cache_key = true;
    quirks.call_ids = if quirks.call_ids == CallIds::Any { CallIds::Openai } else { quirks.call_ids };
    quirks.store = true;
    // https://platform.openai.com/docs/guides/prompt-caching#extended-prompt-cache-retention
    quirks.long_cache = model.starts_with("gpt-4.1") || model.starts_with("gpt-5");
    // https://developers.openai.com/api/docs/guides/structured-outputs: since 4o.
    let before = ["gpt-3", "gpt-4-", "o1-mini", "o1-preview"].iter().any(|old| model.starts_with(old)) || model == "gpt-4";
    quirks.native_output = if before { NativeOutput::No } else { NativeOutput::Yes };
    // https://developers.openai.com/api/docs/guides/file-inputs: by address in Responses alone, which has ids of its own;
    // audio in Chat alone.
    quirks.image_urls = true;
    quirks.documents = match quirks.call_ids {
        _ if before => FileInput::No,
        CallIds::Responses => FileInput::DataOrUrl,
        _ => FileInput::Data,
    };
    quirks.audio = if model.contains("audio") { FileInput::Data } else { FileInput::No };
    if openai_thinks(model) {
        quirks.system_role = SystemRole::Developer;
        quirks.temperature = false;
        quirks.efforts = openai_efforts(model);
        // Only since 5.1 it can be said that they shall not, and to neither the pro nor the codex models.
        let first = !model.starts_with("gpt-") || is_first_gpt_5(model);
        quirks.thinking_off = !first && !model.contains("-pro") && !model.contains("-codex");
    } else {
        quirks.thinking = ThinkingStyle::None;
        quirks.encrypted_reasoning = false;
    }
}

/// `gpt-5` and its sizes, not `gpt-5.1` and later.
fn is_first_gpt_5(model: &str) -> bool {
    model.strip_prefix("gpt-5").is_some_and(|rest| !rest.starts_with('.'))
}

/// A model refuses the words it does not know: <https://github.com/openai/openai-agents-python/issues/2089>.
fn openai_efforts(model: &str) -> Efforts {
    use Effort::{High, Low, Medium, Minimal, Xhigh};
    let later = model.starts_with("gpt-") && !is_first_gpt_5(model);
    if model.starts_with("gpt-5-pro") {
        Efforts::of(&[High])
    } else if later && model.contains("-pro") {
        Efforts::of(&[Medium, High, Xhigh])
    } else if is_first_gpt_5(model) && !model.contains("-codex") {
        Efforts::of(&[Minimal, Low, Medium, High])
    } else if later && (!model.starts_with("gpt-5.1") || model.contains("-max")) {
        Efforts::of(&[Low, Medium, High, Xhigh])
    } else {
        Efforts::USUAL
    }
}

/// The models of Anthropic since 4.6 choose the amount of thinking themselves and need no word for thinking between calls; since
/// Opus 4.7 and with 5 they take no temperature; since 4.1 they refuse `top_p` beside one
/// (<https://platform.claude.com/docs/en/about-claude/models/migration-guide>). Opus 5 and Sonnet 5 think unless a request turns
/// it off, and later ones refuse such a request (<https://platform.claude.com/docs/en/models/opus-5/migration-guide>). Since Opus
/// 5.5 and Fable 5.1 no tool can be forced, whatever is said of thinking:
/// <https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5>. Ids are `claude-3-7-sonnet-20250219`,
/// `claude-opus-4-6`, `claude-sonnet-4-5@20250929`.
fn claude(quirks: &mut Quirks, model: &str) {
    quirks.long_cache = true;
    // https://platform.claude.com/docs/en/build-with-claude/pdf-support
    (quirks.image_urls, quirks.documents) = (true, FileInput::DataOrUrl);
    let mut version = model.split(['-', '@', '.']).filter(|part| part.len() < 3).filter_map(|part| part.parse::<u32>().ok());
    let version = (version.next(), version.next().unwrap_or_default());
    match version {
        (Some(..3), _) | (Some(3), ..7) => quirks.thinking = ThinkingStyle::None,
        (Some(4), 6..) | (Some(5..), _) => quirks.thinking = ThinkingStyle::Adaptive,
        _ => {}
    }
    quirks.interleaved = matches!(version, (Some(4), _) | (None, _));
    quirks.temperature_and_top_p = !matches!(version, (Some(4), 1..) | (Some(5..), _));
    let of = |family: &str| model.contains(family);
    if matches!(version, (Some(5..), _)) || (of("opus") && matches!(version, (Some(4), 7..))) {
        quirks.temperature = false;
        quirks.efforts = Efforts::of(&[Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh]);
    }
    quirks.forced_tools = !matches!(version, (Some(5), 1..) | (Some(6..), _));
    quirks.thinking_off = matches!(version, (Some(5), 0)) && (of("opus") || of("sonnet"));
    // https://platform.claude.com/docs/en/build-with-claude/structured-outputs: since 4.5.
    if matches!(version, (Some(4), 5..) | (Some(5..), _)) {
        quirks.native_output = NativeOutput::Yes;
    }
}

/// The first Gemini that takes a level instead of a number of tokens, that checks signatures and that takes images in tool
/// results, is 3. Only 2.0 takes penalties: <https://github.com/google-gemini/cookbook/issues/1290>.
fn gemini(quirks: &mut Quirks, model: &str) {
    let version = model.strip_prefix("gemini-").and_then(|rest| rest.chars().next()).and_then(|digit| digit.to_digit(10));
    quirks.penalties = version == Some(2) && !model.starts_with("gemini-2.5");
    if model.starts_with("gemini-2.5") {
        quirks.native_output = NativeOutput::WithoutTools;
    }
    if let Some(version) = version {
        // https://ai.google.dev/gemini-api/docs/file-input-methods: 2.0 reads no addresses.
        let reads_urls = version > 2 || model.starts_with("gemini-2.5");
        let files = if reads_urls { FileInput::DataOrUrl } else { FileInput::Data };
        (quirks.image_urls, quirks.documents, quirks.audio) = (reads_urls, files, files);
    }
    match version {
        Some(3..) => {
            quirks.thinking = ThinkingStyle::Level;
            quirks.signed_calls = true;
            quirks.result_images = true;
            // https://ai.google.dev/gemini-api/docs/structured-output: beside tools only since 3.
            quirks.native_output = NativeOutput::Yes;
        }
        // Before 2.5 there is no thinking.
        Some(0 | 1) => quirks.thinking = ThinkingStyle::None,
        Some(2) if !model.starts_with("gemini-2.5") => quirks.thinking = ThinkingStyle::None,
        // Refuses every word of thinking: https://github.com/anomalyco/models.dev/issues/576
        Some(2) if model.contains("-image") => quirks.thinking = ThinkingStyle::None,
        // Gemma and others do not say; a user's quirk can.
        None if !model.starts_with("claude") => quirks.thinking = ThinkingStyle::None,
        _ => {}
    }
}

/// The families of models on Bedrock, by their ids, which may have a region before them (`us.anthropic.claude-…`) or be the end
/// of an ARN. What each takes:
/// <https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html>,
/// <https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html>.
fn bedrock(quirks: &mut Quirks, model: &str) {
    let of = |family: &str| model.contains(family);
    // "This model doesn't support the stopSequences field."
    quirks.stop_sequences = !of("openai.") && !of("qwen.");
    if of("anthropic.claude") {
        (quirks.thinking, quirks.top_k, quirks.any_order, quirks.empty_signatures) = (ThinkingStyle::Budget, true, true, false);
        claude(quirks, model);
        // https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageSource.html: no addresses.
        (quirks.image_urls, quirks.documents) = (false, FileInput::Data);
        quirks.native_output = NativeOutput::No;
        quirks.result_images = true;
        let is_old =
            ["claude-3-haiku", "claude-3-sonnet", "claude-3-opus", "claude-v2", "claude-instant"].iter().any(|old| of(old))
                || of("claude-3-5-sonnet-20240620");
        (quirks.cache_markers, quirks.cache_tools) = (!is_old, !is_old);
        // Since 4.5.
        quirks.long_cache = ["-3-", "sonnet-4-2", "opus-4-2", "opus-4-1", "claude-v2"].iter().all(|before| !of(before));
    } else if of("amazon.nova") {
        (quirks.any_order, quirks.forced_tools, quirks.result_images) = (true, true, true);
        quirks.documents = FileInput::Data;
        quirks.cache_markers = true;
        // https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
        if of("nova-2") {
            quirks.thinking = ThinkingStyle::Level;
        }
    } else if of("openai.gpt-oss") {
        quirks.thinking = ThinkingStyle::Effort;
    } else if of("openai.gpt-") {
        // "Unknown parameter: 'reasoning_effort'".
        quirks.thinking = ThinkingStyle::NestedEffort;
    } else if of("deepseek.r1") {
        // "User messages cannot contain reasoning content": what it has thought goes back as text.
        quirks.empty_signatures = false;
    } else if of("mistral.") {
        quirks.call_ids = CallIds::Mistral;
    } else if of("meta.llama") {
        quirks.documents = FileInput::Data;
    }
}

/// All known providers.
pub const PROVIDERS: &[Provider] = &[
    // <https://docs.claude.com/en/api/overview>
    Provider {
        name: "anthropic",
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        key_page: "https://platform.claude.com/settings/keys",
        protocol: "anthropic",
        adjust: claude,
        ..PLAIN
    },
    // <https://developers.openai.com/api/reference/overview>
    Provider {
        name: "openai",
        base_url: "https://api.openai.com",
        key_variables: &["OPENAI_API_KEY"],
        key_page: "https://platform.openai.com/api-keys",
        protocol: "openai_responses",
        adjust: openai,
        ..PLAIN
    },
    // <https://learn.microsoft.com/azure/ai-foundry/openai/reference>
    Provider {
        name: "azure-openai",
        key_variables: &["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"],
        protocol: "openai_responses",
        hosting: Hosting::Azure,
        adjust: |quirks, model| {
            openai(quirks, model);
            // https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses#file-input: no addresses.
            if quirks.documents == FileInput::DataOrUrl {
                quirks.documents = FileInput::Data;
            }
        },
        ..PLAIN
    },
    // <https://ai.google.dev/gemini-api/docs/thinking>
    Provider {
        name: "google",
        base_url: "https://generativelanguage.googleapis.com",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        key_page: "https://aistudio.google.com/apikey",
        protocol: "gemini",
        adjust: gemini,
        ..PLAIN
    },
    // <https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference>; Claude:
    // <https://docs.claude.com/en/api/claude-on-vertex-ai>
    Provider {
        name: "google-vertex",
        base_url: "https://{location}-aiplatform.googleapis.com",
        protocol: "gemini",
        hosting: Hosting::Vertex,
        adjust: |quirks, model| {
            gemini(quirks, model);
            // Vertex refuses ids and the marker that skips the check of signatures.
            quirks.signed_calls = false;
            if model.starts_with("claude") {
                claude(quirks, model);
                // Only with their data: https://docs.claude.com/en/api/claude-on-vertex-ai
                (quirks.image_urls, quirks.documents) = (false, FileInput::Data);
                // Organizations have to allow it first:
                // https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/structured_outputs
                quirks.native_output = NativeOutput::No;
            } else {
                quirks.call_ids = CallIds::Omitted;
            }
        },
        ..PLAIN
    },
    // <https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference.html>. Without a key requests are signed.
    Provider {
        name: "amazon-bedrock",
        base_url: "https://bedrock-runtime.{region}.amazonaws.com",
        key_variables: &["AWS_BEARER_TOKEN_BEDROCK"],
        protocol: "bedrock_converse",
        hosting: Hosting::Bedrock,
        adjust: bedrock,
        ..PLAIN
    },
    // <https://openrouter.ai/docs/guides/best-practices/reasoning-tokens>, which takes all words of effort for every model;
    // <https://openrouter.ai/docs/guides/best-practices/prompt-caching>, <https://openrouter.ai/docs/api_reference/parameters>
    Provider {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
        key_page: "https://openrouter.ai/settings/keys",
        sign_in: Some(&sign_in::OPENROUTER),
        adjust: |quirks, model| {
            quirks.thinking = ThinkingStyle::NestedEffort;
            quirks.efforts = Efforts::of(&[Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh]);
            quirks.reasoning_field = Some(ReasoningField::ReasoningDetails);
            quirks.session_header = Some(SessionHeader::SessionId);
            quirks.call_ids = CallIds::Openai;
            quirks.top_k = true;
            // https://openrouter.ai/docs/guides/overview/multimodal/pdfs: for all models; audio for those that hear.
            (quirks.image_urls, quirks.documents) = (true, FileInput::DataOrUrl);
            if ["gemini-", "-audio", "voxtral"].iter().any(|hears| model.contains(hears)) {
                quirks.audio = FileInput::Data;
            }
            // The tilde marks names for the newest of a family.
            if model.trim_start_matches('~').starts_with("anthropic/") {
                quirks.cache_markers = true;
                quirks.long_cache = true;
                quirks.call_ids = CallIds::Anthropic;
            }
        },
        ..PLAIN
    },
    // <https://console.groq.com/docs/reasoning>
    Provider {
        name: "groq",
        base_url: "https://api.groq.com/openai/v1",
        key_variables: &["GROQ_API_KEY"],
        key_page: "https://console.groq.com/keys",
        adjust: |quirks, model| {
            quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
            quirks.reasoning_field = Some(ReasoningField::Reasoning);
            // https://console.groq.com/docs/vision
            quirks.image_urls = true;
            // Qwen thinks or does not; its thinking would stand in the text, between tags.
            if model.starts_with("qwen/") {
                quirks.efforts = Efforts::of(&[Effort::Default]);
                quirks.thinking_off = true;
                quirks.reasoning_format = true;
            }
        },
        ..PLAIN
    },
    // <https://api-docs.deepseek.com/guides/thinking_mode>: thinks unless a request turns it off, and refuses a call whose
    // thinking is missing.
    Provider {
        name: "deepseek",
        base_url: "https://api.deepseek.com",
        key_variables: &["DEEPSEEK_API_KEY"],
        key_page: "https://platform.deepseek.com/api_keys",
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Type;
            quirks.thinking_off = true;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
            quirks.reasoning_required = true;
        },
        ..PLAIN
    },
    // <https://docs.mistral.ai/capabilities/reasoning/adjustable>,
    // <https://docs.mistral.ai/studio-api/conversations/advanced/prompt-caching>. It refuses fields it does not know:
    // <https://github.com/avante-corp/avante.nvim/issues/2347> (`stream_options`; usage comes without it),
    // <https://github.com/editor-code-assistant/eca/issues/231> (`max_completion_tokens`),
    // <https://github.com/charmbracelet/crush/issues/1590> (`reasoning_content`). `x-affinity` is what its own client sends. The
    // seed: <https://docs.mistral.ai/api/endpoint/chat>.
    Provider {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        key_variables: &["MISTRAL_API_KEY"],
        key_page: "https://console.mistral.ai/api-keys",
        adjust: |quirks, model| {
            quirks.stream_usage = false;
            quirks.call_ids = CallIds::Mistral;
            quirks.null_content = false;
            quirks.any_order = false;
            quirks.result_names = true;
            quirks.result_images = true;
            // https://docs.mistral.ai/capabilities/vision
            quirks.image_urls = true;
            quirks.session_header = Some(SessionHeader::Affinity);
            quirks.cache_key = true;
            quirks.seed_field = Some(SeedField::RandomSeed);
            quirks.reasoning_field = Some(ReasoningField::Content);
            // https://docs.mistral.ai/capabilities/structured-output/custom_structured_output/
            quirks.native_output = NativeOutput::WithoutTools;
            if model.starts_with("magistral") {
                quirks.thinking = ThinkingStyle::PromptMode;
            } else if !model.starts_with("mistral-large-4") {
                // Small and Medium think much or not at all.
                quirks.efforts = Efforts::of(&[Effort::High]);
            }
        },
        ..PLAIN
    },
    // Chat is deprecated there, and loses the thinking from turn to turn:
    // <https://docs.x.ai/developers/model-capabilities/text/best-practices>. The header does in Chat what the key does in
    // Responses: <https://docs.x.ai/developers/advanced-api-usage/prompt-caching/maximizing-cache-hits>.
    Provider {
        name: "xai",
        base_url: "https://api.x.ai/v1",
        key_variables: &["XAI_API_KEY"],
        key_page: "https://console.x.ai",
        protocol: "openai_responses",
        adjust: |quirks, model| {
            quirks.cache_key = true;
            quirks.session_header = Some(SessionHeader::GrokConversation);
            // https://docs.x.ai/docs/guides/image-understanding
            quirks.image_urls = true;
            quirks.store = true;
            // Of the older ones only one takes an amount: <https://docs.x.ai/docs/guides/reasoning>.
            let old = ["grok-2", "grok-3", "grok-4-", "grok-4.20", "grok-code"].iter().any(|old| model.starts_with(old));
            if (old && !model.starts_with("grok-3-mini")) || model == "grok-4" {
                quirks.thinking = ThinkingStyle::None;
            }
            // Models that think refuse them, as the same page says.
            quirks.penalties = model.starts_with("grok-2") || (model.starts_with("grok-3") && !model.starts_with("grok-3-mini"));
            // Beside tools only since 4: <https://docs.x.ai/docs/guides/structured-outputs>.
            let before = ["grok-2", "grok-3"].iter().any(|old| model.starts_with(old));
            quirks.native_output = if before { NativeOutput::WithoutTools } else { NativeOutput::Yes };
        },
        ..PLAIN
    },
    // <https://docs.together.ai/docs/inference/chat/reasoning>, <https://docs.together.ai/reference/chat-completions-1>
    Provider {
        name: "together",
        base_url: "https://api.together.ai/v1",
        key_variables: &["TOGETHER_API_KEY"],
        key_page: "https://api.together.ai/settings/api-keys",
        adjust: |quirks, model| {
            quirks.top_k = true;
            // https://docs.together.ai/docs/vision-overview
            quirks.image_urls = true;
            if !model.starts_with("openai/gpt-oss") {
                quirks.thinking = ThinkingStyle::NestedSwitch;
                quirks.thinking_off = true;
            }
        },
        ..PLAIN
    },
    // <https://docs.fireworks.ai/guides/prompt-caching>, <https://docs.fireworks.ai/api-reference/post-chatcompletions>. Speaks
    // Anthropic's format, too; there signatures are empty.
    Provider {
        name: "fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        key_variables: &["FIREWORKS_API_KEY"],
        key_page: "https://app.fireworks.ai/settings/users/api-keys",
        adjust: |quirks, _| {
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
            quirks.session_header = Some(SessionHeader::SessionAffinity);
            quirks.empty_signatures = true;
            // https://docs.fireworks.ai/guides/querying-vision-language-models; not said of its other format.
            quirks.image_urls = quirks.call_ids != CallIds::Anthropic;
            quirks.cache_tools = false;
            quirks.top_k = true;
            // https://docs.fireworks.ai/structured-responses/structured-response-formatting; not said of its other format.
            if quirks.call_ids != CallIds::Anthropic {
                quirks.native_output = NativeOutput::WithoutTools;
            }
        },
        ..PLAIN
    },
    // <https://inference-docs.cerebras.ai/capabilities/reasoning>
    Provider {
        name: "cerebras",
        base_url: "https://api.cerebras.ai/v1",
        key_variables: &["CEREBRAS_API_KEY"],
        key_page: "https://cloud.cerebras.ai",
        adjust: |quirks, model| {
            quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
            quirks.reasoning_format = model.starts_with("qwen");
            // https://inference-docs.cerebras.ai/capabilities/structured-outputs: not beside tools.
            quirks.native_output = NativeOutput::WithoutTools;
        },
        ..PLAIN
    },
    // <https://huggingface.co/docs/inference-providers/tasks/chat-completion>
    Provider {
        name: "huggingface",
        base_url: "https://router.huggingface.co/v1",
        key_variables: &["HF_TOKEN"],
        key_page: "https://huggingface.co/settings/tokens",
        sign_in: Some(&sign_in::HUGGINGFACE),
        ..PLAIN
    },
    // <https://platform.kimi.ai/docs/api/models-overview>: Kimi has one temperature. A call whose thinking is missing is refused:
    // <https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model>.
    Provider {
        name: "moonshot",
        base_url: "https://api.moonshot.ai/v1",
        key_variables: &["MOONSHOT_API_KEY"],
        key_page: "https://platform.moonshot.ai/console/api-keys",
        adjust: |quirks, model| {
            quirks.thinking = ThinkingStyle::Type;
            quirks.thinking_off = true;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
            quirks.reasoning_required = true;
            quirks.temperature = !model.starts_with("kimi-");
        },
        ..PLAIN
    },
    // <https://docs.z.ai/guides/capabilities/thinking-mode>, <https://docs.z.ai/guides/tools/stream-tool>
    Provider {
        name: "zai",
        base_url: "https://api.z.ai/api/paas/v4",
        key_variables: &["ZAI_API_KEY"],
        key_page: "https://z.ai/manage-apikey/apikey-list",
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Type;
            quirks.thinking_off = true;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
            quirks.tool_stream = true;
            // https://docs.z.ai/guides/vlm/glm-4.5v
            quirks.image_urls = true;
        },
        ..PLAIN
    },
    // Its Chat endpoint puts the thinking into the text: <https://platform.minimax.io/docs/api-reference/text-anthropic-api>.
    Provider {
        name: "minimax",
        base_url: "https://api.minimax.io/anthropic",
        key_variables: &["MINIMAX_API_KEY"],
        key_page: "https://platform.minimax.io/user-center/basic-information/interface-key",
        protocol: "anthropic",
        ..PLAIN
    },
    // <https://docs.ollama.com/api/openai-compatibility>; models that can think do, unless the request says "none":
    // <https://github.com/ollama/ollama/issues/14820>.
    Provider {
        name: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        key_variables: &["OLLAMA_API_KEY"],
        key_optional: true,
        adjust: |quirks, _| {
            quirks.thinking_off = true;
            quirks.reasoning_field = Some(ReasoningField::Reasoning);
            // https://docs.ollama.com/capabilities/structured-outputs
            quirks.native_output = NativeOutput::WithoutTools;
        },
        ..PLAIN
    },
    // <https://lmstudio.ai/docs/developer/openai-compat/chat-completions>
    Provider {
        name: "lmstudio",
        base_url: "http://127.0.0.1:1234/v1",
        key_variables: &["LMSTUDIO_API_KEY"],
        key_optional: true,
        adjust: |quirks, _| {
            quirks.top_k = true;
            // https://lmstudio.ai/docs/developer/openai-compat/structured-output
            quirks.native_output = NativeOutput::WithoutTools;
        },
        ..PLAIN
    },
    // <https://docs.vllm.ai/en/stable/features/reasoning_outputs/>: `reasoning` was `reasoning_content` before 0.11.
    Provider {
        name: "vllm",
        base_url: "http://127.0.0.1:8000/v1",
        key_variables: &["VLLM_API_KEY"],
        key_optional: true,
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Template;
            quirks.reasoning_field = Some(ReasoningField::Reasoning);
            quirks.top_k = true;
            // https://docs.vllm.ai/en/stable/features/multimodal_inputs/
            quirks.image_urls = true;
            // https://docs.vllm.ai/en/stable/features/structured_outputs/: it would keep the model from calling tools.
            quirks.native_output = NativeOutput::WithoutTools;
        },
        ..PLAIN
    },
    // <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>
    Provider {
        name: "llama-cpp",
        base_url: "http://127.0.0.1:8080/v1",
        key_variables: &["LLAMA_API_KEY"],
        key_optional: true,
        adjust: |quirks, _| {
            quirks.thinking = ThinkingStyle::Template;
            // README.md: an image by its address or its data.
            quirks.image_urls = true;
            // Its Responses takes only text there.
            quirks.result_images = false;
            quirks.top_k = true;
            quirks.reasoning_field = Some(ReasoningField::ReasoningContent);
            quirks.native_output = NativeOutput::WithoutTools;
        },
        ..PLAIN
    },
    Provider { name: "openai-compatible", key_variables: &["OPENAI_COMPATIBLE_API_KEY"], key_optional: true, ..PLAIN },
    Provider { name: "relay", key_variables: &["AGENT_RELAY_TOKEN"], key_optional: true, protocol: "relay", ..PLAIN },
];

/// The provider of that name.
pub fn provider(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// Whose own address this host is, or is below (a region's): a server is known by it when its provider is not named.
pub fn at_host(host: &str) -> Option<&'static Provider> {
    let host_of = |url: &'static str| url.split_once("://")?.1.split(['/', ':']).next();
    // A local address says nothing about what runs there.
    let is_of = |own: &str| host.strip_suffix(own).is_some_and(|region| region.is_empty() || region.ends_with('.'));
    PROVIDERS.iter().find(|p| p.base_url.starts_with("https://") && host_of(p.base_url).is_some_and(is_of))
}
