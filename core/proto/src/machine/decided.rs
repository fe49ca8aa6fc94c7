//! Calls of an earlier message that have no result: those that were decided, and those that a process left when it ended. A run
//! begins with them instead of a message.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::config::Config;
use crate::error::Error;
use crate::gate::{Remembered, Rule};
use crate::message::{Message, ToolCall};
use crate::session::{CallProgress, OpenCall};
use crate::suspension::{Decision, StoredCall, named};
use crate::tool::ToolOutput;

/// What was decided about a call that waited in an earlier run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Decided {
    pub(super) decision: Decision,
    /// The arguments that have passed validation and `before_tool_call`, if it was checked.
    pub(super) checked: Option<Arc<Map<String, Value>>>,
}

/// A call that an earlier run has left without a result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LeftCall {
    pub(super) how: Left,
    /// The idempotency key that it had before, if that is known.
    pub(super) key: Option<Arc<str>>,
}

/// How a call was left.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Left {
    /// It waited, and was decided.
    Decided(Decided),
    /// The tool may have been called: what it did is not known.
    Interrupted,
    /// The tool was not called: the call goes on as if it were new.
    NotStarted,
    /// The tool has answered: that is the answer, and whether it is an error.
    Answered(ToolOutput, bool),
}

impl Left {
    /// Whether its result is known, so that no tool has to run.
    fn has_result(&self) -> bool {
        match self {
            Left::Answered(..) => true,
            Left::Decided(Decided { decision, .. }) => {
                matches!(decision, Decision::Deny { .. } | Decision::DenyAlways { .. } | Decision::Result { .. })
            }
            Left::Interrupted | Left::NotStarted => false,
        }
    }
}

/// Calls of an earlier message that a run begins with; see [`decide`], [`interrupted`] and [`recorded`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DecidedCalls {
    /// Where the message stands in the transcript.
    pub(super) message_index: usize,
    /// By their places among the calls of the message.
    pub(super) calls: BTreeMap<usize, LeftCall>,
    /// What was decided now, in canonical JSON, by the ids of the calls.
    #[serde(default)]
    decisions: Map<String, Value>,
    /// What was decided now for always.
    #[serde(default, skip_serializing_if = "Remembered::is_empty")]
    remembered: Remembered,
}

impl DecidedCalls {
    /// What was decided now, in canonical JSON, by the ids of the calls.
    pub(super) fn decisions(&self) -> Map<String, Value> {
        self.decisions.clone()
    }

    /// What was decided now for always.
    pub(super) fn remembered(&self) -> &Remembered {
        &self.remembered
    }
}

/// The calls that a `resume` with decisions begins with: those that wait, or all without a result of the last answer. Nothing
/// waits, and nothing is decided: `None`.
///
/// # Errors
/// `invalid_argument` when a call that waits is not decided, or another one is; and when the arguments or the result that were
/// decided do not fit. It names the calls.
pub fn decide(
    transcript: &[Arc<Message>],
    waiting: &[StoredCall],
    decisions: Vec<(String, Decision)>,
    config: &Config,
) -> Result<Option<DecidedCalls>, Error> {
    let (message_index, open) = calls_without_result(transcript);
    let is_checked: HashMap<&str, &StoredCall> = waiting.iter().map(|call| (&*call.call.tool_call_id, call)).collect();
    let open: Vec<_> = open.into_iter().filter(|(_, call)| waiting.is_empty() || is_checked.contains_key(&*call.id)).collect();
    let invalid = |text: String| Err(Error::invalid_argument(format!("decisions: {text}")));
    let names = || named(open.iter().map(|(_, call)| (&*call.id, &*call.name)));
    let mut given: HashMap<String, Decision> = HashMap::new();
    for (id, decision) in decisions {
        if !open.iter().any(|(_, call)| *call.id == id) {
            let has_result =
                |message: &&Arc<Message>| matches!(&***message, Message::ToolResult(result) if result.tool_call_id == id);
            return match transcript.iter().rev().find(has_result) {
                Some(_) => invalid(format!("the call {id} has its result already")),
                None if open.is_empty() => invalid(format!("no call {id} waits for a decision; none waits at all")),
                None => invalid(format!("no call {id} waits for a decision; those that wait are {}", names())),
            };
        }
        if given.contains_key(&id) {
            return invalid(format!("the call {id} is decided twice"));
        }
        given.insert(id, decision);
    }
    let missing = open.iter().filter(|(_, call)| !given.contains_key(&*call.id)).map(|(_, call)| (&*call.id, &*call.name));
    let missing = named(missing);
    if !missing.is_empty() {
        return invalid(format!("nothing is decided about {missing}; decide all calls that wait, in one resume"));
    }
    let (mut calls, mut decided, mut remembered) = (BTreeMap::new(), Map::new(), Remembered::default());
    for (place, call) in &open {
        let Some(decision) = given.remove(&*call.id) else { continue };
        check(call, &decision, config).map_err(|why| Error::invalid_argument(format!("decisions: {}: {why}", call.id)))?;
        let waiting = is_checked.get(&*call.id);
        let checked = waiting.filter(|call| call.is_checked).map(|call| Arc::clone(&call.call.arguments));
        let key = waiting.map(|call| Arc::clone(&call.call.idempotency_key)).filter(|key| !key.is_empty());
        // That which was shown, also where the tool is described in another way meanwhile.
        let shown = waiting.and_then(|waiting| Rule::new(&waiting.call.rule).ok());
        if let Some(rule) = shown.or_else(|| config.rule_of(&call.name, &call.arguments)) {
            remembered.decide(rule, &decision);
        }
        decided.insert(call.id.clone(), decision.to_json());
        calls.insert(*place, LeftCall { how: Left::Decided(Decided { decision, checked }), key });
    }
    Ok((!calls.is_empty()).then_some(DecidedCalls { message_index, calls, decisions: decided, remembered }))
}

