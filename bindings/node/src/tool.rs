//! Tools: what a model is told of them, and calls on their way to JavaScript and back.

use std::sync::Arc;

use agent_loop::{ExecutionMode, PendingCall, Spelling, ToolContext, ToolSpec};
use napi_derive::napi;
use serde_json::Value;

use crate::bridge::{Job, Link};
use crate::error::{Result, thrown};
use crate::message;
use crate::runtime;

/// A tool, checked and compiled once, for any number of agents.
#[napi]
pub struct Tool {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) number: u32,
}

#[napi]
impl Tool {
    /// Reads `{name, description?, parameters?, label?, executionMode?}` from JSON. `number` is how calls name the tool.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: String, number: u32) -> Result<Tool> {
        let options = message::read("tool", &options).map_err(|e| thrown(&e))?;
        let spec = ToolSpec::from_json_spelled(options, Spelling::Camel, &["execute"]).map_err(|e| thrown(&e))?;
        Ok(Tool { spec: Arc::new(spec), number })
    }

    /// The tool's name.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> String {
        self.spec.name.clone()
    }

    /// Its name for people.
    #[napi(getter, catch_unwind)]
    pub fn label(&self) -> String {
        self.spec.label.clone()
    }

    /// What the model is told.
    #[napi(getter, catch_unwind)]
    pub fn description(&self) -> String {
        self.spec.description.clone()
    }

    /// `parallel`, `sequential`, or nothing where the agent decides.
    #[napi(getter, catch_unwind, ts_return_type = "'parallel' | 'sequential' | null")]
    pub fn execution_mode(&self) -> Option<&'static str> {
        self.spec.execution_mode.map(|mode| match mode {
            ExecutionMode::Parallel => "parallel",
            ExecutionMode::Sequential => "sequential",
        })
    }
}

/// A tool as one agent has it: its calls go to that agent's JavaScript.
pub(crate) struct AgentTool {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) number: u32,
    pub(crate) agent: u32,
    pub(crate) link: Arc<Link>,
}

impl agent_loop::Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn start(&self, call: PendingCall) {
        let call = Call::new(call, Arc::clone(&self.link));
        self.link.post(Job::Call { agent: self.agent, tool: self.number, call });
    }
}

/// A call that waits for its answer. When JavaScript lets go of it unanswered, the call fails.
#[napi]
pub struct Call {
    link: Arc<Link>,
    number: u32,
    context: ToolContext,
    arguments: String,
}

impl Call {
    fn new(call: PendingCall, link: Arc<Link>) -> Call {
        let context = call.context().clone();
        // Nothing in a JSON object can fail to serialise.
        let arguments = serde_json::to_string(call.arguments()).unwrap_or_default();
        let number = link.keep(call);
        Call { link, number, context, arguments }
    }

    fn answer(&self, answer: impl FnOnce(PendingCall)) {
        if let Some(call) = self.link.answered(self.number) {
            answer(call);
        }
    }
}

#[napi]
impl Call {
    /// The call's id.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> String {
        self.context.id().to_owned()
    }

    /// The arguments, checked, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// Whether the answer is no longer wanted.
    #[napi(getter, catch_unwind)]
    pub fn is_cancelled(&self) -> bool {
        self.context.is_cancelled()
    }

    /// Answers with a value in JSON.
    #[napi(catch_unwind)]
    pub fn respond(&self, value: String) {
        self.answer(|call| match serde_json::from_str(&value) {
            Ok(value) => call.respond(value),
            Err(error) => call.fail(format!("the tool's result is not JSON: {error}")),
        });
    }

    /// Answers that the call failed.
    #[napi(catch_unwind)]
    pub fn fail(&self, message: String) {
        self.answer(|call| call.fail(message));
    }

    /// Tells how far the tool is, in JSON.
    #[napi(catch_unwind)]
    pub fn update(&self, value: String) {
        self.context.update(serde_json::from_str(&value).unwrap_or(Value::String(value)));
    }

    /// Settles the ticket when the call is cancelled; not after it had its answer.
    #[napi(catch_unwind)]
    pub fn watch(&self, ticket: u32) -> Result<()> {
        let link = Arc::clone(&self.link);
        let (cancelled, over) = (self.context.cancel_token().clone(), self.context.over_token().clone());
        let watch = async move {
            tokio::select! {
                biased;
                () = cancelled.cancelled() => link.settle(ticket, None),
                () = over.cancelled() => {}
            }
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(watch);
        Ok(())
    }

    /// Waits in the engine's time, then settles the ticket with `true`, or at once with `false` when the call is cancelled.
    #[napi(catch_unwind)]
    pub fn sleep(&self, ms: f64, ticket: u32) -> Result<()> {
        let (link, context) = (Arc::clone(&self.link), self.context.clone());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and that is meant
        let ms = ms as u64;
        let sleep = async move {
            let passed = context.sleep(ms).await;
            link.settle(ticket, Some(passed.to_string()));
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(sleep);
        Ok(())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.answer(drop);
    }
}

/// The tools as one agent has them.
pub(crate) fn of_agent(
    tools: &[&Tool],
    agent: u32,
    link: &Arc<Link>,
) -> std::result::Result<agent_loop::ToolSet, agent_loop::Error> {
    let mut set = agent_loop::ToolSet::default();
    for tool in tools {
        let (spec, link) = (Arc::clone(&tool.spec), Arc::clone(link));
        set.add(Arc::new(AgentTool { spec, number: tool.number, agent, link }))?;
    }
    Ok(set)
}
