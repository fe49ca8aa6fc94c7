//! The agent: model, system prompt, tools, limits and the conversation so far, with at most one active run.
//!
//! Here are its runs and listeners; its chained setters are in `builder`, the others in `setters`, its state in `state`, stateless runs
//! in `stateless`.

mod builder;
mod setters;
mod state;
mod stateless;

use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop_proto::machine::{Input, Loop, Start, resumable};
use tokio::sync::Notify;

use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventData};
use crate::listener::{Listener, Listeners, Subscription};
use crate::message::Prompt;
use crate::model::Model;
use crate::provider::ModelSpec;
use crate::queues::Queue;
use crate::result::RunResult;
use crate::run::driver::Driver;
use crate::run::{AbortHandle, Run, RunShared};
use crate::scope::Scope;
pub(crate) use state::HostSide;
use state::{Source, State};
pub use stateless::{Context, resume, run, start_aborted};

/// A model, tools and a conversation. Cheap to clone: clones are the same agent. Every method may be called from any thread.
///
/// ```no_run
/// # async fn example() -> Result<(), agent_loop::Error> {
/// use agent_loop::Agent;
/// let agent = Agent::new("anthropic/claude-sonnet-4-5")?.system_prompt("Be brief.");
/// let result = agent.prompt("Rain in Oslo?").await?;
/// println!("{}", result.text);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    id: u64,
    state: Mutex<State>,
    /// Counts changes of what a turn is configured with.
    revision: AtomicU64,
    listeners: Arc<Listeners>,
    idle: Notify,
    /// Whether this stands for a run without an agent: what its queues keep goes into the run's result.
    is_loop: bool,
}

static NEXT_AGENT: AtomicU64 = AtomicU64::new(1);

impl Agent {
    /// An agent for a model named `provider/id`, or given as an object in JSON.
    ///
    /// # Errors
    /// As [`ModelSpec::parse`].
    pub fn new(model: &str) -> Result<Agent, Error> {
        Ok(Agent::with_source(Source::Spec(Box::new(ModelSpec::parse(model)?))))
    }

    /// An agent for a model given as a spec.
    pub fn with_spec(spec: ModelSpec) -> Agent {
        Agent::with_source(Source::Spec(Box::new(spec)))
    }

    /// An agent for a custom model.
    pub fn with_model(model: Arc<dyn Model>) -> Agent {
        Agent::with_source(Source::Own(model))
    }

    fn with_source(model: Source) -> Agent {
        Agent::from_state(State::new(model), false)
    }

