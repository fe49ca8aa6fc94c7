//! Recorded streams of real servers, with what the official SDKs make of them. They are not part of this repository: where
//! they are not at hand (`../shared/wire` beside it), this test says that it skips.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::delta::MessageBuilder;
use crate::error::Error;
use crate::message::{AssistantMessage, ContentBlock};
use crate::protocol::scan;
use crate::sse::Splitter;
use crate::usage::StopReason;

pub(in crate::protocol) fn folder(api: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire").join(api);
    folder.is_dir().then_some(folder)
}

/// The folders of the loops whose names begin so.
pub(in crate::protocol) fn loops(prefix: &str) -> Vec<String> {
    let entries = folder("loops").into_iter().flat_map(|loops| std::fs::read_dir(loops).unwrap());
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(prefix)).map(|name| format!("loops/{name}")).collect()
}

/// Reads a stream in pieces that end at these places.
pub(in crate::protocol) fn decode(protocol: &str, stream: &[u8], cuts: &[usize]) -> (AssistantMessage, Option<Error>) {
    let head = AssistantMessage {
        provider: "p".into(),
        protocol: protocol.into(),
        model: "m".into(),
        stop_reason: None,
        ..AssistantMessage::new(Vec::new())
    };
    let mut builder = MessageBuilder::new(head, 1, None, usize::MAX);
    let mut decoder = Fixture::of_protocol(protocol).decoder();
    let mut splitter = Splitter::default();
    let mut deltas = Vec::new();
    let mut end = Ok(true);
    let mut from = 0;
    for cut in cuts.iter().copied().chain([stream.len()]) {
        if matches!(end, Ok(true)) {
            end = splitter.feed(&stream[from..cut], |frame| decoder.frame(&frame, &mut deltas));
            from = cut;
        }
    }
    if matches!(end, Ok(true)) {
        end = splitter.finish(|frame| decoder.frame(&frame, &mut deltas));
    }
    let error = match end {
        Ok(true) => decoder.end(&mut deltas).err(),
        Ok(false) => None,
        Err(error) => Some(error),
    };
    for delta in deltas {
        builder.apply(delta).unwrap();
    }
    let failure = error.clone().map(|error| (StopReason::Error, error));
    if failure.is_none() {
        while builder.end_next().is_some() {}
    }
    (builder.finish(failure), error)
}

/// The stream with frames that are not read quickly.
fn in_general(stream: &[u8]) -> Vec<u8> {
    let lines = stream.split_inclusive(|byte| *byte == b'\n').map(|line| match std::str::from_utf8(line) {
        Ok(line) if line.starts_with("data:") && line.contains('{') => scan::tests::in_general(line).into_bytes(),
        _ => line.to_vec(),
    });
    lines.flatten().collect()
}

/// The message in the words of the expectation. An id that we gave (Gemini often sends none) is null there.
fn summary(message: &AssistantMessage) -> Value {
    let id = |id: &str| if message.protocol == "gemini" && id.starts_with("call_1_") { Value::Null } else { id.into() };
    let thinking: String = message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Thinking { thinking, .. } => Some(thinking.as_str()),
            _ => None,
        })
        .collect();
    let calls: Vec<Value> =
        message.tool_calls().map(|call| json!([id(&call.id), call.name, call.arguments, call.raw_arguments])).collect();
    json!({ "text": message.text(), "thinking": thinking, "tool_calls": calls, "stop_reason": message.raw_stop_reason })
}

fn expected(expected: &Value) -> Value {
    let calls: Vec<Value> = expected["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| {
            let arguments = if call["arguments"].is_null() { json!({}) } else { call["arguments"].clone() };
            let raw = if call["arguments"].is_null() { call["arguments_raw"].clone() } else { Value::Null };
            json!([call["id"], call["name"], arguments, raw])
        })
        .collect();
    json!({
        "text": expected["text"], "thinking": expected["thinking"], "tool_calls": calls, "stop_reason": expected["stop_reason"],
    })
}

