//! The journal of a scenario that is played with a session, and what a process that opens it finds, wherever the one before has
//! ended.

use std::sync::Arc;

use agent_loop_proto::conversation::{ActiveRun, Conversation};
use agent_loop_proto::delta::{BlockStart, Delta};
use agent_loop_proto::error::Error;
use agent_loop_proto::hook::HookAnswer;
use agent_loop_proto::machine::{Action, Config, Input, Loop, ModelEntry, Start, Tools};
use agent_loop_proto::message::Message;
use agent_loop_proto::result::RunResult;
use agent_loop_proto::session::{CallProgress, Fold, JournalRecord, Rebuilt, SessionStart, WaitingMessage};
use agent_loop_proto::suspension::Decision;
use agent_loop_proto::testing::check_events;
use agent_loop_proto::tool::OnInterrupted;
use agent_loop_proto::usage::{Outcome, StopReason};
use serde_json::{Value, json};

/// The session's id; scenarios name their runs so, with which idempotency keys begin elsewhere.
pub(crate) const ID: &str = "run";

/// A record, and what was emitted when it was asked for.
pub(crate) struct Written {
    record: JournalRecord,
    emitted: Vec<Arc<Message>>,
    /// Whether it is of a change between runs.
    is_change: bool,
}

/// A journal in memory.
#[derive(Default)]
pub(crate) struct Journal(Vec<Written>);

impl Journal {
    /// That of a new session.
    pub(crate) fn new() -> Journal {
        let mut journal = Journal::default();
        journal.write(vec![JournalRecord::Session(SessionStart::new(ID, 0))], &[], true);
        journal
    }

    pub(crate) fn write(&mut self, records: Vec<JournalRecord>, emitted: &[Arc<Message>], is_change: bool) {
        // As a store has them.
        let stored = |record: &JournalRecord| serde_json::from_value(json!(record)).expect("a record");
        let written = |record| Written { record: stored(&record), emitted: emitted.to_vec(), is_change };
        self.0.extend(records.into_iter().map(written));
    }

    fn first(&self, count: usize) -> Journal {
        let copy = |written: &Written| Written { record: written.record.clone(), emitted: Vec::new(), is_change: true };
        Journal(self.0.iter().take(count).map(copy).collect())
    }

    fn rebuilt(&self) -> Rebuilt {
        let mut fold = Fold::new();
        self.0.iter().for_each(|written| fold.push(written.record.clone()));
        fold.finish()
    }

    /// The journal gives the conversation between two runs.
    pub(crate) fn check<R: ActiveRun>(&self, conversation: &mut Conversation<R>) -> Result<(), String> {
        let rebuilt = self.rebuilt();
        same("the transcript", json!(rebuilt.messages), json!(conversation.messages()))?;
        same("what waits for a decision", json!(rebuilt.suspended), json!(conversation.suspended()))?;
        let export = json!(conversation.export().map_err(|error| error.to_string())?);
        let texts = |waiting: &[WaitingMessage]| json!(waiting.iter().map(|waiting| &waiting.message).collect::<Vec<_>>());
        same("steering", texts(&rebuilt.steering), export["steering"].clone())?;
        same("follow-ups", texts(&rebuilt.follow_up), export["follow_up"].clone())
    }

    /// A process that ends before any record leaves a session that can be opened: with all messages that were emitted, and at
    /// most one more; it goes on, and tools do not run twice.
    pub(crate) fn check_each_end(&self, tools: &Tools) -> Result<usize, String> {
        for count in 1..=self.0.len() {
            let rebuilt = self.first(count).rebuilt();
            if let Some(next) = self.0.get(count).filter(|next| !next.is_change) {
                let more = rebuilt.messages.len().checked_sub(next.emitted.len());
                let known = rebuilt.messages.get(..next.emitted.len()).unwrap_or_default();
                same(&format!("what was emitted before record {}", count + 1), json!(known), json!(next.emitted))?;
                if more.is_none_or(|more| more > 1) {
                    return Err(format!("{more:?} more messages than were emitted, before record {}", count + 1));
                }
            }
            let gone_on = self.first(count).go_on(rebuilt, tools);
            gone_on.map_err(|why| format!("a process that ended before record {}: {why}", count + 1))?;
        }
        Ok(self.0.len())
    }

