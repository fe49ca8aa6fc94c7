//! The loop as a value: every decision of a run, without IO, clock, threads or async.
//!
//! [`Loop::handle`] takes in what happened, [`Loop::poll`] gives the next thing to do. The host executes the actions: it sends
//! requests, runs tools, asks hooks, hands on events. [`Loop`] owns the run's transcript, queues, turn, tool batch, retries,
//! fallbacks and limits, and emits every event. The same inputs give the same actions, byte for byte. It can be saved after any
//! action and loaded again (`serde`).
//!
//! - `turn`: the course of a run, from turn to turn
//! - `request`: preparing a model call; `answer`: its stream, retries and fallbacks
//! - `batch` and `prepare`: the tool calls of a message
//! - `ask`: questions to hooks; `limits`: time limits and aborts
//!
//! ```
//! use agent_loop_proto::machine::{Action, Input, Loop};
//! # use agent_loop_proto::machine::{Config, Start};
//! # use agent_loop_proto::delta::{BlockStart, Delta};
//! # use agent_loop_proto::usage::StopReason;
//! # fn example(config: Config, start: Start) {
//! let mut run = Loop::new(config, start);
//! let mut now_ms = 0;
//! while let Some(action) = run.poll(now_ms) {
//!     match action {
//!         Action::Emit(event) => println!("{}", event.to_json()),
//!         Action::CallModel(request) => {
//!             let deltas = vec![
//!                 Delta::Start { key: 0, block: BlockStart::Text },
//!                 Delta::Append { key: 0, text: "Hello.".into() },
//!                 Delta::Stop { reason: StopReason::Stop, raw: None },
//!             ];
//!             run.handle(Input::ModelDeltas { call: request.call, deltas });
//!             run.handle(Input::ModelEnd { call: request.call, result: Ok(()) });
//!         }
//!         Action::CallTool { call, .. } => run.handle(Input::ToolDone { call, result: Ok("rain".into()) }),
//!         Action::Done(result) => println!("{}", result.text),
//!         _ => {}
//!     }
//!     now_ms += 1;
//! }
//! # }
//! ```

mod action;
mod answer;
mod ask;
mod batch;
mod config;
mod limits;
mod prepare;
mod request;
mod resume;
#[cfg(test)]
mod tests;
mod turn;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use action::{Action, Input, ModelCall, Timer};
pub use config::{Config, Encoder, HookSet, ModelEntry, Tools};
pub use resume::resumable;

use self::answer::Answer;
use self::ask::Asked;
use self::batch::{Batch, Reply};
use self::limits::Interruption;
use self::request::Preparation;
use self::turn::Phase;
use crate::error::Error;
use crate::event::{Event, EventData};
use crate::hook::{HookAnswer, HookKind, Question, TurnSummary};
use crate::message::Message;
use crate::queues::{Queue, Queues};
use crate::request::ThinkingLevel;
use crate::result::{RunResult, Undelivered};
use crate::usage::Outcome;

/// The version of a saved loop. A saved loop of another version cannot be loaded.
pub const STATE_VERSION: u32 = 1;

/// What a run starts with.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Start {
    /// The id that all its events have.
    pub run_id: String,
    /// Where the jitter of the backoff comes from.
    pub seed: u64,
    /// The conversation so far.
    pub transcript: Vec<Arc<Message>>,
    /// Messages that wait for a run.
    pub queues: Queues,
    /// The messages of `prompt`; none for `resume`.
    pub prompts: Vec<Message>,
    /// For a `resume` that begins with queued messages: those, by their numbers in the queue; see [`resumable`].
    pub queued: Vec<(u64, Arc<Message>)>,
}

/// One run. See the module's documentation.
#[derive(Debug, Serialize, Deserialize)]
pub struct Loop {
    version: u32,
    run_id: Arc<str>,
    random: u64,
    now_ms: u64,
    seq: u64,
    turn: u32,
    phase: Phase,
    /// What is to be done, in order, before the phase goes on.
    out: VecDeque<Out>,
    /// The latest configuration, for the next turn.
    latest: Arc<Config>,
    /// This turn's.
    config: Arc<Config>,
    changes: Changes,
    transcript: Vec<Arc<Message>>,
    /// How many messages of the transcript stood there when the run began.
    base: usize,
    queues: Queues,
    /// Whether a run without an agent has given back its queues.
    is_closed: bool,
    start: Option<Pending>,
    /// Whether steering is polled before the first model call.
    polls_first: bool,
    /// Whether this is the last turn allowed.
    is_last_turn: bool,
    /// The queue that a poll found the next turn's input in.
    found: Option<Queue>,
    /// Whether a poll within the tool batch found steering.
    is_steered: bool,
    /// A failure before the model is asked; it becomes the error of the turn's message.
    before_call: Option<Error>,
    /// A failure that ends the run after the turn.
    failure: Option<Error>,
    interruption: Option<Interruption>,
    /// `run_timeout_ms` as it was at the start, and when it passes.
    run_limit: Option<(u64, u64)>,
    timer: Option<Timer>,
    /// Whether what the timer was set for may be over.
    is_timer_stale: bool,
    asked: Option<Asked>,
    next_hook: u32,
    next_call: u32,
    preparation: Preparation,
    answer: Option<Answer>,
    batch: Option<Batch>,
    replies: VecDeque<(u32, Reply)>,
    /// The calls that were run, by number: id and tool.
    launched: Vec<(Arc<str>, Arc<str>)>,
    /// The turn's message, and then its results.
    summary: Option<TurnSummary>,
    /// Whether all results of the turn ask for the end of the run.
    terminates: bool,
    /// Of a run without an agent, at its end.
    undelivered: Option<Undelivered>,
    /// The repairs that are reported already: message, block and text.
    repairs: Vec<(usize, Option<usize>, String)>,
    /// The ignored options that are reported already: model and option.
    ignored: Vec<(String, String)>,
}

