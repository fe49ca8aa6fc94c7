//! Whatever stands in a transcript: made to fit and encoded, the real service would take it. The judge is the strict server of
//! `tests/mock`, which knows the services' rules and nothing of this library.

use std::sync::Arc;

use agent_mock::{Flavour, Format, Strict};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixture::Fixture;
use super::transcripts::{Asked, Entry, asked, messages, transcript};
use crate::message::Message;

/// A model and who judges the requests to it.
pub(super) struct Service {
    pub(super) name: &'static str,
    pub(super) fixture: Fixture,
    pub(super) format: Format,
    /// Where requests go, as far as the judge reads it: Gemini's model, and that it is Vertex.
    pub(super) path: String,
    pub(super) strict: Strict,
}

impl Service {
    fn new(name: &'static str, spec: Value, strict: Strict) -> Service {
        let fixture = Fixture::new(spec);
        let (model, protocol) = (fixture.spec().id.clone(), fixture.protocol());
        let format = match protocol {
            "anthropic" => Format::Anthropic,
            "openai_chat" => Format::Chat,
            "openai_responses" => Format::Responses,
            "bedrock_converse" => Format::Converse,
            _ => Format::Gemini,
        };
        let path = match (fixture.spec().provider.as_str(), format) {
            ("google-vertex", Format::Anthropic) => format!("/v1/publishers/anthropic/models/{model}:streamRawPredict"),
            ("google-vertex", _) => format!("/v1/publishers/google/models/{model}:streamGenerateContent?alt=sse"),
            ("azure-openai", _) => "/openai/responses".to_owned(),
            (_, Format::Converse) => format!("/model/{model}/converse-stream"),
            (_, Format::Gemini) => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
            _ => String::new(),
        };
        Service { name, fixture, format, path, strict }
    }

    /// The request's body for these messages.
    pub(super) fn body(&self, messages: &[Arc<Message>], asked: &Asked) -> Value {
        self.fixture.encode(&asked.request(self.fixture.fitted(messages)))
    }

    pub(super) fn judge(&self, body: &Value) -> Result<(), String> {
        let said = self.strict.check(self.format, &self.path, None, body);
        said.map_err(|refusal| format!("{}: {}\n{body:#}", self.name, refusal.message))
    }

    /// What of a body grows from turn to turn, in the smallest pieces a service can cache; without markers.
    pub(super) fn pieces(&self, body: &Value) -> Vec<String> {
        let (list, inner) = match self.format {
            Format::Anthropic | Format::Converse => ("messages", Some("content")),
            Format::Gemini => ("contents", Some("parts")),
            Format::Chat => ("messages", None),
            Format::Responses => ("input", None),
        };
        let list = unmarked(body.clone())[list].as_array().cloned().unwrap_or_default();
        let pieces = list.into_iter().flat_map(|message| match inner {
            Some(inner) => {
                let parts = message[inner].as_array().cloned().unwrap_or_default();
                parts.into_iter().map(|part| format!("{}: {part}", message["role"])).collect()
            }
            None => vec![message.to_string()],
        });
        pieces.collect()
    }
}

/// A body without Anthropic's cache markers and Bedrock's cache points.
pub(super) fn unmarked(mut body: Value) -> Value {
    match &mut body {
        Value::Object(map) => {
            map.shift_remove("cache_control");
            map.values_mut().for_each(|value| *value = unmarked(value.take()));
        }
        Value::Array(items) => {
            items.retain(|item| item.get("cachePoint").is_none());
            items.iter_mut().for_each(|value| *value = unmarked(value.take()));
        }
        _ => {}
    }
    body
}

