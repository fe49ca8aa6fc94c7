//! What can keep a tool call from running: lookup, validation, approval.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::config::Config;
use super::decided::{Decided, Left, LeftCall};
use super::final_answer::{Asked, TAKEN, TAKEN_BEFORE};
use super::questions::{HookReply, NoAnswer};
use super::read_result;
use super::run_state::RunState;
use crate::depth::{self, MAX_DEPTH};
use crate::event::{Event, EventData, PartialResult};
use crate::hook::{BeforeToolCall, HookAnswer, HookKind, InterruptedCall, InterruptedDecision, Question, ToolDecision};
use crate::message::{Message, ToolCall};
use crate::output::OutputSpec;
use crate::request::ToolChoice;
use crate::suspension::Decision;
use crate::table::codes;
use crate::tool::{Approval, OnInterrupted, ToolOutput, ToolSpec};
use crate::transcript::READ_RESULT;

const TRUNCATED: &str = "the message was cut off by the output limit, so this call was not executed; make the call again";
pub(super) const SKIPPED: &str = "skipped because of a queued user message, which comes next";
const NOT_ALLOWED: &str = "no tool may be called now (tool_choice is none), so this call was not executed; answer without it";
pub(super) const ABORTED: &str = "aborted";
pub(super) const OUTCOME_UNKNOWN: &str =
    "the outcome of this call is not known: the run ended while it was executed; check before you make it again";

