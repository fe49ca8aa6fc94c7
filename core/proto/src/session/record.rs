//! What a journal holds: one type per kind of record.
//!
//! In its JSON a record has its kind as `kind`, and the fields of its type in the order given here. A field that a reader does
//! not know is left out; a kind that it does not know is one of a newer version.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::gate::Remembered;
use crate::json_reader::present;
use crate::message::Message;
use crate::queues::Queue;
use crate::suspension::StoredCall;
use crate::tool::ToolOutput;
use crate::usage::{Outcome, Usage};

/// The version of the journals that this library writes. It reads this one and all before it.
pub const JOURNAL_VERSION: u32 = 1;

/// A record of a journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum JournalRecord {
    /// The first record of each journal.
    Session(SessionStart),
    /// A run begins.
    RunStart(RunStart),
    /// A message joins the transcript.
    Message(MessageRecord),
    /// A message joins a queue.
    Queued(Queued),
    /// A queue was cleared.
    QueueCleared(QueueCleared),
    /// A tool is about to be called.
    ToolStart(ToolStart),
    /// A tool has answered.
    ToolAnswer(ToolAnswer),
    /// A hook has changed something.
    HookDecision(HookDecision),
    /// Calls wait for decisions.
    Suspended(Suspended),
    /// Calls that waited were decided.
    Decisions(Decisions),
    /// Other decisions are remembered.
    Remembered(Remembered),
    /// A run has ended.
    RunEnd(RunEnd),
    /// The application has appended messages between two runs.
    Appended(Appended),
    /// The application has replaced the transcript between two runs.
    Replaced(Replaced),
    /// The application has emptied transcript and queues between two runs.
    Reset(Reset),
    /// The session has another title or other metadata.
    Info(Info),
}

impl JournalRecord {
    /// A message that joins the transcript and comes from no queue.
    pub fn message(message: impl Into<Arc<Message>>) -> JournalRecord {
        JournalRecord::Message(MessageRecord::new(message))
    }
}

/// The first record of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct SessionStart {
    /// That of the journal: [`JOURNAL_VERSION`] when it was written.
    pub version: u32,
    /// The session's id.
    pub id: Arc<str>,
    /// When it was created, in milliseconds since the epoch.
    pub created_ms: u64,
    /// Of a fork: what the records after this one were copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
}

impl SessionStart {
    /// The first record of a new session.
    pub fn new(id: impl Into<Arc<str>>, created_ms: u64) -> SessionStart {
        SessionStart { version: JOURNAL_VERSION, id: id.into(), created_ms, forked_from: None }
    }
}

/// Where a session was forked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ForkedFrom {
    /// The other session's id.
    pub id: Arc<str>,
    /// The last record that both have.
    pub seq: u64,
}

impl ForkedFrom {
    /// A fork of that session behind that record.
    pub fn new(id: impl Into<Arc<str>>, seq: u64) -> ForkedFrom {
        ForkedFrom { id: id.into(), seq }
    }
}

/// What a run was begun with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum RunOf {
    /// Prompts, which follow as messages.
    Prompt,
    /// Nothing new.
    Resume,
    /// Messages of a queue.
    Queued,
    /// Decisions about calls that waited.
    Decisions,
}

/// A run begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct RunStart {
    /// The run's id.
    pub run_id: Arc<str>,
    /// What it was begun with.
    pub of: RunOf,
}

impl RunStart {
    /// A run that begins so.
    pub fn new(run_id: impl Into<Arc<str>>, of: RunOf) -> RunStart {
        RunStart { run_id: run_id.into(), of }
    }
}

/// A message joins the transcript: its `message_end` is emitted after this is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct MessageRecord {
    /// The whole message, as its `message_end` has it: with its timestamp, also if it was queued without one.
    pub message: Arc<Message>,
    /// Where it comes from, if it waited in a queue, which it leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<OfQueue>,
    /// Of an answer of the model: when its first token came, in milliseconds since the epoch. Its request was made at the
    /// message's `timestamp`. `None` of an answer without content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_at: Option<u64>,
    /// The attempts that failed before this answer came, and after which a model was asked again: the same one, another one, or
    /// with a smaller request. In their order, those for a summary included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Retried>,
}

