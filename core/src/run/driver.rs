//! Drives one run: does what the machine says. Asking the model is in `answer`, running tools in `batch`, telling what happens
//! in `telling`.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;

use super::machine::{Fact, Machine, Step};
use super::{RunShared, aborted};
use crate::agent::Agent;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, panic_message};
use crate::event::{Event, EventData};
use crate::message::Message;
use crate::result::RunResult;
use crate::scope::Scope;
use crate::settings::Settings;
use crate::tool::{Replies, Reply, ToolSet, catch_panic};
use crate::usage::{Outcome, StopReason};

/// One run at work.
pub(crate) struct Driver {
    pub(super) agent: Agent,
    pub(super) run: Arc<RunShared>,
    pub(super) clock: Clock,
    pub(super) scope: Scope,
    pub(super) replies: (Replies, mpsc::UnboundedReceiver<(usize, Reply)>),
    /// The tools and settings of this turn: what the model was offered is what it can call.
    pub(super) offered: (ToolSet, Settings),
    /// The calls the run has launched, by the numbers of their replies: id and tool.
    pub(super) calls: Vec<(Arc<str>, Arc<str>)>,
    pub(super) turn: u32,
    pub(super) seq: u64,
    /// Events on their way to the queue.
    pub(super) outbox: Vec<Event>,
    /// The messages this run added.
    pub(super) added: Vec<Arc<Message>>,
    ended: bool,
}

impl Driver {
    pub(crate) fn new(agent: Agent, run: Arc<RunShared>, clock: Clock) -> Driver {
        let scope = agent.scope();
        let replies = mpsc::unbounded_channel();
        let (outbox, added) = (Vec::new(), Vec::new());
        let offered = agent.tools_and_settings();
        let calls = Vec::new();
        Driver { agent, run, clock, scope, replies, offered, calls, turn: 0, seq: 0, outbox, added, ended: false }
    }

    /// The run from `agent_start` to `agent_end`. A panic in here is a bug of ours; the run still ends.
    pub(crate) async fn drive(mut self, prompts: Vec<Message>) {
        let clock = self.clock.clone();
        let course = catch_panic(clock.working(Box::pin(self.course(prompts)))).await;
        let (outcome, error, turns) = match course {
            Ok(end) => end,
            Err(payload) => {
                let text = format!("the engine panicked: {}; please report this", panic_message(&*payload));
                (Outcome::Error, Some(Error::new(ErrorKind::Panic, text)), self.turn)
            }
        };
        let result = RunResult::new(outcome, std::mem::take(&mut self.added), turns, error);
        let clock = self.clock.clone();
        if catch_panic(clock.working(self.tell(agent_end(&result), None))).await.is_err() {
            tracing::error!("a panic while telling the end of a run");
        }
        self.finish(result);
    }

    /// Idle before the reader sees the end, so that its next prompt finds the agent free.
    fn finish(&mut self, result: RunResult) {
        self.ended = true;
        self.agent.run_ended(&self.run, result, &mut self.outbox);
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.run.abort.is_cancelled()
    }

    async fn course(&mut self, prompts: Vec<Message>) -> (Outcome, Option<Error>, u32) {
        self.emit(EventData::AgentStart).await;
        let mut machine = Machine::new();
        let mut input = prompts;
        let mut answer: Option<Arc<Message>> = None;
        let mut tool_results = Vec::new();
        loop {
            let fact = match machine.next() {
                Step::BeginTurn => {
                    self.turn += 1;
                    self.emit(EventData::TurnStart).await;
                    for message in input.drain(..) {
                        self.show_message(Arc::new(message)).await;
                    }
                    Fact::TurnBegun
                }
                Step::CallModel => {
                    let message = self.call_model().await;
                    let assistant = message.as_assistant();
                    let stop_reason = assistant.and_then(|m| m.stop_reason).unwrap_or(StopReason::Stop);
                    let calls = assistant.map_or(0, |m| m.tool_calls().count());
                    answer = Some(message);
                    Fact::Answered { stop_reason, calls }
                }
                Step::CallTools { execute } => {
                    let calls = answer.iter().filter_map(|m| m.as_assistant()).flat_map(|m| m.tool_calls().cloned()).collect();
                    let (results, terminate) = self.call_tools(calls, execute).await;
                    tool_results = results;
                    Fact::ToolsAnswered { terminate }
                }
                Step::EndTurn => {
                    self.late_replies().await;
                    if let Some(message) = answer.clone() {
                        let tool_results = std::mem::take(&mut tool_results);
                        self.emit(EventData::TurnEnd { message, tool_results }).await;
                    }
                    let (_, settings) = self.agent.tools_and_settings();
                    Fact::TurnEnded { aborted: self.is_aborted(), max_turns: settings.max_turns }
                }
                Step::Finish(outcome) => {
                    let error = match outcome {
                        Outcome::Aborted => Some(aborted()),
                        Outcome::Error => answer.as_ref().and_then(|m| m.as_assistant()).and_then(|m| m.error.clone()),
                        Outcome::Completed | Outcome::Stopped | Outcome::MaxTurns => None,
                    };
                    return (outcome, error, machine.turns());
                }
            };
            machine.tell(fact);
        }
    }

    /// Shows a message that is whole from the start, and appends it.
    pub(super) async fn show_message(&mut self, message: Arc<Message>) {
        self.emit(EventData::MessageStart { message: Arc::clone(&message) }).await;
        self.emit(EventData::MessageEnd { message }).await;
    }

    /// What tools said after their end is dropped, with a word.
    async fn late_replies(&mut self) {
        while let Ok((number, reply)) = self.replies.1.try_recv() {
            self.late_reply(number, &reply).await;
        }
    }

    pub(super) async fn late_reply(&mut self, number: usize, reply: &Reply) {
        if let Reply::Update(_) = reply {
            let (id, name) = self.calls.get(number).cloned().unwrap_or_default();
            let message = format!("the tool {name} sent an update after the end of its call {id}; it was dropped");
            let data = Box::new(json!({ "tool_call_id": &*id, "tool_name": &*name }));
            self.emit(EventData::Diagnostic { code: "late_update", message, data }).await;
        }
    }
}

impl Drop for Driver {
    /// The runtime went away under an unfinished run: it ends all the same, so that nobody waits for it for ever.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let error = Error::new(ErrorKind::Aborted, "the runtime was shut down before the run had ended");
        let result = RunResult::new(Outcome::Aborted, std::mem::take(&mut self.added), self.turn, Some(error));
        // The thread may not be one that listeners can be called on; the reader gets the event.
        let end = self.next_event(agent_end(&result), None);
        if self.run.queue.is_some() {
            self.outbox.push(end);
        }
        self.finish(result);
    }
}

fn agent_end(result: &RunResult) -> EventData {
    EventData::AgentEnd {
        messages: result.messages.clone(),
        outcome: result.outcome,
        error: result.error.clone(),
        turns: result.turns,
        usage: Box::new(result.usage.clone()),
    }
}
