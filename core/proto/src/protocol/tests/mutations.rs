//! Every field of the recorded streams, one at a time, taken away, null, of another type or with another value: nothing panics,
//! and what the rest says is not lost.
//!
//! The streams are our own (`streams/`) and, where they are at hand, the recorded ones (`../shared/wire`, beside the repository).
//! `mutations/FORMAT.tsv` says for each field that is read what may come of it, and why: `same` (the same answer), `lost` and
//! what differs, or `error` and its kind. A field that is not listed is not read: whatever stands there, the answer is the same.
//! `RECORD=1` adds what is not in the table, without a reason; a row without one fails.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::fixture::Fixture;
use super::recorded;
use crate::answer_reader::AnswerReader;
use crate::delta::{Delta, MessageBuilder};
use crate::error::Error;
use crate::message::{AssistantMessage, ContentBlock, Message};
use crate::sse::Splitter;

/// Streams above this size are left out: they have no other fields than shorter ones.
const MOST_BYTES: u64 = 24 << 10;

/// How many recorded streams each field and mutation is tried on.
const MOST_STREAMS: usize = 3;

/// Field and mutation, and the outcome.
type Outcomes = BTreeMap<(String, &'static str), BTreeSet<String>>;

/// A line of a stream, with its JSON where it has some.
enum Line {
    Data(Value),
    Other(String),
}

fn lines(stream: &str) -> Vec<Line> {
    let line = |line: &str| match line.strip_prefix("data:").and_then(|data| serde_json::from_str(data).ok()) {
        Some(value @ Value::Object(_)) => Line::Data(value),
        _ => Line::Other(line.to_owned()),
    };
    stream.lines().map(line).collect()
}

fn written(lines: &[Line]) -> String {
    let lines = lines.iter().map(|line| match line {
        Line::Data(value) => format!("data: {value}\n"),
        Line::Other(line) => format!("{line}\n"),
    });
    lines.collect()
}

/// The answer of a stream, read as a run reads it.
fn answer(protocol: &str, stream: &str) -> Result<AssistantMessage, Error> {
    let head = json!({ "role": "assistant", "content": [], "provider": "p", "protocol": protocol, "model": "m", "timestamp": 0 });
    let Message::Assistant(head) = serde_json::from_value(head).unwrap() else { panic!("an assistant's") };
    let mut builder = MessageBuilder::new(head, 1, None, usize::MAX);
    let mut reader = AnswerReader::new(Fixture::of_protocol(protocol).decoder(), "p", false);
    let (mut splitter, mut deltas) = (Splitter::default(), Vec::new());
    let mut more = splitter.feed(stream.as_bytes(), |frame| reader.frame(&frame, &mut deltas))?;
    if more {
        more = splitter.finish(|frame| reader.frame(&frame, &mut deltas))?;
    }
    if more {
        reader.end(&mut deltas)?;
    }
    deltas.into_iter().try_for_each(|delta: Delta| builder.apply(delta).map(drop))?;
    while builder.end_next().is_some() {}
    Ok(builder.finish(None))
}

/// What of an answer is compared, by name.
fn facets(message: &AssistantMessage) -> [(&'static str, Value); 8] {
    let of = |pick: &dyn Fn(&ContentBlock) -> Option<Value>| Value::Array(message.content.iter().filter_map(pick).collect());
    let usage = &message.usage;
    let calls = message.tool_calls().map(|call| json!([call.name, call.arguments, call.raw_arguments])).collect::<Vec<_>>();
    let ids = message.tool_calls().map(|call| call.id.as_str()).chain(message.response_id.as_deref());
    [
        ("text", message.text().into()),
        ("thinking", of(&|block| if let ContentBlock::Thinking { thinking, .. } = block { Some(json!(thinking)) } else { None })),
        ("calls", calls.into()),
        ("ids", ids.collect::<Vec<_>>().into()),
        (
            "signatures",
            of(&|block| match block {
                ContentBlock::Text { signature, .. } | ContentBlock::Thinking { signature, .. } => Some(json!(signature)),
                ContentBlock::ToolCall(call) => Some(json!(call.signature)),
                ContentBlock::Opaque { .. } | ContentBlock::Image { .. } => Some(json!("kept")),
            }),
        ),
        ("usage", json!([usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning])),
        ("stop_reason", json!(message.stop_reason)),
        ("raw_stop_reason", json!(message.raw_stop_reason)),
    ]
}

fn outcome(protocol: &str, stream: &str, expected: &AssistantMessage) -> String {
    match std::panic::catch_unwind(|| answer(protocol, stream)) {
        Err(_) => "PANIC".to_owned(),
        Ok(Err(error)) => format!("error {}", error.kind()),
        Ok(Ok(message)) => {
            let differs = facets(&message).into_iter().zip(facets(expected)).filter(|(ours, theirs)| ours != theirs);
            let lost: Vec<&str> = differs.map(|((name, _), _)| name).collect();
            if lost.is_empty() { "same".to_owned() } else { format!("lost {}", lost.join(" ")) }
        }
    }
}

/// Whether what stands under a field of this name is the model's or the server's own, and not read here.
fn is_opaque(name: &str) -> bool {
    matches!(name, "args" | "input" | "arguments" | "tools" | "metadata" | "logprobs" | "safety_ratings" | "safetyRatings")
}

/// The fields of a frame as paths; elements of lists are `[]`.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                found.insert(path.clone());
                if !is_opaque(name) && path.matches('.').count() < 6 {
                    paths(value, &path, found);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| paths(value, &format!("{at}[]"), found)),
        _ => {}
    }
}