impl MessageRecord {
    /// A message that comes from no queue.
    pub fn new(message: impl Into<Arc<Message>>) -> MessageRecord {
        MessageRecord { message: message.into(), queue: None, first_token_at: None, retries: Vec::new() }
    }

    /// An answer of the model: when its first token came, and what failed before.
    pub fn answer(message: impl Into<Arc<Message>>, first_token_at: Option<u64>, retries: Vec<Retried>) -> MessageRecord {
        MessageRecord { first_token_at, retries, ..MessageRecord::new(message) }
    }

    /// A message that leaves this place of a queue.
    pub fn of_queue(message: impl Into<Arc<Message>>, queue: Queue, number: u64) -> MessageRecord {
        MessageRecord { queue: Some(OfQueue { queue, number }), ..MessageRecord::new(message) }
    }
}

/// An attempt of a model call that failed, and after which a model was to be asked again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Retried {
    /// When it had failed, in milliseconds since the epoch.
    pub at: u64,
    /// Its number within its call, from 1.
    pub attempt: u32,
    /// The pause before the next attempt, in milliseconds; 0 where another model or a smaller request came next.
    pub delay_ms: u64,
    /// Why it failed.
    pub error: Error,
}

impl Retried {
    /// The attempt of this number failed.
    pub fn new(at: u64, attempt: u32, delay_ms: u64, error: Error) -> Retried {
        Retried { at, attempt, delay_ms, error }
    }
}

/// A place in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct OfQueue {
    /// Which queue.
    #[serde(with = "queue_word")]
    pub queue: Queue,
    /// The number under which the message waits: of all that ever waited in this session, the first has 1.
    pub number: u64,
}

/// A message joins a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Queued {
    /// Which queue.
    #[serde(with = "queue_word")]
    pub queue: Queue,
    /// Its number; see [`OfQueue::number`].
    pub number: u64,
    /// The message as it was queued. It may get its timestamp only when it joins the transcript.
    pub message: Arc<Message>,
}

impl Queued {
    /// A message that waits under this number.
    pub fn new(queue: Queue, number: u64, message: impl Into<Arc<Message>>) -> Queued {
        Queued { queue, number, message: message.into() }
    }
}

/// A queue was cleared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct QueueCleared {
    /// Which queue.
    #[serde(with = "queue_word")]
    pub queue: Queue,
    /// The numbers of the messages that left it. Those with which a turn has begun stay.
    pub numbers: Vec<u64>,
}

impl QueueCleared {
    /// The messages of these numbers leave a queue.
    pub fn new(queue: Queue, numbers: Vec<u64>) -> QueueCleared {
        QueueCleared { queue, numbers }
    }
}

/// A tool is about to be called: written before, so that a call whose outcome is not known is known as such.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ToolStart {
    /// The call's id.
    pub tool_call_id: Arc<str>,
    /// The tool's name.
    pub tool_name: Arc<str>,
    /// What the tool gets: the model's arguments after validation and hooks.
    pub arguments: Arc<Map<String, Value>>,
    /// The same each time that this call is executed, wherever that is.
    pub idempotency_key: Arc<str>,
}

impl ToolStart {
    /// A call with these arguments.
    pub fn new(
        tool_call_id: impl Into<Arc<str>>,
        tool_name: impl Into<Arc<str>>,
        arguments: Arc<Map<String, Value>>,
        idempotency_key: impl Into<Arc<str>>,
    ) -> ToolStart {
        let (tool_call_id, tool_name) = (tool_call_id.into(), tool_name.into());
        ToolStart { tool_call_id, tool_name, arguments, idempotency_key: idempotency_key.into() }
    }
}

/// A tool has answered: its own answer, before hooks change it and before it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ToolAnswer {
    /// The call's id.
    pub tool_call_id: Arc<str>,
    /// The answer.
    pub result: ToolOutput,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ToolAnswer {
    /// The answer to a call.
    pub fn new(tool_call_id: impl Into<Arc<str>>, result: ToolOutput, is_error: bool) -> ToolAnswer {
        ToolAnswer { tool_call_id: tool_call_id.into(), result, is_error }
    }
}

