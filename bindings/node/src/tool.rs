//! Tools: their descriptions, and their calls to JavaScript.

use std::sync::Arc;

use agent_loop::{
    BoxFuture, ExecutionMode, HookContext, Middleware, MiddlewareCall, PendingCall, PreparedArguments, Spelling, ToolSpec,
};
use napi_derive::napi;
use serde_json::{Map, Value};

use crate::bridge::{Callback, Link, Waiter};
use crate::call::Work;
use crate::error::{Result, thrown};
use crate::message;

/// A tool, checked and compiled once, for any number of agents.
#[napi]
pub struct Tool {
    pub(crate) spec: Arc<ToolSpec>,
}

#[napi]
impl Tool {
    /// Reads `{name, description?, parameters?, label?, executionMode?, timeoutMs?}` from JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: String) -> Result<Tool> {
        let options = message::read("tool", &options).map_err(|e| thrown(&e))?;
        let spec = ToolSpec::from_json_spelled(options, Spelling::Camel, &["execute", "prepare_arguments"]);
        Ok(Tool { spec: Arc::new(spec.map_err(|e| thrown(&e))?) })
    }

    /// The tool's name.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> String {
        self.spec.name.clone()
    }

    /// The tool's name for display.
    #[napi(getter, catch_unwind)]
    pub fn label(&self) -> String {
        self.spec.label.clone()
    }

    /// What the tool does, for the model.
    #[napi(getter, catch_unwind)]
    pub fn description(&self) -> String {
        self.spec.description.clone()
    }

    /// `parallel`, `sequential`, or nothing if the agent decides.
    #[napi(getter, catch_unwind, ts_return_type = "'parallel' | 'sequential' | null")]
    pub fn execution_mode(&self) -> Option<&'static str> {
        self.spec.execution_mode.map(|mode| match mode {
            ExecutionMode::Parallel => "parallel",
            ExecutionMode::Sequential => "sequential",
        })
    }

    /// The time limit of a call in milliseconds; 0 for none.
    #[napi(getter, catch_unwind)]
    pub fn timeout_ms(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // far below 2^53, or no limit
        let ms = self.spec.timeout_ms as f64;
        ms
    }
}

/// A tool of one agent: its calls go to that agent's callbacks.
struct AgentTool {
    spec: Arc<ToolSpec>,
    execute: Callback,
    prepare: Option<Callback>,
}

impl agent_loop::Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare_arguments(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<PreparedArguments> {
        let (prepare, context, arguments) = (self.prepare.clone()?, context.clone(), arguments.clone());
        Some(Box::pin(async move {
            match prepare.ask(Work::Hook(context), text(&arguments)).await? {
                Value::Object(prepared) => Ok(prepared),
                Value::Null => Ok(arguments),
                other => Err(format!("expected an object of arguments, got {other}")),
            }
        }))
    }

    fn start(&self, call: PendingCall) {
        let (work, input) = (Work::Tool(call.context().clone()), text(call.arguments()));
        self.execute.call(Waiter::Tool(call), work, input);
    }
}

/// A middleware that calls JavaScript.
pub(crate) fn middleware(callback: Callback) -> Middleware {
    Arc::new(move |call: MiddlewareCall| -> BoxFuture<'static, std::result::Result<Value, String>> {
        let callback = callback.clone();
        let input = text(call.arguments());
        Box::pin(async move { callback.ask(Work::Middleware(call), input).await })
    })
}

/// The tools of one agent. `execute` and `prepare` are the numbers of their callbacks.
///
/// # Errors
/// `invalid_argument` when two have the same name.
pub(crate) fn of_agent(
    tools: &[&Tool],
    execute: &[u32],
    prepare: &[Option<u32>],
    agent: u32,
    link: &Arc<Link>,
) -> std::result::Result<agent_loop::ToolSet, agent_loop::Error> {
    let callback = |number: &u32| Callback::new(link, agent, *number);
    // All of them, before anything can fail: dropping one reports its callback as no longer needed.
    let made: Vec<AgentTool> = (tools.iter().zip(execute).zip(prepare))
        .map(|((tool, execute), prepare)| AgentTool {
            spec: Arc::clone(&tool.spec),
            execute: callback(execute),
            prepare: prepare.as_ref().map(callback),
        })
        .collect();
    let mut set = agent_loop::ToolSet::default();
    for tool in made {
        set.add(Arc::new(tool))?;
    }
    Ok(set)
}

/// Arguments as JSON text.
fn text(arguments: &Map<String, Value>) -> String {
    // Serializing a JSON object cannot fail.
    serde_json::to_string(arguments).unwrap_or_default()
}
