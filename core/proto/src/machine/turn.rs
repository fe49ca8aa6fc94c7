//! What a turn has led to so far, and what it leaves to be done.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::hook::TurnSummary;
use crate::message::Message;
use crate::queues::Queue;
use crate::suspension::StoredCall;
use crate::usage::{Outcome, StopReason};

/// The turn.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Turn {
    /// With which outcome the run ends if this turn leaves work, as no further one is allowed.
    #[serde(default)]
    last: Option<Outcome>,
    /// The queue that has the next turn's input, once a poll has found it.
    next_input: Option<Queue>,
    /// Whether a poll within the tool batch found steering.
    is_steered: bool,
    /// A failure before the model is asked; it becomes the error of the turn's message.
    before_call: Option<Error>,
    /// A failure that ends the run after the turn.
    failure: Option<Error>,
    /// The turn's message, and then its results.
    summary: Option<TurnSummary>,
    /// Whether all results of the turn ask for the end of the run.
    terminates: bool,
    /// Whether its calls are of an earlier run: it has no message of its own.
    #[serde(default)]
    is_decided: bool,
    /// How many turns `max_turns` does not count.
    #[serde(default)]
    uncounted: u32,
    /// The calls that wait for a decision: the run ends with this turn.
    #[serde(default)]
    suspended: Vec<StoredCall>,
    /// What became of the typed final answer.
    #[serde(default)]
    answer: TurnAnswer,
    /// Whether more can be left out of its request than is.
    #[serde(default)]
    can_shrink: bool,
    /// The limit of its request's tokens, as the provider had refused a larger one.
    #[serde(default)]
    refused_limit: Option<u64>,
}

/// What became of a typed final answer in a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TurnAnswer {
    #[default]
    None,
    /// It was taken: nothing is left to do.
    Taken,
    /// A text was wrong, and the model is to correct it.
    Wrong,
}

/// What a turn leaves to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remaining {
    /// The model is to read tool results, or what is wrong with its final answer.
    ModelCall,
    /// Nothing: the run ends so, unless messages are queued.
    Nothing(Outcome),
    /// Nothing, and the run ends so whatever is queued.
    Final(Outcome),
}

/// What is to be done about the tool calls of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolCallPlan {
    NoCalls,
    /// The message was truncated: no call of it is executed.
    Truncated,
    Execute,
}

impl Turn {
    pub(super) fn begin(&mut self) {
        (self.next_input, self.is_steered, self.is_decided) = (None, false, false);
        self.answer = TurnAnswer::None;
        (self.can_shrink, self.refused_limit) = (false, None);
    }

    /// Whether more can be left out of its request than is.
    pub(super) fn set_can_shrink(&mut self, can_shrink: bool) {
        self.can_shrink = can_shrink;
    }

    /// Whether a smaller request may follow one that the provider has refused as too large: once in a turn for each model.
    pub(super) fn may_shrink(&self) -> bool {
        self.can_shrink && self.refused_limit.is_none()
    }

    pub(super) fn set_refused_limit(&mut self, limit: Option<u64>) {
        self.refused_limit = limit;
    }

    /// The limit of its request's tokens, as the provider had refused a larger one.
    pub(super) fn refused_limit(&self) -> Option<u64> {
        self.refused_limit
    }

    pub(super) fn set_answer(&mut self, answer: TurnAnswer) {
        self.answer = answer;
    }

    /// Whether a typed final answer was taken.
    pub(super) fn has_answer(&self) -> bool {
        self.answer == TurnAnswer::Taken
    }

    /// A hook has failed before the model is asked.
    pub(super) fn fail_before_call(&mut self, error: Error) {
        self.before_call = Some(error);
    }

    pub(super) fn has_failed_before_call(&self) -> bool {
        self.before_call.is_some()
    }

    pub(super) fn failure_before_call(&self) -> Option<&Error> {
        self.before_call.as_ref()
    }

    pub(super) fn take_failure_before_call(&mut self) -> Option<Error> {
        self.before_call.take()
    }

    /// Ends the run after the turn.
    pub(super) fn fail(&mut self, error: Error) {
        self.failure = Some(error);
    }

    pub(super) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// A poll between turns has found the next turn's input.
    pub(super) fn set_next_input(&mut self, queue: Queue) {
        self.next_input = Some(queue);
    }

    pub(super) fn has_next_input(&self) -> bool {
        self.next_input.is_some()
    }

    pub(super) fn take_next_input(&mut self) -> Option<Queue> {
        self.next_input.take()
    }

    /// Whether a poll within the tool batch found steering.
    pub(super) fn set_steered(&mut self, is_steered: bool) {
        self.is_steered = is_steered;
    }