/// What a mutation makes of a value: none where it would be the same, or has no meaning.
fn mutated(mutation: &str, value: &Value) -> Option<Value> {
    let new = match (mutation, value) {
        ("null", _) => Value::Null,
        ("number", Value::Number(_)) | ("text", Value::String(_)) => return None,
        ("number", _) => json!(7),
        ("text", _) => json!("odd"),
        ("object", _) => json!({}),
        ("list", _) => json!([]),
        ("other value", Value::String(_)) => json!("odd"),
        ("other value", Value::Number(_)) => json!(-1),
        ("other value", Value::Bool(flag)) => json!(!flag),
        _ => return None,
    };
    (new != *value).then_some(new)
}

const MUTATIONS: &[&str] = &["removed", "null", "number", "text", "object", "list", "other value"];

/// Changes the field at the path wherever it is; gives how often.
fn change(value: &mut Value, path: &str, mutation: &str) -> usize {
    let (name, rest) = match path.find(['.', '[']) {
        Some(end) => (&path[..end], &path[end..]),
        None => (path, ""),
    };
    let Some(map) = value.as_object_mut() else { return 0 };
    if rest.is_empty() {
        if mutation == "removed" {
            return usize::from(map.shift_remove(name).is_some());
        }
        let Some(value) = map.get_mut(name) else { return 0 };
        return mutated(mutation, value).map_or(0, |new| {
            *value = new;
            1
        });
    }
    let Some(value) = map.get_mut(name) else { return 0 };
    descend(value, rest, mutation)
}

fn descend(value: &mut Value, rest: &str, mutation: &str) -> usize {
    if let Some(rest) = rest.strip_prefix("[]") {
        return value.as_array_mut().into_iter().flatten().map(|value| descend(value, rest, mutation)).sum();
    }
    change(value, rest.trim_start_matches('.'), mutation)
}

/// Tries all mutations of a stream's fields, in all frames and in one of them.
fn try_all(protocol: &str, stream: &str, tried: &mut BTreeMap<(String, &'static str), usize>, outcomes: &mut Outcomes) {
    let Ok(expected) = answer(protocol, stream) else { return };
    let mut fields = BTreeSet::new();
    for line in lines(stream) {
        if let Line::Data(value) = line {
            paths(&value, "", &mut fields);
        }
    }
    for field in fields {
        for mutation in MUTATIONS {
            let tried = tried.entry((field.clone(), *mutation)).or_default();
            if *tried >= MOST_STREAMS {
                continue;
            }
            let mut all = lines(stream);
            let mut places = Vec::new();
            for (place, line) in all.iter_mut().enumerate() {
                if let Line::Data(value) = line
                    && change(value, &field, mutation) > 0
                {
                    places.push(place);
                }
            }
            if places.is_empty() {
                continue;
            }
            *tried += 1;
            let found = outcomes.entry((field.clone(), *mutation)).or_default();
            found.insert(outcome(protocol, &written(&all), &expected));
            // Only in the middle one.
            if places.len() > 1 {
                let (mut one, place) = (lines(stream), places[places.len() / 2]);
                one[place] = all.swap_remove(place);
                found.insert(outcome(protocol, &written(&one), &expected));
            }
        }
    }
}

fn recorded_streams(api: &str) -> Vec<PathBuf> {
    let entries = recorded::folder(api).into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "sse"));
    let mut paths: Vec<(u64, PathBuf)> = paths.map(|path| (path.metadata().unwrap().len(), path)).collect();
    paths.retain(|(bytes, _)| *bytes <= MOST_BYTES);
    paths.sort();
    paths.into_iter().map(|(_, path)| path).collect()
}

