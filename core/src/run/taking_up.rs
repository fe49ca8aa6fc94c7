//! Taking a call up: its start, and all that can keep it from running.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::batch::{ABORTED, CUT, Call, Prepared, SKIPPED};
use super::driver::Driver;
use super::hooks::Unanswered;
use crate::error::panic_message;
use crate::event::EventData;
use crate::hook::{BeforeToolCall, HookContext, HookKind, ToolDecision};
use crate::host::HostWork;
use crate::message::Message;
use crate::tool::{Tool, ToolOutput, catch_panic};

impl Driver {
    /// The start of a call, and all that can keep it from running. Gives what to run, or ends the call.
    pub(super) async fn take_up(&mut self, call: &mut Call, message: &Arc<Message>, execute: bool) -> Option<Prepared> {
        call.started_ms = self.clock.now_ms();
        self.emit(EventData::ToolExecutionStart {
            tool_call_id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
        })
        .await;
        let prepared = if self.is_aborted() {
            Err(ABORTED.to_owned())
        } else if !execute {
            Err(CUT.to_owned())
        } else if self.steered {
            Err(SKIPPED.to_owned())
        } else {
            self.prepare(call, message).await
        };
        match prepared {
            Ok(prepared) => Some(prepared),
            Err(why) => {
                self.end(call, ToolOutput::error(why), true).await;
                None
            }
        }
    }

    /// Finds the tool, checks the arguments and asks whether the call may run; the error is for the model.
    async fn prepare(&mut self, call: &Call, message: &Arc<Message>) -> Result<Prepared, String> {
        let tools = &self.offered.tools;
        let tool = tools.get(&call.name).map(Arc::clone);
        let tool = tool.ok_or_else(|| format!("there is no tool named {:?}; the tools are: {}", call.name, tools.names()))?;
        if let Some(text) = &call.raw_arguments {
            return Err(format!("the arguments of {} are not a JSON object: {text}", call.name));
        }
        let validation = self.offered.settings.validation;
        let check = |arguments: &Map<String, Value>| {
            let misfit = |violations| format!("the arguments of {} do not fit its schema:\n{violations}", call.name);
            tool.spec().check(arguments, validation).map_err(misfit)
        };
        let arguments = match self.prepare_arguments(&tool, &call.arguments).await? {
            Some(arguments) => check(&arguments)?,
            None => check(&call.arguments)?,
        };
        let Some(hook) = self.offered.hooks.before_tool_call.clone() else {
            return Ok((Arc::clone(&tool), arguments));
        };
        let asked = BeforeToolCall {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            arguments: arguments.clone(),
            message: Arc::clone(message),
        };
        match self.ask(HookKind::BeforeToolCall, &hook, asked).await {
            Ok(ToolDecision::Allow) => Ok((Arc::clone(&tool), arguments)),
            Ok(ToolDecision::Block { reason }) => Err(reason),
            Ok(ToolDecision::Replace { arguments }) => Ok((Arc::clone(&tool), check(&arguments)?)),
            Err(unanswered) => Err(because(&unanswered)),
        }
    }

    /// The arguments as the tool itself puts them right, if it does.
    async fn prepare_arguments(
        &mut self,
        tool: &Arc<dyn Tool>,
        arguments: &Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, String> {
        let failed = |why: &str| format!("prepare_arguments of {} failed: {why}", tool.spec().name);
        let work = HostWork::new(self.run.abort.child_token(), self.clock.clone());
        let context = HookContext(work.clone());
        let begun = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.scope.run(|| tool.prepare_arguments(arguments, &context))
        }));
        let prepared = match begun {
            Ok(None) => None,
            Ok(Some(prepared)) => {
                self.flush().await;
                let abort = self.run.abort.clone();
                let answer = tokio::select! {
                    biased;
                    () = abort.cancelled() => None,
                    prepared = self.scope.clone().enter(catch_panic(prepared)) => Some(prepared),
                };
                if answer.is_none() {
                    work.finish();
                    return Err(ABORTED.to_owned());
                }
                answer
            }
            Err(payload) => Some(Err(payload)),
        };
        work.finish();
        match prepared {
            None => Ok(None),
            Some(Ok(prepared)) => prepared.map(Some).map_err(|why| failed(&why)),
            Some(Err(payload)) => Err(failed(&format!("it panicked: {}", panic_message(&*payload)))),
        }
    }
}

/// Why a call does not run, for the model.
fn because(unanswered: &Unanswered) -> String {
    match unanswered {
        Unanswered::Aborted => ABORTED.to_owned(),
        Unanswered::Failed(error) => error.message().to_owned(),
    }
}
