//! Tools: their descriptions, and those of an agent.

use std::sync::Arc;

use agent_loop::host::{HostTool, Spelling, read_json};
use agent_loop::tool::{ExecutionMode, Validation};
use agent_loop::{Error, ToolOutput, ToolSpec};
use napi_derive::napi;

use crate::bridge::{Callback, Link};
use crate::error::{Result, invalid_argument, thrown, verbatim};
use crate::{camel_case, message};

/// A tool, checked and compiled once, for any number of agents.
#[napi]
pub struct Tool {
    pub(crate) spec: Arc<ToolSpec>,
}

#[napi]
impl Tool {
    /// Reads `{name, description?, parameters?, label?, executionMode?, timeoutMs?, needsApproval?}` from JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: String) -> Result<Tool> {
        let options = message::read("tool", &options).map_err(|e| thrown(&e))?;
        let spec = ToolSpec::from_json_spelled(options, Spelling::Camel, &["execute", "prepare_arguments", "json_schema"]);
        Ok(Tool { spec: Arc::new(spec.map_err(|e| thrown(&e))?) })
    }

    /// The description as JSON.
    #[napi(catch_unwind)]
    pub fn describe(&self) -> String {
        camel_case::to_json(&*self.spec)
    }

    /// The arguments of a call, in JSON, as the tool gets them. `how`: `coerce` (default), `strict` or `off`.
    #[napi(catch_unwind)]
    pub fn check(&self, arguments: String, how: Option<String>) -> Result<String> {
        let how = match how.as_deref() {
            None | Some("coerce") => Validation::Coerce,
            Some("strict") => Validation::Strict,
            Some("off") => Validation::Off,
            Some(_) => return Err(invalid_argument("validation: expected \"coerce\", \"strict\" or \"off\"")),
        };
        let checked = self.spec.checked(&message::object("the arguments", &arguments)?, how);
        // Serializing a JSON object cannot fail.
        let json = |map| serde_json::to_string(&map).unwrap_or_default();
        checked.map(json).map_err(|text| verbatim(&Error::invalid_argument(text)))
    }

    /// What is wrong with a result, in JSON; nothing if a call may have it.
    #[napi(catch_unwind)]
    pub fn check_result(result: String) -> Option<String> {
        let wrong = read_json(&result).map_err(|e| e.message().to_owned()).and_then(|value| ToolOutput::check(&value));
        wrong.err()
    }

    /// The tool's name.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> String {
        self.spec.name().to_owned()
    }

    /// The tool's name for display.
    #[napi(getter, catch_unwind)]
    pub fn label(&self) -> String {
        self.spec.label().to_owned()
    }

    /// What the tool does, for the model.
    #[napi(getter, catch_unwind)]
    pub fn description(&self) -> String {
        self.spec.description().to_owned()
    }

    /// `parallel`, `sequential`, or nothing if the agent decides.
    #[napi(getter, catch_unwind, ts_return_type = "'parallel' | 'sequential' | null")]
    pub fn execution_mode(&self) -> Option<&'static str> {
        self.spec.execution_mode().map(|mode| match mode {
            ExecutionMode::Parallel => "parallel",
            ExecutionMode::Sequential => "sequential",
        })
    }

    /// The time limit of a call in milliseconds; 0 for none.
    #[napi(getter, catch_unwind)]
    pub fn timeout_ms(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // far below 2^53, or no limit
        let ms = self.spec.timeout_ms() as f64;
        ms
    }
}

/// The tools of one agent. `execute`, `prepare` and `approve` are the numbers of their callbacks.
///
/// # Errors
/// `invalid_argument` when two have the same name.
pub(crate) fn of_agent(
    tools: &[&Tool],
    execute: &[u32],
    [prepare, approve]: [&[Option<u32>]; 2],
    agent: u32,
    link: &Arc<Link>,
) -> std::result::Result<agent_loop::ToolSet, agent_loop::Error> {
    let callback = |number: &u32| Callback::new(link, agent, *number).function();
    // All of them, before anything can fail: dropping one reports its callback as no longer needed.
    let made: Vec<HostTool> = (tools.iter().zip(execute).zip(prepare.iter().zip(approve)))
        .map(|((tool, execute), (prepare, approve))| HostTool {
            spec: Arc::clone(&tool.spec),
            execute: callback(execute),
            prepare: prepare.as_ref().map(callback),
            prepared: "an object of arguments",
            approve: approve.as_ref().map(callback),
            may_block: false,
        })
        .collect();
    let mut set = agent_loop::ToolSet::default();
    for tool in made {
        set.add(Arc::new(tool))?;
    }
    Ok(set)
}
