//! An agent's conversation: its transcript and queues from run to run, and its active run.
//!
//! Here is decided what is refused while a run is active, what a run begins with and what it leaves; in `queued`, where a queued
//! message goes; in `session`, what becomes a record of a journal.
//!
//! ```
//! use agent_loop_proto::conversation::Conversation;
//! use agent_loop_proto::machine::{Action, Config, Loop, Start};
//! use agent_loop_proto::message::Message;
//! use agent_loop_proto::queues::Queue;
//! # use agent_loop_proto::error::{Error, ErrorKind};
//! # fn main() -> Result<(), Error> {
//! # let config = Config::new("a/b", Err(Error::new(ErrorKind::Authentication, "no key")));
//! let mut conversation: Conversation<Loop> = Conversation::default();
//! let prompts = vec![Message::user("Rain in Oslo?", 0)];
//! conversation.begin(config, Start::new("run_1", 0, prompts), |run| run)?;
//! conversation.queue(Queue::FollowUp, vec![Message::user("And in Bergen?", 0)])?;
//! while let Some(action) = conversation.poll(0) {
//!     match action {
//!         Action::Emit(event) => println!("{}", event.to_json()),
//!         Action::Done(result) => println!("{} messages", conversation.messages().len()),
//!         _ => {} // see `machine`
//!     }
//! }
//! assert!(conversation.has_queued(), "the run failed before the follow-up");
//! # Ok(())
//! # }
//! ```

use std::borrow::Borrow;
use std::ops::DerefMut;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use self::journal::SessionJournal;
use self::origin::Origin;
use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventData};
use crate::gate::Remembered;
use crate::machine::{Action, Config, Input, Loop, RequestCaches, Start, check_answerable, check_config, recorded};
use crate::message::Message;
use crate::message_ids::NewIds;
use crate::partial::Partial;
use crate::prompt::check_says_something;
use crate::queues::{Queue, Queues};
use crate::request::ThinkingLevel;
use crate::settings::Settings;
use crate::suspension::{StoredCall, SuspendedCall};

/// The conversation of an agent, which has at most one active run; or that of a stateless run. `R` is the active run as the host
/// has it.
#[derive(Debug)]
pub struct Conversation<R> {
    messages: Arc<Vec<Arc<Message>>>,
    /// How often the transcript was replaced or emptied; else it only grows.
    replacements: u64,
    /// While no run is active: a run has them itself.
    queues: Queues,
    /// The calls that wait for a decision. While a run is active, it has them itself.
    suspended: Vec<StoredCall>,
    /// What was decided for always.
    remembered: Remembered,
    /// What the idempotency keys of its calls begin with.
    origin: Origin,
    /// In a session: how many messages there were before the transcript was replaced or emptied.
    replaced: usize,
    journal: Option<Box<SessionJournal>>,
    /// What was repaired and encoded of the transcript, while no run is active.
    caches: RequestCaches,
    active: Option<R>,
    /// Of a stateless run that is over: what its queues had is in its result.
    is_closed: bool,
    streaming_message: Option<Partial>,
    pending_tool_calls: Vec<Arc<str>>,
    error: Option<Error>,
}

/// An active run, as its host has it.
pub trait ActiveRun {
    /// The run's loop; behind a lock, if the host shares it with a driver.
    fn machine(&mut self) -> impl DerefMut<Target = Loop>;
}

impl ActiveRun for Loop {
    fn machine(&mut self) -> impl DerefMut<Target = Loop> {
        self
    }
}

impl<R> Default for Conversation<R> {
    fn default() -> Conversation<R> {
        Conversation {
            messages: Arc::default(),
            replacements: 0,
            queues: Queues::default(),
            suspended: Vec::new(),
            remembered: Remembered::default(),
            origin: Origin::default(),
            replaced: 0,
            journal: None,
            caches: RequestCaches::default(),
            active: None,
            is_closed: false,
            streaming_message: None,
            pending_tool_calls: Vec::new(),
            error: None,
        }
    }
}