/// The rows of a table: field and mutations to outcomes and the reason.
fn table(text: &str) -> BTreeMap<(String, String), (BTreeSet<String>, String)> {
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let cells = rows.map(|row| row.split('\t').map(str::to_owned).collect::<Vec<_>>());
    let mut table = BTreeMap::new();
    for row in cells {
        let [field, mutations, outcomes, why] = &row[..] else { panic!("{row:?}: a row has four columns") };
        for mutation in mutations.split(", ") {
            assert!(MUTATIONS.contains(&mutation), "{row:?}: {mutation:?} is no mutation");
            let outcomes = outcomes.split(" | ").map(str::to_owned).collect();
            let before = table.insert((field.clone(), mutation.to_owned()), (outcomes, why.clone()));
            assert!(before.is_none(), "{row:?} stands there twice");
        }
    }
    table
}

fn play(protocol: &str, api: &str, own: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/protocol/tests/mutations/{protocol}.tsv"));
    let known = table(&std::fs::read_to_string(&path).unwrap_or_default());
    let (mut tried, mut outcomes) = (BTreeMap::new(), Outcomes::new());
    try_all(protocol, own, &mut BTreeMap::new(), &mut outcomes);
    let recorded = recorded_streams(api);
    for path in &recorded {
        try_all(protocol, &std::fs::read_to_string(path).unwrap(), &mut tried, &mut outcomes);
    }
    let none = (BTreeSet::from(["same".to_owned()]), "not read".to_owned());
    let mut wrong = Vec::new();
    for ((field, mutation), found) in &outcomes {
        let (expected, why) = known.get(&(field.clone(), (*mutation).to_owned())).unwrap_or(&none);
        if !found.is_subset(expected) || why.is_empty() {
            wrong.push(format!("{field}\t{mutation}\t{}", Vec::from_iter(found.iter().cloned()).join(" | ")));
        }
    }
    // What is said and never seen; only where all streams are at hand.
    let seen = |key: &(String, String)| outcomes.iter().find(|((field, mutation), _)| *field == key.0 && *mutation == key.1);
    for (key, (expected, _)) in known.iter().filter(|_| !recorded.is_empty()) {
        if seen(key).is_none_or(|(_, found)| found != expected) {
            wrong.push(format!("{}\t{}\tis listed as {expected:?}", key.0, key.1));
        }
    }
    if std::env::var_os("RECORD").is_some() {
        record(&path, &known, &outcomes);
    }
    assert!(wrong.is_empty(), "{} rows of {protocol} differ:\n{}", wrong.len(), wrong.join("\n"));
    println!("{protocol}: {} fields and mutations, {} recorded streams", outcomes.len(), recorded.len());
}

/// Writes the table anew: mutations of a field with the same outcomes in one row, with the reason that was given.
fn record(path: &Path, known: &BTreeMap<(String, String), (BTreeSet<String>, String)>, outcomes: &Outcomes) {
    let mut rows: Vec<(String, Vec<&str>, String, String)> = Vec::new();
    for ((field, mutation), found) in outcomes {
        let found = Vec::from_iter(found.iter().cloned()).join(" | ");
        if found == "same" {
            continue;
        }
        let why = known.get(&(field.clone(), (*mutation).to_owned())).map(|(_, why)| why.clone()).unwrap_or_default();
        match rows.iter_mut().find(|row| row.0 == *field && row.2 == found) {
            Some(row) => row.1.push(mutation),
            None => rows.push((field.clone(), vec![mutation], found, why)),
        }
    }
    let rows =
        rows.into_iter().map(|(field, mutations, found, why)| format!("{field}\t{}\t{found}\t{why}\n", mutations.join(", ")));
    let head = "# field\tmutations\toutcomes\twhy (see mutations.rs)\n".to_owned();
    std::fs::write(path, head + &rows.collect::<String>()).unwrap();
}

#[test]
fn anthropic() {
    play("anthropic", "anthropic-messages", include_str!("streams/anthropic.sse"));
}

#[test]
fn openai_chat() {
    play("openai_chat", "openai-chat", include_str!("streams/openai_chat.sse"));
}

#[test]
fn openai_responses() {
    play("openai_responses", "openai-responses", include_str!("streams/openai_responses.sse"));
}

#[test]
fn gemini() {
    play("gemini", "google-generative", include_str!("streams/gemini.sse"));
}