/// A hook has changed something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct HookDecision {
    /// The hook's word: `before_tool_call`, for example.
    pub hook: Arc<str>,
    /// The call, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
    /// The answer in canonical JSON.
    pub answer: Value,
}

impl HookDecision {
    /// What a hook answered, and about which call.
    pub fn new(hook: impl Into<Arc<str>>, tool_call_id: Option<Arc<str>>, answer: Value) -> HookDecision {
        HookDecision { hook: hook.into(), tool_call_id, answer }
    }
}

/// Calls wait for decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Suspended {
    /// The calls in the order in which the model made them.
    pub calls: Vec<StoredCall>,
}

impl Suspended {
    /// These calls wait.
    pub fn new(calls: Vec<StoredCall>) -> Suspended {
        Suspended { calls }
    }
}

/// Calls that waited were decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Decisions {
    /// The decision about each call, in canonical JSON, by the call's id.
    pub decisions: Map<String, Value>,
}

impl Decisions {
    /// The decisions by the ids of the calls.
    pub fn new(decisions: Map<String, Value>) -> Decisions {
        Decisions { decisions }
    }
}

/// A run has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct RunEnd {
    /// The run's id.
    pub run_id: Arc<str>,
    /// Why it ended.
    pub outcome: Outcome,
    /// There exactly when the outcome is `error` or `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// The run's sum.
    pub usage: Usage,
    /// How many turns began.
    pub turns: u32,
    /// The typed final answer, if the run has one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub output: Option<Value>,
}

impl RunEnd {
    /// The end of a run without an error.
    pub fn new(run_id: impl Into<Arc<str>>, outcome: Outcome, usage: Usage, turns: u32) -> RunEnd {
        RunEnd { run_id: run_id.into(), outcome, error: None, usage, turns, output: None }
    }

    /// The same with the run's typed final answer.
    #[must_use]
    pub fn with_output(mut self, output: Option<Value>) -> RunEnd {
        self.output = output;
        self
    }

    /// The same with the run's error.
    #[must_use]
    pub fn with_error(mut self, error: Option<Error>) -> RunEnd {
        self.error = error;
        self
    }
}

/// The application has appended messages between two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Appended {
    /// In order.
    pub messages: Vec<Arc<Message>>,
}

impl Appended {
    /// These messages were appended.
    pub fn new(messages: Vec<Arc<Message>>) -> Appended {
        Appended { messages }
    }
}

/// The application has replaced the transcript between two runs. Calls that waited for decisions are gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Replaced {
    /// The transcript.
    pub messages: Vec<Arc<Message>>,
}

impl Replaced {
    /// This is the transcript now.
    pub fn new(messages: Vec<Arc<Message>>) -> Replaced {
        Replaced { messages }
    }
}

/// The application has emptied transcript and queues between two runs. Calls that waited for decisions are gone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Reset {}

/// The session has another title or other metadata. A part that is not given stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Info {
    /// What the application calls it; an empty text takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the application keeps with it; an empty object takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

impl Info {
    /// Another title.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Info {
        self.title = Some(title.into());
        self
    }

    /// Other metadata.
    #[must_use]
    pub fn metadata(mut self, metadata: Map<String, Value>) -> Info {
        self.metadata = Some(metadata);
        self
    }

    /// Takes over the parts that the other one has.
    pub fn merge(&mut self, other: Info) {
        self.title = other.title.or(self.title.take()).filter(|title| !title.is_empty());
        self.metadata = other.metadata.or(self.metadata.take()).filter(|metadata| !metadata.is_empty());
    }
}

/// A queue by its word in JSON.
mod queue_word {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::queues::Queue;

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        Steering,
        FollowUp,
    }

    pub(super) fn serialize<S: Serializer>(queue: &Queue, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match queue {
            Queue::Steering => "steering",
            Queue::FollowUp => "follow_up",
        })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Queue, D::Error> {
        Ok(match Word::deserialize(deserializer)? {
            Word::Steering => Queue::Steering,
            Word::FollowUp => Queue::FollowUp,
        })
    }
}
