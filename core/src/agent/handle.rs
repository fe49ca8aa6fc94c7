//! The handle of an agent: its state behind a lock, its queues and listeners, and what a run reports to it.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop_proto::conversation::Conversation;
use agent_loop_proto::machine::Config;
use tokio::sync::Notify;

use super::host_side::HostSide;
use super::state::State;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::listener::{Listener, Listeners, Subscription};
use crate::message::{Message, Prompt};
use crate::model::source::Source;
use crate::model::table::ResolvedModel;
use crate::provider::ModelSpec;
use crate::queues::{Delivery, Queue};
use crate::result::RunResult;
use crate::run::shared::{AbortHandle, RunShared};
use crate::scope::Scope;
use crate::tool::ToolContext;

/// A model, tools and a conversation. Cheap to clone: clones are the same agent. Every method may be called from any thread.
///
/// ```no_run
/// # async fn example() -> Result<(), agent_loop::Error> {
/// use agent_loop::Agent;
/// let agent = Agent::builder("anthropic/claude-sonnet-4-5").system_prompt("Be brief.").build()?;
/// let result = agent.prompt("Rain in Oslo?").await?;
/// println!("{}", result.text);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    scope: Scope,
    state: Mutex<State>,
    /// Counts changes of what a turn is configured with. Shared with its MCP servers, whose tools may change.
    revision: Arc<AtomicU64>,
    listeners: Arc<Listeners>,
    idle: Notify,
    stands_for: StandsFor,
}

/// What an agent stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandsFor {
    /// An application's own.
    Itself,
    /// One of the same configuration, for one call of a tool.
    Fork,
    /// A run without an agent: what its queues keep goes into the run's result.
    StatelessRun,
    /// A recorded run that is played, which takes no messages.
    Replay,
}

impl Agent {
    pub(super) fn from_state(state: State, stands_for: StandsFor) -> Agent {
        let scope = Scope::new();
        let (listeners, idle) = (Arc::default(), Notify::new());
        let revision = Arc::new(AtomicU64::new(0));
        Agent(Arc::new(Inner { scope, state: Mutex::new(state), revision, listeners, idle, stands_for }))
    }

    /// Another agent of the same configuration, as it is now, with these messages and no session. Listeners are not part of it.
    ///
    /// # Errors
    /// `invalid_argument` for a model or a fallback that cannot be used; `invalid_state` without a runtime.
    #[doc(hidden)]
    pub fn fork(&self, messages: Arc<Vec<Arc<Message>>>) -> Result<Agent, Error> {
        let mut state = self.state();
        // What is made for a model is then made once for all forks.
        state.runtime_here()?;
        state.resolve_all()?;
        let forked = State { conversation: Conversation::new(messages)?, ..state.fork() };
        drop(state);
        Ok(Agent::from_state(forked, StandsFor::Fork))
    }

    /// The configuration of a run that would begin now.
    ///
    /// # Errors
    /// `invalid_argument` for a model or a fallback that cannot be used; `invalid_state` without a runtime.
    pub(crate) fn usable_config(&self) -> Result<Config, Error> {
        let mut state = self.state();
        state.runtime_here()?;
        let clock = state.resolve_all()?.clock();
        Ok(state.configuration(self.revision(), self.is_stateless(), &clock, &mut Vec::new()).0)
    }

    /// Before and after a call waits for its turn to go on with this agent's conversation.
    ///
    /// # Errors
    /// `invalid_state`: the call was cancelled; or it would wait for itself, as it comes from a run of this agent, or from a
    /// subagent in that.
    #[doc(hidden)]
    pub fn check_turn_of(&self, context: &ToolContext) -> Result<(), Error> {
        if context.is_cancelled() {
            return Err(Error::new(ErrorKind::InvalidState, "the call was cancelled before its turn"));
        }
        let active = self.state().conversation.active().map(|run| Arc::clone(&run.0.id));
        let Some(active) = active else { return Ok(()) };
        let mut around = context.run();
        while let Some(run) = around {
            if *run.id() == *active {
                let text = "this agent is already at work on this: the call comes from its own run, whose conversation it would \
                            go on with; do without this tool";
                return Err(Error::new(ErrorKind::InvalidState, text));
            }
            around = run.around();
        }
        Ok(())
    }

