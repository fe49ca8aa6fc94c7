//! What can keep a tool call from running: lookup, validation, approval.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

use super::config::Config;
use super::questions::NoAnswer;
use super::run_state::RunState;
use crate::depth::{self, MAX_DEPTH};
use crate::event::{EventData, PartialResult};
use crate::hook::{BeforeToolCall, HookAnswer, HookKind, Question, ToolDecision};
use crate::message::{Message, ToolCall};
use crate::request::ToolChoice;
use crate::tool::{ToolOutput, ToolSpec};

const TRUNCATED: &str = "the message was cut off by the output limit, so this call was not executed; make the call again";
pub(super) const SKIPPED: &str = "skipped because of a queued user message, which comes next";
const NOT_ALLOWED: &str = "no tool may be called now (tool_choice is none), so this call was not executed; answer without it";
pub(super) const ABORTED: &str = "aborted";

/// A call as the model made it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestedCall {
    pub(super) id: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) arguments: Arc<Map<String, Value>>,
    raw_arguments: Option<String>,
}

impl From<ToolCall> for RequestedCall {
    fn from(call: ToolCall) -> RequestedCall {
        let ToolCall { id, name, arguments, raw_arguments, .. } = call;
        RequestedCall { id: id.into(), name: name.into(), arguments, raw_arguments }
    }
}

impl RequestedCall {
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
    /// The tool's `prepare_arguments` is asked.
    PrepareArguments,
    /// `before_tool_call` is asked about these arguments.
    Approval(Map<String, Value>),
}

/// What a check comes to.
pub(super) enum CheckResult {
    /// It goes on at this stage when a hook has answered.
    AsksHook(CheckStage),
    /// The call may run with these arguments.
    Passed(Map<String, Value>),
    /// The call does not run; this is its result.
    Failed(ToolOutput),
}

/// Goes on checking a call. Those of a truncated message are not executed.
pub(super) fn check(run: &mut RunState, call: &RequestedCall, is_truncated: bool, stage: CheckStage) -> CheckResult {
    try_check(run, call, is_truncated, stage).unwrap_or_else(|why| CheckResult::Failed(ToolOutput::error(why)))
}

fn try_check(run: &mut RunState, call: &RequestedCall, is_truncated: bool, stage: CheckStage) -> Result<CheckResult, String> {
    let config = Arc::clone(run.setup.current());
    if matches!(stage, CheckStage::Begin) {
        begin(run, is_truncated)?;
    }
    let tool = config.tools.get(&call.name);
    let tool = tool.ok_or_else(|| format!("there is no tool named {:?}; the tools are: {}", call.name, config.tools.names()))?;
    let arguments = match stage {
        CheckStage::Approval(arguments) => Some(arguments),
        CheckStage::Begin | CheckStage::PrepareArguments => prepare(run, call, tool, &config)?,
    };
    match arguments {
        None => Ok(CheckResult::AsksHook(CheckStage::PrepareArguments)),
        Some(arguments) if config.hooks.has(HookKind::BeforeToolCall) => approve(run, call, tool, &config, arguments),
        Some(arguments) => Ok(CheckResult::Passed(arguments)),
    }
}

/// What keeps a call from running whatever it is.
fn begin(run: &RunState, is_truncated: bool) -> Result<(), String> {
    if run.is_interrupted() {
        Err(ABORTED.to_owned())
    } else if is_truncated {
        Err(TRUNCATED.to_owned())
    } else if run.turn.is_steered() {
        Err(SKIPPED.to_owned())
    } else if run.settings().model.tool_choice == Some(ToolChoice::None) {
        Err(NOT_ALLOWED.to_owned())
    } else {
        Ok(())
    }
}

/// The arguments, prepared and validated; `None` until the tool's `prepare_arguments` has answered.
fn prepare(
    run: &mut RunState,
    call: &RequestedCall,
    tool: &ToolSpec,
    config: &Config,
) -> Result<Option<Map<String, Value>>, String> {
    if let Some(text) = &call.raw_arguments {
        return Err(match depth::of_text(text) {
            deep if deep > MAX_DEPTH => {
                format!("the arguments of {} are nested {deep} levels deep; give flatter ones", call.name)
            }
            _ => format!("the arguments of {} are not a JSON object: {text}", call.name),
        });
    }
    let (name, arguments) = (Arc::clone(&call.name), Arc::clone(&call.arguments));
    match run.ask(|| Question::PrepareArguments { tool: name, arguments }) {
        None => Ok(None),
        Some(Ok(HookAnswer::PrepareArguments(prepared))) => validated(tool, &prepared, config).map(Some),
        Some(Ok(_)) => validated(tool, &call.arguments, config).map(Some),
        Some(Err(NoAnswer::Aborted)) => Err(ABORTED.to_owned()),
        Some(Err(NoAnswer::Failed(why))) => Err(format!("prepare_arguments of {} failed: {}", call.name, why.message())),
    }
}

/// `before_tool_call` is asked about these arguments.
fn approve(
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
    match asked {
        None => Ok(CheckResult::AsksHook(CheckStage::Approval(arguments))),
        Some(Ok(HookAnswer::BeforeToolCall(ToolDecision::Block { reason, terminate }))) => {
            Ok(CheckResult::Failed(ToolOutput { terminate, ..ToolOutput::error(reason) }))
        }
        Some(Ok(HookAnswer::BeforeToolCall(ToolDecision::Replace { arguments }))) => {
            validated(tool, &arguments, config).map(CheckResult::Passed)
        }
        Some(Ok(_)) => Ok(CheckResult::Passed(arguments)),
        Some(Err(unanswered)) => {
            let error = unanswered.error(HookKind::BeforeToolCall);
            Err(error.map_or_else(|| ABORTED.to_owned(), |error| error.message().to_owned()))
        }
    }
}

/// The arguments as the tool gets them, or the violations of its schema.
fn validated(tool: &ToolSpec, arguments: &Map<String, Value>, config: &Config) -> Result<Map<String, Value>, String> {
    let misfit = |violations| format!("the arguments of {} do not fit its schema:\n{violations}", tool.name());
    let checked = tool.check(arguments, config.settings.validation).map_err(misfit)?;
    depth::check_map(&format!("what the arguments of {} hold", tool.name()), &checked)?;
    Ok(checked)
}
