//! The loop: its parts, its inputs and its actions.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::action::{Action, Input, ListenerLimit, Timer};
use super::batch::Batch;
use super::config::Config;
use super::decided::DecidedCalls;
use super::emitter::{Emitter, Out};
use super::inbox::Inbox;
use super::journal::Journal;
use super::model_calls::ModelCalls;
use super::observer::{Observer, TimeCheck};
use super::phase::Phase;
use super::questions::Questions;
use super::repetition::Repetition;
use super::request::{RequestCaches, RequestPreparation};
use super::run_answer::FinalAnswer;
use super::run_clock::RunClock;
use super::run_state::{Progress, RunState};
use super::run_transcript::RunTranscript;
use super::setup::Setup;
use super::start::Start;
use super::tool_demand::ToolDemand;
use super::tool_reports::ToolReports;
use super::turn::Turn;
use crate::budget::{Budget, Spent};
use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventData};
use crate::gate::Remembered;
use crate::json_error::words;
use crate::json_reader::from_value;
use crate::limits::Limits;
use crate::message::Message;
use crate::queues::{Queue, Queues};
use crate::suspension::StoredCall;

/// The version of a saved loop. A saved loop of another version cannot be loaded: the error for a newer one is `newer_version`.
///
/// It is raised with a change after which this library would refuse, or read differently, what a released version has saved: a
/// field or variant that is renamed, removed, has another meaning or is added without a default. Once per release is enough. No
/// version has been released yet, so that it is still 1.
pub const STATE_VERSION: u32 = 1;

/// One run. See the module's documentation.
#[derive(Debug, Serialize, Deserialize)]
pub struct Loop {
    #[serde(deserialize_with = "known_version")]
    version: u32,
    pub(super) phase: Phase,
    /// The input of the first turn, until it begins.
    pub(super) first_input: Option<FirstInput>,
    /// Whether the run is one model call.
    #[serde(default)]
    pub(super) one_call: bool,
    pub(super) run: RunState,
    pub(super) preparation: RequestPreparation,
    pub(super) model_calls: ModelCalls,
    pub(super) batch: Option<Batch>,
    pub(super) tool_reports: ToolReports,
    /// Not part of the saved state.
    #[serde(skip)]
    pub(super) observer: Option<Box<dyn Observer>>,
}

/// The input of the first turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FirstInput {
    pub(super) prompts: Vec<Arc<Message>>,
    pub(super) queued: Vec<(u64, Arc<Message>)>,
    #[serde(default)]
    pub(super) decided: Option<DecidedCalls>,
}

/// The version of a saved loop that can be loaded.
fn known_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        STATE_VERSION => Ok(STATE_VERSION),
        other => Err(D::Error::custom(other_version(other.into()))),
    }
}

fn other_version(version: u64) -> String {
    format!("it has version {version}; this library loads version {STATE_VERSION}")
}

impl Loop {
    /// The whole state in JSON, for [`Loop::load`]. It has the transcript and the settings, but no API key and no header: those
    /// are the host's.
    ///
    /// # Errors
    /// `invalid_state` when the state cannot be written, which is a bug.
    pub fn save(&self) -> Result<String, Error> {
        let unsaved = |error| Error::new(ErrorKind::InvalidState, format!("the loop cannot be saved: {error}"));
        serde_json::to_string(self).map_err(unsaved)
    }