    /// As [`Agent::fork`], without what is the host's: tools, hooks, middleware and providers, which the host gives it anew.
    ///
    /// # Errors
    /// As [`Agent::fork`].
    #[cfg(feature = "__bindings")]
    pub fn fork_for_host(&self, messages: Arc<Vec<Arc<Message>>>) -> Result<Agent, Error> {
        let forked = self.fork(messages)?;
        let mut state = forked.change();
        (state.tools, state.specs, state.hooks, state.middleware) = Default::default();
        state.models.forget_providers();
        drop(state);
        Ok(forked)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Sections under the lock are short and cannot leave it half changed.
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let in_parent = state.conversation.active().filter(|run| run.0.is_in_parent());
        if let Some(run) = in_parent.map(|run| Arc::clone(&run.0)) {
            let text = "the run was interrupted here: the process forked while it was active, and it goes on in the parent";
            let error = Error::new(ErrorKind::Aborted, text);
            state.conversation.abandon(error.clone());
            self.scope().forget();
            run.interrupt(error);
            self.0.idle.notify_waiters();
        }
        state
    }

    /// In a forked child, ends a run that goes on in the parent only.
    pub(crate) fn notice_fork(&self, run: &RunShared) {
        if run.result.get().is_none() && run.is_in_parent() {
            drop(self.state());
        }
    }

