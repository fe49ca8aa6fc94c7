//! Records to a conversation: its transcript, its queues, the calls without results, and the run that was interrupted.
//!
//! Each record costs a constant amount of work, and no record is needed again.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::record::{Info, JournalRecord, MessageRecord, Queued, RunEnd, RunOf, SessionStart};
use crate::error::Error;
use crate::gate::Remembered;
use crate::json_reader::present;
use crate::message::{AssistantMessage, ContentBlock, Message};
use crate::queues::Queue;
use crate::suspension::StoredCall;
use crate::tool::ToolOutput;
use crate::usage::{Outcome, StopReason, Usage};

/// What comes of a journal. Canonical JSON: the fields, with those of `info` as an object.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Rebuilt {
    /// The journal's first record.
    pub start: Option<SessionStart>,
    /// The transcript.
    pub messages: Vec<Arc<Message>>,
    /// How many messages stood in the transcript before it was last replaced or emptied. Idempotency keys count them, too.
    pub replaced: usize,
    /// The steering queue, in order.
    pub steering: Vec<WaitingMessage>,
    /// The follow-up queue, in order.
    pub follow_up: Vec<WaitingMessage>,
    /// The number of the last message that was queued; 0 for none.
    pub last_queued: u64,
    /// Calls that wait for decisions.
    pub suspended: Vec<StoredCall>,
    /// What was decided for always.
    #[serde(skip_serializing_if = "Remembered::is_empty")]
    pub remembered: Remembered,
    /// The calls of the last answer that have no result in the transcript, in the order in which the model made them. Those that
    /// are suspended are among them.
    pub open_calls: Vec<OpenCall>,
    /// The run that had begun and not ended.
    pub interrupted: Option<Interrupted>,
    /// The last run that had ended.
    pub last_run: Option<LastRun>,
    /// Title and metadata.
    pub info: Info,
}

/// A message in a queue. Canonical JSON: `{number, message}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct WaitingMessage {
    /// Its number in the journal.
    pub number: u64,
    /// The message.
    pub message: Arc<Message>,
}

/// A run that did not end. Canonical JSON: `{run_id, of}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Interrupted {
    /// The run's id.
    pub run_id: Arc<str>,
    /// What it was begun with.
    pub of: RunOf,
}

/// A run that has ended. Canonical JSON: `{run_id, outcome, error?, usage, turns, output?}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct LastRun {
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

/// A call of the model without a result in the transcript. Canonical JSON: `{tool_call_id, tool_name, arguments,
/// idempotency_key?, progress, decision?, is_checked}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct OpenCall {
    /// Its id.
    pub tool_call_id: Arc<str>,
    /// The tool's name.
    pub tool_name: Arc<str>,
    /// The arguments: those that the tool got, where it was called, else the model's own.
    pub arguments: Arc<Map<String, Value>>,
    /// Where it was called: see [`ToolStart::idempotency_key`](super::ToolStart::idempotency_key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Arc<str>>,
    /// How far it came.
    pub progress: CallProgress,
    /// What was decided about it, in canonical JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
    /// Of a call that has waited for a decision: whether its arguments have passed validation and `before_tool_call`.
    #[serde(default)]
    pub is_checked: bool,
}

