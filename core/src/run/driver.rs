//! Drives one run: does what the machine says. Asking the model is in `answer`, running tools in `batch`, asking hooks and queues
//! in `hooks`, telling what happens in `telling`.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;

use super::hooks::Unanswered;
use super::machine::{Fact, Machine, Step};
use super::{Interruption, RunShared};
use crate::agent::{Agent, Offered, Other};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, SHUT_DOWN, panic_message};
use crate::event::{Event, EventData};
use crate::hook::{HookKind, RunTask, TurnSummary};
use crate::message::Message;
use crate::model::{BoxFuture, ThinkingLevel};
use crate::queues::{Queue, Queues};
use crate::result::RunResult;
use crate::scope::Scope;
use crate::tool::{Replies, Reply, catch_panic};
use crate::transcript::Repair;
use crate::usage::{Outcome, StopReason};

/// What a run begins with.
pub(crate) struct Beginning {
    /// Of `prompt`; of `resume` none.
    pub(crate) prompts: Vec<Message>,
    /// Of a `resume` that takes up queued messages, those, by their numbers in the queue.
    pub(crate) queued: Vec<(u64, Arc<Message>)>,
}

/// What the first turn begins with.
struct Input {
    prompts: Vec<Arc<Message>>,
    /// `None` once that turn has begun.
    queued: Option<Vec<(u64, Arc<Message>)>>,
}

/// What `prepare_next_turn` has changed for the rest of the run.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) system_prompt: Option<String>,
    /// The messages the model sees; those that the run adds are appended.
    pub(super) messages: Option<Vec<Arc<Message>>>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) model: Option<Other>,
    pub(super) thinking_level: Option<ThinkingLevel>,
}

/// One run at work.
pub(crate) struct Driver {
    pub(super) agent: Agent,
    pub(super) run: Arc<RunShared>,
    pub(super) clock: Clock,
    pub(super) scope: Scope,
    pub(super) replies: (Replies, mpsc::UnboundedReceiver<(usize, Reply)>),
    /// The tools, settings and hooks of this turn: what the model was offered is what it can call.
    pub(super) offered: Offered,
    pub(super) changes: Changes,
    /// The calls the run has launched, by the numbers of their replies: id and tool.
    pub(super) calls: Vec<(Arc<str>, Arc<str>)>,
    pub(super) turn: u32,
    pub(super) seq: u64,
    /// Events on their way to the queue.
    pub(super) outbox: Vec<Event>,
    /// The messages this run added.
    pub(super) added: Vec<Arc<Message>>,
    /// A failure before the model was asked, which becomes its message's.
    pub(super) before_call: Option<Error>,
    /// A failure that ends the run after the turn.
    pub(super) failure: Option<Error>,
    /// Whether a poll among the turn's tool calls found steering.
    pub(super) steered: bool,
    /// What was repaired for the model, as far as it was told.
    pub(super) repaired: Vec<Repair>,
    /// The options that were told to be ignored: model and option.
    pub(super) ignored: Vec<(String, &'static str)>,
    ended: bool,
}

impl Driver {
    /// Boxed: the task that runs it would hold it more than once.
    pub(crate) fn new(agent: Agent, run: Arc<RunShared>, clock: Clock) -> Box<Driver> {
        let scope = agent.scope();
        let offered = agent.offered();
        Box::new(Driver {
            agent,
            run,
            clock,
            scope,
            replies: mpsc::unbounded_channel(),
            offered,
            changes: Changes::default(),
            calls: Vec::new(),
            turn: 0,
            seq: 0,
            outbox: Vec::new(),
            added: Vec::new(),
            before_call: None,
            failure: None,
            steered: false,
            repaired: Vec::new(),
            ignored: Vec::new(),
            ended: false,
        })
    }

