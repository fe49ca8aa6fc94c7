//! Prepares a tool call: lookup, validation, approval.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

use super::ask::{Patience, Unanswered};
use super::batch::{ABORTED, Batch, CUT, SKIPPED};
use super::{HookAnswer, HookKind, Loop, Question};
use crate::hook::{BeforeToolCall, ToolDecision};
use crate::tool::ToolSpec;

/// How far the preparation of a call is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) enum Preparing {
    #[default]
    Begin,
    /// The tool's own preparation is asked.
    Arguments,
    /// `before_tool_call` is asked about these arguments.
    Approval(Map<String, Value>),
}

/// What a preparation comes to.
pub(super) enum Prepared {
    /// It goes on when a hook has answered.
    Asks(Preparing),
    /// The call may run with these arguments.
    Ready(Map<String, Value>),
    /// The call does not run; the text is for the model.
    Fails(String),
}

impl Loop {
    pub(super) fn prepare_call(&mut self, batch: &Batch, place: usize, preparing: Preparing) -> Prepared {
        match self.try_prepare(batch, place, preparing) {
            Ok(prepared) => prepared,
            Err(why) => Prepared::Fails(why),
        }
    }

    fn try_prepare(&mut self, batch: &Batch, place: usize, preparing: Preparing) -> Result<Prepared, String> {
        let Some(call) = batch.calls.get(place) else {
            return Err("no such call".to_owned());
        };
        let config = Arc::clone(&self.config);
        if matches!(preparing, Preparing::Begin) {
            let reason = match () {
                () if self.is_interrupted() => Some(ABORTED),
                () if !batch.executes => Some(CUT),
                () if self.is_steered => Some(SKIPPED),
                () => None,
            };
            if let Some(reason) = reason {
                return Err(reason.to_owned());
            }
        }
        let tool = config.tools.get(&call.name);
        let tool =
            tool.ok_or_else(|| format!("there is no tool named {:?}; the tools are: {}", call.name, config.tools.names()))?;
        if let Some(text) = &call.raw_arguments {
            return Err(format!("the arguments of {} are not a JSON object: {text}", call.name));
        }
        let validated = |arguments: &Map<String, Value>| validated(tool, arguments, &config);
        let arguments = match preparing {
            Preparing::Approval(arguments) => arguments,
            Preparing::Begin | Preparing::Arguments => {
                let (name, arguments) = (Arc::clone(&call.name), Arc::clone(&call.arguments));
                match self.ask(Patience::None, |_| Question::PrepareArguments { tool: name, arguments }) {
                    None => return Ok(Prepared::Asks(Preparing::Arguments)),
                    Some(Ok(HookAnswer::Arguments(prepared))) => validated(&prepared)?,
                    Some(Ok(_)) => validated(&call.arguments)?,
                    Some(Err(Unanswered::Aborted)) => return Err(ABORTED.to_owned()),
                    Some(Err(Unanswered::Failed(why))) => {
                        return Err(format!("prepare_arguments of {} failed: {why}", call.name));
                    }
                }
            }
        };
        if !config.hooks.has(HookKind::BeforeToolCall) {
            return Ok(Prepared::Ready(arguments));
        }
        let message = self.summary.as_ref().map(|summary| Arc::clone(&summary.message));
        let asked = self.ask(Patience::None, |_| {
            Question::BeforeToolCall(BeforeToolCall {
                tool_call_id: call.id.to_string(),
                tool_name: call.name.to_string(),
                arguments: arguments.clone(),
                message: message.unwrap_or_else(|| Arc::new(crate::message::Message::user("", 0))),
            })
        });
        match asked {
            None => Ok(Prepared::Asks(Preparing::Approval(arguments))),
            Some(Ok(HookAnswer::Decision(ToolDecision::Block { reason }))) => Err(reason),
            Some(Ok(HookAnswer::Decision(ToolDecision::Replace { arguments }))) => Ok(Prepared::Ready(validated(&arguments)?)),
            Some(Ok(_)) => Ok(Prepared::Ready(arguments)),
            Some(Err(unanswered)) => {
                let error = unanswered.error(HookKind::BeforeToolCall);
                Err(error.map_or_else(|| ABORTED.to_owned(), |error| error.message().to_owned()))
            }
        }
    }
}

/// The arguments as the tool gets them, or the violations of its schema.
fn validated(tool: &ToolSpec, arguments: &Map<String, Value>, config: &super::Config) -> Result<Map<String, Value>, String> {
    let misfit = |violations| format!("the arguments of {} do not fit its schema:\n{violations}", tool.name);
    tool.check(arguments, config.settings.validation).map_err(misfit)
}
