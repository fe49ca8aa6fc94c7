//! A call as the model made it, how far its check is, and what that comes to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::decided::{Decided, Left, LeftCall};
use super::questions::HookReply;
use super::run_state::RunState;
use crate::event::{Event, EventData, PartialResult};
use crate::hook::HookKind;
use crate::message::ToolCall;
use crate::suspension::Decision;
use crate::tool::ToolOutput;

pub(super) const ABORTED: &str = "aborted";

pub(super) const OUTCOME_UNKNOWN: &str =
    "the outcome of this call is not known: the run ended while it was executed; check before you make it again";

/// A call as the model made it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestedCall {
    pub(super) id: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) arguments: Arc<Map<String, Value>>,
    pub(super) raw_arguments: Option<String>,
    /// Of a call that waited in an earlier run.
    #[serde(default)]
    pub(super) decided: Option<Decided>,
    /// Whether an earlier run has left it without a result, and what it did is not known.
    #[serde(default)]
    pub(super) is_interrupted: bool,
    /// The idempotency key that it had in an earlier run.
    #[serde(default)]
    pub(super) key: Option<Arc<str>>,
}

impl RequestedCall {
    pub(super) fn new(call: &ToolCall) -> RequestedCall {
        let ToolCall { id, name, arguments, raw_arguments, .. } = call.clone();
        let (id, name) = (id.into(), name.into());
        RequestedCall { id, name, arguments, raw_arguments, decided: None, is_interrupted: false, key: None }
    }

    /// A call that an earlier run has left without a result, and the answer of its tool, if there is one.
    pub(super) fn left(call: &ToolCall, LeftCall { how, key }: LeftCall) -> (RequestedCall, Option<(ToolOutput, bool)>) {
        let mut requested = RequestedCall { key, ..RequestedCall::new(call) };
        match how {
            Left::Decided(decided) => requested.decided = Some(decided),
            Left::Interrupted => requested.is_interrupted = true,
            Left::NotStarted => {}
            Left::Answered(output, is_error) => return (requested, Some((output, is_error))),
        }
        (requested, None)
    }

    /// The key for the services behind its tool. `message_index`: where its message stands.
    pub(super) fn idempotency_key(&self, run: &RunState, message_index: usize) -> Arc<str> {
        self.key.clone().unwrap_or_else(|| run.transcript.key_of_call(message_index, &self.id))
    }

    /// What a hook has decided about it is written before it has an effect.
    pub(super) fn record_decision(&self, run: &mut RunState, kind: HookKind, reply: Option<&HookReply>) {
        if let Some(Ok(answer)) = reply {
            run.record_decision(kind, Some(&self.id), answer);
        }
    }

    /// The result that was decided, and whether it is an error.
    pub(super) fn decided_result(&self) -> Option<(ToolOutput, bool)> {
        match &self.decided.as_ref()?.decision {
            Decision::Deny { reason } | Decision::DenyAlways { reason } => Some((ToolOutput::error(reason), true)),
            Decision::Result { result } => Some(ToolOutput::from_value(result.clone())),
            Decision::Approve | Decision::ApproveAlways | Decision::Arguments { .. } => None,
        }
    }

    pub(super) fn suspended_event(&self, arguments: Arc<Map<String, Value>>, reason: String) -> EventData {
        let (tool_call_id, tool_name) = (Arc::clone(&self.id), Arc::clone(&self.name));
        EventData::ToolCallSuspended { tool_call_id, tool_name, arguments, reason }
    }

    /// An event of a subagent that runs in the call. One of a subagent's subagent is no event in an event: it has a longer path.
    pub(super) fn subagent_event(&self, event: Arc<Event>) -> EventData {
        let (mut path, mut inner) = (vec![self.id.to_string()], event);
        if let EventData::SubagentEvent { path: below, event, .. } = &inner.data {
            path.extend(below.iter().cloned());
            inner = Arc::clone(event);
        }
        let (tool_call_id, tool_name) = (Arc::clone(&self.id), Arc::clone(&self.name));
        EventData::SubagentEvent { tool_call_id, tool_name, path, event: inner }
    }

    pub(super) fn start_event(&self) -> EventData {
        EventData::ToolExecutionStart {
            tool_call_id: Arc::clone(&self.id),
            tool_name: Arc::clone(&self.name),
            arguments: Arc::clone(&self.arguments),
        }
    }

    pub(super) fn update_event(&self, output: ToolOutput) -> EventData {
        EventData::ToolExecutionUpdate {
            tool_call_id: Arc::clone(&self.id),
            tool_name: Arc::clone(&self.name),
            arguments: Arc::clone(&self.arguments),
            partial_result: Box::new(PartialResult { content: output.content, details: output.details }),
        }
    }
}

/// How far the check of a call is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) enum CheckStage {
    #[default]
    Begin,
    /// `on_interrupted_call` is asked.
    Interrupted,
    /// The tool's `prepare_arguments` is asked.
    PrepareArguments,
    /// `before_tool_call` is asked about these arguments.
    Approval(Map<String, Value>),
    /// The tool is asked whether a call with these arguments needs approval.
    NeedsApproval(Map<String, Value>),
    /// `on_approval` is asked about a call with these arguments, which needs approval for this reason.
    Decision { arguments: Map<String, Value>, reason: String },
    /// `check_output` is asked about this final answer.
    Answer(Value),
}

/// What a check comes to.
pub(super) enum CheckResult {
    /// It goes on at this stage when a hook has answered.
    AsksHook(CheckStage),
    /// The call may run with these arguments.
    Passed(Map<String, Value>),
    /// The call does not run; this is its result, and whether it is an error.
    Ended(ToolOutput, bool),
    /// The call waits for a decision about these arguments. `is_checked`: whether they have passed validation and
    /// `before_tool_call`.
    Suspended { arguments: Map<String, Value>, reason: String, is_checked: bool },
}
