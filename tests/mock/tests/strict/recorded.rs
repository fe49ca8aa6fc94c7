//! Requests that real clients sent and real services took must pass: the checks are not stricter than reality.
//!
//! The recordings stand outside of the repository; without them the test says so and does nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agent_mock::{Flavour, Format, Strict};
use serde_json::Value;

fn wire() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire")
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("readable")).expect("JSON")
}

/// Every `*.request.json` with the name of its recording: whose it was is the beginning of that.
fn requests(folder: &str, api: &str) -> Vec<(String, PathBuf)> {
    let files = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("a folder of recordings");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let mut paths: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(".request.json")).collect();
        paths.sort();
        paths
    };
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut found: Vec<_> = files(&wire().join(folder)).into_iter().map(|path| (name(&path), path)).collect();
    for entry in std::fs::read_dir(wire().join("loops")).expect("the loops") {
        let recording = entry.expect("an entry").path();
        if read(&recording.join("loop.json"))["api"] == folder {
            let whose = name(&recording).strip_prefix(&format!("{api}-")).unwrap_or("").to_owned();
            found.extend(files(&recording).into_iter().map(|path| (whose.clone(), path)));
        }
    }
    found
}

fn strict(format: Format, whose: &str) -> Strict {
    let of = |names: &[&str]| names.iter().any(|name| whose.starts_with(name));
    let flavour = match format {
        Format::Chat | Format::Responses if of(&["openai", "azure"]) => Flavour::OpenAi,
        Format::Chat if of(&["mistral-"]) => Flavour::Mistral,
        Format::Chat if of(&["deepseek"]) => Flavour::DeepSeek,
        Format::Chat | Format::Responses => Flavour::Compatible,
        Format::Anthropic | Format::Gemini | Format::Converse => Flavour::OpenAi,
    };
    Strict::new().flavour(flavour)
}

/// The recorder wrote these over Mistral's call ids, which have nine characters.
fn with_mistral_ids(body: &Value) -> Value {
    serde_json::from_str(&body.to_string().replace("call_REDACTED_", "REDACTED")).expect("still JSON")
}

#[test]
fn what_real_services_took_passes() {
    if !wire().exists() {
        println!("skipped: no recordings at {}", wire().display());
        return;
    }
    let mut counts = BTreeMap::new();
    let mut refused = Vec::new();
    for (format, folder, api) in [
        (Format::Anthropic, "anthropic-messages", "anthropic"),
        (Format::Chat, "openai-chat", "chat"),
        (Format::Responses, "openai-responses", "responses"),
        (Format::Gemini, "google-generative", "gemini"),
    ] {
        for (whose, path) in requests(folder, api) {
            let request = read(&path);
            let at = request["path"].as_str().expect("a path");
            let body = if whose.starts_with("mistral-") { with_mistral_ids(&request["body"]) } else { request["body"].clone() };
            match strict(format, &whose).check(format, at, None, &body) {
                Ok(()) => *counts.entry(format.to_string()).or_insert(0) += 1,
                Err(refusal) => refused.push(format!("{}: {refusal}", path.display())),
            }
        }
    }
    println!("{counts:?}");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(counts.values().sum::<i32>() > 250, "{counts:?}");
}