    /// The state, to change what turns are configured with: an active run notices it.
    pub(super) fn change(&self) -> Change<'_> {
        Change { state: self.state(), revision: &self.0.revision }
    }

    /// Counts changes of what turns are configured with.
    pub(crate) fn revision(&self) -> u64 {
        self.0.revision.load(Ordering::Acquire)
    }

    /// The count itself, for what else changes turns.
    #[cfg(feature = "mcp")]
    pub(crate) fn shared_revision(&self) -> &Arc<AtomicU64> {
        &self.0.revision
    }

    /// Queues a message that joins the active run, or the next one, as soon as it can: before the first model call, after a turn,
    /// or among its tool calls, of which those that do not run yet are skipped (see `steering_policy`). From any thread and any
    /// callback. If no run is active, the message waits ([`Delivery::Queued`]); [`Agent::resume_if_queued`] starts one for it.
    ///
    /// # Errors
    /// `invalid_argument` for an empty list, for a user's message without an image and without text (white space is none), and
    /// for a message whose id another message of the agent has.
    pub fn steer(&self, message: impl Into<Prompt>) -> Result<Delivery, Error> {
        self.queue(Queue::Steering, message.into())
    }

    /// Queues a message for when a run would have ended. From any thread and any callback. As [`Agent::steer`], the message waits
    /// if no run is active.
    ///
    /// # Errors
    /// As [`Agent::steer`].
    pub fn follow_up(&self, message: impl Into<Prompt>) -> Result<Delivery, Error> {
        self.queue(Queue::FollowUp, message.into())
    }

    pub(crate) fn queue(&self, which: Queue, prompt: Prompt) -> Result<Delivery, Error> {
        if self.0.stands_for == StandsFor::Replay {
            let text = "a run that is replayed takes no messages: it goes as it was recorded";
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        self.change_conversation(|state| state.conversation.queue(which, prompt.0))
    }

    /// Removes all messages from the steering queue that no turn has begun with.
    pub fn clear_steering_queue(&self) {
        self.clear_queue(Queue::Steering);
    }

    /// Removes all messages from the follow-up queue that no turn has begun with.
    pub fn clear_follow_up_queue(&self) {
        self.clear_queue(Queue::FollowUp);
    }

    /// What cannot be kept is not changed: the error is that of the next call that has one.
    fn clear_queue(&self, which: Queue) {
        let _ = self.change_conversation(|state| {
            state.conversation.clear_queue(which);
            Ok(())
        });
    }

    /// Removes all messages from both queues that no turn has begun with.
    pub fn clear_all_queues(&self) {
        self.clear_steering_queue();
        self.clear_follow_up_queue();
    }

    /// Whether a message waits in either queue, or is about to join the transcript.
    pub fn has_queued_messages(&self) -> bool {
        self.state().conversation.has_queued()
    }

    /// Aborts the active run, if there is one. From any thread and any callback; returns at once.
    pub fn abort(&self) {
        // Not under the lock: what an abort wakes may want it.
        let active = self.active_run();
        if let Some(run) = active {
            run.abort();
        }
    }

    /// Ends the active run, if there is one, after its current turn: see [`Run::stop_after_turn`](crate::Run::stop_after_turn).
    pub fn stop_after_turn(&self) {
        if let Some(run) = self.active_run() {
            run.stop_after_turn();
        }
    }

    /// A handle that aborts the active run, if there is one now.
    pub fn abort_handle(&self) -> Option<AbortHandle> {
        self.active_run().map(AbortHandle::new)
    }

    pub(super) fn active_run(&self) -> Option<Arc<RunShared>> {
        self.state().conversation.active().map(|run| Arc::clone(&run.0))
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
            if self.state().conversation.active().is_none() {
                return Ok(());
            }
            idle.await;
        }
    }

    /// Calls a function with each event of this agent's runs, which wait for it. It should not block: `listener_timeout_ms` is
    /// for listeners that do not hold the run's thread ([`Agent::add_listener`]). Dropping what this gives unsubscribes.
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

    /// Whether it is one for one call of a tool.
    pub(super) fn is_fork(&self) -> bool {
        self.0.stands_for == StandsFor::Fork
    }

    /// Whether this stands for a run without an agent.
    pub(super) fn is_stateless(&self) -> bool {
        self.0.stands_for == StandsFor::StatelessRun
    }

    pub(crate) fn listeners(&self) -> &Arc<Listeners> {
        &self.0.listeners
    }

    /// Marks code as inside a callback of this agent, where starting or awaiting a run of it is refused.
    #[doc(hidden)]
    pub fn scope(&self) -> Scope {
        self.0.scope.clone()
    }

    /// For hosts that block a thread until a run has got further.
    ///
    /// # Errors
    /// `invalid_state` inside a callback of this agent, where that would wait for itself. `what` begins the message.
    #[doc(hidden)]
    pub fn check_outside(&self, what: &str) -> Result<(), Error> {
        if self.scope().is_inside() {
            // In a child that was forked in the callback it is not any more, once that was noticed.
            drop(self.state());
        }
        if self.scope().is_inside() {
            return Err(Error::new(
                ErrorKind::InvalidState,
                format!("{what} inside a listener, hook or tool of the same agent would deadlock; do it after the run"),
            ));
        }
        Ok(())
    }

    /// What a loop runs with from its next turn on, and the host's side of it. Models get their keys in the table.
    pub(crate) fn configuration(&self, clock: &Clock, models: &mut Vec<ResolvedModel>) -> (Config, HostSide) {
        self.state().configuration(self.revision(), self.is_stateless(), clock, models)
    }

    /// Another model, for a while.
    pub(crate) fn resolve_other(&self, spec: &ModelSpec) -> Result<ResolvedModel, Error> {
        let state = self.state();
        let source = Source::Spec(Box::new(spec.clone()));
        state.resolve_other(&source)
    }

    /// Records an event in the conversation, before listeners and readers get it.
    pub(crate) fn record_event(&self, event: &Event) {
        self.state().conversation.record(event);
    }

    /// The last listener has returned: the agent is idle, then whoever waits for the run learns of its end.
    pub(crate) fn run_ended(&self, run: &Arc<RunShared>, result: RunResult, last: &mut Vec<Event>) {
        {
            let mut state = self.state();
            state.conversation.end();
            // What cannot be written is an error of the next run.
            let _ = state.keep_changes();
        }
        run.finish(result, last);
        self.0.idle.notify_waiters();
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Agent")
            .field("model", &state.models.name())
            .field("tools", &state.tools)
            .field("messages", &state.conversation.messages().len())
            .field("is_streaming", &state.conversation.active().is_some())
            .finish_non_exhaustive()
    }
}

/// The locked state of an agent that is being changed.
pub(super) struct Change<'a> {
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