/// A call as the model made it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestedCall {
    pub(super) id: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) arguments: Arc<Map<String, Value>>,
    raw_arguments: Option<String>,
    /// Of a call that waited in an earlier run.
    #[serde(default)]
    decided: Option<Decided>,
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

    /// The result that was decided, and whether it is an error.
    fn decided_result(&self) -> Option<(ToolOutput, bool)> {
        match &self.decided.as_ref()?.decision {
            Decision::Deny { reason } => Some((ToolOutput::error(reason), true)),
            Decision::Result { result } => Some(ToolOutput::from_value(result.clone())),
            Decision::Approve | Decision::Arguments { .. } => None,
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

/// What the check of a call has to know of its batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedBatch {
    /// Where the message stands in the transcript.
    pub(super) message_index: usize,
    pub(super) is_truncated: bool,
}

/// Goes on checking a call. Those of a truncated message are not executed.
pub(super) fn check(run: &mut RunState, call: &RequestedCall, of: CheckedBatch, stage: CheckStage) -> CheckResult {
    try_check(run, call, of, stage).unwrap_or_else(|why| CheckResult::Ended(ToolOutput::error(why), true))
}

fn try_check(run: &mut RunState, call: &RequestedCall, of: CheckedBatch, stage: CheckStage) -> Result<CheckResult, String> {
    let config = Arc::clone(run.setup.current());
    if call.decided.is_none()
        && let Some(output) = Asked::by_call(&config, &call.name)
    {
        return final_answer(run, call, output, of.is_truncated, stage);
    }
    if call.decided.is_none() && call.name.as_ref() == READ_RESULT && read_result::is_offered(&config) {
        // It does nothing that could not be done again.
        begin(run, call, of.is_truncated)?;
        readable(call)?;
        return read_result::read(run, &call.arguments).map(|output| CheckResult::Ended(output, false));
    }
    if call.is_interrupted
        && matches!(stage, CheckStage::Begin | CheckStage::Interrupted)
        && let Some(result) = resume_interrupted(run, call, of.message_index, &config)
    {
        return Ok(result);
    }
    if matches!(stage, CheckStage::Begin) {
        // Also in an abort: what was decided is known.
        if let Some((output, is_error)) = call.decided_result() {
            return Ok(CheckResult::Ended(output, is_error));
        }
        begin(run, call, of.is_truncated)?;
    }
    let tool = config.tools.get(&call.name);
    let tool = tool.ok_or_else(|| format!("there is no tool named {:?}; the tools are: {}", call.name, config.tools.names()))?;
    let arguments = match stage {
        CheckStage::NeedsApproval(arguments) => return approve(run, call, tool, arguments),
        // Its tool is no tool of the application.
        CheckStage::Answer(_) => return Err(ABORTED.to_owned()),
        CheckStage::Approval(arguments) => Some(arguments),
        CheckStage::Begin if call.decided.is_some() => match decided_arguments(call, tool, &config)? {
            (Some(arguments), true) => return Ok(CheckResult::Passed(arguments)),
            (Some(arguments), false) => Some(arguments),
            (None, _) => prepare(run, call, tool, &config)?,
        },
        CheckStage::Begin | CheckStage::Interrupted | CheckStage::PrepareArguments => prepare(run, call, tool, &config)?,
    };
    match arguments {
        None => Ok(CheckResult::AsksHook(CheckStage::PrepareArguments)),
        Some(arguments) if config.hooks.has(HookKind::BeforeToolCall) => before_call(run, call, tool, &config, arguments),
        Some(arguments) => approve(run, call, tool, arguments),
    }
}

/// What becomes of a call that an earlier run has left without a result; `None` when it runs again. It may have run before, so
/// that nothing else is said of one that does not.
fn resume_interrupted(run: &mut RunState, call: &RequestedCall, message_index: usize, config: &Config) -> Option<CheckResult> {
    let unknown = || Some(CheckResult::Ended(ToolOutput::error(OUTCOME_UNKNOWN), true));
    if run.is_interrupted() || run.turn.has_failed_before_call() {
        return unknown();
    }
    let on_interrupted = config.tools.get(&call.name).map(|tool| tool.on_interrupted()).unwrap_or_default();
    match on_interrupted {
        OnInterrupted::Retry => return None,
        OnInterrupted::Ask if config.hooks.has(HookKind::OnInterruptedCall) => {}
        OnInterrupted::Ask | OnInterrupted::Report => return unknown(),
    }
    let key = call.idempotency_key(run, message_index);
    let asked = run.ask(|| {
        Question::OnInterruptedCall(InterruptedCall {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            arguments: (*call.arguments).clone(),
            idempotency_key: key.to_string(),
        })
    });
    record_decision(run, HookKind::OnInterruptedCall, call, asked.as_ref());
    match asked {
        None => Some(CheckResult::AsksHook(CheckStage::Interrupted)),
        Some(Ok(HookAnswer::OnInterruptedCall(InterruptedDecision::Retry))) => None,
        Some(Ok(HookAnswer::OnInterruptedCall(InterruptedDecision::Result { result }))) => {
            let (output, is_error) = ToolOutput::from_value(result);
            Some(CheckResult::Ended(output, is_error))
        }
        Some(Ok(_) | Err(NoAnswer::Aborted)) => unknown(),
        // What the call did must not be lost with a mistake in the hook: it can still be decided.
        Some(Err(failed)) => {
            let error = failed.error(HookKind::OnInterruptedCall);
            let reason = error.as_ref().map(|error| error.message().to_owned()).unwrap_or_default();
            Some(CheckResult::Suspended { arguments: (*call.arguments).clone(), reason, is_checked: false })
        }
    }
}

/// What a hook has decided about a call is written before it has an effect.
fn record_decision(run: &mut RunState, kind: HookKind, call: &RequestedCall, reply: Option<&HookReply>) {
    if let Some(Ok(answer)) = reply {
        run.record_decision(kind, Some(&call.id), answer);
    }
}

/// The call of the final tool: its arguments are the answer of the run, or wrong.
fn final_answer(
    run: &mut RunState,
    call: &RequestedCall,
    output: &OutputSpec,
    is_truncated: bool,
    stage: CheckStage,
) -> Result<CheckResult, String> {
    let checked = match stage {
        CheckStage::Answer(value) => Ok(value),
        _ => {
            if let Err(why) = is_wanted(run, is_truncated) {
                if is_truncated {
                    run.count_wrong_answer(&why);
                }
                return Err(why);
            }
            if run.turn.has_answer() {
                return Ok(CheckResult::Ended(ToolOutput::error(TAKEN_BEFORE), true));
            }
            let misfit = |why| format!("the arguments of {} do not fit its schema:\n{why}", call.name);
            let how = run.settings().validation;
            readable(call).and_then(|()| output.of_arguments(&call.arguments, how).map_err(misfit))
        }
    };
    let checked = match checked {
        Err(why) => Err(why),
        Ok(value) => match run.ask_about_answer(&value) {
            None => return Ok(CheckResult::AsksHook(CheckStage::Answer(value))),
            Some(said) => said.map(|()| value),
        },
    };
    match checked {
        Ok(value) => {
            run.take_answer_of_run(value);
            Ok(CheckResult::Ended(ToolOutput::from_value(TAKEN.into()).0, false))
        }
        Err(why) => {
            run.count_wrong_answer(&why);
            Err(why)
        }
    }
}

/// Whether a call of this turn can have any effect.
fn is_wanted(run: &RunState, is_truncated: bool) -> Result<(), String> {
    if run.is_interrupted() {
        Err(ABORTED.to_owned())
    } else if let Some(error) = run.turn.failure_before_call() {
        Err(error.message().to_owned())
    } else if is_truncated {
        Err(TRUNCATED.to_owned())
    } else if run.turn.is_steered() {
        Err(SKIPPED.to_owned())
    } else {
        Ok(())
    }
}

/// What keeps a call from running whatever it is.
fn begin(run: &mut RunState, call: &RequestedCall, is_truncated: bool) -> Result<(), String> {
    is_wanted(run, is_truncated)?;
    if call.decided.is_some() || call.is_interrupted {
        Ok(())
    } else if run.settings().model.tool_choice == Some(ToolChoice::None) {
        Err(NOT_ALLOWED.to_owned())
    } else {
        count(run, call)
    }
}

/// A call of this run counts, whatever becomes of it.
fn count(run: &mut RunState, call: &RequestedCall) -> Result<(), String> {
    let RequestedCall { id, name, arguments, raw_arguments, .. } = call;
    let count = run.repetition.count(name, arguments, raw_arguments.as_ref());
    if run.repetition.is_reported(run.settings().max_repeated_calls) {
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times in a row") };
        let data = json!({ "tool_call_id": id, "tool_name": name, "count": count });
        run.emitter.diagnostic(codes::REPEATED_CALL, format!("the model has made this call of {name} {times}"), data);
    }
    let budget = run.settings().budget;
    let counted = run.spent.count_tool_call(&budget);
    counted.map_err(|why| format!("no further tool may be called ({why}), so this call was not executed"))
}

/// The arguments of a call that was decided, validated, and whether the call has passed `before_tool_call` before. `None`: its
/// own, which were not checked.
fn decided_arguments(
    call: &RequestedCall,
    tool: &ToolSpec,
    config: &Config,
) -> Result<(Option<Map<String, Value>>, bool), String> {
    let Some(Decided { decision, checked }) = &call.decided else { return Ok((None, false)) };
    let given = if let Decision::Arguments { arguments } = decision { Some(arguments) } else { checked.as_deref() };
    let arguments = given.map(|arguments| validated(tool, arguments, config)).transpose()?;
    Ok((arguments, checked.is_some()))
}

/// The arguments, prepared and validated; `None` until the tool's `prepare_arguments` has answered.
fn prepare(
    run: &mut RunState,
    call: &RequestedCall,
    tool: &ToolSpec,
    config: &Config,
) -> Result<Option<Map<String, Value>>, String> {
    readable(call)?;
    let (name, arguments) = (Arc::clone(&call.name), Arc::clone(&call.arguments));
    match run.ask(|| Question::PrepareArguments { tool: name, arguments }) {
        None => Ok(None),
        Some(Ok(HookAnswer::PrepareArguments(prepared))) => validated(tool, &prepared, config).map(Some),
        Some(Ok(_)) => validated(tool, &call.arguments, config).map(Some),
        Some(Err(NoAnswer::Aborted)) => Err(ABORTED.to_owned()),
        Some(Err(NoAnswer::Failed(why))) => Err(format!("prepare_arguments of {} failed: {}", call.name, why.message())),
    }
}

/// Refuses arguments that are no JSON object.
fn readable(call: &RequestedCall) -> Result<(), String> {
    let Some(text) = &call.raw_arguments else { return Ok(()) };
    Err(match depth::of_text(text) {
        deep if deep > MAX_DEPTH => format!("the arguments of {} are nested {deep} levels deep; give flatter ones", call.name),
        _ => format!("the arguments of {} are not a JSON object: {text}", call.name),
    })
}

/// `before_tool_call` is asked about these arguments.
fn before_call(
    run: &mut RunState,
    call: &RequestedCall,
    tool: &ToolSpec,
    config: &Config,
    arguments: Map<String, Value>,
) -> Result<CheckResult, String> {
    let message = run.turn.message().map(Arc::clone);
    let asked = run.ask(|| {
        Question::BeforeToolCall(BeforeToolCall {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            arguments: arguments.clone(),
            message: message.unwrap_or_else(|| Arc::new(Message::user("", 0))),
        })
    });
    record_decision(run, HookKind::BeforeToolCall, call, asked.as_ref());
    match asked {
        None => Ok(CheckResult::AsksHook(CheckStage::Approval(arguments))),
        Some(Ok(HookAnswer::BeforeToolCall(ToolDecision::Block { reason, terminate }))) => {
            Ok(CheckResult::Ended(ToolOutput { terminate, ..ToolOutput::error(reason) }, true))
        }
        Some(Ok(HookAnswer::BeforeToolCall(ToolDecision::Replace { arguments }))) => {
            let arguments = validated(tool, &arguments, config)?;
            approve(run, call, tool, arguments)
        }
        // Of a call that was decided this is what was decided.
        Some(Ok(HookAnswer::BeforeToolCall(ToolDecision::Suspend { reason }))) if call.decided.is_none() => {
            Ok(CheckResult::Suspended { arguments, reason, is_checked: true })
        }
        Some(Ok(_)) => approve(run, call, tool, arguments),
        Some(Err(unanswered)) => {
            let error = unanswered.error(HookKind::BeforeToolCall);
            Err(error.map_or_else(|| ABORTED.to_owned(), |error| error.message().to_owned()))
        }
    }
}

/// The call runs, or waits for a decision about these arguments.
fn approve(
    run: &mut RunState,
    call: &RequestedCall,
    tool: &ToolSpec,
    arguments: Map<String, Value>,
) -> Result<CheckResult, String> {
    let needed = || format!("the tool {} needs approval", call.name);
    let reason = match tool.needs_approval() {
        _ if call.decided.is_some() => None,
        Approval::NotNeeded => None,
        Approval::Needed => Some(needed()),
        Approval::Asked => {
            let (tool, asked) = (Arc::clone(&call.name), || Arc::new(arguments.clone()));
            match run.ask(|| Question::NeedsApproval { tool, arguments: asked() }) {
                None => return Ok(CheckResult::AsksHook(CheckStage::NeedsApproval(arguments))),
                Some(Ok(HookAnswer::NeedsApproval(None))) => None,
                Some(Ok(HookAnswer::NeedsApproval(Some(reason)))) if !reason.is_empty() => Some(reason),
                // A host that lacks the function does not know that the call may run.
                Some(Ok(_)) => Some(needed()),
                Some(Err(NoAnswer::Aborted)) => return Err(ABORTED.to_owned()),
                Some(Err(NoAnswer::Failed(why))) => {
                    return Err(format!("needs_approval of {} failed: {}", call.name, why.message()));
                }
            }
        }
    };
    Ok(match reason {
        None => CheckResult::Passed(arguments),
        Some(reason) => CheckResult::Suspended { arguments, reason, is_checked: true },
    })
}

/// The arguments as the tool gets them, or the violations of its schema.
fn validated(tool: &ToolSpec, arguments: &Map<String, Value>, config: &Config) -> Result<Map<String, Value>, String> {
    tool.checked(arguments, config.settings.validation)
}
