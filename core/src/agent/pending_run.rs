//! [`PendingRun`]: a run that was asked for and has not begun.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
#[cfg(feature = "__bindings")]
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use agent_loop_proto::run_options::RunOptions;
#[cfg(feature = "__bindings")]
use serde_json::Map;
use serde_json::Value;

use super::context::OwnedContext;
use super::handle::Agent;
use super::replayed;
#[cfg(feature = "__bindings")]
use crate::did_you_mean::Spelling;
use crate::error::{Error, ErrorKind};
use crate::future::{BoxFuture, has_ended};
use crate::log::{LogLevel, RunLogFunction};
use crate::message::Prompt;
use crate::recording::Replay;
use crate::result::RunResult;
use crate::run::Run;
use crate::run::parent::Parent;
use crate::runtime::Runtime;
use crate::suspension::Decision;
use crate::tool::ToolContext;
use crate::tool::subagent_events::SubagentEvents;
use crate::trace::sink::Sink;
#[cfg(feature = "__bindings")]
use crate::trace::sink::TraceFunction;

/// A run that has not begun. Awaiting it runs to the result; dropping it then aborts the run. [`stream`](PendingRun::stream)
/// gives the run with its events instead. It owns what it needs, so that it can be given to `tokio::spawn`, `JoinSet::spawn`,
/// `select!` or `join!`.
///
/// ```no_run
/// # async fn example() -> Result<(), agent_loop::Error> {
/// use std::time::Duration;
/// use agent_loop::Agent;
///
/// let agent = Agent::new("anthropic/claude-sonnet-4-5")?;
/// let result = agent.prompt("Rain in Oslo?").abort_on(tokio::time::sleep(Duration::from_secs(30))).await?;
/// println!("{}: {}", result.outcome.as_str(), result.text);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Awaiting it gives `busy` while a run of the agent is active; `invalid_argument` for an empty list of messages, for a user's
/// message without an image and without text (white space is none), for a model or fallback that cannot be used, and for a
/// `tool_choice` of a tool that does not exist; `invalid_state` inside a callback of the agent, without a runtime, in a tokio
/// runtime without timers or IO, after the runtime's shutdown, of a resumed run when there is nothing to answer, and of other
/// runs while calls wait for a decision; and the run's own error, with the result inside, when its outcome is `error`. An
/// aborted run is no error: its outcome is `aborted`.
#[must_use = "a run does not begin before it is awaited, streamed or started"]
pub struct PendingRun(PendingRunState);

enum PendingRunState {
    Pending(Box<Pending>),
    Running(BoxFuture<'static, Result<RunResult, Error>>),
    Over,
}

struct Pending {
    owner: RunOwner,
    input: RunInput,
    options: RunOptions,
    cancels: Vec<BoxFuture<'static, ()>>,
    log: Option<(LogLevel, RunLogFunction)>,
    /// Where its spans go, in place of `tracing`.
    trace: Option<Sink>,
    parent: Option<(ToolContext, SubagentEvents)>,
    /// Why it cannot begin.
    refused: Option<Error>,
}

/// What a run begins with.
pub(super) enum RunInput {
    Prompt(Prompt),
    /// The transcript as it is, with what is decided about calls that wait.
    Resume(Vec<(String, Decision)>),
    /// What is queued.
    Queued,
    /// The transcript as it is, for one model call.
    OneCall,
}

/// Whose run it is.
enum RunOwner {
    Agent(Agent),
    /// Of a stateless run: its context, and the agent with its settings.
    Context(OwnedContext, Agent),
    /// Of a recorded run, where it is played.
    Recording(Replay, Option<Runtime>),
}

impl PendingRun {
    fn of_agent(agent: Agent, input: RunInput) -> PendingRun {
        PendingRun::of(RunOwner::Agent(agent), input)
    }

    pub(super) fn of_context(context: OwnedContext, settings: Agent, input: RunInput) -> PendingRun {
        PendingRun::of(RunOwner::Context(context, settings), input)
    }

    pub(super) fn of_recording(recording: Replay, runtime: Option<Runtime>) -> PendingRun {
        PendingRun::of(RunOwner::Recording(recording, runtime), RunInput::Queued)
    }

    fn of(owner: RunOwner, input: RunInput) -> PendingRun {
        let options = RunOptions::default();
        let pending = Pending { owner, input, options, cancels: Vec::new(), log: None, trace: None, parent: None, refused: None };
        PendingRun(PendingRunState::Pending(Box::new(pending)))
    }

    /// Sets an option of this run.
    pub(super) fn set(mut self, name: &str, value: Value) -> PendingRun {
        if let PendingRunState::Pending(pending) = &mut self.0
            && let Err(error) = pending.options.set(name, value, name)
        {
            pending.refused = Some(error);
        }
        self
    }

