//! The result of a run.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::json_error::words;
use crate::json_reader::present;
use crate::message::{AssistantMessage, Message};
use crate::suspension::SuspendedCall;
use crate::usage::{Outcome, StopReason, Usage};

/// The result of a run. Canonical JSON: `{outcome, text, message, stop_reason, messages, usage, turns, output?, error?,
/// pending?, undelivered?}`.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::{result::RunResult, usage::{Outcome, StopReason}}; }
/// use agent_loop::{Outcome, RunResult, StopReason};
///
/// fn show(result: &RunResult) -> String {
///     match result.outcome {
///         Outcome::Completed if result.stop_reason == Some(StopReason::Length) => format!("{} … (cut)", result.text),
///         Outcome::Completed => format!("{} ({} tokens)", result.text, result.usage.total),
///         other => format!("the run ended early: {}", other.as_str()),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct RunResult {
    /// Why the run ended.
    pub outcome: Outcome,
    /// The text of the last assistant message.
    pub text: String,
    /// The last assistant message, or `None` when no turn began.
    pub message: Option<Arc<Message>>,
    /// Why that message ended: a run is completed, too, when its answer was cut (`length`) or refused, perhaps without a text.
    #[serde(default)]
    pub stop_reason: Option<StopReason>,
    /// The messages this run added, in transcript order.
    pub messages: Vec<Arc<Message>>,
    /// The sum over the run's model calls, with what failed attempts have reported; its cost is known only when that of each
    /// answer is.
    pub usage: Usage,
    /// How many turns began.
    pub turns: u32,
    /// The typed final answer, which the option `output` asks for; not there if the run ended without one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub output: Option<Value>,
    /// There exactly when the outcome is `error` or `aborted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// The calls that wait for a decision; there exactly when the outcome is `suspended`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<SuspendedCall>,
    /// Of a run without an agent: the queued messages that it did not append.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undelivered: Option<Undelivered>,
}

/// Queued messages that a run without an agent gives back. Canonical JSON: `{steering, follow_up}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Undelivered {
    /// In order.
    pub steering: Vec<Arc<Message>>,
    /// In order.
    pub follow_up: Vec<Arc<Message>>,
}

impl RunResult {
    /// Sums up a run from the messages it added and what its model calls used.
    pub fn new(outcome: Outcome, messages: Vec<Arc<Message>>, usage: Usage, turns: u32, error: Option<Error>) -> RunResult {
        let assistants = || messages.iter().filter_map(|m| m.as_assistant());
        let text = assistants().next_back().map(AssistantMessage::text).unwrap_or_default();
        let message = messages.iter().rev().find(|m| m.as_assistant().is_some()).cloned();
        let stop_reason = assistants().next_back().and_then(|message| message.stop_reason);
        RunResult {
            outcome,
            text,
            message,
            stop_reason,
            messages,
            usage,
            turns,
            output: None,
            error,
            pending: Vec::new(),
            undelivered: None,
        }
    }

    /// The typed final answer as a type with serde's `Deserialize`.
    ///
    /// # Errors
    /// `invalid_state`: the run has ended without one, or the option `output` has not asked for one; `invalid_argument`: it is
    /// not that type.
    pub fn output_as<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let Some(output) = &self.output else {
            let why = match (self.outcome, self.stop_reason) {
                (Outcome::Completed, Some(StopReason::Refusal)) => "the model refused".to_owned(),
                (Outcome::Completed, _) => "the option output has not asked for one".to_owned(),
                (outcome, _) => format!("its outcome is {}", outcome.as_str()),
            };
            return Err(Error::new(ErrorKind::InvalidState, format!("the run has no typed final answer: {why}")));
        };
        let misfit = |error| format!("output: it is no {}: {}", std::any::type_name::<T>(), words(&error));
        T::deserialize(output).map_err(|error| Error::invalid_argument(misfit(error)))
    }

    /// The run's last event; `queued`: how many messages wait for another run.
    pub(crate) fn agent_end(&self, queued: usize) -> EventData {
        EventData::AgentEnd {
            messages: self.messages.clone(),
            outcome: self.outcome,
            error: self.error.clone(),
            turns: self.turns,
            usage: Box::new(self.usage.clone()),
            output: self.output.clone().map(Box::new),
            pending: (!self.pending.is_empty()).then(|| self.pending.clone().into_boxed_slice()),
            queued: u32::try_from(queued).unwrap_or(u32::MAX),
        }
    }

    /// As the result of the tool call that has run it, in JSON: its typed answer or its text; where it ended without one, an
    /// error that says so, with the text there was. `details` has the outcome, the turns and the usage.
    #[doc(hidden)]
    pub fn to_tool_result(&self) -> Value {
        let answer = match &self.output {
            Some(Value::String(text)) => text.clone(),
            Some(output) => output.to_string(),
            None => self.text.clone(),
        };
        let failed = match (self.outcome, self.stop_reason) {
            (Outcome::Completed | Outcome::Stopped, Some(StopReason::Refusal)) => Some("its model has refused".to_owned()),
            (Outcome::Completed | Outcome::Stopped, Some(StopReason::Length)) if self.output.is_none() => {
                Some("its answer was cut at a token limit".to_owned())
            }
            (Outcome::Completed | Outcome::Stopped, _) if answer.trim().is_empty() => Some("its answer has no text".to_owned()),
            (Outcome::Completed | Outcome::Stopped, _) => None,
            (Outcome::Suspended, _) => {
                let calls: Vec<&str> = self.pending.iter().map(|call| &*call.tool_name).collect();
                Some(format!("its calls of {} wait for a decision, which a subagent cannot wait for", calls.join(", ")))
            }
            (Outcome::Budget, _) => Some("nothing is left of its budget".to_owned()),
            (Outcome::MaxTurns, _) => Some("it has reached max_turns".to_owned()),
            (Outcome::Error | Outcome::Aborted, _) => {
                Some(self.error.as_ref().map_or(self.outcome.as_str(), Error::message).to_owned())
            }
        };
        let text = match &failed {
            None => answer,
            Some(why) if answer.trim().is_empty() => format!("the subagent has no answer: {why}"),
            Some(why) => format!("the subagent has no whole answer: {why}. Its text so far: {answer}"),
        };
        let mut details = json!({ "outcome": self.outcome, "turns": self.turns, "usage": self.usage });
        for (name, value) in [("output", self.output.clone()), ("error", self.error.as_ref().map(|error| json!(error)))] {
            if let (Some(details), Some(value)) = (details.as_object_mut(), value) {
                details.insert(name.to_owned(), value);
            }
        }
        json!({ "content": [{ "type": "text", "text": text }], "details": details, "is_error": failed.is_some() })
    }

    /// The result, or the run's error (with this result inside) when the outcome is `error`.
    ///
    /// # Errors
    /// The error that ended the run. An aborted run is not an error here.
    pub fn into_ok(self) -> Result<RunResult, Error> {
        match (&self.outcome, &self.error) {
            (Outcome::Error, Some(error)) => Err(error.clone().with_result(self)),
            _ => Ok(self),
        }
    }
}

impl Error {
    /// The run's result up to the failure, in an error that `prompt` or `result` returned.
    pub fn result(&self) -> Option<&RunResult> {
        self.attachment()
    }

    /// Attaches the run's result.
    #[must_use]
    pub fn with_result(self, result: RunResult) -> Error {
        self.with_attachment(result)
    }
}