impl<R: ActiveRun> Conversation<R> {
    /// A conversation that goes on from these messages.
    ///
    /// # Errors
    /// `invalid_argument` as for [`Conversation::append`].
    pub fn new(messages: Arc<Vec<Arc<Message>>>) -> Result<Conversation<R>, Error> {
        NewIds::of(&messages).map_err(|e| e.reworded(|why| format!("messages: {why}")))?;
        Ok(Conversation { messages, ..Conversation::default() })
    }

    /// Begins a run with the prompts of `start`, or one that resumes if it has none. The transcript and the queues of `start`
    /// are replaced by the conversation's own. `host` makes what the host has of the run; it is not called on an error.
    ///
    /// # Errors
    /// `busy` while a run is active; `invalid_argument` for a `tool_choice` of a tool that does not exist, for a `max_cost` with
    /// a model without prices, as for [`Conversation::queue`], and as for [`decide`](crate::machine::decide); `invalid_state`
    /// when there is nothing to resume, and for other runs while calls wait for a decision. Nothing changes then.
    pub fn begin(&mut self, mut config: Config, mut start: Start, host: impl FnOnce(Loop) -> R) -> Result<&mut R, Error> {
        self.check_idle("another cannot be started")?;
        start.options.apply(&mut config.settings);
        check_config(&config, start.one_call)?;
        if start.prompts.is_some() || start.if_queued {
            self.check_not_suspended()?;
        }
        match &start.prompts {
            None if start.one_call => check_answerable(&self.messages)?,
            None => self.find_input(&config, &mut start)?,
            Some(prompts) if prompts.is_empty() => {
                return Err(Error::invalid_argument("prompt: the list is empty; give at least one message"));
            }
            Some(prompts) => {
                check_says_something(prompts)
                    .map_err(|e| e.reworded(|why| format!("{why}; to go on without a new message, use resume")))
                    .and_then(|()| self.check_new(prompts))
                    .map_err(|e| e.reworded(|why| format!("prompt: {why}")))?;
                start.decided = recorded(&self.messages, self.left());
            }
        }
        start.transcript = self.messages.to_vec();
        start.queues = std::mem::take(&mut self.queues);
        start.remembered = self.remembered.clone();
        start.origin = self.origin.of_run(&config.settings.origin, &start.run_id);
        (start.replaced, config.journals) = (self.replaced, self.has_session());
        self.run_begun(start.prompts.is_none() && start.decided.is_some());
        self.suspended.clear();
        let mut machine = Loop::new(config, start);
        machine.set_caches(std::mem::take(&mut self.caches));
        self.error = None;
        Ok(self.active.insert(host(machine)))
    }

    /// The next action of the active run, for hosts that drive it in place: an event that it emits is recorded, and with its last
    /// action it has ended.
    pub fn poll(&mut self, now_ms: u64) -> Option<Action> {
        let action = self.active.as_mut()?.machine().poll(now_ms)?;
        match &action {
            Action::Emit(event) => self.record(event),
            Action::Done(_) => self.end(),
            _ => {}
        }
        Some(action)
    }

    /// Reports to the active run, if there is one.
    pub fn handle(&mut self, input: Input) {
        if let Some(active) = &mut self.active {
            active.machine().handle(input);
        }
    }

    /// The active run is over, and the last listener has returned. What no turn has begun with waits for the next run.
    pub fn end(&mut self) {
        let Some(mut active) = self.active.take() else { return };
        let mut machine = active.machine();
        self.is_closed = machine.is_closed();
        (self.queues, self.caches) = machine.finish();
        let changes = machine.take_changes();
        drop(machine);
        self.run_ended(changes);
        if self.is_closed {
            // No run follows.
            self.caches = RequestCaches::default();
        }
        self.streaming_message = None;
        self.pending_tool_calls.clear();
    }

    /// The active run is not here any more, as its process has forked. What its queues had stays with it.
    pub fn abandon(&mut self, error: Error) {
        if let Some(active) = self.active.take() {
            // Nothing of it can be used: a thread that is not here may have held its locks.
            std::mem::forget(active);
            self.streaming_message = None;
            self.pending_tool_calls.clear();
            self.error = Some(error);
        }
    }