    /// A loop as it was saved. Its next actions are those that it would have had, but for the timer, which is set anew: the first
    /// [`Action::SetTimer`] comes before anything else, if a timer is needed.
    ///
    /// The host has to know the models by the same keys. Model calls, tool calls and hooks that were under way are not asked for
    /// again, as running a tool twice may do harm: the host keeps their actions beside the saved loop and goes on with the calls
    /// it still has, starts others anew from their actions, or reports their failure ([`Input::ModelEnd`], [`Input::ToolDone`]
    /// and [`Input::HookAnswer`] with an error). A model call of whose answer some deltas were taken in cannot be started anew.
    ///
    /// # Errors
    /// `newer_version`: a newer version of this library has saved it; `invalid_argument`: the text is not a saved loop, or one of
    /// an older version.
    pub fn load(saved: &str) -> Result<Loop, Error> {
        let text = |why: &str| format!("the saved loop cannot be loaded: {why}");
        let refused = |error: serde_json::Error| Error::invalid_argument(text(&words(&error)));
        // The version comes first: in another one, anything may be different.
        let tree: Value = saved.parse().map_err(refused)?;
        let version = tree.get("version").and_then(Value::as_u64);
        if let Some(version) = version.filter(|version| *version > u64::from(STATE_VERSION)) {
            let why = format!("{}: update it", other_version(version));
            return Err(Error::new(ErrorKind::NewerVersion, text(&why)));
        }
        let run: Loop = from_value(&tree).map_err(refused)?;
        // It would wait for ever.
        if matches!(run.phase, Phase::Answer) && !run.model_calls.is_under_way() {
            return Err(refused(serde::de::Error::custom("it waits for an answer, and has no model call")));
        }
        Ok(run)
    }

    /// A run at its start.
    pub fn new(mut config: Config, start: Start) -> Loop {
        let observer = start.observed.as_ref().map(|observed| observed.begin(&config, &start));
        let (options, subagent_depth) = (start.options.clone(), start.subagent_depth);
        let Start {
            run_id, seed, transcript, queues, prompts, one_call, queued, decided, origin, replaced, mut remembered, ..
        } = start;
        if let Some(decided) = &decided {
            remembered.add(decided.remembered().clone());
        }
        let given = [&origin, &config.settings.origin].into_iter().find(|origin| !origin.is_empty());
        let origin = given.unwrap_or(&run_id).clone();
        if one_call {
            // A budget decides about further calls, and a wrong answer or a result that was cut needs one.
            config.settings.budget = Budget::default();
            (config.settings.output, config.settings.context) = (None, None);
        }
        let journal = Journal::new(config.journals);
        let prompts = prompts.into_iter().flatten().map(Arc::new).collect();
        Loop {
            version: STATE_VERSION,
            phase: Phase::Start,
            first_input: Some(FirstInput { prompts, queued, decided }),
            one_call,
            run: RunState {
                emitter: Emitter::new(run_id.into(), journal),
                clock: RunClock::default(),
                questions: Questions::default(),
                setup: Setup::new(config, options),
                transcript: RunTranscript::new(transcript, origin, replaced),
                inbox: Inbox::new(queues),
                turn: Turn::default(),
                tool_demand: ToolDemand::default(),
                repetition: Repetition::default(),
                spent: Spent::default(),
                answer: FinalAnswer::default(),
                remembered,
                subagent_depth,
                is_stopping: false,
            },
            preparation: RequestPreparation::default(),
            model_calls: ModelCalls::new(seed),
            batch: None,
            tool_reports: ToolReports::default(),
            observer,
        }
    }