    /// Sets options of this run by name, as hosts of other languages have them. A wrong one is the run's error. `beside` are
    /// those the host itself takes, for hints.
    #[cfg(feature = "__bindings")]
    #[doc(hidden)]
    pub fn options(mut self, given: &Map<String, Value>, spelling: Spelling, beside: &[&'static str]) -> PendingRun {
        if let PendingRunState::Pending(pending) = &mut self.0 {
            match RunOptions::from_json(given, spelling, beside) {
                Ok(options) => pending.options = options,
                Err(error) => pending.refused = Some(error),
            }
        }
        self
    }

    /// Adds a header to each request of this run, beside those of the agent, or in the place of one with its name. Nothing saves
    /// it, and an agent that takes over by a handoff does not send it.
    pub fn header(mut self, name: &str, value: &str) -> PendingRun {
        if let PendingRunState::Pending(pending) = &mut self.0 {
            pending.options.add_header(name, value);
        }
        self
    }

    /// The value of a `traceparent` header, as W3C has it: the caller's trace, which the spans of this run join.
    pub fn traceparent(self, traceparent: &str) -> PendingRun {
        self.set("traceparent", traceparent.into())
    }

    /// Aborts the run when this future ends, whatever it gives: a [`CancelToken`](crate::CancelToken) or another library's, a
    /// timer, a signal, a channel. If it has ended already, the run is aborted before it begins: it emits its prompt and its
    /// end, and calls no model. Called several times, the first future that ends counts.
    pub fn abort_on<C>(mut self, cancel: C) -> PendingRun
    where
        C: IntoFuture,
        C::IntoFuture: Send + 'static,
    {
        if let PendingRunState::Pending(pending) = &mut self.0 {
            let cancel = cancel.into_future();
            pending.cancels.push(Box::pin(async move { drop(cancel.await) }));
        }
        self
    }

    /// Runs it as a subagent of a tool call, in the tool that has this context: its events come in the run of the call, as
    /// `subagent_event`; an abort of the call aborts it; what it uses counts there, too, and it ends with the outcome `budget`
    /// when nothing is left of the budget there. [`Agent::as_tool`] makes a whole tool of an agent.
    ///
    /// ```no_run
    /// # use agent_loop::{Agent, BoxError, ToolContext};
    /// # use serde_json::Value;
    /// async fn research(arguments: Value, context: ToolContext) -> Result<Value, BoxError> {
    ///     let agent = Agent::builder("anthropic/claude-sonnet-4-5").system_prompt("Find out.").build()?;
    ///     Ok(agent.prompt(arguments["question"].as_str().unwrap_or_default()).within(&context).await?.text.into())
    /// }
    /// ```
    ///
    /// # Errors
    /// Awaiting it gives `invalid_state` where the run of the call is over, or may have no subagent (`max_subagent_depth`).
    pub fn within(self, context: &ToolContext) -> PendingRun {
        self.within_showing(context, SubagentEvents::All)
    }

    /// As [`PendingRun::within`], and says which of its events come in the run of the call.
    pub fn within_showing(self, context: &ToolContext, events: SubagentEvents) -> PendingRun {
        let mut within = self.abort_on(context.cancel_token());
        if let PendingRunState::Pending(pending) = &mut within.0 {
            pending.parent = Some((context.clone(), events));
        }
        within
    }

    /// Of a `resume`: what is decided about the calls that wait, by their ids. All of them are decided, or nothing runs.
    ///
    /// ```no_run
    /// # async fn example(agent: agent_loop::Agent) -> Result<(), agent_loop::Error> {
    /// use agent_loop::suspension::Decision;
    ///
    /// let denied = agent.pending().into_iter().map(|call| (call.tool_call_id.to_string(), Decision::deny("not today")));
    /// println!("{}", agent.resume().decisions(denied).await?.text);
    /// # Ok(()) }
    /// ```
    pub fn decisions(mut self, decisions: impl IntoIterator<Item = (impl Into<String>, Decision)>) -> PendingRun {
        if let PendingRunState::Pending(pending) = &mut self.0 {
            match &mut pending.input {
                RunInput::Resume(given) => given.extend(decisions.into_iter().map(|(id, decision)| (id.into(), decision))),
                RunInput::Prompt(_) | RunInput::Queued | RunInput::OneCall => {
                    let text = "decisions are given to resume: a run with a prompt begins with no calls that wait";
                    pending.refused = Some(Error::invalid_argument(text));
                }
            }
        }
        self
    }

    /// Gives the run's log records up to a level to this function, before that of its runtime.
    #[cfg(feature = "__bindings")]
    pub fn log_to(mut self, level: LogLevel, function: RunLogFunction) -> PendingRun {
        if let PendingRunState::Pending(pending) = &mut self.0 {
            pending.log = Some((level, function));
        }
        self
    }

    /// Gives what is recorded of the run for OpenTelemetry to this function, if its agent has the option `traces`.
    #[cfg(feature = "__bindings")]
    pub fn trace_to(mut self, function: TraceFunction) -> PendingRun {
        if let PendingRunState::Pending(pending) = &mut self.0 {
            pending.trace = Some(Arc::new(move |records| function(records)));
        }
        self
    }

    /// Starts the run and gives it with its events as they come.
    ///
    /// # Errors
    /// As awaiting it, but for the run's own.
    pub fn stream(self) -> Result<Run, Error> {
        self.begin(true)
    }

    /// Starts the run without a queue of events: for those who listen with [`Agent::subscribe`], or need the result alone.
    ///
    /// # Errors
    /// As [`PendingRun::stream`].
    pub fn start(self) -> Result<Run, Error> {
        self.begin(false)
    }

    fn begin(self, with_queue: bool) -> Result<Run, Error> {
        match self.0 {
            PendingRunState::Pending(pending) => pending.begin(with_queue),
            PendingRunState::Running(_) | PendingRunState::Over => Err(already_begun()),
        }
    }
}

impl Pending {
    fn begin(self, with_queue: bool) -> Result<Run, Error> {
        let Pending { owner, input, options, mut cancels, log, trace, parent, refused } = self;
        refused.map_or(Ok(()), Err)?;
        let parent = parent.map(|(context, events)| Parent::new(context, events)).transpose()?;
        let mut now = Context::from_waker(Waker::noop());
        let aborted = cancels.iter_mut().any(|cancel| has_ended(cancel, &mut now));
        let cancels = if aborted { Vec::new() } else { cancels };
        let agent = match owner {
            RunOwner::Agent(agent) => agent,
            RunOwner::Context(context, settings) => settings.for_stateless_run(context)?,
            RunOwner::Recording(recording, runtime) => {
                return replayed::start(&recording, runtime, with_queue, aborted, cancels, log);
            }
        };
        agent.start(input, options, with_queue, aborted, cancels, log, trace, parent)
    }
}

impl Future for PendingRun {
    type Output = Result<RunResult, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<RunResult, Error>> {
        let mut running = match std::mem::replace(&mut self.0, PendingRunState::Over) {
            PendingRunState::Pending(pending) => match pending.begin(false) {
                Ok(run) => Box::pin(async move { run.result().await }) as BoxFuture<'static, _>,
                Err(error) => return Poll::Ready(Err(error)),
            },
            PendingRunState::Running(running) => running,
            PendingRunState::Over => return Poll::Ready(Err(already_begun())),
        };
        let result = running.as_mut().poll(cx);
        if result.is_pending() {
            self.0 = PendingRunState::Running(running);
        }
        result
    }
}

pub(super) fn already_begun() -> Error {
    Error::new(ErrorKind::InvalidState, "this run was begun before; ask the agent for another one")
}

impl fmt::Debug for PendingRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRun").field("has_begun", &!matches!(self.0, PendingRunState::Pending(_))).finish_non_exhaustive()
    }
}

