//! What goes into a [`Loop`](super::Loop) and what comes out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::config::Config;
use crate::budget::{BudgetLeft, Used};
use crate::delta::Delta;
use crate::error::Error;
use crate::event::Event;
use crate::hook::{HookAnswer, Question};
use crate::message::Message;
use crate::request::Request;
use crate::result::RunResult;
use crate::session::JournalRecord;
use crate::transcript::{estimate_tokens, tokens_of_bytes};

/// Something that happened outside of the loop. `question_id` and `call` are the numbers of the actions that started them; an
/// input for one that is over is ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Input {
    /// Settings, model, tools and hooks from the next turn on.
    Configure(Arc<Config>),
    /// Messages for the steering queue.
    Steer(Vec<Message>),
    /// Messages for the follow-up queue.
    FollowUp(Vec<Message>),
    /// Empties the steering queue, except for messages of a turn that has begun.
    ClearSteering,
    /// Empties the follow-up queue, except for messages of a turn that has begun.
    ClearFollowUp,
    /// From the next turn on another agent goes on with the conversation, as a tool has asked for. The tool still answers its
    /// call.
    HandOff {
        /// The call.
        tool_call_id: Arc<str>,
        /// Its tool.
        tool_name: Arc<str>,
        /// The configuration of the other agent; see [`Config`] for later ones.
        config: Arc<Config>,
    },
    /// End the run after this turn, as if `should_stop_after_turn` asked for it.
    StopAfterTurn,
    /// The run is to end now.
    Abort,
    /// A hook's answer, or its failure: an error of the kind `callback`, whose message is what the hook said, and whose source is
    /// that of the error which the run then ends with.
    HookAnswer {
        /// The number of [`Action::AskHook`].
        question_id: u32,
        /// The answer.
        answer: Result<Box<HookAnswer>, Error>,
    },
    /// Parts of the model's answer.
    ModelDeltas {
        /// The number of [`Action::CallModel`].
        call: u32,
        /// The parts, in order.
        deltas: Vec<Delta>,
    },
    /// Bytes came from the model's server, though no delta: `idle_timeout_ms` starts anew.
    ModelActivity {
        /// The number of [`Action::CallModel`].
        call: u32,
    },
    /// The host has not sent the request yet: other runs are before it, and a limiter that they share lets no further call begin.
    /// The time limits of the call begin when it does.
    ModelWaits {
        /// The number of [`Action::CallModel`].
        call: u32,
        /// What for.
        wait: ModelWait,
    },
    /// Now it is sent.
    ModelBegins {
        /// The number of [`Action::CallModel`].
        call: u32,
    },
    /// The model's answer is over, or the call failed.
    ModelEnd {
        /// The number of [`Action::CallModel`].
        call: u32,
        /// How it ended.
        result: Result<(), Error>,
    },
    /// A running tool's progress.
    ToolUpdate {
        /// The number of [`Action::CallTool`].
        call: u32,
        /// Read like a result.
        value: Value,
    },
    /// A tool's answer, or the text of its failure.
    ToolDone {
        /// The number of [`Action::CallTool`].
        call: u32,
        /// The answer.
        result: Result<Value, String>,
    },
    /// A running tool waits for a decision: its answer comes from elsewhere, later.
    ToolSuspended {
        /// The number of [`Action::CallTool`].
        call: u32,
        /// Why, for the person who decides.
        reason: String,
    },
    /// A subagent that a running tool runs has emitted an event. None is dropped: the host waits until the parent has emitted
    /// the ones before.
    SubagentEvent {
        /// The number of [`Action::CallTool`].
        call: u32,
        /// The subagent's event.
        event: Arc<Event>,
    },
    /// Subagents have used so much, of which no more is known: it counts as the run's own.
    SubagentUsed(Used),
    /// What the runs that this one is a subagent of leave to it of their budgets.
    BudgetLeft(BudgetLeft),
    /// The records of the last [`Action::Record`] cannot be written. The run ends with this error, and nothing that was not
    /// written has an effect: no further event but its end, no call. No further record is asked for.
    RecordFailed(Error),
    /// Something about listeners, at the event that was emitted last. The loop decides whether that is reported.
    ListenerReports {
        /// The event's type.
        event: String,
        /// In the order of the listeners.
        reports: Vec<ListenerReport>,
    },
}

/// What a model call waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ModelWait {
    /// The limit that lets no further call begin.
    pub reason: String,
    /// How many calls are before it.
    pub ahead: usize,
}

impl ModelWait {
    /// It waits for this limit, with so many calls before it.
    pub fn new(reason: impl Into<String>, ahead: usize) -> ModelWait {
        ModelWait { reason: reason.into(), ahead }
    }
}

/// Something about a listener. Listeners have the numbers of their subscriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum ListenerReport {
    /// It failed with this text.
    Failed(String),
    /// It has not returned by this limit: the run goes on, and it gets no event until it returns.
    Left {
        /// Which one.
        listener: u64,
        /// Of [`Loop::listener_limit`](super::Loop::listener_limit).
        limit: ListenerLimit,
    },
    /// It was left and has returned: it got this event again.
    Back {
        /// Which one.
        listener: u64,
        /// How many events it has missed.
        missed: u64,
    },
}

