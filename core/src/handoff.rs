//! Handoffs: another agent goes on with a conversation.
//!
//! [`Agent::as_handoff`] makes a tool that gives the conversation to an agent for the rest of the run: from the next turn on its
//! system prompt, model, tools, hooks and options are used, over the same transcript.
//!
//! ```no_run
//! use agent_loop::Agent;
//!
//! # async fn example() -> Result<(), agent_loop::Error> {
//! let billing = Agent::builder("anthropic/claude-sonnet-4-5").system_prompt("You answer questions about bills.").build()?;
//! let agent = Agent::builder("anthropic/claude-haiku-4-5")
//!     .tool(billing.as_handoff("to_billing", "Hands the conversation to the colleagues who know about bills.")?)
//!     .build()?;
//! println!("{}", agent.prompt("Why was I charged twice?").await?.text);
//! # Ok(()) }
//! ```

use std::any::Any;
use std::sync::Arc;

use serde_json::json;
#[cfg(feature = "__bindings")]
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::error::{Error, ErrorKind};
use crate::tool::run_of_call::HandOff;
use crate::tool::{PendingCall, Tool, ToolContext, ToolSpec};

/// What the agent that takes over reads as the result of the call.
const TAKEN: &str = "The conversation was handed over. Go on with it from here.";

/// A tool that hands the conversation to an agent: made by [`Agent::as_handoff`].
#[derive(Debug, Clone)]
pub struct Handoff {
    spec: ToolSpec,
    agent: Agent,
}

impl Agent {
    /// A tool that hands the conversation to this agent for the rest of the run: from the next turn on the run has its system
    /// prompt, model, tools, hooks, middleware, keys and options, and the transcript so far. The limits of the run, its typed
    /// answer, its session and its listeners stay. A `diagnostic` (`handoff`) says so. The next run begins with its own agent
    /// again.
    ///
    /// # Errors
    /// `invalid_argument` for a name that no provider takes.
    pub fn as_handoff(&self, name: &str, description: &str) -> Result<Handoff, Error> {
        let parameters = json!({ "type": "object", "properties": {} });
        Ok(Handoff { spec: ToolSpec::new(name, description, parameters)?, agent: self.clone() })
    }

    /// Goes on with the run of this call from its next turn on, as [`Agent::as_handoff`] says; for a tool that then answers as it
    /// likes.
    ///
    /// # Errors
    /// `invalid_state`: the call is of no run, or has its answer already; `invalid_argument`: a model of this agent cannot be
    /// used, or has no prices where the run has a `max_cost`, or the agent has a tool with the name of the run's typed answer.
    pub fn take_over(&self, context: &ToolContext) -> Result<(), Error> {
        self.take_over_keeping(context, Arc::new(()))
    }

    /// The same, with something that the host has to keep for as long as the run.
    ///
    /// # Errors
    /// As [`Agent::take_over`].
    #[doc(hidden)]
    pub fn take_over_keeping(&self, context: &ToolContext, kept: Arc<dyn Any + Send + Sync>) -> Result<(), Error> {
        let config = self.usable_config()?;
        let run = context.run_waiting().ok_or_else(|| {
            let text = "the call that hands the conversation over is of no run, or has its answer already; hand over in a call \
                        that the model has made, before the tool answers";
            Error::new(ErrorKind::InvalidState, text)
        })?;
        run.machine().check_hand_off(&config)?;
        let (tool_call_id, tool_name) = context.names();
        run.hand_off(HandOff { agent: Arc::new(self.clone()), kept, tool_call_id, tool_name });
        Ok(())
    }
}

impl Handoff {
    /// The text of the call's result.
    #[cfg(feature = "__bindings")]
    #[doc(hidden)]
    pub fn taken() -> &'static str {
        TAKEN
    }

    /// As hosts describe it in JSON: `{name, description?, …}`, with the other fields of a tool.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown, missing or wrong field (names it).
    #[cfg(feature = "__bindings")]
    #[doc(hidden)]
    pub fn from_json(agent: &Agent, fields: Map<String, Value>) -> Result<Handoff, Error> {
        Ok(Handoff { spec: ToolSpec::from_json(Value::Object(fields))?, agent: agent.clone() })
    }
}

impl Tool for Handoff {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn start(&self, call: PendingCall) {
        match self.agent.take_over(call.context()) {
            Ok(()) => call.respond(TAKEN.into()),
            // Why it cannot go on is for the model, as every failure of a tool.
            Err(error) => call.fail(error.message()),
        }
    }
}