    /// Records an event of the active run, before listeners and readers get it. [`EventData::MessageUpdate`] can be left out by
    /// hosts that do not load loops: then all events of a message share its text.
    pub fn record(&mut self, event: &Event) {
        match &event.data {
            EventData::MessageStart { message } if message.as_assistant().is_some() => {
                self.streaming_message = event.partial_handle().cloned();
            }
            EventData::MessageUpdate(_) => self.streaming_message = event.partial_handle().cloned(),
            EventData::MessageEnd { message } => {
                if let Some(answer) = message.as_assistant() {
                    self.streaming_message = None;
                    if !answer.has_failed() {
                        self.forget_left_calls();
                    }
                }
                Arc::make_mut(&mut self.messages).push(Arc::clone(message));
            }
            EventData::ToolExecutionStart { tool_call_id, .. } => self.pending_tool_calls.push(Arc::clone(tool_call_id)),
            EventData::ToolExecutionEnd { tool_call_id, .. } | EventData::ToolCallSuspended { tool_call_id, .. } => {
                self.pending_tool_calls.retain(|id| id != tool_call_id);
            }
            EventData::AgentEnd { error, .. } => {
                self.error.clone_from(error);
                self.suspended = self.active.as_mut().map(|active| active.machine().suspended().to_vec()).unwrap_or_default();
                self.take_remembered();
            }
            EventData::TurnEnd { .. } => self.take_remembered(),
            EventData::AgentStart
            | EventData::TurnStart
            | EventData::MessageStart { .. }
            | EventData::ToolExecutionUpdate { .. }
            | EventData::SubagentEvent { .. }
            | EventData::Retry { .. }
            | EventData::Diagnostic { .. }
            | EventData::Raw { .. } => {}
        }
    }

    /// Appends messages to the transcript.
    ///
    /// # Errors
    /// `busy` while a run is active; `invalid_state` while calls wait for a decision; `invalid_argument` for an id that another
    /// message has, and for a role of another format.
    pub fn append(&mut self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Result<(), Error> {
        self.check_idle("the transcript cannot be changed")?;
        self.check_not_suspended()?;
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Into::into).collect();
        self.check_new(&messages)?;
        self.record_appended(&messages);
        Arc::make_mut(&mut self.messages).extend(messages);
        Ok(())
    }

    /// Replaces the transcript. Calls that wait for a decision are discarded.
    ///
    /// # Errors
    /// `busy` while a run is active; `invalid_argument` as for [`Conversation::append`].
    pub fn replace(&mut self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Result<(), Error> {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Into::into).collect();
        self.check_replacement(&messages)?;
        self.record_replaced(&messages);
        self.forget_transcript();
        self.messages = Arc::new(messages);
        Ok(())
    }

    /// Whether the transcript can be replaced by these messages.
    ///
    /// # Errors
    /// As [`Conversation::replace`].
    pub fn check_replacement(&self, messages: &[Arc<Message>]) -> Result<(), Error> {
        self.check_idle("the transcript cannot be replaced")?;
        NewIds::of(messages)?.check_against(self.queues.all())
    }

    /// Refuses new messages whose ids are in the conversation, and those of another format.
    fn check_new<M: Borrow<Message>>(&mut self, messages: &[M]) -> Result<(), Error> {
        let ids = NewIds::of(messages)?;
        ids.check_against(self.messages.iter().map(Arc::as_ref))?;
        match self.active.as_mut() {
            None => ids.check_against(self.queues.all()),
            Some(active) => ids.check_against(active.machine().waiting()),
        }
    }

    /// Empties the transcript and both queues, discards calls that wait for a decision, and forgets the last error and what was
    /// decided for always.
    ///
    /// # Errors
    /// `busy` while a run is active.
    pub fn reset(&mut self) -> Result<(), Error> {
        self.check_idle("it cannot be reset")?;
        self.record_reset();
        // Not new ones: no message gets the number of an earlier one.
        drop((self.queues.clear(Queue::Steering), self.queues.clear(Queue::FollowUp)));
        self.forget_transcript();
        self.remembered = Remembered::default();
        self.error = None;
        Ok(())
    }