/// How far a call came. Canonical JSON: `{state: "waiting"}`, `{state: "started"}` or `{state: "answered", result, is_error}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum CallProgress {
    /// The tool was not called.
    Waiting,
    /// The tool was called. What it did is not known.
    Started,
    /// The tool has answered.
    Answered {
        /// The answer.
        result: ToolOutput,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// Folds records to a conversation.
#[derive(Debug, Clone, Default)]
pub struct Fold(Rebuilt);

impl Fold {
    /// Before the first record.
    pub fn new() -> Fold {
        Fold::default()
    }

    /// Takes the next record.
    pub fn push(&mut self, record: JournalRecord) {
        let state = &mut self.0;
        match record {
            JournalRecord::Session(start) => state.start = Some(start),
            JournalRecord::RunStart(start) => state.interrupted = Some(Interrupted { run_id: start.run_id, of: start.of }),
            JournalRecord::Message(record) => self.message(record),
            JournalRecord::Queued(queued) => self.queued(queued),
            JournalRecord::QueueCleared(cleared) => {
                let gone: HashSet<u64> = cleared.numbers.into_iter().collect();
                self.queue(cleared.queue).retain(|waiting| !gone.contains(&waiting.number));
            }
            JournalRecord::ToolStart(start) => {
                if let Some(call) = self.call(&start.tool_call_id) {
                    call.arguments = start.arguments;
                    call.idempotency_key = Some(start.idempotency_key);
                    call.progress = CallProgress::Started;
                }
            }
            JournalRecord::ToolAnswer(answer) => {
                if let Some(call) = self.call(&answer.tool_call_id) {
                    call.progress = CallProgress::Answered { result: answer.result, is_error: answer.is_error };
                }
            }
            // What it changed is in the records that follow: for those who read the journal.
            JournalRecord::HookDecision(_) => {}
            JournalRecord::Suspended(suspended) => {
                for StoredCall { call: waiting, is_checked } in &suspended.calls {
                    if let Some(call) = self.call(&waiting.tool_call_id) {
                        // A tool that has suspended itself is called again when that is decided.
                        call.arguments = Arc::clone(&waiting.arguments);
                        call.idempotency_key = Some(Arc::clone(&waiting.idempotency_key));
                        call.progress = CallProgress::Waiting;
                        call.is_checked = *is_checked;
                    }
                }
                self.0.suspended = suspended.calls;
            }
            JournalRecord::Decisions(decided) => {
                state.suspended.clear();
                for (id, decision) in decided.decisions {
                    if let Some(call) = self.call(&id) {
                        call.decision = Some(decision);
                    }
                }
            }
            JournalRecord::Remembered(remembered) => state.remembered = remembered,
            JournalRecord::RunEnd(RunEnd { run_id, outcome, error, usage, turns, output }) => {
                state.interrupted = None;
                state.last_run = Some(LastRun { run_id, outcome, error, usage, turns, output });
            }
            JournalRecord::Appended(appended) => appended.messages.into_iter().for_each(|message| self.append(message)),
            JournalRecord::Replaced(replaced) => {
                self.forget_transcript();
                replaced.messages.into_iter().for_each(|message| self.append(message));
            }
            JournalRecord::Reset(_) => {
                self.forget_transcript();
                self.0.steering.clear();
                self.0.follow_up.clear();
                self.0.remembered = Remembered::default();
            }
            JournalRecord::Info(info) => state.info.merge(info),
        }
    }

    /// The conversation after the last record.
    pub fn finish(self) -> Rebuilt {
        self.0
    }

    /// The conversation so far.
    pub fn so_far(&self) -> &Rebuilt {
        &self.0
    }

    fn queue(&mut self, queue: Queue) -> &mut Vec<WaitingMessage> {
        match queue {
            Queue::Steering => &mut self.0.steering,
            Queue::FollowUp => &mut self.0.follow_up,
        }
    }

    fn call(&mut self, id: &str) -> Option<&mut OpenCall> {
        self.0.open_calls.iter_mut().find(|call| *call.tool_call_id == *id)
    }

    fn queued(&mut self, Queued { queue, number, message }: Queued) {
        self.0.last_queued = self.0.last_queued.max(number);
        self.queue(queue).push(WaitingMessage { number, message });
    }

    fn message(&mut self, MessageRecord { message, queue, .. }: MessageRecord) {
        if let Some(from) = queue {
            // Not always the first: a message that a hook has added stands before those that wait.
            self.queue(from.queue).retain(|waiting| waiting.number != from.number);
        }
        self.append(message);
    }

    fn append(&mut self, message: Arc<Message>) {
        match &*message {
            Message::Assistant(answer) => self.0.open_calls = calls(answer),
            Message::ToolResult(result) => self.0.open_calls.retain(|call| *call.tool_call_id != *result.tool_call_id),
            _ => {}
        }
        self.0.messages.push(message);
    }

    fn forget_transcript(&mut self) {
        self.0.replaced = self.0.replaced.saturating_add(self.0.messages.len());
        self.0.messages.clear();
        // Between two runs: what was interrupted is given up.
        self.0.interrupted = None;
        self.0.suspended.clear();
        self.0.open_calls.clear();
    }
}

/// The calls of an answer. One that failed or was aborted has none.
fn calls(answer: &AssistantMessage) -> Vec<OpenCall> {
    if matches!(answer.stop_reason, Some(StopReason::Error | StopReason::Aborted)) {
        return Vec::new();
    }
    let calls = answer.content.iter().filter_map(|block| match block {
        ContentBlock::ToolCall(call) => Some(call),
        _ => None,
    });
    let open = calls.map(|call| OpenCall {
        tool_call_id: call.id.as_str().into(),
        tool_name: call.name.as_str().into(),
        arguments: Arc::clone(&call.arguments),
        idempotency_key: None,
        progress: CallProgress::Waiting,
        decision: None,
        is_checked: false,
    });
    open.collect()
}