    pub(super) fn is_steered(&self) -> bool {
        self.is_steered
    }

    /// Whether a further turn is allowed, and if not, how the run ends if this one leaves work.
    pub(super) fn set_last(&mut self, last: Option<Outcome>) {
        self.last = last;
    }

    pub(super) fn is_last(&self) -> bool {
        self.last.is_some()
    }

    /// The turn with its message; `None` before the first answer.
    pub(super) fn summary(&self) -> Option<&TurnSummary> {
        self.summary.as_ref()
    }

    pub(super) fn message(&self) -> Option<&Arc<Message>> {
        self.summary.as_ref().map(|summary| &summary.message)
    }

    /// The error of the turn's message.
    pub(super) fn message_error(&self) -> Option<Error> {
        self.message()?.as_assistant()?.error.clone()
    }

    /// The turn's message is in the transcript. Returns what is to be done about its calls.
    pub(super) fn set_message(&mut self, turn: u32, message: Arc<Message>) -> ToolCallPlan {
        let summary = self.summary.insert(TurnSummary { turn, message, tool_results: Vec::new() });
        let assistant = summary.message.as_assistant();
        let stop_reason = assistant.and_then(|message| message.stop_reason).unwrap_or(StopReason::Stop);
        let has_calls = assistant.is_some_and(|message| message.tool_calls().next().is_some());
        match stop_reason {
            StopReason::Error | StopReason::Aborted | StopReason::Refusal => ToolCallPlan::NoCalls,
            StopReason::Stop | StopReason::Length | StopReason::ToolUse if !has_calls => ToolCallPlan::NoCalls,
            StopReason::Length => ToolCallPlan::Truncated,
            StopReason::Stop | StopReason::ToolUse => ToolCallPlan::Execute,
        }
    }

    /// The turn begins with calls of this message, which were decided. `max_turns` does not count it.
    pub(super) fn set_decided(&mut self, turn: u32, message: Arc<Message>) {
        (self.is_decided, self.uncounted) = (true, self.uncounted.saturating_add(1));
        self.summary = Some(TurnSummary { turn, message, tool_results: Vec::new() });
    }

    /// Whether its calls are of an earlier run.
    pub(super) fn is_decided(&self) -> bool {
        self.is_decided
    }

    /// How many of the turns so far `max_turns` counts.
    pub(super) fn counted(&self, turns: u32) -> u32 {
        turns.saturating_sub(self.uncounted)
    }

    /// The calls that wait for a decision.
    pub(super) fn suspended(&self) -> &[StoredCall] {
        &self.suspended
    }

    /// The calls do not wait any longer: the run has ended otherwise.
    pub(super) fn clear_suspended(&mut self) {
        self.suspended.clear();
    }

    /// All calls have their results, or wait for a decision.
    pub(super) fn set_results(&mut self, results: Vec<Arc<Message>>, terminates: bool, suspended: Vec<StoredCall>) {
        (self.terminates, self.suspended) = (terminates, suspended);
        if let Some(summary) = &mut self.summary {
            summary.tool_results = results;
        }
        self.next_input = self.is_steered.then_some(Queue::Steering);
    }

    /// How the run ends with this turn; `None` when it goes on. `is_stopped`: a hook asked for it.
    pub(super) fn outcome(&self, is_stopped: bool, has_queued: bool) -> Option<Outcome> {
        match self.remaining() {
            Remaining::Final(outcome) => Some(outcome),
            _ if is_stopped => Some(Outcome::Stopped),
            Remaining::Nothing(outcome) if self.is_last() && !has_queued => Some(outcome),
            Remaining::Nothing(_) | Remaining::ModelCall => self.last,
        }
    }

    /// What the turn leaves to be done.
    pub(super) fn remaining(&self) -> Remaining {
        let Some(TurnSummary { message, tool_results, .. }) = &self.summary else {
            return Remaining::Nothing(Outcome::Completed);
        };
        match message.as_assistant().and_then(|message| message.stop_reason) {
            _ if !self.suspended.is_empty() => Remaining::Final(Outcome::Suspended),
            Some(StopReason::Error) => Remaining::Final(Outcome::Error),
            Some(StopReason::Aborted) => Remaining::Final(Outcome::Aborted),
            Some(StopReason::Refusal) => Remaining::Final(Outcome::Completed),
            _ if self.answer == TurnAnswer::Taken => Remaining::Nothing(Outcome::Completed),
            _ if self.answer == TurnAnswer::Wrong => Remaining::ModelCall,
            _ if tool_results.is_empty() => Remaining::Nothing(Outcome::Completed),
            _ if self.terminates => Remaining::Nothing(Outcome::Stopped),
            _ => Remaining::ModelCall,
        }
    }
}
