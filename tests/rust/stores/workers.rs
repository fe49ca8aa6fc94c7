//! Two workers share fifty sessions of one store, with nothing between them but leases. One is killed again and again, and
//! begun anew. At the end, all sessions have come to their end, no call has run after its result was recorded, and each message
//! that was emitted is in its session, as it was.

#[path = "workers/worker.rs"]
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

use agent_loop::session::{JournalRecord, Store};
use serde_json::{Value, json};

use self::worker::{AT_A_TIME, Line, read_log};
use crate::place::{Kind, Place, run};

const SESSIONS: usize = 50;
const STORE: &str = "AGENT_LOOP_TEST_WORKER_STORE";
const LOG: &str = "AGENT_LOOP_TEST_WORKER_LOG";
const FINISH: &str = "AGENT_LOOP_TEST_WORKER_FINISH";

/// The id of a session.
fn id(number: usize) -> String {
    format!("s{number}")
}

/// Where workers begin at the same time, and there is no store yet.
#[test]
fn a_new_file_is_made_by_many_at_once() {
    for _ in 0..100 {
        let place = Place::new(Kind::Sqlite);
        let all_are_there = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    all_are_there.wait();
                    drop(place.store());
                });
            }
        });
    }
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "make test-servers starts the server"]
fn workers_that_are_killed_lose_and_repeat_nothing_in_postgres() {
    share(Kind::Postgres, 60, Duration::from_secs(1));
}

#[test]
fn workers_that_are_killed_lose_and_repeat_nothing_in_sqlite() {
    share(Kind::Sqlite, 12, Duration::from_millis(400));
}

#[test]
fn workers_that_are_killed_lose_and_repeat_nothing_in_files() {
    share(Kind::Jsonl, 12, Duration::from_millis(400));
}

/// Where the workers are and what they write.
struct Workshop {
    place: Place,
    folder: tempfile::TempDir,
    started: usize,
}

impl Workshop {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&mut self) -> Worker {
        self.started += 1;
        let number = self.started;
        let log = self.path(&format!("{number}.log"));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "workers::worker::worker", "--nocapture", "--test-threads=1"]);
        command.env(STORE, self.place.address()).env(LOG, &log).env(FINISH, self.path("finish"));
        let errors = File::create(self.path(&format!("{number}.errors"))).unwrap();
        Worker { process: command.stdout(Stdio::null()).stderr(errors).spawn().unwrap(), log }
    }

    /// Waits until a worker has done something, and then for so long.
    fn let_work(&self, worker: &mut Worker, then: Duration) {
        let check = |worker: &mut Worker| {
            let ended = worker.process.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", self.errors());
        };
        while read_log(&worker.log).is_empty() {
            check(worker);
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(then);
        check(worker);
    }

    /// What workers have printed that ended by themselves too early, or with an error.
    fn errors(&self) -> String {
        let text = |number| std::fs::read_to_string(self.path(&format!("{number}.errors"))).unwrap_or_default();
        (1..=self.started).map(text).collect()
    }
}

/// A process, and what it logs.
struct Worker {
    process: Child,
    log: PathBuf,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Also of a test that fails: it would wait for the end for ever.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn share(kind: Kind, kills: usize, every: Duration) {
    let mut workshop = Workshop { place: Place::new(kind), folder: tempfile::tempdir().unwrap(), started: 0 };
    let mut workers = [workshop.start(), workshop.start()];
    for kill in 0..kills {
        let worker = &mut workers[kill % 2];
        workshop.let_work(worker, every);
        worker.process.kill().unwrap();
        worker.process.wait().unwrap();
        *worker = workshop.start();
    }
    std::fs::write(workshop.path("finish"), "").unwrap();
    for mut worker in workers {
        assert!(worker.process.wait().unwrap().success(), "{}", workshop.errors());
    }
    let lines: Vec<Line> = (1..=workshop.started).flat_map(|number| read_log(&workshop.path(&format!("{number}.log")))).collect();
    let store = workshop.place.store();
    let sessions: Vec<Conversation> = run(async {
        let mut sessions = Vec::new();
        for number in 0..SESSIONS {
            sessions.push(Conversation::of(&store, &id(number)).await);
        }
        sessions
    });
    let unseen = check_messages(&lines, &sessions);
    // Each kill may come between a record and its event, once in each session that the worker has open.
    assert!(unseen <= kills * AT_A_TIME, "{unseen} messages were never emitted");
    let ran = check_calls(&lines, &sessions);
    let count = |is: fn(&Line) -> bool| lines.iter().filter(|line| is(line)).count();
    let resumed = count(|line| matches!(line, Line::Resumed { .. }));
    assert!(resumed > 0, "nothing was interrupted");
    println!(
        "{kind:?}: {kills} kills, {SESSIONS} sessions, {resumed} interrupted runs resumed, {} messages ({unseen} of them written \
         and not emitted), {} calls executed {ran} times, {} leases lost",
        sessions.iter().map(|session| session.messages.len()).sum::<usize>(),
        sessions.iter().map(|session| session.calls.len()).sum::<usize>(),
        count(|line| matches!(line, Line::Lost { .. })),
    );
}

/// A session at the end.
struct Conversation {
    id: String,
    messages: Vec<Value>,
    /// Each call that was to be executed, by its key.
    calls: BTreeMap<String, Call>,
}

#[derive(Default)]
struct Call {
    id: String,
    tool: String,
    /// The number of the record that has its answer.
    answered_at: Option<u64>,
}

impl Conversation {
    /// It can be opened at once: the workers have closed it.
    async fn of(store: &Store, id: &str) -> Conversation {
        let open = store.session(id).unwrap().open().await.unwrap();
        let messages: Vec<Value> = open.rebuilt().messages.iter().map(|message| json!(message)).collect();
        open.close().await.unwrap();
        let (mut calls, mut keys) = (BTreeMap::new(), BTreeMap::new());
        for entry in store.session(id).unwrap().records(0, usize::MAX).await.unwrap() {
            match entry.record {
                JournalRecord::ToolStart(start) => {
                    let (key, call_id) = (start.idempotency_key.to_string(), start.tool_call_id.to_string());
                    let before = keys.insert(call_id.clone(), key.clone());
                    assert!(before.is_none_or(|before| before == key), "{id}: a call has one key, and {call_id} has others");
                    let call = Call { id: call_id, tool: start.tool_name.to_string(), answered_at: None };
                    calls.entry(key).or_insert(call);
                }
                JournalRecord::ToolAnswer(answer) => {
                    // What stands for the answer of one that was not executed is a record, too.
                    if let Some(key) = keys.get(&*answer.tool_call_id) {
                        let call: &mut Call = calls.get_mut(key).unwrap();
                        assert!(call.answered_at.replace(entry.seq).is_none(), "{id}: {} was answered twice", call.id);
                    }
                }
                _ => {}
            }
        }
        let conversation = Conversation { id: id.to_owned(), messages, calls };
        conversation.check_end();
        conversation
    }