/// The input of the first turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pending {
    prompts: Vec<Arc<Message>>,
    queued: Vec<(u64, Arc<Message>)>,
}

/// What `prepare_next_turn` has changed for the rest of the run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Changes {
    system_prompt: Option<String>,
    /// The messages the model reads; those that the run adds are appended.
    messages: Option<Vec<Arc<Message>>>,
    tools: Option<Vec<String>>,
    model: Option<ModelEntry>,
    thinking_level: Option<ThinkingLevel>,
}

/// One thing to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Out {
    Event(EventData),
    /// An event of the assistant's stream, with the message's position after it.
    Streamed(EventData, usize),
    /// A queued message joins the transcript and leaves its queue.
    Queued(u64, Arc<Message>),
    CallModel(ModelCall),
    CancelModel(u32),
    CallTool(u32),
    CancelTool(u32, bool),
    AskHook(u32, Question),
    CancelHook(u32),
    Done(Box<RunResult>),
}

/// Whether a step got further or waits for an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Made,
    Blocked,
}

impl Loop {
    /// A run at its start.
    pub fn new(config: Config, start: Start) -> Loop {
        let Start { run_id, seed, transcript, queues, prompts, queued } = start;
        let config = Arc::new(config);
        Loop {
            version: STATE_VERSION,
            run_id: run_id.into(),
            random: seed,
            now_ms: 0,
            seq: 0,
            turn: 0,
            phase: Phase::Start,
            out: VecDeque::new(),
            latest: Arc::clone(&config),
            config,
            changes: Changes::default(),
            base: transcript.len(),
            transcript,
            queues,
            is_closed: false,
            polls_first: queued.is_empty(),
            start: Some(Pending { prompts: prompts.into_iter().map(Arc::new).collect(), queued }),
            is_last_turn: false,
            found: None,
            is_steered: false,
            before_call: None,
            failure: None,
            interruption: None,
            run_limit: None,
            timer: None,
            is_timer_stale: false,
            asked: None,
            next_hook: 0,
            next_call: 0,
            preparation: Preparation::default(),
            answer: None,
            batch: None,
            replies: VecDeque::new(),
            launched: Vec::new(),
            summary: None,
            terminates: false,
            undelivered: None,
            repairs: Vec::new(),
            ignored: Vec::new(),
        }
    }

    /// Takes in what happened. Never blocks; [`Loop::poll`] acts on it.
    pub fn handle(&mut self, input: Input) {
        match input {
            Input::Configure(config) => self.latest = config,
            Input::Steer(messages) => self.queues.push(Queue::Steering, messages),
            Input::FollowUp(messages) => self.queues.push(Queue::FollowUp, messages),
            Input::ClearSteering => drop(self.queues.clear(Queue::Steering)),
            Input::ClearFollowUp => drop(self.queues.clear(Queue::FollowUp)),
            Input::Abort => self.interrupt(Interruption::Aborted),
            Input::HookAnswer { hook, answer } => {
                if let Some(asked) = self.asked.as_mut().filter(|asked| asked.is(hook)) {
                    asked.take(answer);
                }
            }
            Input::ModelDeltas { call, deltas } => {
                if let Some(answer) = self.answer.as_mut().filter(|answer| answer.is(call)) {
                    answer.receive(deltas);
                }
            }
            Input::ModelAlive { call } => {
                if let Some(answer) = self.answer.as_mut().filter(|answer| answer.is(call)) {
                    answer.is_alive();
                }
            }
            Input::ModelEnd { call, result } => {
                if let Some(answer) = self.answer.as_mut().filter(|answer| answer.is(call)) {
                    answer.end(result);
                }
            }
            Input::ToolUpdate { call, value } => self.replies.push_back((call, Reply::Update(value))),
            Input::ToolDone { call, result } => self.replies.push_back((call, Reply::Done(result))),
            Input::ListenersFailed { event, errors } => self.listeners_failed(&event, errors),
        }
    }

