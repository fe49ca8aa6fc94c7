//! What can keep a tool call from running: lookup, validation, hooks. Approval is in `approval`.

use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::approval::Approving;
use super::config::Config;
use super::decided::Decided;
use super::final_answer::{Asked, TAKEN, TAKEN_BEFORE};
use super::questions::NoAnswer;
use super::read_result;
use super::requested_call::{ABORTED, CheckResult, CheckStage, OUTCOME_UNKNOWN, RequestedCall};
use super::run_state::RunState;
use crate::depth::{self, MAX_DEPTH};
use crate::hook::{BeforeToolCall, HookAnswer, HookKind, InterruptedCall, InterruptedDecision, Question, ToolDecision};
use crate::message::Message;
use crate::output::OutputSpec;
use crate::request::ToolChoice;
use crate::suspension::Decision;
use crate::table::codes;
use crate::tool::{OnInterrupted, ToolOutput, ToolSpec};
use crate::transcript::READ_RESULT;

const TRUNCATED: &str = "the message was cut off by the output limit, so this call was not executed; make the call again";
pub(super) const SKIPPED: &str = "skipped because of a queued user message, which comes next";
const NOT_ALLOWED: &str = "no tool may be called now (tool_choice is none), so this call was not executed; answer without it";

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
    let approval = Approving { call, tool, config: &config, message_index: of.message_index };
    let arguments = match stage {
        CheckStage::NeedsApproval(arguments) => return approval.approve(run, arguments),
        CheckStage::Decision { arguments, reason } => return approval.ask(run, arguments, reason),
        // Its tool is no tool of the application.
        CheckStage::Answer(_) => return Err(ABORTED.to_owned()),
        CheckStage::Approval(arguments) => Some(arguments),
        CheckStage::Begin if call.decided.is_some() => match decided_arguments(call, tool, &config)? {
            (Some(arguments), true) => return approval.pass(run, arguments),
            (Some(arguments), false) => Some(arguments),
            (None, _) => prepare(run, call, tool, &config)?,
        },
        CheckStage::Begin | CheckStage::Interrupted | CheckStage::PrepareArguments => prepare(run, call, tool, &config)?,
    };
    match arguments {
        None => Ok(CheckResult::AsksHook(CheckStage::PrepareArguments)),
        Some(arguments) if config.hooks.has(HookKind::BeforeToolCall) => before_call(run, approval, arguments),
        Some(arguments) => approval.approve(run, arguments),
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
    call.record_decision(run, HookKind::OnInterruptedCall, asked.as_ref());
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
fn before_call(run: &mut RunState, approval: Approving<'_>, arguments: Map<String, Value>) -> Result<CheckResult, String> {
    let Approving { call, tool, config, .. } = approval;
    let message = run.turn.message().map(Arc::clone);
    let asked = run.ask(|| {
        Question::BeforeToolCall(BeforeToolCall {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            arguments: arguments.clone(),
            message: message.unwrap_or_else(|| Arc::new(Message::user("", 0))),
        })
    });
    call.record_decision(run, HookKind::BeforeToolCall, asked.as_ref());
    match asked {
        None => Ok(CheckResult::AsksHook(CheckStage::Approval(arguments))),
        Some(Ok(HookAnswer::BeforeToolCall(ToolDecision::Block { reason, terminate }))) => {
            Ok(CheckResult::Ended(ToolOutput { terminate, ..ToolOutput::error(reason) }, true))
        }
        Some(Ok(HookAnswer::BeforeToolCall(ToolDecision::Replace { arguments }))) => {
            let arguments = validated(tool, &arguments, config)?;
            approval.approve(run, arguments)
        }
        // Of a call that was decided this is what was decided.
        Some(Ok(HookAnswer::BeforeToolCall(ToolDecision::Suspend { reason }))) if call.decided.is_none() => {
            // Nobody is asked about what is denied anyway.
            Ok(match approval.pass(run, arguments)? {
                CheckResult::Passed(arguments) => CheckResult::Suspended { arguments, reason, is_checked: true },
                other => other,
            })
        }
        Some(Ok(_)) => approval.approve(run, arguments),
        Some(Err(unanswered)) => {
            let error = unanswered.error(HookKind::BeforeToolCall);
            Err(error.map_or_else(|| ABORTED.to_owned(), |error| error.message().to_owned()))
        }
    }
}

/// The arguments as the tool gets them, or the violations of its schema.
fn validated(tool: &ToolSpec, arguments: &Map<String, Value>, config: &Config) -> Result<Map<String, Value>, String> {
    tool.checked(arguments, config.settings.validation)
}