    fn check_end(&self) {
        let id = &self.id;
        let last = self.messages.last().unwrap();
        assert!(last["role"] == "assistant" && last["stop_reason"] == "stop", "{id}: {last}");
        let prompts = self.messages.iter().filter(|message| message["content"][0]["text"] == "That is all.").count();
        assert_eq!(prompts, 1, "{id}: its last prompt stands there once");
        // Each call of the model has one result.
        let calls = |message: &Value| message["content"].as_array().unwrap().clone().into_iter();
        let calls = self.messages.iter().filter(|message| message["role"] == "assistant").flat_map(calls);
        let asked: Vec<String> = calls.filter(|block| block["type"] == "tool_call").map(|block| text(&block["id"])).collect();
        let results = self.messages.iter().filter(|message| message["role"] == "tool_result");
        let mut answered: Vec<String> = results.map(|result| text(&result["tool_call_id"])).collect();
        let mut asked_sorted = asked;
        asked_sorted.sort();
        answered.sort();
        assert_eq!(asked_sorted, answered, "{id}");
    }

    fn result_of(&self, call: &Call) -> String {
        let is_result = |message: &&Value| message["role"] == "tool_result" && message["tool_call_id"] == *call.id;
        text(&self.messages.iter().find(is_result).unwrap()["content"][0]["text"])
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Each emitted message is in its session, at its place and as it was, and was emitted once. Returns how many never were.
fn check_messages(lines: &[Line], sessions: &[Conversation]) -> usize {
    let sessions: BTreeMap<&str, &Conversation> = sessions.iter().map(|session| (&*session.id, session)).collect();
    let mut seen = BTreeSet::new();
    for line in lines {
        if let Line::Emitted { session, index, message } = line {
            assert_eq!(sessions[&**session].messages.get(*index), Some(message), "{session}: message {index}");
            assert!(seen.insert((session, index)), "{session}: message {index} was emitted twice");
        }
    }
    sessions.values().map(|session| session.messages.len()).sum::<usize>() - seen.len()
}

/// No call has run after its result was recorded, and twice only if its tool asks for that. Returns how often one has run.
fn check_calls(lines: &[Line], sessions: &[Conversation]) -> usize {
    let mut effects: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let calls: BTreeMap<&str, &Call> =
        sessions.iter().flat_map(|session| &session.calls).map(|(key, call)| (&**key, call)).collect();
    for line in lines {
        if let Line::Effect { key, tool, opened_at } = line {
            let call = calls.get(&**key).unwrap_or_else(|| panic!("{key} was executed, and its start is not recorded"));
            assert_eq!(call.tool, *tool, "{key}");
            assert!(call.answered_at.is_none_or(|at| *opened_at < at), "{key} was executed after record {:?}", call.answered_at);
            effects.entry(key).or_default().push(*opened_at);
        }
    }
    for session in sessions {
        for (key, call) in &session.calls {
            let ran = effects.get(&**key).cloned().unwrap_or_default();
            let by_process: BTreeSet<&u64> = ran.iter().collect();
            assert_eq!(by_process.len(), ran.len(), "{key} was executed twice by one process");
            let result = session.result_of(call);
            match (&*call.tool, ran.len(), &*result) {
                ("once", 1, "done") | ("again", 1.., "done") => {}
                ("once", 0 | 1, unknown) if unknown.contains("is not known") => {}
                (name, ran, result) => panic!("{key}: {name} was executed {ran} times, and its result is {result:?}"),
            }
        }
    }
    effects.values().map(Vec::len).sum()
}