    /// Takes in what happened. Never blocks; [`Loop::poll`] acts on it.
    pub fn handle(&mut self, input: Input) {
        if let Some(observer) = &mut self.observer {
            observer.input(&input);
        }
        let run = &mut self.run;
        match input {
            Input::Configure(config) => run.setup.configure(config),
            Input::Steer(messages) => run.queue_messages(Queue::Steering, messages),
            Input::FollowUp(messages) => run.queue_messages(Queue::FollowUp, messages),
            Input::ClearSteering => run.clear_queue(Queue::Steering),
            Input::ClearFollowUp => run.clear_queue(Queue::FollowUp),
            Input::HandOff { .. } if matches!(self.phase, Phase::Over) => {}
            Input::HandOff { tool_call_id, tool_name, config } => run.hand_off(&tool_call_id, &tool_name, config),
            Input::StopAfterTurn => run.is_stopping = true,
            Input::Abort => {
                run.clock.abort();
                run.emitter.drop_updates();
            }
            Input::HookAnswer { question_id, answer } => run.questions.record_answer(question_id, answer),
            Input::ModelDeltas { call, deltas } => {
                if let Some(attempt) = self.model_calls.attempt(call) {
                    attempt.receive(deltas);
                }
            }
            Input::ModelActivity { call } => {
                if let Some(attempt) = self.model_calls.attempt(call) {
                    attempt.record_activity();
                }
            }
            Input::ModelWaits { call, wait } => self.model_calls.wait(run, call, &wait),
            Input::ModelBegins { call } => {
                if let Some(attempt) = self.model_calls.attempt(call) {
                    attempt.send();
                }
            }
            Input::ModelEnd { call, result } => {
                if let Some(attempt) = self.model_calls.attempt(call) {
                    attempt.end(result);
                }
            }
            // After an abort no update is emitted, and after the end no event at all.
            Input::ToolUpdate { .. } if run.is_interrupted() || matches!(self.phase, Phase::Over) => {}
            Input::ToolUpdate { call, value } => self.tool_reports.update(call, value),
            Input::ToolDone { .. } if matches!(self.phase, Phase::Over) => {}
            Input::ToolDone { call, result } => self.tool_reports.done(call, result),
            Input::ToolSuspended { .. } if matches!(self.phase, Phase::Over) => {}
            Input::ToolSuspended { call, reason } => self.tool_reports.suspended(call, reason),
            Input::SubagentEvent { .. } if run.is_interrupted() || matches!(self.phase, Phase::Over) => {}
            Input::SubagentEvent { call, event } => self.tool_reports.subagent(call, event),
            Input::SubagentUsed(used) => run.spent.count_subagent(&used),
            Input::BudgetLeft(left) => run.spent.set_left(left),
            Input::RecordFailed(error) => self.record_failed(error),
            Input::ListenerReports { event, reports } => run.emitter.listener_reports(&event, reports),
        }
    }

    /// The next thing to do, or `None` until there is a further input or the timer's time has come. `now_ms` is milliseconds
    /// since the epoch; it must not go back.
    pub fn poll(&mut self, now_ms: u64) -> Option<Action> {
        let action = self.next_action(now_ms);
        if let Some(observer) = &mut self.observer {
            observer.polled(now_ms, action.as_ref());
        }
        action
    }

    fn next_action(&mut self, now_ms: u64) -> Option<Action> {
        self.run.clock.set_now(now_ms);
        loop {
            if let Some(records) = self.run.emitter.journal.next_changes() {
                return Some(Action::Record(records));
            }
            if self.run.clock.take_timer_stale()
                && let Some(action) = self.set_timer()
            {
                return Some(action);
            }
            if let Some(out) = self.run.emitter.pop() {
                return Some(self.act(out));
            }
            if matches!(self.phase, Phase::Over) {
                return None;
            }
            self.run.clock.check();
            if matches!(self.step(), Progress::Blocked) && self.run.emitter.is_empty() {
                return self.set_timer();
            }
        }
    }

    /// The calls that wait for a decision, once the run has ended with them.
    pub fn suspended(&self) -> &[StoredCall] {
        self.run.turn.suspended()
    }

    /// What the conversation remembers of decisions, up to now.
    pub fn remembered(&self) -> &Remembered {
        &self.run.remembered
    }

