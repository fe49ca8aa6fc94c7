//! Where models are asked, in which format, and what is known of their servers.

mod addresses;

use agent_loop_proto::provider::known::PROVIDERS;
use reqwest::Url;
use serde_json::{Value, json};

use super::address::{self, endpoint};
use super::{ModelSpec, Served, completed};
use crate::error::Error;

/// Where a model is asked, in which format, with what known of it.
struct Found {
    spec: ModelSpec,
    served: Served,
    url: Url,
}

/// What is found with nothing in the environment but these variables.
fn find(spec: Value, environment: &[(&str, &str)]) -> Result<Found, Error> {
    let variable = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let spec = completed(&ModelSpec::from_json(spec)?, None, &variable)?;
    let served = Served::of(&spec, None, &variable)?;
    let url = address::of_model(&spec, &served.base_url, served.hosting, served.protocol, &variable)?;
    Ok(Found { spec, served, url })
}

fn found(spec: Value, environment: &[(&str, &str)]) -> Found {
    let text = spec.to_string();
    find(spec, environment).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(spec: Value) -> String {
    find(spec, &[]).err().unwrap().message().to_owned()
}

impl Found {
    fn quirk(&self, name: &str) -> Value {
        serde_json::to_value(self.served.quirks).unwrap()[name].clone()
    }
}

const AZURE: (&str, &str) = ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com");
const REGION: (&str, &str) = ("AWS_REGION", "eu-west-1");
const PROJECT: (&str, &str) = ("GOOGLE_CLOUD_PROJECT", "p1");
const LOCATION: (&str, &str) = ("GOOGLE_CLOUD_LOCATION", "europe-west1");

#[test]
fn each_provider_has_its_address_its_format_its_key_and_its_quirks() {
    let rows = [
        (
            "anthropic/claude-haiku-4-5",
            "https://api.anthropic.com/v1/messages",
            "anthropic",
            "ANTHROPIC_API_KEY",
            json!({
                "thinking": "budget", "cache_markers": true, "call_ids": "anthropic", "temperature": true,
                "image_urls": true, "documents": "data_or_url", "audio": "no",
            }),
        ),
        (
            "openai/gpt-5",
            "https://api.openai.com/v1/responses",
            "openai_responses",
            "OPENAI_API_KEY",
            json!({
                "thinking": "effort", "efforts": ["minimal", "low", "medium", "high"], "thinking_off": false,
                "system_role": "developer", "temperature": false, "store": true, "cache_key": true,
                "image_urls": true, "documents": "data_or_url", "audio": "no",
            }),
        ),
        (
            "openai/gpt-4o",
            "https://api.openai.com/v1/responses",
            "openai_responses",
            "OPENAI_API_KEY",
            json!({
                "thinking": "none", "system_role": "system", "temperature": true,
            }),
        ),
        (
            "azure-openai/o3",
            "https://r.openai.azure.com/openai/v1/responses",
            "openai_responses",
            "AZURE_OPENAI_API_KEY",
            json!({
                "thinking": "effort", "efforts": ["low", "medium", "high"], "system_role": "developer",
                "documents": "data",
            }),
        ),
        (
            "google/gemini-2.5-flash",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "gemini",
            "GEMINI_API_KEY",
            json!({ "thinking": "budget", "signed_calls": false, "documents": "data_or_url", "audio": "data_or_url" }),
        ),
        (
            "google-vertex/gemini-3.5-flash",
            "https://europe-west1-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west1/publishers/google/models/\
             gemini-3.5-flash:streamGenerateContent?alt=sse",
            "gemini",
            "",
            json!({ "thinking": "level", "signed_calls": false, "call_ids": "omitted" }),
        ),
        (
            "openrouter/z-ai/glm-5",
            "https://openrouter.ai/api/v1/chat/completions",
            "openai_chat",
            "OPENROUTER_API_KEY",
            json!({
                "thinking": "nested_effort", "reasoning_field": "reasoning_details", "session_header": "x-session-id",
                "efforts": ["minimal", "low", "medium", "high", "xhigh"], "cache_markers": false,
            }),
        ),
        (
            "openrouter/~anthropic/claude-opus-latest",
            "https://openrouter.ai/api/v1/chat/completions",
            "openai_chat",
            "OPENROUTER_API_KEY",
            json!({ "cache_markers": true, "call_ids": "anthropic" }),
        ),
        (
            "groq/openai/gpt-oss-20b",
            "https://api.groq.com/openai/v1/chat/completions",
            "openai_chat",
            "GROQ_API_KEY",
            json!({
                "reasoning_field": "reasoning", "efforts": ["low", "medium", "high"], "reasoning_format": false,
                "max_tokens_field": "max_completion_tokens",
            }),
        ),
        (
            "groq/qwen/qwen3.6-27b",
            "https://api.groq.com/openai/v1/chat/completions",
            "openai_chat",
            "GROQ_API_KEY",
            json!({
                "efforts": ["default"], "thinking_off": true, "reasoning_format": true,
            }),
        ),
        (
            "deepseek/deepseek-v4-pro",
            "https://api.deepseek.com/v1/chat/completions",
            "openai_chat",
            "DEEPSEEK_API_KEY",
            json!({
                "thinking": "type", "thinking_off": true, "reasoning_field": "reasoning_content", "reasoning_required": true,
            }),
        ),
        (
            "mistral/mistral-small-latest",
            "https://api.mistral.ai/v1/chat/completions",
            "openai_chat",
            "MISTRAL_API_KEY",
            json!({
                "call_ids": "mistral", "stream_usage": false, "null_content": false, "any_order": false, "cache_key": true,
                "result_names": true, "result_images": true, "session_header": "x-affinity", "efforts": ["high"],
                "image_urls": true, "documents": "no", "audio": "no",
                "thinking": "effort",
                "max_tokens_field": "max_tokens",
            }),
        ),
        (
            "amazon-bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/\
             converse-stream",
            "bedrock_converse",
            "AWS_BEARER_TOKEN_BEDROCK",
            json!({
                "thinking": "budget", "interleaved": true, "cache_markers": true, "cache_tools": true, "long_cache": true,
                "result_images": true, "documents": "data", "image_urls": false, "native_output": "no", "forced_tools": true,
            }),
        ),
        (
            "mistral/magistral-small",
            "https://api.mistral.ai/v1/chat/completions",
            "openai_chat",
            "MISTRAL_API_KEY",
            json!({
                "thinking": "prompt_mode",
            }),
        ),
        (
            "xai/grok-4.6",
            "https://api.x.ai/v1/responses",
            "openai_responses",
            "XAI_API_KEY",
            json!({
                "session_header": "x-grok-conv-id", "cache_key": true, "thinking": "effort",
            }),
        ),
        ("xai/grok-4-fast", "https://api.x.ai/v1/responses", "openai_responses", "XAI_API_KEY", json!({ "thinking": "none" })),
        (
            "together/moonshotai/Kimi-K3",
            "https://api.together.ai/v1/chat/completions",
            "openai_chat",
            "TOGETHER_API_KEY",
            json!({
                "thinking": "nested_switch", "thinking_off": true,
            }),
        ),
        (
            "together/openai/gpt-oss-20b",
            "https://api.together.ai/v1/chat/completions",
            "openai_chat",
            "TOGETHER_API_KEY",
            json!({ "thinking": "effort" }),
        ),
        (
            "fireworks/accounts/fireworks/models/kimi-k3",
            "https://api.fireworks.ai/inference/v1/chat/completions",
            "openai_chat",
            "FIREWORKS_API_KEY",
            json!({ "reasoning_field": "reasoning_content", "session_header": "x-session-affinity", "reasoning_required": true }),
        ),
        (
            "cerebras/gpt-oss-120b",
            "https://api.cerebras.ai/v1/chat/completions",
            "openai_chat",
            "CEREBRAS_API_KEY",
            json!({
                "max_tokens_field": "max_completion_tokens", "reasoning_format": false,
            }),
        ),
        (
            "huggingface/org/m",
            "https://router.huggingface.co/v1/chat/completions",
            "openai_chat",
            "HF_TOKEN",
            json!({
                "max_tokens_field": "max_tokens",
            }),
        ),
        (
            "moonshot/kimi-k2.6",
            "https://api.moonshot.ai/v1/chat/completions",
            "openai_chat",
            "MOONSHOT_API_KEY",
            json!({
                "thinking": "type", "thinking_off": true, "temperature": false, "reasoning_required": true,
            }),
        ),
        (
            "moonshot/kimi-k3",
            "https://api.moonshot.ai/v1/chat/completions",
            "openai_chat",
            "MOONSHOT_API_KEY",
            json!({
                "thinking": "effort", "efforts": ["low", "high", "max"], "thinking_off": false,
            }),
        ),
        (
            "zai/glm-5.3",
            "https://api.z.ai/api/paas/v4/chat/completions",
            "openai_chat",
            "ZAI_API_KEY",
            json!({
                "thinking": "type", "thinking_off": true, "tool_stream": true,
            }),
        ),
        (
            "minimax/MiniMax-M3",
            "https://api.minimax.io/anthropic/v1/messages",
            "anthropic",
            "MINIMAX_API_KEY",
            json!({
                "thinking": "budget",
            }),
        ),
        (
            "ollama/qwen3",
            "http://127.0.0.1:11434/v1/chat/completions",
            "openai_chat",
            "OLLAMA_API_KEY",
            json!({
                "reasoning_field": "reasoning", "thinking_off": true,
            }),
        ),
        (
            "lmstudio/m",
            "http://127.0.0.1:1234/v1/chat/completions",
            "openai_chat",
            "LMSTUDIO_API_KEY",
            json!({
                "thinking": "effort",
            }),
        ),
        (
            "vllm/m",
            "http://127.0.0.1:8000/v1/chat/completions",
            "openai_chat",
            "VLLM_API_KEY",
            json!({
                "thinking": "template", "reasoning_field": "reasoning",
            }),
        ),
        (
            "llama-cpp/m",
            "http://127.0.0.1:8080/v1/chat/completions",
            "openai_chat",
            "LLAMA_API_KEY",
            json!({
                "thinking": "template", "reasoning_field": "reasoning_content",
            }),
        ),
    ];
    for (name, url, protocol, key, quirks) in &rows {
        let found = found(json!(name), &[AZURE, PROJECT, LOCATION, REGION]);
        assert_eq!(found.url.as_str(), *url, "{name}");
        assert_eq!(found.served.protocol.name(), *protocol, "{name}");
        let known = found.served.known.unwrap();
        assert_eq!(known.key_variables.first().copied().unwrap_or_default(), *key, "{name}");
        for (quirk, value) in quirks.as_object().unwrap() {
            assert_eq!(found.quirk(quirk), *value, "{name}: {quirk}");
        }
    }
    let tested = |provider: &str| rows.iter().any(|(name, ..)| name.split_once('/').unwrap().0 == provider);
    for row in PROVIDERS.iter().filter(|row| !row.base_url.is_empty()) {
        assert!(tested(row.name), "{} has an address and is not in this table", row.name);
    }
}

#[test]
fn a_vendor_s_name_with_another_address_is_a_server_that_speaks_chat() {
    let at = |spec: Value| {
        let found = found(spec, &[]);
        (found.url.to_string(), found.served.protocol.name(), found.quirk("system_role"), found.served.is_official_address)
    };
    let system = json!("system");
    let gateway = "https://llm.company.example/v1/chat/completions".to_owned();
    let spec = |provider: &str, base_url: &str| json!({ "provider": provider, "id": "gpt-5", "base_url": base_url });
    assert_eq!(at(spec("openai", "https://llm.company.example")), (gateway.clone(), "openai_chat", system.clone(), false));
    assert_eq!(at(spec("xai", "https://llm.company.example")), (gateway.clone(), "openai_chat", system.clone(), false));
    assert_eq!(at(spec("company", "https://llm.company.example")), (gateway.clone(), "openai_chat", system.clone(), false));
    assert_eq!(at(spec("openai-compatible", "https://llm.company.example")), (gateway, "openai_chat", system, false));
    let url = "https://api.openai.com/v1/responses".to_owned();
    assert_eq!(at(spec("openai", "https://api.openai.com/v1/")), (url.clone(), "openai_responses", json!("developer"), true));
    assert_eq!(at(spec("company", "https://api.openai.com")), (url, "openai_responses", json!("developer"), true));
    let url = "https://eu.api.openai.com/v1/responses".to_owned();
    assert_eq!(at(spec("openai", "https://eu.api.openai.com")), (url, "openai_responses", json!("developer"), true));
    let url = "https://evil-api.openai.com.example/v1/chat/completions".to_owned();
    assert!(!at(spec("openai", "https://evil-api.openai.com.example")).3, "{url}");
}

#[test]
fn a_vendor_s_name_with_its_own_format_at_another_address_is_the_vendor_behind_a_gateway() {
    let at = |provider: &str, id: &str, protocol: Option<&str>| {
        let base_url = "https://llm.company.example";
        found(json!({ "provider": provider, "id": id, "base_url": base_url, "protocol": protocol }), &[])
    };
    for (provider, id) in [("openai", "gpt-5"), ("openai", "gpt-4.1"), ("xai", "grok-4.6")] {
        let gateway = at(provider, id, Some("openai_responses"));
        let own = found(json!(format!("{provider}/{id}")), &[]);
        assert_eq!(gateway.served.quirks, own.served.quirks, "{provider}/{id}");
        assert_eq!(gateway.url.as_str(), "https://llm.company.example/v1/responses");
        assert!(!gateway.served.is_official_address, "a key is optional");
        assert_eq!((gateway.spec.cost, own.spec.cost.is_some()), (None, true), "what a gateway charges is not known");
    }
    let gpt = at("openai", "gpt-5", Some("openai_responses"));
    let quirks = ["system_role", "cache_key", "long_cache", "temperature"].map(|quirk| gpt.quirk(quirk));
    assert_eq!(quirks, [json!("developer"), json!(true), json!(true), json!(false)]);
    // Servers of all kinds speak Chat, and of Anthropic's format OpenAI's row says nothing.
    for protocol in [None, Some("openai_chat"), Some("anthropic")] {
        let plain = at("openai", "gpt-5", protocol);
        assert_eq!((plain.quirk("cache_key"), plain.quirk("system_role")), (json!(false), json!("system")), "{protocol:?}");
    }
}

#[test]
fn protocol_overrides_the_provider_s_own_and_thinking_is_asked_for_in_its_words() {
    let of = |spec: Value| {
        let found = found(spec, &[AZURE]);
        (found.url.to_string(), found.served.protocol.name(), found.quirk("thinking"))
    };
    let spec = |provider: &str, id: &str, protocol: &str| json!({ "provider": provider, "id": id, "protocol": protocol });
    assert_eq!(
        of(spec("openai", "gpt-5", "openai_chat")),
        ("https://api.openai.com/v1/chat/completions".to_owned(), "openai_chat", json!("effort"))
    );
    let url = "https://api.fireworks.ai/inference/v1/messages".to_owned();
    assert_eq!(of(spec("fireworks", "accounts/fireworks/models/minimax-m3", "anthropic")), (url, "anthropic", json!("budget")));
    let mut deepseek = spec("deepseek", "deepseek-v4-pro", "anthropic");
    deepseek["base_url"] = json!("https://api.deepseek.com/anthropic");
    assert_eq!(of(deepseek), ("https://api.deepseek.com/anthropic/v1/messages".to_owned(), "anthropic", json!("budget")));
    // A gateway that speaks Chat to Claude: an adaptive model thinks with an effort there.
    let mut claude = spec("anthropic", "claude-opus-5", "openai_chat");
    claude["base_url"] = json!("https://gateway.example");
    assert_eq!(of(claude), ("https://gateway.example/v1/chat/completions".to_owned(), "openai_chat", json!("effort")));
    // Named for its format, at a host that is known for another.
    let minimax = json!({ "provider": "openai-compatible", "id": "MiniMax-M3", "base_url": "https://api.minimax.io/v1" });
    assert_eq!(of(minimax), ("https://api.minimax.io/v1/chat/completions".to_owned(), "openai_chat", json!("effort")));
}

#[test]
fn azure_takes_its_resource_its_version_and_its_deployment() {
    let url = |spec: Value, environment: &[(&str, &str)]| found(spec, environment).url.to_string();
    let spec = |more: Value| {
        let mut spec = json!({ "provider": "azure-openai", "id": "my-gpt" });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let responses = "https://r.openai.azure.com/openai/v1/responses";
    for base_url in ["https://r.openai.azure.com", "https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1/"] {
        assert_eq!(url(spec(json!({ "base_url": base_url })), &[]), responses);
    }
    assert_eq!(
        url(spec(json!({})), &[AZURE, ("AZURE_OPENAI_API_VERSION", "preview")]),
        format!("{responses}?api-version=preview")
    );
    assert_eq!(
        url(spec(json!({ "api_version": "v9" })), &[AZURE, ("OPENAI_API_VERSION", "x")]),
        format!("{responses}?api-version=v9")
    );
    let chat = "https://r.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=";
    assert_eq!(
        url(spec(json!({ "protocol": "openai_chat" })), &[AZURE]),
        "https://r.openai.azure.com/openai/v1/chat/completions",
        "the address that needs no version"
    );
    assert_eq!(url(spec(json!({ "protocol": "openai_chat", "api_version": "v9" })), &[AZURE]), format!("{chat}v9"));
    assert_eq!(
        error(spec(json!({}))),
        "model \"azure-openai/my-gpt\": azure-openai has no address of its own; give base_url, or set the environment variable \
         AZURE_OPENAI_ENDPOINT"
    );
}

#[test]
fn bedrock_takes_a_region_an_address_or_an_arn() {
    let spec = |id: &str, more: Value| {
        let mut spec = json!({ "provider": "amazon-bedrock", "id": id });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let place = |id: &str, more: Value, environment: &[(&str, &str)]| {
        let found = found(spec(id, more), environment);
        (found.url.host_str().unwrap().to_owned(), super::aws_region(&found.spec, &found.url))
    };
    let at = |host: &str, region: &str| (host.to_owned(), Some(region.to_owned()));
    let id = "amazon.nova-pro-v1:0";
    let east = at("bedrock-runtime.us-east-2.amazonaws.com", "us-east-2");
    assert_eq!(place(id, json!({ "location": "us-east-2" }), &[REGION]), east);
    assert_eq!(place(id, json!({}), &[("AWS_DEFAULT_REGION", "us-east-2")]), east);
    let china = at("bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1");
    assert_eq!(place(id, json!({ "location": "cn-north-1" }), &[]), china);
    for host in
        ["bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "vpce-1a2b-3c.bedrock-runtime.us-gov-west-1.vpce.amazonaws.com"]
    {
        let own = json!({ "base_url": format!("https://{host}"), "location": "us-east-1" });
        assert_eq!(place(id, own, &[REGION]), at(host, "us-gov-west-1"));
    }
    let gateway = json!({ "base_url": "http://gateway:8080/aws", "location": "us-east-1" });
    assert_eq!(place(id, gateway, &[]), at("gateway", "us-east-1"));
    let arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-8";
    let found = found(spec(arn, json!({})), &[REGION]);
    let path = "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Ainference-profile%2Feu.anthropic.claude-opus-4-8";
    assert_eq!(found.url.path(), format!("{path}/converse-stream"));
    assert_eq!((found.quirk("thinking"), found.spec.cost.is_some()), (json!("adaptive"), true), "an ARN ends with the id");
    let named = |id: &str| completed(&ModelSpec::from_json(spec(id, json!({}))).unwrap(), None, &|_| None).unwrap();
    let (of_region, of_all) = (named("global.anthropic.claude-opus-4-8"), named("anthropic.claude-opus-4-8"));
    assert_eq!((of_region.context_window, of_region.cost.is_some()), (of_all.context_window, true));
    assert_eq!(
        error(spec(id, json!({}))),
        format!("model \"amazon-bedrock/{id}\": no region; give location, or set the environment variable AWS_REGION")
    );
}

#[test]
fn vertex_takes_a_project_and_a_location_and_serves_claude_too() {
    let spec = |id: &str, more: Value| {
        let mut spec = json!({ "provider": "google-vertex", "id": id });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let global = found(spec("gemini-2.5-pro", json!({ "location": "global" })), &[PROJECT, LOCATION]);
    let models = "/v1/projects/p1/locations/global/publishers/google/models/";
    let path = format!("{models}gemini-2.5-pro:streamGenerateContent?alt=sse");
    assert_eq!(global.url.as_str(), format!("https://aiplatform.googleapis.com{path}"));
    let claude = found(spec("claude-sonnet-4-5@20250929", json!({ "project": "p2", "location": "us-east5" })), &[PROJECT]);
    let models = "https://us-east5-aiplatform.googleapis.com/v1/projects/p2/locations/us-east5/publishers/anthropic/models/";
    assert_eq!(claude.url.as_str(), format!("{models}claude-sonnet-4-5@20250929:streamRawPredict"));
    assert_eq!(claude.served.protocol.name(), "anthropic");
    assert_eq!(claude.quirk("call_ids"), "anthropic");
    assert_eq!(
        claude.spec.context_window,
        agent_loop_proto::provider::catalogue::find("anthropic", "claude-sonnet-4-5").unwrap().context_window
    );
    assert!(claude.spec.cost.is_some());
    let missing = |what: &str, variable: &str| {
        format!("model \"google-vertex/gemini-2.5-pro\": no {what}; give {what}, or set the environment variable {variable}")
    };
    assert_eq!(error(spec("gemini-2.5-pro", json!({}))), missing("project", "GOOGLE_CLOUD_PROJECT"));
    assert_eq!(error(spec("gemini-2.5-pro", json!({ "project": "p" }))), missing("location", "GOOGLE_CLOUD_LOCATION"));
}

#[test]
fn a_wrong_provider_protocol_or_quirk_is_named_with_the_nearest_right_one() {
    let unknown =
        "model \"antropic/m\": unknown provider \"antropic\"; did you mean \"anthropic\"? For another server give base_url";
    assert_eq!(error(json!("antropic/m")), unknown);
    assert!(error(json!("company/m")).contains("known are anthropic, openai, azure-openai"));
    assert_eq!(
        error(json!("openai-compatible/m")),
        "model \"openai-compatible/m\": openai-compatible has no address of its own; give base_url"
    );
    let spec = |name: &str, value: Value| json!({ "provider": "groq", "id": "m", name: value });
    let protocol = error(spec("protocol", json!("openai")));
    assert!(protocol.starts_with("unknown protocol \"openai\"; known are anthropic, "), "{protocol}");
    let price = error(spec("cost", json!({ "input": 1, "tiers": [{ "above": 9, "cache_read": -1 }] })));
    let of_a_price = "model: cost: cache_read: expected US dollars for a million tokens, at least 0, got -1";
    assert_eq!(price, of_a_price);
    let quirk = error(spec("quirks", json!({ "max_token_field": "max_tokens" })));
    assert!(quirk.starts_with("unknown quirk \"max_token_field\"; did you mean"), "{quirk}");
    let value = error(spec("quirks", json!({ "efforts": ["much"] })));
    assert!(value.starts_with("model: quirks: efforts[0]: unknown value \"much\"; known are minimal, low"), "{value}");
}

#[test]
fn a_way_of_thinking_that_the_format_has_no_place_for_is_refused_with_those_it_takes() {
    let spec = |protocol: &str, name: &str, value: Value| {
        let mut spec = json!({ "provider": "p", "id": "m", "base_url": "http://h", "protocol": protocol });
        spec[name] = value;
        spec
    };
    let style = |protocol: &str, style: &str| error(spec(protocol, "thinking", json!(style)));
    assert_eq!(
        style("anthropic", "type"),
        "model \"p/m\": thinking \"type\" cannot be asked for in anthropic, which takes \"none\", \"budget\", \"adaptive\""
    );
    assert_eq!(
        style("openai_responses", "template"),
        "model \"p/m\": thinking \"template\" cannot be asked for in openai_responses, which takes \"none\", \"effort\", \
         \"nested_effort\""
    );
    assert!(style("gemini", "adaptive").ends_with("in gemini, which takes \"none\", \"budget\", \"level\""));
    assert!(style("openai_chat", "budget").contains("\"template\", \"prompt_mode\""));
    assert!(style("relay", "effort").ends_with("which takes \"none\""), "the level is passed on as it is");
    assert_eq!(
        error(spec("anthropic", "quirks", json!({ "thinking": "type" }))),
        style("anthropic", "type"),
        "the quirk is the same"
    );
    assert_eq!(
        error(spec("anthropic", "thinking", json!({ "type": "adaptive" }))),
        "model \"p/m\": thinking: expected true, false or a way to ask for it such as \"effort\", got {\"type\":\"adaptive\"}"
    );
    for fits in [json!("adaptive"), json!("none"), json!(true), json!(false), json!(null)] {
        found(spec("anthropic", "thinking", fits), &[]);
    }
}

#[test]
fn a_base_url_may_or_may_not_have_the_version_or_the_whole_path() {
    let messages = "/v1/messages";
    let chat = "/v1/chat/completions";
    for (base, path, whole) in [
        ("https://api.anthropic.com", messages, "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/", messages, "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", messages, "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:8080/v1/", chat, "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://127.0.0.1:8080/v1/chat/completions", chat, "http://127.0.0.1:8080/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", chat, "https://openrouter.ai/api/v1/chat/completions"),
        ("https://api.z.ai/api/paas/v4", chat, "https://api.z.ai/api/paas/v4/chat/completions"),
        ("https://gateway/v1/account/name/anthropic", messages, "https://gateway/v1/account/name/anthropic/v1/messages"),
        ("https://host/v1beta/openai", chat, "https://host/v1beta/openai/chat/completions"),
        ("https://host/gateway?tenant=7", chat, "https://host/gateway/v1/chat/completions?tenant=7"),
        (" http://host ", chat, "http://host/v1/chat/completions"),
        ("https://g", "/v1beta/models/m:stream?alt=sse", "https://g/v1beta/models/m:stream?alt=sse"),
        ("https://g/v1/", "/v1beta/models/m:stream?alt=sse", "https://g/v1beta/models/m:stream?alt=sse"),
        ("https://g/v1/gemini", "/v1beta/models/m:stream?alt=sse", "https://g/v1/gemini/v1beta/models/m:stream?alt=sse"),
        ("https://g/v1alpha", "/v1beta/models/m:stream?alt=sse", "https://g/v1alpha/models/m:stream?alt=sse"),
        ("https://g/v1/models/m:stream", "/v1beta/models/m:stream?alt=sse", "https://g/v1/models/m:stream?alt=sse"),
        ("https://g/v1beta?key=k", "/v1beta/models/m:stream?alt=sse", "https://g/v1beta/models/m:stream?key=k&alt=sse"),
    ] {
        assert_eq!(endpoint(base, path).unwrap().as_str(), whole, "{base}");
    }
}

#[test]
fn an_unusable_address_says_why() {
    let error = |base: &str| endpoint(base, "/v1/messages").unwrap_err().message().to_owned();
    let advice = "; give an address such as \"http://127.0.0.1:8080/v1\"";
    assert_eq!(error("nonsense"), format!("base_url \"nonsense\": it does not begin with http:// or https://{advice}"));
    assert_eq!(error("ftp://h"), format!("base_url \"ftp://h\": it does not begin with http:// or https://{advice}"));
    assert_eq!(error("http://u:a/b@h?key=k"), format!("base_url \"http://…@h?…\": its port is not a number up to 65535{advice}"));
    assert_eq!(
        error("https://user:pa?ss@host"),
        format!("base_url \"https://…@host\": its port is not a number up to 65535{advice}")
    );
    assert_eq!(error("u:secret@h"), format!("base_url \"…@h\": it does not begin with http:// or https://{advice}"));
}