    fn from_state(state: State, is_loop: bool) -> Agent {
        let id = NEXT_AGENT.fetch_add(1, Ordering::Relaxed);
        let (listeners, idle) = (Arc::default(), Notify::new());
        let revision = AtomicU64::new(0);
        Agent(Arc::new(Inner { id, state: Mutex::new(state), revision, listeners, idle, is_loop }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Sections under the lock are short and cannot leave it half changed.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, to change what turns are configured with: an active run notices it.
    fn change(&self) -> Change<'_> {
        Change { state: self.state(), revision: &self.0.revision }
    }

    fn with(self, change: impl FnOnce(&mut State)) -> Agent {
        change(&mut self.change());
        self
    }

    /// Counts changes of what turns are configured with.
    pub(crate) fn revision(&self) -> u64 {
        self.0.revision.load(Ordering::Acquire)
    }

    /// Runs until the model is done and gives the result. Dropping the future aborts the run.
    ///
    /// # Errors
    /// `busy` while a run is active; `invalid_argument` for an unusable model or fallback; `invalid_state` inside a callback of
    /// this agent, without a runtime or after its shutdown; the run's own error (with the result inside) when its outcome is `error`.
    pub async fn prompt(&self, prompt: impl Into<Prompt>) -> Result<RunResult, Error> {
        self.start(Some(prompt.into()), false, false)?.result().await
    }

    /// Starts a run and gives its events as they come.
    ///
    /// # Errors
    /// As [`Agent::prompt`], but for the run's own.
    pub fn stream(&self, prompt: impl Into<Prompt>) -> Result<Run, Error> {
        self.start(Some(prompt.into()), true, false)
    }

    /// Starts a run without a queue of events, for listeners alone.
    ///
    /// # Errors
    /// As [`Agent::stream`].
    pub fn start_quiet(&self, prompt: impl Into<Prompt>) -> Result<Run, Error> {
        self.start(Some(prompt.into()), false, false)
    }

    /// Goes on from the transcript as it stands, adding no message; after an answer, with what waits in the steering queue, else
    /// in the follow-up queue. Messages that failed and application roles are looked through when the last message is judged.
    ///
    /// # Errors
    /// `invalid_state` when the transcript is empty, or ends with an answer while both queues are empty; else as
    /// [`Agent::prompt`].
    pub async fn resume(&self) -> Result<RunResult, Error> {
        self.start(None, false, false)?.result().await
    }

    /// As [`Agent::resume`], and gives the events as they come.
    ///
    /// # Errors
    /// As [`Agent::resume`], but for the run's own.
    pub fn stream_resume(&self) -> Result<Run, Error> {
        self.start(None, true, false)
    }

    /// As [`Agent::resume`], without a queue of events.
    ///
    /// # Errors
    /// As [`Agent::stream_resume`].
    pub fn resume_quiet(&self) -> Result<Run, Error> {
        self.start(None, false, false)
    }

    /// Starts a run (`resume` where there is no prompt) that was aborted before it began: it shows what it begins with, and ends. For
    /// hosts whose callers may cancel before they ask.
    ///
    /// # Errors
    /// As [`Agent::stream`] and [`Agent::stream_resume`].
    pub fn start_aborted(&self, prompt: Option<Prompt>, with_queue: bool) -> Result<Run, Error> {
        self.start(prompt, with_queue, true)
    }

    fn start(&self, prompt: Option<Prompt>, with_queue: bool, aborted: bool) -> Result<Run, Error> {
        self.check_outside("starting a run")?;
        if prompt.as_ref().is_some_and(|prompt| prompt.0.is_empty()) {
            return Err(Error::invalid_argument("prompt: the list is empty; give at least one message"));
        }
        let mut state = self.state();
        if state.active.is_some() {
            return Err(busy("another cannot be started"));
        }
        let runtime = state.runtime_here()?;
        runtime.check()?;
        let clock = state.resolve_all()?.clock().steady();
        let State { messages, queues, settings, .. } = &mut *state;
        let queued = match prompt {
            Some(_) => Vec::new(),
            None => resumable(messages, queues, settings, self.0.is_loop)?,
        };
        let prompts = prompt.map(|prompt| prompt.into_messages(clock.now_ms())).unwrap_or_default();
        let (id, seed) = run_id();
        let start = Start {
            run_id: id.to_string(),
            seed,
            transcript: messages.to_vec(),
            queues: std::mem::take(queues),
            prompts,
            queued,
        };
        let mut models = Vec::new();
        let (config, host) = state.configuration(self.revision(), self.0.is_loop, &clock, &mut models);
        let run = Arc::new(RunShared::new(id, with_queue, runtime.token(), Loop::new(config, start)));
        if aborted {
            run.abort();
        }
        state.active = Some(Arc::clone(&run));
        state.error = None;
        drop(state);
        let driver = Driver::new(self.clone(), Arc::clone(&run), clock, host, models);
        runtime.spawn_run(driver.drive());
        Ok(Run::new(run, self.clone()))
    }

    /// Queues a message that joins the active run, or the next one, as soon as it can: before the first model call, after a turn,
    /// or among its tool calls, of which those that do not run yet are skipped (see `steering_policy`). From any thread and any
    /// callback.
    pub fn steer(&self, message: impl Into<Prompt>) {
        // Refused only after the end of a run without an agent, whose handle says so.
        let _ = self.queue(Queue::Steering, message.into());
    }

    /// Queues a message for when a run would have ended. From any thread and any callback.
    pub fn follow_up(&self, message: impl Into<Prompt>) {
        let _ = self.queue(Queue::FollowUp, message.into());
    }

    pub(crate) fn queue(&self, which: Queue, prompt: Prompt) -> Result<(), Error> {
        let mut state = self.state();
        let run = state.active.clone();
        let mut core = run.as_ref().map(|run| run.core());
        if state.closed || core.as_ref().is_some_and(|core| core.is_closed()) {
            let text = "the run is over, and without an agent there is no queue to keep the message; begin another run with it";
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        match (&mut core, which) {
            (None, _) => state.queues.push(which, prompt.0),
            (Some(core), Queue::Steering) => core.handle(Input::Steer(prompt.0)),
            (Some(core), Queue::FollowUp) => core.handle(Input::FollowUp(prompt.0)),
        }
        Ok(())
    }

    /// Removes all messages from the steering queue that no turn has begun with.
    pub fn clear_steering_queue(&self) {
        self.clear(Queue::Steering);
    }

    /// Removes all messages from the follow-up queue that no turn has begun with.
    pub fn clear_follow_up_queue(&self) {
        self.clear(Queue::FollowUp);
    }

    /// Removes all messages from both queues that no turn has begun with.
    pub fn clear_all_queues(&self) {
        self.clear(Queue::Steering);
        self.clear(Queue::FollowUp);
    }

    fn clear(&self, which: Queue) {
        let mut state = self.state();
        match (&state.active, which) {
            (None, _) => drop(state.queues.clear(which)),
            (Some(run), Queue::Steering) => run.core().handle(Input::ClearSteering),
            (Some(run), Queue::FollowUp) => run.core().handle(Input::ClearFollowUp),
        }
    }

    /// Whether a message waits in either queue, or is about to join the transcript.
    pub fn has_queued_messages(&self) -> bool {
        let state = self.state();
        match &state.active {
            None => !state.queues.is_empty(),
            Some(run) => !run.core().queues().is_empty(),
        }
    }

    /// Aborts the active run, if there is one. From any thread and any callback; returns at once.
    pub fn abort(&self) {
        // Not under the lock: what an abort wakes may want it.
        let active = self.state().active.clone();
        if let Some(run) = active {
            run.abort();
        }
    }

    /// A handle that aborts the active run, if there is one now.
    pub fn abort_handle(&self) -> Option<AbortHandle> {
        self.state().active.clone().map(AbortHandle::new)
    }

    /// Waits until no run is active and all listeners have returned.
    ///
    /// # Errors
    /// `invalid_state` inside a callback of this agent, where it would wait for itself.
    pub async fn wait_for_idle(&self) -> Result<(), Error> {
        self.check_outside("wait_for_idle")?;
        loop {
            let idle = self.0.idle.notified();
            let mut idle = std::pin::pin!(idle);
            idle.as_mut().enable();
            if self.state().active.is_none() {
                return Ok(());
            }
            idle.await;
        }
    }

    /// Calls a function with each event of this agent's runs, which wait for it. It should not block. Dropping what this gives
    /// unsubscribes.
    pub fn subscribe(&self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Subscription {
        let function = Arc::new(move |event: &Event| {
            listener(event);
            Ok(())
        });
        self.add_listener(Listener::Function { function, blocking: false })
    }

    /// Adds a listener of any form.
    pub fn add_listener(&self, listener: Listener) -> Subscription {
        self.0.listeners.add(listener)
    }

    /// Removes a listener whose subscription was detached; says whether there was one.
    pub fn unsubscribe(&self, id: u64) -> bool {
        self.0.listeners.remove(id)
    }

    pub(crate) fn listeners(&self) -> &Arc<Listeners> {
        &self.0.listeners
    }

    /// Marks code as inside a callback of this agent, where starting or awaiting a run of it is refused.
    pub fn scope(&self) -> Scope {
        Scope(self.0.id)
    }

    /// For hosts that block a thread until a run has got further.
    ///
    /// # Errors
    /// `invalid_state` inside a callback of this agent, where that would wait for itself. `what` begins the message.
    pub fn check_outside(&self, what: &str) -> Result<(), Error> {
        if self.scope().is_inside() {
            return Err(Error::new(
                ErrorKind::InvalidState,
                format!("{what} inside a listener, hook or tool of the same agent would wait for itself; do it after the run"),
            ));
        }
        Ok(())
    }

    /// Takes an event into the state, before anybody else hears of it.
    pub(crate) fn note(&self, event: &Event) {
        match &event.data {
            EventData::MessageStart { message } if message.as_assistant().is_some() => {
                self.state().streaming_message.clone_from(&event.partial_handle().cloned());
            }
            EventData::MessageEnd { message } => {
                let mut state = self.state();
                if message.as_assistant().is_some() {
                    state.streaming_message = None;
                }
                Arc::make_mut(&mut state.messages).push(Arc::clone(message));
            }
            EventData::ToolExecutionStart { tool_call_id, .. } => {
                self.state().pending_tool_calls.push(Arc::clone(tool_call_id));
            }
            EventData::ToolExecutionEnd { tool_call_id, .. } => {
                self.state().pending_tool_calls.retain(|id| id != tool_call_id);
            }
            EventData::AgentEnd { error, .. } => self.state().error.clone_from(error),
            EventData::AgentStart
            | EventData::TurnStart
            | EventData::MessageStart { .. }
            | EventData::MessageUpdate(_)
            | EventData::ToolExecutionUpdate { .. }
            | EventData::TurnEnd { .. }
            | EventData::Retry { .. }
            | EventData::Diagnostic { .. }
            | EventData::Raw { .. } => {}
        }
    }

    /// The last listener has returned: the agent is idle, then whoever waits for the run learns of its end.
    pub(crate) fn run_ended(&self, run: &Arc<RunShared>, result: RunResult, last: &mut Vec<Event>) {
        let mut state = self.state();
        state.active = None;
        state.streaming_message = None;
        state.pending_tool_calls.clear();
        // What no turn has begun with waits for the next run.
        state.queues = run.core().take_queues();
        state.closed = self.0.is_loop;
        drop(state);
        run.finish(result, last);
        self.0.idle.notify_waiters();
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Agent")
            .field("model", &state.model_name())
            .field("tools", &state.tools)
            .field("messages", &state.messages.len())
            .field("is_streaming", &state.active.is_some())
            .finish_non_exhaustive()
    }
}

fn busy(what: &str) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "a run is active on this agent, and {what}: use steer or follow_up to reach it, or wait_for_idle to wait for its end"
        ),
    )
}

/// A name for a run that no other run has, and a random number.
fn run_id() -> (Arc<str>, u64) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The standard library seeds its hashers at random: enough for a name, and no dependency.
    let random = RandomState::new().hash_one((std::process::id(), number));
    (format!("run_{random:016x}").into(), RandomState::new().hash_one(random))
}

/// The locked state of an agent that is being changed.
struct Change<'a> {
    state: MutexGuard<'a, State>,
    revision: &'a AtomicU64,
}

impl Deref for Change<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        // Still under the lock: whoever sees the count reads the changed state.
        self.revision.fetch_add(1, Ordering::Release);
    }
}