impl Agent {
    /// Asks for a run with this prompt: await it for the result.
    ///
    /// ```no_run
    /// # async fn example(agent: agent_loop::Agent) -> Result<(), agent_loop::Error> {
    /// println!("{}", agent.prompt("Rain in Oslo?").await?.text);
    /// # Ok(()) }
    /// ```
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> PendingRun {
        PendingRun::of_agent(self.clone(), RunInput::Prompt(prompt.into()))
    }

    /// Asks for a run that goes on from the current transcript, adding no message; after an answer, with what waits in the
    /// steering queue, else in the follow-up queue. Messages that failed and custom roles are ignored when the last message is
    /// found. `invalid_state` when the transcript is empty, or ends with an answer while both queues are empty. Calls that wait
    /// are decided with [`PendingRun::decisions`].
    pub fn resume(&self) -> PendingRun {
        PendingRun::of_agent(self.clone(), RunInput::Resume(Vec::new()))
    }

    /// A run of what was queued while no run was active; `None` when nothing is. It goes on as
    /// [`Agent::resume`] does; the messages may also begin a conversation. For interactive programs, whose user may write when
    /// the run has just ended. While a run is active, awaiting what this gives is `busy`.
    ///
    /// ```no_run
    /// # async fn example(agent: agent_loop::Agent) -> Result<(), agent_loop::Error> {
    /// use agent_loop::Delivery;
    ///
    /// if agent.steer("And in Bergen?")? == Delivery::Queued
    ///     && let Some(run) = agent.resume_if_queued()
    /// {
    ///     println!("{}", run.await?.text);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn resume_if_queued(&self) -> Option<PendingRun> {
        let mut state = self.state();
        let is_wanted = state.conversation.active().is_some() || state.conversation.has_queued();
        is_wanted.then(|| PendingRun::of_agent(self.clone(), RunInput::Queued))
    }

    /// Starts a run and gives its events as they come: short for `prompt(…).stream()`.
    ///
    /// # Errors
    /// As [`PendingRun::stream`].
    pub fn stream(&self, prompt: impl Into<Prompt>) -> Result<Run, Error> {
        self.prompt(prompt).stream()
    }

    /// Resumes and gives the events as they come: short for `resume().stream()`.
    ///
    /// # Errors
    /// As [`PendingRun::stream`].
    pub fn stream_resume(&self) -> Result<Run, Error> {
        self.resume().stream()
    }
}
