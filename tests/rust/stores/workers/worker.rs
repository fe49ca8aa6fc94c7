//! A worker: a process that opens whichever session is free, goes on with what was interrupted there, and prompts it.
//!
//! It logs what it has done, a line for each thing: the effect of a tool, an emitted message, a session that it has resumed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_loop::model::ModelCall;
use agent_loop::session::Store;
use agent_loop::tool::OnInterrupted;
use agent_loop::{Agent, ErrorKind, EventData, FnTool, Message, ToolContext};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{FINISH, LOG, SESSIONS, STORE, id};
use crate::place::run;
use crate::support::tool;

/// How many sessions a worker has open at a time.
pub(super) const AT_A_TIME: usize = 10;
/// How long a killed worker keeps its sessions in a store that does not see that it has ended.
const LEASE_MS: u64 = 1_000;
/// How long each half of an answer takes, and a tool.
const ANSWER: Duration = Duration::from_millis(60);
const TOOL: Duration = Duration::from_millis(100);
/// What a session is prompted with last.
const LAST: &str = "That is all.";

/// The calls of the answers to a prompt; a text follows.
const CALLS: [&[&str]; 2] = [&["once", "again", "once"], &["once"]];

/// A line of a worker's log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// A tool was executed, by who has found so many records when it opened the session.
    Effect { key: String, tool: String, opened_at: u64 },
    /// A message was emitted, as this one of the transcript.
    Emitted { session: String, index: usize, message: Value },
    /// A run was interrupted, and is gone on with.
    Resumed { session: String },
    /// The lease was lost to the other worker, as this process was too slow.
    Lost { session: String },
}

struct Log(Mutex<File>);

impl Log {
    fn write(&self, line: &Line) {
        let text = format!("{}\n", json!(line));
        self.0.lock().unwrap().write_all(text.as_bytes()).unwrap();
    }
}

struct Worker {
    store: Store,
    log: Arc<Log>,
    /// There is such a file when no more is to be prompted.
    finish: PathBuf,
    next: AtomicUsize,
    ended: Mutex<BTreeSet<usize>>,
}

/// Run by [`super::start`] in another process.
#[test]
fn worker() {
    let (Ok(address), Ok(log), Ok(finish)) = (std::env::var(STORE), std::env::var(LOG), std::env::var(FINISH)) else { return };
    run(async {
        let store = Store::builder(address).lease_ms(LEASE_MS).open().unwrap();
        let log = Arc::new(Log(Mutex::new(File::create(log).unwrap())));
        // Not where the other one begins.
        let next = AtomicUsize::new(usize::try_from(std::process::id()).unwrap() % SESSIONS);
        let worker = Arc::new(Worker { store, log, finish: finish.into(), next, ended: Mutex::default() });
        let tasks: Vec<_> = (0..AT_A_TIME).map(|_| tokio::spawn(Arc::clone(&worker).work())).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

impl Worker {
    async fn work(self: Arc<Worker>) {
        while self.ended.lock().unwrap().len() < SESSIONS {
            let session = self.next.fetch_add(1, Ordering::Relaxed) % SESSIONS;
            if self.ended.lock().unwrap().contains(&session) {
                continue;
            }
            match self.go_on(&id(session)).await {
                Ok(true) => drop(self.ended.lock().unwrap().insert(session)),
                Ok(false) => {}
                // Another one has it.
                Err(error) if error.kind() == ErrorKind::Busy => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => panic!("{}: {error}", id(session)),
            }
        }
    }

    /// Opens a session, goes on with it, and prompts it; returns whether it has come to its end.
    async fn go_on(&self, id: &str) -> Result<bool, agent_loop::Error> {
        let session = self.store.session(id)?.open().await?;
        let agent = Agent::builder("mine/model").provider(answer);
        let agent = agent.tool(self.tool("once", session.last()));
        let agent = agent.tool(self.tool("again", session.last()).on_interrupted(OnInterrupted::Retry));
        let agent = agent.session(session).build()?;
        let (log, session, index) = (Arc::clone(&self.log), id.to_owned(), AtomicUsize::new(agent.messages().len()));
        // The run waits for it: what is logged was emitted, and what is emitted is logged before anything follows.
        let _logged = agent.subscribe(move |event| {
            if let EventData::MessageEnd { message } = &event.data {
                let index = index.fetch_add(1, Ordering::Relaxed);
                log.write(&Line::Emitted { session: session.clone(), index, message: json!(message) });
            }
        });
        let done = self.runs(&agent).await;
        if let Err(error) = &done {
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
            self.log.write(&Line::Lost { session: id.to_owned() });
        } else {
            agent.session().unwrap().close().await?;
        }
        done
    }

    async fn runs(&self, agent: &Agent) -> Result<bool, agent_loop::Error> {
        if let Some(_interrupted) = agent.interrupted() {
            self.log.write(&Line::Resumed { session: agent.session().unwrap().id().to_owned() });
            agent.resume().await?;
        }
        while let Some(more) = agent.resume_if_queued() {
            more.await?;
        }
        let is_last = |message: &Arc<Message>| message.role() == "user" && message.text() == LAST;
        if agent.messages().iter().any(is_last) {
            return Ok(true);
        }
        if self.finish.exists() {
            agent.prompt(LAST).await?;
            return Ok(true);
        }
        agent.follow_up("And then?")?;
        agent.prompt("Go on.").await?;
        Ok(false)
    }

    fn tool(&self, name: &'static str, opened_at: u64) -> FnTool {
        let log = Arc::clone(&self.log);
        tool(name, move |_: Value, context: ToolContext| {
            log.write(&Line::Effect { key: context.idempotency_key().to_owned(), tool: name.to_owned(), opened_at });
            async {
                tokio::time::sleep(TOOL).await;
                Ok::<_, String>(json!("done"))
            }
        })
    }
}

/// The model: what it answers depends on the transcript alone, as the next process has no other.
fn answer(call: ModelCall) {
    drop(tokio::spawn(async move {
        let messages = call.request().request.messages.clone();
        let is_answer = |message: &&Arc<Message>| message.as_assistant().is_some();
        let count = messages.iter().filter(is_answer).count();
        let since = messages.iter().rev().take_while(|message| message.role() != "user").filter(is_answer).count();
        let calls = CALLS.get(since).copied().unwrap_or_default();
        tokio::time::sleep(ANSWER).await;
        call.push(&json!({ "text": format!("Answer {count}.") })).unwrap();
        tokio::time::sleep(ANSWER).await;
        for (n, name) in calls.iter().enumerate() {
            let id = format!("{count}-{n}");
            call.push(&json!({ "tool_call": { "id": id, "name": name, "arguments": { "n": n } } })).unwrap();
        }
        call.push(&json!({ "end": { "stop_reason": if calls.is_empty() { "stop" } else { "tool_use" } } })).unwrap();
        call.finish();
    }));
}

/// The lines of a log. The last one is left out if its process was killed while it wrote it.
pub(super) fn read_log(path: &Path) -> Vec<Line> {
    // One that was killed at its beginning has none.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}