    /// Whether nothing follows.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over) && self.run.emitter.is_empty()
    }

    /// Whether the run was aborted or its time limit has passed: then it no longer waits for readers.
    pub fn is_interrupted(&self) -> bool {
        self.run.is_interrupted()
    }

    /// Whether the run's time limit has passed by now, though the loop is not polled: for hosts that a reader or a listener
    /// blocks.
    pub fn check_limits(&mut self, now_ms: u64) -> bool {
        self.observe(TimeCheck::Limits, now_ms);
        self.run.clock.set_now(now_ms);
        self.run.clock.check();
        self.is_interrupted()
    }

    /// The queues, with what no turn has begun with.
    pub fn queues(&self) -> &Queues {
        self.run.inbox.queues()
    }

    /// The messages that the conversation has: each has joined it with its event.
    pub fn transcript(&self) -> &[Arc<Message>] {
        self.run.transcript.all()
    }

    /// What the idempotency keys of its calls begin with.
    #[doc(hidden)] // Of a conversation, for who records its runs.
    pub fn origin(&self) -> &str {
        self.run.transcript.origin()
    }

    /// The messages that wait to join the transcript.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Message> {
        let first = self.first_input.iter().flat_map(|input| &input.prompts).map(Arc::as_ref);
        first.chain(self.queues().all())
    }

    /// The time limits of the turn: for hosts that hand in an answer in one piece, and keep its limits themselves.
    pub fn limits(&self) -> &Limits {
        &self.run.settings().limits
    }

    /// When `run_timeout_ms` passes: for hosts that a reader or a listener blocks.
    pub fn run_deadline_ms(&self) -> Option<u64> {
        self.run.clock.deadline_ms()
    }

    /// Until when the run waits for a listener that was called then, as it stands now; `None`: without limit. One that has not
    /// returned by then is left: the host reports it ([`ListenerReport::Left`](super::ListenerReport::Left)) and gives it no
    /// event until it returns.
    pub fn listener_limit(&mut self, called_ms: u64, now_ms: u64) -> Option<ListenerLimit> {
        self.observe(TimeCheck::ListenerLimit, now_ms);
        self.run.clock.set_now(now_ms);
        self.run.clock.listener_limit(called_ms, self.run.settings())
    }

    fn observe(&mut self, check: TimeCheck, now_ms: u64) {
        if let Some(observer) = &mut self.observer {
            observer.checked(check, now_ms);
        }
    }

    /// Goes on from what was repaired and encoded for an earlier run over the same conversation: without it, the first request
    /// costs as much as the whole transcript.
    pub fn set_caches(&mut self, caches: RequestCaches) {
        self.preparation.set_caches(caches);
    }

    /// Takes out, at the end of the run, what the next one over the same conversation goes on from: the queues, and what was
    /// repaired and encoded.
    pub fn finish(&mut self) -> (Queues, RequestCaches) {
        // The handle of a run may outlive it by far: what only the next request would need goes.
        let preparation = std::mem::take(&mut self.preparation);
        (self.run.inbox.take(), preparation.into_caches())
    }

    /// Whether `agent_end` was emitted: messages that are queued from now on wait for another run.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::AfterRun(..) | Phase::Over)
    }

    /// Whether the run is one model call, which takes no messages.
    pub(crate) fn is_one_call(&self) -> bool {
        self.one_call
    }

    /// Whether queued messages can no longer be taken: the end of a run without an agent, which gave them back.
    pub fn is_closed(&self) -> bool {
        self.run.inbox.is_closed()
    }

    /// The action, with its effect on the state.
    fn act(&mut self, out: Out) -> Action {
        match out {
            Out::Event(data) => Action::Emit(self.event(data, None)),
            Out::Record(records) => {
                self.run.emitter.journal.begin_writing();
                Action::Record(records)
            }
            Out::Streamed(data, position) => Action::Emit(self.event(data, Some(position))),
            Out::Queued(number, message) => {
                self.run.inbox.appended(number);
                Action::Emit(self.event(EventData::MessageEnd { message }, None))
            }
            Out::CallModel(call) => Action::CallModel(call),
            Out::CancelModel(call) => Action::CancelModel { call },
            Out::CallTool { call, id, name, arguments, idempotency_key } => {
                Action::CallTool { call, id, name, arguments, idempotency_key }
            }
            Out::CancelTool { call, abandoned } => Action::CancelTool { call, abandoned },
            Out::AskHook { question_id, question, of_next_turn, is_cancellable } => {
                Action::AskHook { question_id, question, of_next_turn, is_cancellable }
            }
            Out::CancelHook(question_id) => Action::CancelHook { question_id },
            Out::LeaveHook(question_id) => Action::LeaveHook { question_id },
            Out::Done(result) => Action::Done(result),
        }
    }

    /// A message joins the transcript with its event.
    fn event(&mut self, data: EventData, position: Option<usize>) -> Event {
        if let EventData::MessageEnd { message } = &data {
            self.run.transcript.append(message);
        }
        let partial = position.and_then(|position| self.model_calls.partial(position));
        self.run.emitter.number(data, partial)
    }

    /// Asks for a timer when the next time to poll has changed.
    fn set_timer(&mut self) -> Option<Action> {
        let hook = self.run.questions.deadline_ms().map(Timer::limit);
        let batch = self.batch.as_ref().and_then(Batch::timer);
        let timers = [hook, self.model_calls.timer(), batch];
        self.run.clock.set_timer(timers).map(Action::SetTimer)
    }
}
