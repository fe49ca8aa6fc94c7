//! Recorded streams of model servers, mutated: fields, lines and bytes that are changed, missing, doubled, exchanged, cut, and
//! handed over in chunks of any size. The answer goes through the loop to the end of its run, with its tools.
//!
//! The streams are the repository's own and, where they are at hand, those of `../shared/wire` beside it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use agent_loop::machine::wire::{AnswerReader, Served, Splitter};
use agent_loop::machine::{Action, Config, Encoder, HookAnswer, Input, Loop, ModelEntry, Start, Tools};
use agent_loop::model::Delta;
use agent_loop::{Error, Message, ModelSpec, ToolSpec};
use serde_json::{Value, json};

use crate::check;
use crate::mutate::mutate;
use crate::random::Random;

/// A stream, and the format that it is in.
struct Recording {
    protocol: &'static str,
    bytes: Vec<u8>,
}

/// The largest stream that is used: larger ones have no other frames.
const MOST_BYTES: usize = 48 << 10;

static RECORDINGS: LazyLock<Vec<Recording>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = root.join("core/proto/src/protocol/tests/streams");
    let shared = root.join("../shared/wire");
    let folders = [
        ("anthropic", own.clone(), "anthropic"),
        ("openai_chat", own.clone(), "openai_chat"),
        ("openai_responses", own.clone(), "openai_responses"),
        ("gemini", own, "gemini"),
        ("openai_chat", root.join("tests/llama/recorded"), "chat"),
        ("anthropic", root.join("tests/llama/recorded"), "messages"),
        ("openai_responses", root.join("tests/llama/recorded"), "responses"),
        ("anthropic", shared.join("anthropic-messages"), ""),
        ("openai_chat", shared.join("openai-chat"), ""),
        ("openai_responses", shared.join("openai-responses"), ""),
        ("gemini", shared.join("google-generative"), ""),
    ];
    let mut found = Vec::new();
    for (protocol, folder, prefix) in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
        let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "sse")).collect();
        paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
        paths.sort();
        let read = paths.iter().map(|path| std::fs::read(path).expect("a stream"));
        found.extend(read.filter(|bytes| bytes.len() <= MOST_BYTES).map(|bytes| Recording { protocol, bytes }));
    }
    found
});

/// Any recording as it is, with its format.
pub(crate) fn any(random: &mut Random) -> (&'static str, &'static [u8]) {
    // Most of the shared ones are alike: the repository's own have their turn, too.
    let most = if random.one_in(2) { RECORDINGS.len() } else { RECORDINGS.len().min(19) };
    let recording = &RECORDINGS[random.place(most)];
    (recording.protocol, &recording.bytes)
}

/// A few changes to a stream.
pub(crate) fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..random.below(4) {
        change_line(&mut lines, random);
    }
    let newline = *random.pick(&["\n", "\n", "\n", "\r\n", "\r", "\n\n"]);
    let mut bytes = (lines.join(newline) + newline).into_bytes();
    match random.below(12) {
        0 => bytes.truncate(random.place(bytes.len())),
        1 => {
            let at = random.place(bytes.len());
            bytes[at] = u8::try_from(random.below(256)).expect("a byte");
        }
        2 => drop(bytes.splice(0..0, [0xEF, 0xBB, 0xBF])),
        3 => {
            let at = random.place(bytes.len());
            drop(bytes.splice(at..at, (0..random.below(9)).map(|_| 0xFF)));
        }
        4 => bytes.extend_from_within(..),
        _ => {}
    }
    bytes
}

fn change_line(lines: &mut Vec<String>, random: &mut Random) {
    if lines.is_empty() {
        return lines.push(random.text());
    }
    let (one, other) = (random.place(lines.len()), random.place(lines.len()));
    match random.below(9) {
        0 => drop(lines.remove(one)),
        1 => lines.swap(one, other),
        2 => lines.insert(other, lines[one].clone()),
        3 => {
            let times = 1 << random.below(9);
            let line = lines[one].clone();
            drop(lines.splice(one..one, std::iter::repeat_n(line, times)));
        }
        4 => lines.insert(one, random.text()),
        5 => lines.insert(one, format!("data: {}", random.json(3))),
        _ => {
            let data = lines[one].strip_prefix("data:").and_then(|data| serde_json::from_str::<Value>(data).ok());
            if let Some(mut data) = data {
                mutate(&mut data, random);
                lines[one] = format!("data: {data}");
            }
        }
    }
}