    /// The run from `agent_start` to `agent_end`. A panic in here is a bug of ours; the run still ends.
    pub(crate) async fn drive(mut self: Box<Self>, beginning: Beginning) {
        let clock = self.clock.clone();
        let (run, limit_ms) = (Arc::clone(&self.run), self.offered.settings.limits.run_timeout_ms);
        // Boxed, as what wraps it holds it more than once.
        let mut course: BoxFuture<'_, _> = Box::pin(self.course(beginning));
        if limit_ms > 0 {
            course = Box::pin(limited(run, clock.clone(), limit_ms, course));
        }
        let course = catch_panic(clock.working(course)).await;
        let (outcome, error, turns) = match course {
            Ok(end) => end,
            Err(payload) => {
                let text = format!("the engine panicked: {}; please report this", panic_message(&*payload));
                (Outcome::Error, Some(Error::new(ErrorKind::Panic, text)), self.turn)
            }
        };
        let mut result = RunResult::new(outcome, std::mem::take(&mut self.added), turns, error);
        let clock = self.clock.clone();
        let end = Box::pin(async {
            self.tell(agent_end(&result), None).await;
            result.undelivered = self.agent.undelivered();
            // A hook may look at the events a reader has seen, but it holds up the end of the stream.
            self.tell_end(&result).await;
        });
        if catch_panic(clock.working(end)).await.is_err() {
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

    /// How the run ends if it was aborted, or something failed that is not the model's message.
    fn broken(&self) -> Option<Fact> {
        match (self.run.interruption(), &self.failure) {
            (Some(Interruption { outcome, .. }), _) => Some(Fact::Broken(outcome)),
            (None, Some(_)) => Some(Fact::Broken(Outcome::Error)),
            (None, None) => None,
        }
    }

    async fn course(&mut self, beginning: Beginning) -> (Outcome, Option<Error>, u32) {
        let Beginning { prompts, queued } = beginning;
        let mut machine = Machine::new(queued.is_empty());
        let mut input = Input { prompts: prompts.into_iter().map(Arc::new).collect(), queued: Some(queued) };
        Box::pin(self.begin(&input.prompts)).await;
        // The turn's message, and then its results.
        let mut summary: Option<TurnSummary> = None;
        loop {
            // Boxed, but for what lives as long as an answer comes in: a run should be no larger than that.
            let fact = match machine.next() {
                Step::BeginTurn => Box::pin(self.begin_turn(&mut input, machine.has_work())).await,
                Step::PollFirst => Box::pin(self.poll_first()).await,
                Step::CallModel => {
                    let message = self.call_model().await;
                    let assistant = message.as_assistant();
                    let stop_reason = assistant.and_then(|m| m.stop_reason).unwrap_or(StopReason::Stop);
                    let calls = assistant.map_or(0, |m| m.tool_calls().count());
                    summary = Some(TurnSummary { turn: self.turn, message, tool_results: Vec::new() });
                    Fact::Answered { stop_reason, calls }
                }
                Step::CallTools { execute } => {
                    let mut terminate = false;
                    if let Some(summary) = &mut summary {
                        (summary.tool_results, terminate) = self.call_tools(&summary.message, execute).await;
                    }
                    Fact::ToolsAnswered { terminate, steered: self.steered }
                }
                Step::EndTurn => Box::pin(self.end_turn(summary.clone())).await,
                step @ (Step::PrepareNextTurn | Step::AskStop | Step::PollSteering | Step::PollFollowUp | Step::LookAtQueues) => {
                    Box::pin(self.between_turns(step, summary.clone())).await
                }
                Step::Finish(outcome) => {
                    let (outcome, error) = Box::pin(self.conclude(outcome, summary)).await;
                    return (outcome, error, machine.turns());
                }
            };
            // A turn that has begun is ended first.
            let in_turn = matches!(machine.next(), Step::PollFirst | Step::CallModel | Step::CallTools { .. });
            let broken = self.broken().filter(|_| !in_turn && fact != Fact::TurnBegun);
            machine.tell(broken.unwrap_or(fact));
        }
    }

    async fn begin(&mut self, prompts: &[Arc<Message>]) {
        if let Some(hook) = self.offered.hooks.before_run.clone() {
            let task = RunTask { prompts: prompts.to_vec() };
            if let Err(Unanswered::Failed(error)) = self.ask(HookKind::BeforeRun, &hook, task).await {
                self.before_call = Some(error);
            }
        }
        self.emit(EventData::AgentStart).await;
    }

    async fn begin_turn(&mut self, input: &mut Input, has_work: bool) -> Fact {
        let queued = match input.queued.take() {
            Some(queued) => queued,
            None => {
                let queued = self.agent.inbox(Queues::fix);
                if queued.is_empty() && !has_work {
                    return Fact::NothingToBegin;
                }
                queued
            }
        };
        self.offered = self.offer();
        self.steered = false;
        self.turn += 1;
        self.emit(EventData::TurnStart).await;
        for message in input.prompts.drain(..) {
            self.show_message(message).await;
        }
        self.show_queued(queued).await;
        Fact::TurnBegun
    }

    async fn poll_first(&mut self) -> Fact {
        if self.before_call.is_none() && !self.is_aborted() {
            match self.poll(Queue::Steering).await {
                // What an abort overtook stays in its queue.
                Ok(_) if self.is_aborted() => {}
                Ok(_) => {
                    let queued = self.agent.inbox(Queues::fix);
                    self.show_queued(queued).await;
                }
                Err(Unanswered::Failed(error)) => self.before_call = Some(error),
                Err(Unanswered::Aborted) => {}
            }
        }
        Fact::Polled { found: false }
    }

    async fn end_turn(&mut self, summary: Option<TurnSummary>) -> Fact {
        self.late_replies().await;
        if let Some(TurnSummary { message, tool_results, .. }) = summary {
            self.emit(EventData::TurnEnd { message, tool_results }).await;
        }
        Fact::TurnEnded { max_turns: self.agent.max_turns_now() }
    }

    async fn between_turns(&mut self, step: Step, summary: Option<TurnSummary>) -> Fact {
        match (step, summary) {
            (Step::PrepareNextTurn, Some(summary)) => {
                let prepared = self.prepare_next_turn(summary).await;
                self.note_failure(prepared);
                Fact::Prepared
            }
            (Step::AskStop, Some(summary)) => {
                let stop = self.should_stop(summary).await;
                Fact::Asked { stop: self.note_failure(stop).unwrap_or(false) }
            }
            (Step::PollSteering | Step::PollFollowUp, _) => {
                let which = if step == Step::PollSteering { Queue::Steering } else { Queue::FollowUp };
                let found = self.poll(which).await;
                Fact::Polled { found: self.note_failure(found).unwrap_or(false) }
            }
            // Nothing else is asked between turns, and each turn has its message.
            _ => Fact::Looked { waiting: self.agent.has_queued_messages() },
        }
    }

    /// The outcome with its error. An abort may still come while the hook is told of a failure.
    async fn conclude(&mut self, outcome: Outcome, summary: Option<TurnSummary>) -> (Outcome, Option<Error>) {
        if let (Outcome::Error, Some(error)) = (outcome, self.failure.clone()) {
            self.tell_error(&error, 0, false).await;
        }
        if let Some(Interruption { outcome, error, .. }) = self.run.interruption() {
            return (outcome, Some(error));
        }
        match outcome {
            Outcome::Completed | Outcome::Stopped | Outcome::MaxTurns => (outcome, None),
            Outcome::Aborted | Outcome::Error => {
                let of_message = || summary.and_then(|s| s.message.as_assistant().and_then(|message| message.error.clone()));
                (outcome, self.failure.clone().or_else(of_message))
            }
        }
    }

    /// What this turn is made with: as the agent stands, but for what a hook has changed.
    fn offer(&self) -> Offered {
        let mut offered = self.agent.offered();
        let Changes { system_prompt, tools, model, thinking_level, .. } = &self.changes;
        if let Some(text) = system_prompt {
            offered.settings.system_prompt.clone_from(text);
        }
        if let Some(names) = tools {
            offered.keep_tools(names);
        }
        if let Some(other) = model {
            offered.take_model(other);
        }
        if let Some(level) = thinking_level {
            offered.settings.thinking_level = *level;
        }
        offered
    }

    fn note_failure<T>(&mut self, answer: Result<T, Unanswered>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(Unanswered::Failed(error)) => {
                self.failure = Some(error);
                None
            }
            Err(Unanswered::Aborted) => None,
        }
    }

    /// Shows messages of the queues; each leaves its queue when it is shown.
    async fn show_queued(&mut self, queued: Vec<(u64, Arc<Message>)>) {
        for (number, message) in queued {
            let message = message.dated(self.clock.now_ms());
            self.emit(EventData::MessageStart { message: Arc::clone(&message) }).await;
            self.agent.inbox(|inbox| inbox.appended(number));
            self.emit(EventData::MessageEnd { message }).await;
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
            self.emit(EventData::Diagnostic { code: "late_update".into(), message, data }).await;
        }
    }
}

impl Drop for Driver {
    /// The runtime went away under an unfinished run: it ends all the same, so that nobody waits for it for ever.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let error = Error::new(ErrorKind::Aborted, SHUT_DOWN);
        let mut result = RunResult::new(Outcome::Aborted, std::mem::take(&mut self.added), self.turn, Some(error));
        // The thread may not be one that listeners can be called on; the reader gets the event.
        let end = self.next_event(agent_end(&result), None);
        if self.run.queue.is_some() {
            self.outbox.push(end);
        }
        result.undelivered = self.agent.undelivered();
        self.finish(result);
    }
}

/// The run's course, interrupted when its time limit passes.
async fn limited<T>(run: Arc<RunShared>, clock: Clock, limit_ms: u64, mut course: BoxFuture<'_, T>) -> T {
    let mut limit = std::pin::pin!(clock.limit(limit_ms));
    tokio::select! {
        biased;
        end = &mut course => return end,
        () = &mut limit => run.time_out(limit_ms),
    }
    course.await
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