    /// Goes on as the next process does.
    fn go_on(mut self, rebuilt: Rebuilt, tools: &Tools) -> Result<(), String> {
        let mut conversation: Conversation<Loop> = Conversation::of_session(ID, &rebuilt);
        self.check(&mut conversation)?;
        let error_text = |error: Error| error.to_string();
        let model = ModelEntry::new(0, "next", "next", "process");
        let config = || {
            let mut config = Config::new("next/process", Ok(model.clone()));
            config.tools = tools.clone();
            config
        };
        let interrupted = conversation.interrupted();
        let waiting: Vec<String> = rebuilt.suspended.iter().map(|call| call.call.tool_call_id.to_string()).collect();
        let start = match (&interrupted, waiting.is_empty()) {
            (_, false) => Start::decided("next", 0, waiting.into_iter().map(|id| (id, Decision::Approve)).collect()),
            (Some(_), true) => Start::resume("next", 0),
            (None, true) => Start::new("next", 0, vec![Message::user("And now?", 0)]),
        };
        conversation.begin(config(), start, |run| run).map_err(error_text)?;
        if conversation.interrupted().is_some() {
            return Err("it is interrupted still".to_owned());
        }
        let (result, called) = self.drive(&mut conversation)?;
        for id in &called {
            let Some(left) = rebuilt.open_calls.iter().find(|call| *call.tool_call_id == **id) else { continue };
            let retries = tools.get(&left.tool_name).is_some_and(|tool| tool.on_interrupted() == OnInterrupted::Retry);
            if !(left.progress == CallProgress::Waiting || (left.progress == CallProgress::Started && retries)) {
                return Err(format!("the call {id} runs again, after {:?}", left.progress));
            }
        }
        match result.outcome {
            Outcome::Aborted | Outcome::Error => Err(format!("the run ends so: {result:?}")),
            _ => self.check(&mut conversation),
        }
    }

    /// Drives a run: the model says that it is done, and tools answer at once. Gives the ids of the calls that were executed.
    fn drive(&mut self, conversation: &mut Conversation<Loop>) -> Result<(RunResult, Vec<String>), String> {
        let (mut events, mut called, mut now_ms, mut timer) = (Vec::<Value>::new(), Vec::new(), 0, None);
        loop {
            let Some(action) = conversation.poll(now_ms) else {
                now_ms = Option::take(&mut timer).ok_or("nothing can happen any more")?;
                continue;
            };
            match action {
                Action::Emit(event) => events.push(json!(event)),
                Action::Record(records) => self.write(records, &[], false),
                Action::CallModel(asked) => {
                    let deltas = vec![
                        Delta::Start { key: 0, block: BlockStart::Text },
                        Delta::Append { key: 0, text: "Done.".to_owned() },
                        Delta::Stop { reason: StopReason::Stop, raw: None },
                    ];
                    conversation.handle(Input::ModelDeltas { call: asked.call, deltas });
                    conversation.handle(Input::ModelEnd { call: asked.call, result: Ok(()) });
                }
                Action::CallTool { call, id, .. } => {
                    called.push(id.to_string());
                    conversation.handle(Input::ToolDone { call, result: Ok("ran in the next process".into()) });
                }
                Action::AskHook { question_id, .. } => {
                    let answer = Ok(Box::new(HookAnswer::NeedsApproval(None)));
                    conversation.handle(Input::HookAnswer { question_id, answer });
                }
                Action::SetTimer(set) => timer = set.map(|timer| timer.at_ms),
                Action::Done(result) => {
                    self.write(conversation.take_records(), &[], true);
                    check_events(&events).map_err(|error| error.to_string())?;
                    return Ok((*result, called));
                }
                _ => {}
            }
        }
    }
}

fn same(what: &str, found: Value, expected: Value) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: the journal gives {found}, expected {expected}")) }
}