/// A model of that format, as the loop has it.
pub(crate) fn model(protocol: &str) -> ModelEntry {
    let spec = json!({ "provider": "p", "id": "m", "protocol": protocol, "base_url": "http://h" });
    let spec = ModelSpec::from_json(spec).expect("a model");
    let served = Served::of(&spec, None, &|_| None).expect("a provider");
    let constraints = served.constraints(&spec);
    let encoder = Some(Arc::new(Encoder::new(spec, served)));
    ModelEntry { constraints, encoder, ..ModelEntry::new(0, "p", protocol, "m") }
}

/// Reads a stream in chunks, as the driver does, into inputs for the loop.
fn answer(run: &mut Loop, call: u32, raw: bool, protocol: &str, bytes: &[u8], random: &mut Random) {
    let entry = model(protocol);
    let Some(encoder) = &entry.encoder else { return };
    let decoder = encoder.served.protocol.decoder(encoder.served.target(&encoder.spec));
    let (mut splitter, mut reader) = (Splitter::default(), AnswerReader::new(decoder, "p", raw));
    let mut left = bytes;
    let mut read = || -> Result<(), Error> {
        while !left.is_empty() {
            let most = if random.one_in(3) { 7 } else { 5000 };
            let (chunk, rest) = left.split_at(left.len().min(1 + random.place(most)));
            left = rest;
            let mut deltas: Vec<Delta> = Vec::new();
            let more = splitter.feed(chunk, |frame| reader.frame(&frame, &mut deltas));
            run.handle(Input::ModelDeltas { call, deltas });
            if !more? {
                return Ok(());
            }
        }
        let mut deltas = Vec::new();
        let end = splitter.finish(|frame| reader.frame(&frame, &mut deltas));
        let end = end.and_then(|more| if more { reader.end(&mut deltas) } else { Ok(()) });
        run.handle(Input::ModelDeltas { call, deltas });
        end
    };
    let result = read();
    run.handle(Input::ModelEnd { call, result });
}

/// A run whose answers are mutated recordings.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let (protocol, bytes) = any(random);
    // A stream of another format, too.
    let spoken = if random.one_in(20) { any(random).0 } else { protocol };
    let model = model(spoken);
    let mut config = Config { has_jitter: false, ..Config::new(model.name(), Ok(model)) };
    config.settings.max_turns = 2;
    config.settings.raw_events = random.one_in(4);
    config.settings.retry.max_retries = 1;
    let names = ["weather", "get_weather", "calculator", "search"];
    let tool = |name| ToolSpec::new(name, "A tool.", json!({ "type": "object" })).map(Arc::new);
    config.tools = Tools::from(names.map(|name| tool(name).expect("a tool")).to_vec());
    let mut run = Loop::new(config, Start::new("run", 0, vec![Message::user("go", 0)]));
    let (mut events, mut messages, mut now_ms, mut timer, mut sent) = (Vec::new(), Vec::new(), 0, None, 0);
    loop {
        match run.poll(now_ms) {
            Some(Action::Emit(event)) => events.push(json!(event)),
            Some(Action::SetTimer(set)) => timer = set,
            Some(Action::CallModel(asked)) => {
                sent += 1;
                let bytes = mutated(bytes, random);
                answer(&mut run, asked.call, asked.raw_events, spoken, &bytes, random);
            }
            Some(Action::CallTool { call, .. }) => {
                let result = if random.one_in(3) { Err(random.text()) } else { Ok(random.json(4)) };
                run.handle(Input::ToolDone { call, result });
            }
            Some(Action::AskHook { question_id, .. }) => {
                run.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) });
            }
            Some(Action::Done(result)) => messages.extend(result.messages),
            Some(_) => {}
            None if run.is_over() => break,
            None => now_ms = timer.ok_or("the run waits for nothing")?.at_ms,
        }
    }
    check::events(&events)?;
    check::messages(&messages)?;
    Ok(sent)
}