/// One of each kind that is treated in a way of its own.
pub(super) fn services() -> Vec<Service> {
    let strict = Strict::new;
    let flavoured = |flavour| Strict::new().flavour(flavour);
    let at = |provider: &str, id: &str, rest: Value| {
        let mut spec = json!({ "provider": provider, "id": id });
        spec.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        spec
    };
    let chat = json!({ "protocol": "openai_chat" });
    let vertex = json!({ "project": "p", "location": "l" });
    let local = |protocol: &str| json!({ "protocol": protocol, "base_url": "http://h" });
    vec![
        Service::new("anthropic, budget", at("anthropic", "claude-sonnet-4-5", json!({})), strict().alternation()),
        Service::new("anthropic, adaptive", at("anthropic", "claude-opus-4-7", json!({})), strict().alternation()),
        Service::new("anthropic, no thinking", at("anthropic", "claude-3-5-haiku-20241022", json!({})), strict().alternation()),
        Service::new(
            "anthropic, another server",
            at(
                "p",
                "m",
                json!({
                    "protocol": "anthropic", "base_url": "http://h",
                    "quirks": { "empty_signatures": true, "result_images": false },
                }),
            ),
            strict().alternation().empty_signatures().flavour(Flavour::Compatible),
        ),
        Service::new("vertex claude", at("google-vertex", "claude-sonnet-4-5@20250929", vertex.clone()), strict().alternation()),
        Service::new("openai chat", at("openai", "gpt-5.1", chat.clone()), strict()),
        Service::new("openai chat, audio", at("openai", "gpt-audio", json!({ "protocol": "openai_chat" })), strict()),
        Service::new("openai chat, no thinking", at("openai", "gpt-4.1", chat), strict()),
        Service::new(
            "compatible, all files",
            at(
                "openai-compatible",
                "m",
                json!({
                    "protocol": "openai_chat", "base_url": "http://h",
                    "quirks": { "image_urls": true, "documents": "data_or_url", "audio": "data" },
                }),
            ),
            flavoured(Flavour::Compatible),
        ),
        Service::new("compatible", at("openai-compatible", "m", local("openai_chat")), flavoured(Flavour::Compatible)),
        Service::new("mistral", at("mistral", "mistral-large-latest", json!({})), flavoured(Flavour::Mistral)),
        Service::new("mistral, thinking", at("mistral", "magistral-medium-latest", json!({})), flavoured(Flavour::Mistral)),
        Service::new("deepseek", at("deepseek", "deepseek-chat", json!({})), flavoured(Flavour::DeepSeek)),
        Service::new("moonshot", at("moonshot", "kimi-k2-thinking", json!({})), flavoured(Flavour::DeepSeek)),
        Service::new("openrouter", at("openrouter", "openai/gpt-5", json!({})), flavoured(Flavour::Compatible)),
        Service::new(
            "openrouter claude",
            at("openrouter", "anthropic/claude-sonnet-4.5", json!({})),
            flavoured(Flavour::Compatible),
        ),
        Service::new("responses", at("openai", "gpt-5.1", json!({})), strict()),
        Service::new("responses, no thinking", at("openai", "gpt-4.1", json!({})), strict()),
        Service::new("azure", at("azure-openai", "gpt-5", json!({ "base_url": "https://x.openai.azure.com" })), strict()),
        Service::new("llama.cpp responses", at("llama-cpp", "m", local("openai_responses")), flavoured(Flavour::Compatible)),
        Service::new(
            "bedrock claude, budget",
            at("amazon-bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", json!({})),
            strict(),
        ),
        Service::new("bedrock claude, adaptive", at("amazon-bedrock", "anthropic.claude-opus-4-7", json!({})), strict()),
        Service::new("bedrock nova", at("amazon-bedrock", "us.amazon.nova-2-lite-v1:0", json!({})), strict()),
        Service::new("bedrock mistral", at("amazon-bedrock", "mistral.pixtral-large-2502-v1:0", json!({})), strict()),
        Service::new("bedrock, another", at("amazon-bedrock", "meta.llama4-scout-17b-instruct-v1:0", json!({})), strict()),
        Service::new("gemini 2.5", at("google", "gemini-2.5-pro", json!({})), strict()),
        Service::new("gemini 3", at("google", "gemini-3-pro-preview", json!({})), strict()),
        Service::new("vertex gemini 2.5", at("google-vertex", "gemini-2.5-flash", vertex.clone()), strict().no_call_ids()),
        Service::new("vertex gemini 3", at("google-vertex", "gemini-3-pro-preview", vertex), strict().no_call_ids()),
    ]
}

/// Repaired again, nothing changes.
fn repaired_once(service: &Service, messages: &[Arc<Message>]) -> Result<(), TestCaseError> {
    let once = service.fixture.fitted(messages);
    let again = service.fixture.fitted(&once);
    prop_assert_eq!(json!(once), json!(again), "{}: repaired twice", service.name);
    prop_assert!(once.iter().zip(&again).all(|(a, b)| Arc::ptr_eq(a, b)), "{}: what fits is not copied", service.name);
    Ok(())
}

/// Cut where the model was asked, the transcript gave a request whose messages this one begins with.
fn extends_what_was_sent(service: &Service, messages: &[Arc<Message>], asked: &Asked, body: &Value) -> Result<(), TestCaseError> {
    let whole = service.pieces(body);
    for cut in 1..messages.len() {
        let answers = messages[cut].as_assistant().is_some_and(|it| !it.stop_reason.is_some_and(|reason| reason.is_failure()));
        let fitted = service.fixture.fitted(&messages[..cut]);
        if !answers || fitted.last().is_none_or(|last| last.as_assistant().is_some()) {
            continue;
        }
        // A result that comes later stands where the error for a missing one stood.
        let missing = service.fixture.missing_results(messages);
        if service.fixture.missing_results(&messages[..cut]).iter().any(|call| !missing.contains(call)) {
            continue;
        }
        let part = service.pieces(&service.fixture.encode(&asked.request(fitted)));
        prop_assert!(whole.starts_with(&part), "{}, cut at {}:\n{:#?}\n{:#?}", service.name, cut, part, whole);
    }
    Ok(())
}

fn hold(entries: &[Entry], asked: &Asked) -> Result<(), TestCaseError> {
    for service in services() {
        let messages = messages(entries, &service.fixture);
        let body = service.body(&messages, asked);
        service.judge(&body).map_err(TestCaseError::fail)?;
        repaired_once(&service, &messages)?;
        extends_what_was_sent(&service, &messages, asked, &body)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn every_transcript_passes_the_strict_server(entries in transcript(), asked in asked()) {
        hold(&entries, &asked)?;
    }
}

#[test]
fn the_empty_transcript_passes_the_strict_server() {
    hold(&[], &Asked::default()).unwrap();
}