/// Until when a run waits for a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ListenerLimit {
    /// In the time that `poll` is given, in milliseconds.
    pub at_ms: u64,
    /// How long the limit is.
    pub ms: u64,
    /// Whether it is the grace time of an abort; else `listener_timeout_ms`.
    pub is_grace: bool,
}

/// What the host is to do. The loop does not block on it: an answer comes back as an [`Input`].
///
/// [`Loop::poll`](super::Loop::poll) gives each action once. What is not done when a loop is saved has to be saved beside it; for
/// this, actions are `Serialize` and `Deserialize`, but for `Emit`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Action {
    /// Hand this event to listeners and readers. Serializing it is an error: hand it on, or keep [`Event::to_json`].
    #[serde(skip)]
    Emit(Event),
    /// Write these records to the session's journal, in order, before anything else: what follows is their effect. The next
    /// `poll` says that they are written; [`Input::RecordFailed`] before it, that they cannot be. Only of a run that
    /// [has a session](Config::journals).
    Record(Vec<JournalRecord>),
    /// Send a request and report the answer with [`Input::ModelDeltas`] and [`Input::ModelEnd`].
    CallModel(ModelCall),
    /// The answer of this model call is no longer wanted.
    CancelModel {
        /// The number of the call.
        call: u32,
    },
    /// Run a tool and report with [`Input::ToolUpdate`] and [`Input::ToolDone`].
    CallTool {
        /// The number of the call, unique in the run.
        call: u32,
        /// The call's id.
        id: Arc<str>,
        /// The tool's name.
        name: Arc<str>,
        /// The arguments, validated.
        arguments: Map<String, Value>,
        /// The same however often the call is executed, and wherever: for the services behind tools.
        #[serde(default = "no_key")]
        idempotency_key: Arc<str>,
    },
    /// Cancel a running tool. A value that it returns within the grace time of an abort still counts, unless it is `abandoned`.
    CancelTool {
        /// The number of the call.
        call: u32,
        /// Whether the call has its result: what the tool still does is ignored.
        abandoned: bool,
    },
    /// Ask a hook and answer with [`Input::HookAnswer`]: those of [`Config::hooks`], for each tool call
    /// [`Question::PrepareArguments`], and [`Question::NeedsApproval`] for calls of tools that decide it. A host without the
    /// function in question answers [`HookAnswer::Nothing`].
    AskHook {
        /// The number of the question.
        question_id: u32,
        /// The hook and its input.
        question: Question,
        /// Whether it is the hook as it is set for the next turn: that of the last [`Input::Configure`]. Else it is this turn's.
        of_next_turn: bool,
        /// Whether an abort cancels what the hook does. One that is not cancelled is awaited until it answers.
        is_cancellable: bool,
    },
    /// The answer of this hook is no longer wanted.
    CancelHook {
        /// The number of the question.
        question_id: u32,
    },
    /// The answer of this hook is not waited for any longer, but what the hook does is not cancelled.
    LeaveHook {
        /// The number of the question.
        question_id: u32,
    },
    /// Poll again at this time at the latest; replaces the timer before it. `None`: no timer is needed.
    SetTimer(Option<Timer>),
    /// The run is over.
    Done(Box<RunResult>),
}

/// Of an action that was stored before there were keys.
fn no_key() -> Arc<str> {
    "".into()
}

/// A request and its body.
pub(super) type EncodedRequest = (Arc<Request>, Option<Arc<[u8]>>);

/// A request; or the error that kept it from being prepared, `None` when the run was interrupted.
pub(super) type PreparedRequest = Result<EncodedRequest, Option<Error>>;

/// A model call: the repaired and encoded request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ModelCall {
    /// The number of the call, unique in the run.
    pub call: u32,
    /// The host's key of the model, from its [`ModelEntry`](super::ModelEntry).
    pub model: u32,
    /// What is asked; shared by the retries of a call.
    pub request: Arc<Request>,
    /// The body in JSON as it goes over the wire; `None` for a custom model. Each attempt sends the same bytes.
    pub body: Option<Arc<[u8]>>,
    /// Whether each frame is wanted ([`Delta::Raw`]).
    pub raw_events: bool,
    /// Whether the head of an HTTP response is wanted ([`Delta::Response`]).
    pub wants_response: bool,
}

impl ModelCall {
    /// About how many tokens it will use: those of its request, and as many of an answer as it may have, if that is said.
    pub fn estimated_tokens(&self) -> u64 {
        let of_request = match &self.body {
            Some(body) => tokens_of_bytes(body.len()),
            None => estimate_tokens(&self.request.messages),
        };
        of_request.saturating_add(self.request.options.max_tokens.unwrap_or_default())
    }
}

/// When the loop wants to be polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Timer {
    /// In the time that `poll` is given, in milliseconds.
    pub at_ms: u64,
    /// A time limit; else the backoff before a retry.
    pub is_limit: bool,
}

impl Timer {
    /// The time limit at this time.
    pub fn limit(at_ms: u64) -> Timer {
        Timer { at_ms, is_limit: true }
    }
}

/// Why a host cannot go on with a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum EndCause {
    /// The host panicked, with this text.
    Panic(String),
    /// What the host runs in was shut down.
    ShutDown,
    /// The host has failed with this error.
    Failure(Error),
}