/// The calls without a result of the last answer, which a `resume` without decisions begins with: a process has ended while they
/// ran, or the transcript is from elsewhere. `known` is what the journal of a session says of them. `None` when there are none.
pub fn interrupted(transcript: &[Arc<Message>], known: &[OpenCall]) -> Option<DecidedCalls> {
    let (message_index, open) = calls_without_result(transcript);
    let left = |call: &ToolCall| match known.iter().find(|known| *known.tool_call_id == *call.id) {
        Some(known) => LeftCall { how: how_left(known), key: known.idempotency_key.clone() },
        None => LeftCall { how: Left::Interrupted, key: None },
    };
    let calls: BTreeMap<_, _> = open.into_iter().map(|(place, call)| (place, left(call))).collect();
    (!calls.is_empty()).then(|| DecidedCalls { message_index, calls, decisions: Map::new(), remembered: Remembered::default() })
}

/// Those of the [`interrupted`] calls whose results the journal has, which a run with prompts begins with: the answers of their
/// tools, and what was decided in place of an answer. The model reads these, and of the other calls that they have no result.
/// `None` when there are none.
pub fn recorded(transcript: &[Arc<Message>], known: &[OpenCall]) -> Option<DecidedCalls> {
    let mut left = interrupted(transcript, known)?;
    left.calls.retain(|_, call| call.how.has_result());
    (!left.calls.is_empty()).then_some(left)
}

/// How a call was left, as a journal knows it.
fn how_left(call: &OpenCall) -> Left {
    let decision = || call.decision.clone().and_then(|decision| Decision::from_json(decision).ok());
    match &call.progress {
        CallProgress::Answered { result, is_error } => Left::Answered(result.clone(), *is_error),
        CallProgress::Started => Left::Interrupted,
        CallProgress::Waiting => decision().map_or(Left::NotStarted, |decision| {
            let checked = call.is_checked.then(|| Arc::clone(&call.arguments));
            Left::Decided(Decided { decision, checked })
        }),
    }
}

/// Whether the call can have what was decided about it.
fn check(call: &ToolCall, decision: &Decision, config: &Config) -> Result<(), String> {
    match (decision, config.tools.get(&call.name)) {
        (Decision::Arguments { arguments }, Some(tool)) => match tool.check(arguments, config.settings.validation) {
            Ok(_) => Ok(()),
            Err(violations) => Err(format!("the arguments do not fit the schema of {}:\n{violations}", call.name)),
        },
        (Decision::Arguments { .. }, None) => Err(format!("there is no tool named {:?} to give arguments to", call.name)),
        (Decision::Result { result }, _) => ToolOutput::check_depth(result).and_then(|()| ToolOutput::check(result)),
        (Decision::Approve | Decision::ApproveAlways | Decision::Deny { .. } | Decision::DenyAlways { .. }, _) => Ok(()),
    }
}

/// Whether the last answer has this call of this tool, without a result.
pub(crate) fn has_call_without_result(transcript: &[Arc<Message>], id: &str, tool: &str) -> bool {
    calls_without_result(transcript).1.iter().any(|(_, call)| call.id == id && call.name == tool)
}

/// The last answer that has not failed, by its place in the transcript, and its calls that no message behind it answers, by their
/// places among its calls.
pub(super) fn calls_without_result(transcript: &[Arc<Message>]) -> (usize, Vec<(usize, &ToolCall)>) {
    let is_answer = |message: &Arc<Message>| message.as_assistant().is_some_and(|message| !message.has_failed());
    let Some(at) = transcript.iter().rposition(is_answer) else {
        return (0, Vec::new());
    };
    let mut results: HashMap<&str, usize> = HashMap::new();
    for message in transcript.iter().skip(at) {
        if let Message::ToolResult(result) = &**message {
            *results.entry(&result.tool_call_id).or_default() += 1;
        }
    }
    let calls = transcript.get(at).and_then(|message| message.as_assistant()).into_iter().flat_map(|answer| answer.tool_calls());
    let is_open = |(_, call): &(usize, &ToolCall)| match results.get_mut(&*call.id) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    (at, calls.enumerate().filter(is_open).collect())
}
