//! What is written looks like what the services write: each event, and each field in it, occurs in their recordings.
//!
//! The recordings stand outside of the repository; without them the test says so and does nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use agent_mock::{Answer, Format, Speech, Stop, Tokens};
use serde_json::{Value, json};

/// The fields of a stream's events, by the type of the event.
type Shapes = BTreeMap<String, BTreeSet<String>>;

fn read(body: &str, into: &mut Shapes) {
    for data in body.lines().filter_map(|line| line.strip_prefix("data:")) {
        if let Ok(event) = serde_json::from_str::<Value>(data) {
            // The end of a response that was cut has the fields of one that was not.
            let kind = event["type"].as_str().unwrap_or_default().replace("response.incomplete", "response.completed");
            fields(&event, "", into.entry(kind).or_default());
        }
    }
}

fn fields(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                // Arguments of calls are the tool's.
                if name != "args" {
                    fields(value, &format!("{path}.{name}"), into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, &format!("{path}[]"), into)),
        _ => {}
    }
    into.insert(path.to_owned());
}

#[test]
fn services_write_every_event_and_field_that_is_written_here() {
    let wire = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    if !wire.exists() {
        println!("skipped: no recordings at {}", wire.display());
        return;
    }
    let speeches = [
        Speech::thinking("Hm.").and_text("I look.").and_call_with_id("call_1", "weather", json!({"city": "Oslo"})),
        Speech::new().and_redacted_thinking("ZGF0YQ==").and_text("Much").stop(Stop::Length),
        Speech::text("Yes.").usage(Tokens { reasoning: 2, ..Tokens::default() }),
    ];
    for (format, folder) in
        Format::ALL.into_iter().zip(["anthropic-messages", "openai-chat", "openai-responses", "google-generative"])
    {
        let mut recorded = Shapes::new();
        let loops = std::fs::read_dir(wire.join("loops")).unwrap().map(|entry| entry.unwrap().path());
        let files = std::iter::once(wire.join(folder)).chain(loops).flat_map(|folder| std::fs::read_dir(folder).unwrap());
        for path in files.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|it| it == "sse")) {
            read(&std::fs::read_to_string(path).unwrap(), &mut recorded);
        }
        let mut written = Shapes::new();
        for speech in &speeches {
            let body = Answer::message(speech.clone()).body_bytes(format).unwrap();
            read(&String::from_utf8(body).unwrap(), &mut written);
        }
        for (kind, fields) in &written {
            let known = recorded.get(kind).unwrap_or_else(|| panic!("{format}: no service sends {kind}"));
            let unknown: Vec<&String> = fields.difference(known).collect();
            assert!(unknown.is_empty(), "{format} {kind}: no service has {unknown:?}");
        }
        assert!(!written.is_empty(), "{format}");
    }
}