    /// The next thing to do, or `None` until there is a further input or the timer's time has come. `now_ms` is milliseconds since
    /// the epoch; it must not go back.
    pub fn poll(&mut self, now_ms: u64) -> Option<Action> {
        self.now_ms = now_ms;
        loop {
            if std::mem::take(&mut self.is_timer_stale)
                && let Some(action) = self.set_timer()
            {
                return Some(action);
            }
            while let Some(out) = self.out.pop_front() {
                if let Some(action) = self.act(out) {
                    return Some(action);
                }
            }
            if matches!(self.phase, Phase::Over) {
                return None;
            }
            self.check_run_limit();
            if self.step() == Progress::Blocked && self.out.is_empty() {
                return self.set_timer();
            }
        }
    }

    /// Whether nothing follows.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over) && self.out.is_empty()
    }

    /// Whether the run was aborted or its time limit has passed: then it no longer waits for readers.
    pub fn is_interrupted(&self) -> bool {
        self.interruption.is_some()
    }

    /// Whether a time limit of the run has passed by now, though the loop is not polled: for hosts that are held up.
    pub fn check_limits(&mut self, now_ms: u64) -> bool {
        self.now_ms = now_ms;
        self.check_run_limit();
        self.is_interrupted()
    }

    /// The queues, with what no turn has begun with.
    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Takes the queues out at the end of a run, for the next one.
    pub fn take_queues(&mut self) -> Queues {
        let mut queues = std::mem::take(&mut self.queues);
        queues.unmark();
        queues
    }

    /// Whether queued messages can no longer be taken: the end of a run without an agent, which gave them back.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Ends the run from outside, whatever it was doing: the last event and the result. For hosts that cannot go on.
    pub fn cut(&mut self, outcome: Outcome, error: Error) -> (Event, RunResult) {
        self.out.clear();
        self.phase = Phase::Over;
        let mut result = RunResult::new(outcome, self.added(), self.turn, Some(error));
        let event = self.event(turn::agent_end(&result), None);
        result.undelivered = self.close();
        (event, result)
    }

    fn added(&self) -> Vec<Arc<Message>> {
        self.transcript.get(self.base..).unwrap_or_default().to_vec()
    }

    fn emit(&mut self, data: EventData) {
        self.out.push_back(Out::Event(data));
    }

    /// A message that is whole from the start joins the transcript.
    fn emit_message(&mut self, message: Arc<Message>) {
        self.emit(EventData::MessageStart { message: Arc::clone(&message) });
        self.emit(EventData::MessageEnd { message });
    }

    fn diagnostic(&mut self, code: &'static str, message: String, data: Value) {
        self.emit(EventData::Diagnostic { code: code.into(), message, data: Box::new(data) });
    }

    /// Turns the next thing to do into an action, with its effect on the state.
    fn act(&mut self, out: Out) -> Option<Action> {
        Some(match out {
            Out::Event(data) => Action::Emit(self.event(data, None)),
            Out::Streamed(data, position) => Action::Emit(self.event(data, Some(position))),
            Out::Queued(number, message) => {
                self.queues.appended(number);
                Action::Emit(self.event(EventData::MessageEnd { message }, None))
            }
            Out::CallModel(call) => Action::CallModel(call),
            Out::CancelModel(call) => Action::CancelModel { call },
            Out::CallTool(call) => return self.call_tool(call),
            Out::CancelTool(call, abandoned) => Action::CancelTool { call, abandoned },
            Out::AskHook(hook, question) => Action::AskHook { hook, question },
            Out::CancelHook(hook) => Action::CancelHook { hook },
            Out::Done(result) => Action::Done(result),
        })
    }

    fn event(&mut self, data: EventData, position: Option<usize>) -> Event {
        if let EventData::MessageEnd { message } = &data {
            self.transcript.push(Arc::clone(message));
            if let Some(context) = &mut self.changes.messages {
                context.push(Arc::clone(message));
            }
        }
        let partial = position.and_then(|position| Some(self.answer.as_ref()?.partial(position)));
        let event = Event { run_id: Arc::clone(&self.run_id), seq: self.seq, turn: self.turn, data, partial };
        self.seq += 1;
        event
    }

    /// Reports failed listeners directly after the event that they failed on. The failure of a listener on the report itself is
    /// only counted by the host.
    fn listeners_failed(&mut self, event: &str, errors: Vec<String>) {
        for error in errors.into_iter().rev() {
            self.out.push_front(Out::Event(EventData::Diagnostic {
                code: "listener_error".into(),
                message: format!("a listener failed on {event}: {error}"),
                data: Box::new(serde_json::json!({ "event": event, "error": error })),
            }));
        }
    }
}