/// Usage in our buckets from the provider's numbers.
fn usage(protocol: &str, given: &Value) -> Value {
    let count = |name: &str| given[name].as_u64().unwrap_or_default();
    let (output, read, write) = (count("output"), count("cache_read"), count("cache_write"));
    // The expectation has the provider's own numbers: only Anthropic's input leaves the cached tokens out.
    let cached = if protocol == "anthropic" { 0 } else { read + write };
    let input = count("input").saturating_sub(cached);
    // Only Gemini's output leaves the thoughts out.
    let output = if protocol == "gemini" { output + count("reasoning") } else { output };
    json!([input, output, read, write])
}

/// A loop's responses are called `NN.response.sse`.
fn name_of(stream: &Path) -> String {
    let name = stream.file_stem().unwrap().to_str().unwrap();
    name.strip_suffix(".response").unwrap_or(name).to_owned()
}

pub(in crate::protocol) fn expectation(stream: &Path) -> Value {
    let path = stream.with_file_name(format!("{}.expected.json", name_of(stream)));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn play(api: &str, protocol: &str, known: &[(&str, &str)]) {
    let Some(folder) = folder(api) else {
        println!("skipped: no recordings of {api} at hand");
        return;
    };
    let known: BTreeMap<&str, &str> = known.iter().copied().collect();
    let mut played = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sse") {
            continue;
        }
        let name = name_of(&path);
        let stream = std::fs::read(&path).unwrap();
        let oracle = expectation(&path);
        let (message, error) = decode(protocol, &stream, &[]);
        played += 1;
        let mut differences = Vec::new();
        let fails = error.is_some();
        let should_fail = !oracle["error"].is_null() || oracle["stop_reason"].is_null();
        if fails != should_fail {
            differences.push(format!("error: ours {error:?}, expected {}", oracle["error"]));
        } else if fails {
            if json!(message.text()) != oracle["text"] {
                differences.push(format!("text before the error: {:?}", message.text()));
            }
        } else {
            let (ours, theirs) = (summary(&message), expected(&oracle));
            for field in ["text", "thinking", "tool_calls", "stop_reason"] {
                if ours[field] != theirs[field] {
                    differences.push(format!("{field}: ours {}, expected {}", ours[field], theirs[field]));
                }
            }
            let ours = json!([message.usage.input, message.usage.output, message.usage.cache_read, message.usage.cache_write]);
            let theirs = usage(protocol, &oracle["usage"]);
            if ours != theirs {
                differences.push(format!("usage: ours {ours}, expected {theirs}"));
            }
        }
        // Cut anywhere, the same message: at 200 places chosen by a fixed rule, and byte by byte around the start.
        let mut place = 0_usize;
        let cuts: Vec<usize> = (0..200)
            .map(|i| {
                place += 1 + (i * 7919 + 13) % (2 * stream.len() / 200 + 2);
                place.min(stream.len())
            })
            .collect();
        let (again, _) = decode(protocol, &stream, &cuts);
        assert_eq!(again, message, "{name} cut at {cuts:?}");
        // And the same from the general reader, which reads what the quick one does not.
        let (again, _) = decode(protocol, &in_general(&stream), &[]);
        assert_eq!(again, message, "{name} read in general");
        match (known.get(name.as_str()), differences.is_empty()) {
            (Some(_), true) => wrong.push(format!("{name}: listed as different, but is not")),
            (None, false) => wrong.push(format!("{name}:\n    {}", differences.join("\n    "))),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {played} differ:\n{}", wrong.len(), wrong.join("\n"));
    println!("played {played} recordings of {api}");
}

#[test]
fn anthropic_streams() {
    play("anthropic-messages", "anthropic", &[]);
}

#[test]
fn openai_chat_streams() {
    let refusal = "a refusal is text to us; the expectation keeps it apart";
    let known = [
        ("snowflake-thinking-streaming", "`[DONE]` without a finish_reason is an end to us; the expectation takes it for none"),
        ("openrouter-refusal-streaming-azure-routed-refusal", refusal),
        ("openrouter-refusal-streaming-raw-model-surfaces-refusal", refusal),
        ("groq-model-web-search-tool-stream", "its usage stands only in x_groq, which the expectation leaves out"),
        (
            "groq-agent-tool-sessions-parallel-tool-calls-single-turn-streaming",
            "arguments of null are an empty object to us; the expectation keeps the text",
        ),
    ];
    play("openai-chat", "openai_chat", &known);
}

/// All signatures of a message, in order.
fn signatures(message: &AssistantMessage) -> Vec<&str> {
    fn signature(block: &ContentBlock) -> Option<&str> {
        match block {
            ContentBlock::Text { signature, .. } | ContentBlock::Thinking { signature, .. } => signature.as_deref(),
            ContentBlock::ToolCall(call) => call.signature.as_deref(),
            ContentBlock::Opaque { data, .. } => data["thoughtSignature"].as_str(),
            ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => None,
        }
    }
    message.content.iter().filter_map(signature).collect()
}

#[test]
fn gemini_streams() {
    play("google-generative", "gemini", &[]);
}

/// What [`play`] does not look at: signatures, and answers that were not streamed.
#[test]
fn gemini_signatures_and_whole_bodies() {
    let Some(folder) = folder("google-generative") else {
        println!("skipped: no recordings of google-generative at hand");
        return;
    };
    let mut played = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (stem, body) = match (name.strip_suffix(".sse"), name.strip_suffix(".response.json")) {
            (Some(stem), _) => (stem, std::fs::read_to_string(&path).unwrap()),
            (None, Some(stem)) if name.starts_with("json-") => {
                let body: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                (stem, format!("data: {body}\n\n"))
            }
            _ => continue,
        };
        let oracle = std::fs::read(path.with_file_name(format!("{stem}.expected.json"))).unwrap();
        let oracle: Value = serde_json::from_slice(&oracle).unwrap();
        let (message, error) = decode("gemini", body.as_bytes(), &[]);
        played += 1;

        let found = signatures(&message);
        let sent: Vec<&str> = body.split("\"thoughtSignature\":").skip(1).filter_map(|rest| rest.split('"').nth(1)).collect();
        let bytes = |text: &str| text.trim_end_matches('=').len() * 3 / 4;
        let given = oracle["signatures"].as_array().cloned().unwrap_or_default();
        if name == "json-finish-unexpected-tool-call.response.json" {
            assert_eq!(error.map(|error| error.is_retryable()), Some(true), "{name}: a failure to us, without its call");
        } else {
            assert_eq!(error, None, "{name}");
            assert_eq!(found, sent, "{name}");
            let lengths: Vec<Value> = found.iter().map(|text| bytes(text).into()).collect();
            assert_eq!(lengths, given.iter().map(|signature| signature["bytes"].clone()).collect::<Vec<_>>(), "{name}");
            let theirs = expected(&oracle);
            assert_eq!(summary(&message), theirs, "{name}");
        }
        let theirs = usage("gemini", &oracle["usage"]);
        let ours = json!([message.usage.input, message.usage.output, message.usage.cache_read, message.usage.cache_write]);
        assert_eq!(ours, theirs, "{name}");
        assert_eq!(json!(message.raw_stop_reason), oracle["stop_reason"], "{name}");
        let opaque = message.content.iter().filter(|block| matches!(block, ContentBlock::Opaque { .. })).count();
        assert_eq!(opaque, oracle["server_tools"].as_array().map_or(0, Vec::len), "{name}");
    }
    println!("played {played} recordings of google-generative");
}

#[test]
fn openai_responses_streams() {
    let known = [
        ("openai-refusal-responses-agent-streaming-refusal-surfaces", "a refusal is text to us; the expectation keeps it apart"),
        ("openai-custom-grammar-tool", "a call of a custom tool is opaque to us: there is no such tool here"),
    ];
    play("openai-responses", "openai_responses", &known);
    for api in loops("responses-") {
        play(&api, "openai_responses", &[]);
    }
}
