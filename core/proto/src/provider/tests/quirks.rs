//! Words of effort, and what docs/providers.md says of rows and quirks.

use serde_json::{Value, json};

use super::{AZURE, LOCATION, PROJECT, found};
use crate::provider::known::PROVIDERS;
use crate::quirks::{Effort, Efforts, NAMES, Quirks, SessionHeader};
use crate::request::ThinkingLevel;

#[test]
fn the_word_of_effort_is_the_nearest_one_that_the_model_takes() {
    use Effort::{Default, High, Low, Max, Minimal};
    use ThinkingLevel as Level;
    let levels = [Level::Off, Level::Minimal, Level::Low, Level::Medium, Level::High, Level::Xhigh];
    let words = |efforts: Efforts| levels.map(|level| efforts.word(level).unwrap_or("-"));
    assert_eq!(words(Efforts::USUAL), ["-", "low", "low", "medium", "high", "high"]);
    assert_eq!(words(Efforts::of(&[Low, High, Max])), ["-", "low", "low", "high", "high", "max"]);
    assert_eq!(words(Efforts::of(&[High])), ["-", "high", "high", "high", "high", "high"]);
    assert_eq!(words(Efforts::of(&[Default])), ["-", "default", "default", "default", "default", "default"]);
    assert_eq!(words(Efforts::of(&[Minimal])), ["-", "minimal", "minimal", "minimal", "minimal", "minimal"]);
    assert_eq!(words(Efforts::of(&[])), ["-"; 6]);
}

#[test]
fn openai_s_models_are_asked_in_the_words_they_know() {
    for (model, efforts, off) in [
        ("o3", json!(["low", "medium", "high"]), false),
        ("o4-mini-2025-04-16", json!(["low", "medium", "high"]), false),
        ("gpt-5-nano", json!(["minimal", "low", "medium", "high"]), false),
        ("gpt-5-2025-08-07", json!(["minimal", "low", "medium", "high"]), false),
        ("gpt-5-codex", json!(["low", "medium", "high"]), false),
        ("gpt-5-pro", json!(["high"]), false),
        ("gpt-5.1", json!(["low", "medium", "high"]), true),
        ("gpt-5.1-codex-max", json!(["low", "medium", "high", "xhigh"]), false),
        ("gpt-5.3-codex", json!(["low", "medium", "high", "xhigh"]), false),
        ("gpt-5.4-pro", json!(["medium", "high", "xhigh"]), false),
        ("gpt-5.6-terra", json!(["low", "medium", "high", "xhigh"]), true),
        ("gpt-6-sol", json!(["low", "medium", "high", "xhigh"]), true),
    ] {
        let found = found(json!(format!("openai/{model}")), &[]);
        assert_eq!((found.quirk("efforts"), found.quirk("thinking_off")), (efforts, json!(off)), "{model}");
    }
}

#[test]
fn openai_s_ids_of_calls_are_shorter_in_chat() {
    let ids = |protocol: &str| found(json!({ "provider": "openai", "id": "gpt-5", "protocol": protocol }), &[]).quirk("call_ids");
    assert_eq!((ids("openai_chat"), ids("openai_responses")), (json!("openai"), json!("responses")));
}

#[test]
fn headers_of_the_session_have_no_underscores() {
    for word in ["x-affinity", "x-session-affinity", "x-session-id", "x-grok-conv-id"] {
        let header: SessionHeader = serde_json::from_value(json!(word)).unwrap();
        assert_eq!(header.name(), word, "some proxies drop names with underscores, and this has none");
    }
}

#[test]
fn each_quirk_is_listed_by_its_name() {
    let all = serde_json::to_value(Quirks::PLAIN).unwrap();
    let names: Vec<&str> = all.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, NAMES);
}

/// What docs/providers.md says of rows and quirks is what they are.
#[test]
fn docs_providers_md_says_of_each_provider_and_quirk_what_is_so() {
    let page = include_str!("../../../../../docs/providers.md");
    let line_of = |start: &str| page.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no line {start:?}"));
    for row in PROVIDERS {
        let line = line_of(&format!("| `{}` |", row.name));
        for what in row.key_variables.iter().copied().chain([row.protocol, row.base_url]).filter(|what| !what.is_empty()) {
            assert!(line.contains(&format!("`{what}`")), "{}: {what} is missing in {line:?}", row.name);
        }
        assert_eq!(line.contains("(optional)"), row.key_optional, "{line:?}");
    }
    for quirk in NAMES {
        line_of(&format!("| `{quirk}` |"));
    }
    let date = include_str!("../catalogue.jsonl").split_once("\"date\":\"").and_then(|(_, rest)| rest.get(..10)).unwrap();
    assert!(page.contains(date), "the page names another date than the catalogue's {date}");
}

#[test]
fn every_json_block_of_docs_providers_md_is_a_model_that_there_is() {
    let page = include_str!("../../../../../docs/providers.md");
    let blocks: Vec<&str> = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 8, "{}", blocks.len());
    for block in blocks {
        let specs = match serde_json::from_str(block).unwrap_or_else(|error| panic!("{error}: {block}")) {
            Value::Array(specs) => specs,
            spec => vec![spec],
        };
        for spec in specs {
            found(spec, &[AZURE, PROJECT, LOCATION]);
        }
    }
}

#[test]
fn the_quirks_that_docs_providers_md_gives_a_gateway_in_chat_are_openai_s_own() {
    let page = include_str!("../../../../../docs/providers.md");
    let block = page.split("```json\n").find(|block| block.contains("\"max_tokens_field\": \"max_completion_tokens\"")).unwrap();
    let gateway = found(serde_json::from_str(block.split("```").next().unwrap()).unwrap(), &[]);
    let own = found(json!({ "provider": "openai", "id": "gpt-5", "protocol": "openai_chat" }), &[]);
    assert_eq!(gateway.served.protocol.name(), "openai_chat");
    for quirk in ["max_tokens_field", "system_role", "temperature", "cache_key", "long_cache", "thinking"] {
        assert_eq!(gateway.quirk(quirk), own.quirk(quirk), "{quirk}");
    }
}