    /// The transcript is empty, and calls that wait are gone.
    fn forget_transcript(&mut self) {
        if self.has_session() {
            self.replaced = self.replaced.saturating_add(self.messages.len());
        }
        self.messages = Arc::default();
        self.replacements += 1;
        self.caches = RequestCaches::default();
        self.suspended.clear();
        self.origin.clear();
    }

    /// Refuses what cannot be done while a run is active; `what` says so in the error.
    ///
    /// # Errors
    /// `busy` while a run is active.
    pub fn check_idle(&self, what: &str) -> Result<(), Error> {
        if self.active.is_none() {
            return Ok(());
        }
        let text = format!(
            "a run is active on this agent, and {what}: use steer or follow_up to reach it, or wait_for_idle to wait for its end"
        );
        Err(Error::new(ErrorKind::Busy, text))
    }

    /// The transcript: the messages of the `message_end` events, and those that were appended or set between runs.
    pub fn messages(&self) -> &Arc<Vec<Arc<Message>>> {
        &self.messages
    }

    /// The revision of the transcript: how often it was replaced or emptied, and how many messages it has. Between two revisions
    /// with the same first number, messages were only appended.
    pub fn revision(&self) -> (u64, usize) {
        (self.replacements, self.messages.len())
    }

    /// The active run.
    pub fn active(&self) -> Option<&R> {
        self.active.as_ref()
    }

    /// The active run, for example to save and load it.
    pub fn active_mut(&mut self) -> Option<&mut R> {
        self.active.as_mut()
    }

    /// The assistant message that is being streamed, as its latest event has it.
    pub fn streaming_message(&self) -> Option<&Partial> {
        self.streaming_message.as_ref()
    }

    /// The ids of the calls between the start and the end of their execution.
    pub fn pending_tool_calls(&self) -> &[Arc<str>] {
        &self.pending_tool_calls
    }

    /// The error of the last run, if its outcome was `error` or `aborted`.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// The state of an agent with this conversation, these settings, and tools of these names. Cheap: it is serialized later.
    pub fn state<'a>(
        &self,
        settings: &Settings,
        model: String,
        tools: impl IntoIterator<Item = &'a str>,
        listener_errors: u64,
    ) -> AgentState {
        AgentState {
            system_prompt: settings.system_prompt.clone(),
            model,
            thinking_level: settings.thinking_level,
            tools: tools.into_iter().map(str::to_owned).collect(),
            messages: Arc::clone(&self.messages),
            is_streaming: self.active.is_some(),
            streaming_message: self.streaming_message.clone(),
            pending_tool_calls: self.pending_tool_calls.clone(),
            pending: self.suspended.iter().map(|suspended| suspended.call.clone()).collect(),
            remembered: self.remembered.clone(),
            error: self.error.clone(),
            listener_errors,
        }
    }
}

/// What an agent is at a moment. It serializes to the canonical JSON of its state.
#[derive(Debug, Clone, Serialize)]
pub struct AgentState {
    system_prompt: String,
    model: String,
    thinking_level: ThinkingLevel,
    tools: Vec<String>,
    messages: Arc<Vec<Arc<Message>>>,
    is_streaming: bool,
    #[serde(serialize_with = "message_so_far")]
    streaming_message: Option<Partial>,
    pending_tool_calls: Vec<Arc<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pending: Vec<SuspendedCall>,
    #[serde(skip_serializing_if = "Remembered::is_empty")]
    remembered: Remembered,
    error: Option<Error>,
    listener_errors: u64,
}

fn message_so_far<S: Serializer>(partial: &Option<Partial>, serializer: S) -> Result<S::Ok, S::Error> {
    let message = partial.as_ref().map(|partial| Message::Assistant(partial.latest().message()));
    message.serialize(serializer)
}

pub mod export;
pub mod journal;
mod loaded;
mod origin;
mod queued;
mod remembered;
mod session;
mod suspended;
#[cfg(test)]
mod tests;
