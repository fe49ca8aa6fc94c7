//! A process that has a conversation with tools, steering and parallel calls, killed at each of its writes: before it, inside of
//! it and after it. The next process goes on.
//!
//! The process is this test program with one test to run, [`child`], and with `kill_at.c` preloaded, which kills it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use agent_loop::model::ModelCall;
use agent_loop::session::Store;
use agent_loop::tool::OnInterrupted;
use agent_loop::{Agent, EventData, Message, ToolContext};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::{Kind, Place, run};
use crate::support::tool;

const STORE: &str = "AGENT_LOOP_TEST_CONVERSATION";
const LEDGER: &str = "AGENT_LOOP_TEST_LEDGER";
/// How long a killed process keeps a session where nobody sees that it has ended.
const LEASE_MS: u64 = 100;
/// The places of a write.
const PLACES: [&str; 3] = ["before", "inside", "after"];

/// What the model answers, by the number of answers that the transcript has: calls, then a text.
const ANSWERS: [&[&str]; 4] = [&["once", "again", "once"], &["once"], &[], &[]];

/// The conversation, from wherever the session is. Run by [`Killing::run`] in another process.
#[test]
fn child() {
    let Ok(address) = std::env::var(STORE) else { return };
    let ledger = std::env::var(LEDGER).unwrap();
    run(async {
        let store = Store::builder(address).lease_ms(LEASE_MS).open().unwrap();
        let session = loop {
            match store.session("s").unwrap().open().await {
                Ok(session) => break session,
                // A server does not see which of its clients has ended.
                Err(error) => assert_eq!(error.kind(), agent_loop::ErrorKind::Busy, "{error}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        };
        let steers: Arc<Mutex<Option<Agent>>> = Arc::default();
        let effect = |steers: &Arc<Mutex<Option<Agent>>>| {
            let (ledger, steers) = (ledger.clone(), Arc::clone(steers));
            move |_: Value, context: ToolContext| {
                let line = format!("{}\n", context.idempotency_key());
                let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&ledger).unwrap();
                file.write_all(line.as_bytes()).unwrap();
                if let Some(agent) = steers.lock().unwrap().take() {
                    agent.steer("faster").unwrap();
                }
                async { Ok::<_, String>(json!("done")) }
            }
        };
        let agent = Agent::builder("mine/model").provider(answer).session(session);
        let agent = agent.tool(tool("once", effect(&steers)));
        let agent = agent.tool(tool("again", effect(&Arc::default())).on_interrupted(OnInterrupted::Retry));
        let agent = agent.build().unwrap();
        print_line("begins", json!(agent.messages().len()));
        // The run waits for it: what is printed was emitted.
        let _printed = agent.subscribe(|event| {
            if let EventData::MessageEnd { message } = &event.data {
                print_line("message", json!(message));
            }
        });
        if agent.messages().is_empty() && agent.interrupted().is_none() {
            if !agent.has_queued_messages() {
                agent.follow_up("and then?").unwrap();
            }
            *steers.lock().unwrap() = Some(agent.clone());
            agent.prompt("go").await.unwrap();
        } else if agent.interrupted().is_some() {
            agent.resume().await.unwrap();
        }
        while let Some(more) = agent.resume_if_queued() {
            more.await.unwrap();
        }
        steers.lock().unwrap().take();
        agent.session().unwrap().close().await.unwrap();
        print_line("closed", Value::Null);
    });
}

fn print_line(word: &str, value: Value) {
    println!("\n{word} {value}");
}

/// The model: what it answers depends on the transcript alone, as another process has no other.
fn answer(call: ModelCall) {
    let is_answer = |message: &&Arc<Message>| message.as_assistant().is_some();
    let count = call.request().request.messages.iter().filter(is_answer).count();
    let calls = ANSWERS.get(count).copied().unwrap_or_default();
    for (n, name) in calls.iter().enumerate() {
        let id = format!("{count}-{n}");
        call.push(&json!({ "tool_call": { "id": id, "name": name, "arguments": { "n": n } } })).unwrap();
    }
    if calls.is_empty() {
        call.push(&json!({ "text": format!("Answer {count}.") })).unwrap();
    }
    call.push(&json!({ "end": { "stop_reason": if calls.is_empty() { "stop" } else { "tool_use" } } })).unwrap();
    call.finish();
}

/// What a process has printed.
#[derive(Debug, Default)]
struct Printed {
    /// How many messages the session had.
    begins: Option<usize>,
    messages: Vec<Value>,
    is_closed: bool,
}

impl Printed {
    fn of(output: &Output) -> Printed {
        let mut printed = Printed::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((word, value)) = line.split_once(' ') else { continue };
            let Ok(value) = serde_json::from_str::<Value>(value) else { continue };
            match (word, value) {
                ("begins", value) => printed.begins = value.as_u64().map(|count| usize::try_from(count).unwrap()),
                ("message", message) => printed.messages.push(message),
                ("closed", _) => printed.is_closed = true,
                _ => {}
            }
        }
        printed
    }
}

/// The library that kills.
struct Killer {
    _folder: TempDir,
    library: PathBuf,
}

impl Killer {
    fn new() -> Killer {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("kill_at.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rust/stores/kill_at.c");
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl").output();
        let compiled = compiled.expect("a C compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Killer { _folder: folder, library }
    }

    /// The conversation in another process, killed at this write, if there is one.
    fn run(&self, place: &Place, ledger: &Path, at: Option<(usize, &str)>) -> Printed {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kills::child", "--nocapture", "--test-threads=1"]);
        command.env(STORE, place.address()).env(LEDGER, ledger);
        if let Some((number, part)) = at {
            let folder = if place.is_server() { "socket".into() } else { place.path() };
            command.env("LD_PRELOAD", &self.library).env("AGENT_KILL_IN", folder);
            command.env("AGENT_KILL_AT", format!("{number} {part}"));
        }
        let output = command.output().unwrap();
        let printed = Printed::of(&output);
        let is_expected = printed.is_closed || (at.is_some() && output.status.code().is_none());
        assert!(is_expected, "{at:?}: {output:?}");
        printed
    }
}

/// Kills at each write; returns at how many points.
fn kill_everywhere(kind: Kind) -> usize {
    let killer = Killer::new();
    let mut points = 0;
    for part in PLACES {
        for number in 1.. {
            let place = Place::new(kind);
            let ledger = tempfile::NamedTempFile::new().unwrap();
            let killed = killer.run(&place, ledger.path(), Some((number, part)));
            let next = killer.run(&place, ledger.path(), None);
            let what = format!("{kind:?}, killed {part} write {number}");
            check(&what, &place, &killed, &next, &std::fs::read_to_string(ledger.path()).unwrap());
            if killed.is_closed {
                break;
            }
            points += 1;
        }
    }
    points
}

fn check(what: &str, place: &Place, killed: &Printed, next: &Printed, ledger: &str) {
    let messages: Vec<Value> = run(async {
        let records = place.store().session("s").unwrap().open().await.unwrap();
        let messages = records.rebuilt().messages.iter().map(|message| json!(message)).collect();
        records.close().await.unwrap();
        messages
    });
    // What was emitted is there, as it was, and at most one more.
    let emitted = killed.messages.len();
    assert_eq!(messages[..emitted], killed.messages, "{what}");
    let begins = next.begins.unwrap();
    assert!(begins == emitted || begins == emitted + 1, "{what}: {emitted} were emitted, and {begins} are there");
    assert_eq!(messages[begins..], next.messages, "{what}");
    // Each call has one result, and the conversation has come to its end.
    let text = |message: &Value| message["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert_eq!(text(messages.last().unwrap()), "Answer 3.", "{what}: {messages:?}");
    let mut results: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in messages.iter().filter(|message| message["role"] == "tool_result") {
        results.entry(message["tool_call_id"].as_str().unwrap().to_owned()).or_default().push(text(message));
    }
    let calls: Vec<(String, &str)> = (0..)
        .zip(ANSWERS)
        .flat_map(|(answer, calls)| calls.iter().enumerate().map(move |(n, name)| (format!("{answer}-{n}"), *name)))
        .collect();
    assert_eq!(results.len(), calls.len(), "{what}: {results:?}");
    for (id, name) in calls {
        let ran = ledger.lines().filter(|key| key.starts_with("s/") && key.ends_with(&format!("/{id}"))).count();
        let keys: std::collections::BTreeSet<&str> = ledger.lines().filter(|key| key.ends_with(&format!("/{id}"))).collect();
        assert!(keys.len() <= 1, "{what}: {id} has keys {keys:?}");
        let result = &results[&id];
        assert_eq!(result.len(), 1, "{what}: {id} has results {result:?}");
        match (name, ran) {
            ("once", 0) => assert!(result[0].contains("is not known"), "{what}: {id}: {result:?}"),
            ("once", 1) => assert!(result[0] == "done" || result[0].contains("is not known"), "{what}: {id}: {result:?}"),
            ("again", 1 | 2) => assert_eq!(result[0], "done", "{what}: {id}"),
            _ => panic!("{what}: {name} {id} ran {ran} times"),
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_conversation_outlives_a_kill_at_each_write_of_files() {
    println!("jsonl: killed at {} points", kill_everywhere(Kind::Jsonl));
}

#[cfg(target_os = "linux")]
#[test]
fn a_conversation_outlives_a_kill_at_each_write_of_sqlite() {
    println!("sqlite: killed at {} points", kill_everywhere(Kind::Sqlite));
}

#[cfg(all(target_os = "linux", feature = "postgres"))]
#[test]
#[ignore = "make test-servers starts the server"]
fn a_conversation_outlives_a_kill_at_each_write_to_postgres() {
    println!("postgres: killed at {} points", kill_everywhere(Kind::Postgres));
}
