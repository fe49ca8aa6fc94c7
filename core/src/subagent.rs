//! Agents as tools of other agents: subagents.
//!
//! [`Agent::as_tool`] makes a tool of an agent. A call runs it, with a transcript of its own, and the call's result is its
//! answer. [`PendingRun::within`](crate::PendingRun::within) does so in a tool that you write yourself.
//!
//! ```no_run
//! use agent_loop::Agent;
//!
//! # async fn example() -> Result<(), agent_loop::Error> {
//! let researcher = Agent::builder("anthropic/claude-haiku-4-5").system_prompt("Find out, and answer briefly.").build()?;
//! let agent = Agent::builder("anthropic/claude-sonnet-4-5")
//!     .tool(researcher.as_tool("research", "Finds something out. Ask one question.")?)
//!     .build()?;
//! println!("{}", agent.prompt("Which of Oslo and Bergen has more rain?").await?.text);
//! # Ok(()) }
//! ```

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tracing::Instrument;

use crate::agent::Agent;
#[cfg(feature = "__bindings")]
use crate::did_you_mean::Spelling;
use crate::error::{BoxError, Error, panic_message};
use crate::future::catch_panic;
use crate::message::{Message, Prompt};
use crate::tool::{PendingCall, Tool, ToolContext, ToolSpec};

pub use crate::tool::subagent_events::SubagentEvents;

type PromptOf = Arc<dyn Fn(&Map<String, Value>) -> Result<Prompt, BoxError> + Send + Sync>;

/// A tool that runs an agent: made by [`Agent::as_tool`].
#[derive(Clone)]
pub struct Subagent {
    spec: ToolSpec,
    agent: Agent,
    /// What each call begins with.
    messages: Arc<Vec<Arc<Message>>>,
    prompt: PromptOf,
    events: SubagentEvents,
    /// Of one that goes on with its conversation: calls take turns.
    turns: Option<Arc<tokio::sync::Mutex<()>>>,
}

impl Agent {
    /// A tool that runs this agent. Each call has an agent of its own, with this one's configuration as it is then, and begins
    /// with the messages that this one has now: several calls may run at once, and none knows of another. The call's result is
    /// the agent's typed answer or its last text; if the run ends otherwise, an error that says so.
    ///
    /// The model gives the `prompt`, a text; [`Subagent::parameters`] changes that.
    ///
    /// # Errors
    /// `invalid_argument` for a name that no provider takes.
    pub fn as_tool(&self, name: &str, description: &str) -> Result<Subagent, Error> {
        let parameters = json!({
            "type": "object",
            "properties": { "prompt": { "type": "string", "description": "What to do, with all that is needed to do it." } },
            "required": ["prompt"],
        });
        let prompt = |arguments: &Map<String, Value>| match arguments.get("prompt").and_then(Value::as_str) {
            Some(text) => Ok(Prompt::from(text)),
            // Of parameters that somebody else has described.
            None => Ok(Prompt::from(Value::Object(arguments.clone()).to_string())),
        };
        Ok(Subagent {
            spec: ToolSpec::new(name, description, parameters)?,
            agent: self.clone(),
            messages: self.messages(),
            prompt: Arc::new(prompt),
            events: SubagentEvents::All,
            turns: None,
        })
    }
}

impl Subagent {
    /// Other parameters, a JSON Schema of an object, and the prompt that is made of them: a text, or messages.
    ///
    /// # Errors
    /// As [`ToolSpec::new`].
    pub fn parameters<P: Into<Prompt>>(
        mut self,
        parameters: Value,
        prompt: impl Fn(&Map<String, Value>) -> Result<P, BoxError> + Send + Sync + 'static,
    ) -> Result<Subagent, Error> {
        self.spec = ToolSpec::new(self.spec.name(), self.spec.description(), parameters)?;
        self.prompt = Arc::new(move |arguments| prompt(arguments).map(Into::into));
        Ok(self)
    }

    /// Which of its events come in the run that calls it; all, unless this says otherwise.
    #[must_use]
    pub fn events(mut self, events: SubagentEvents) -> Subagent {
        self.events = events;
        self
    }

    /// Calls go on with the agent's own conversation, and its session if it has one, instead of beginning anew. They take turns.
    #[must_use]
    pub fn keep_conversation(mut self) -> Subagent {
        self.turns = Some(Arc::default());
        self
    }

    /// As hosts describe it in JSON: `{name, description?, events?, keep_conversation?, parameters?, …}`, with the other fields
    /// of a tool.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown, missing or wrong field (names it).
    #[cfg(feature = "__bindings")]
    #[doc(hidden)]
    pub fn from_json(agent: &Agent, mut fields: Map<String, Value>) -> Result<Subagent, Error> {
        let made = agent.as_tool("subagent", "")?;
        let (events, keeps) = (fields.shift_remove("events"), fields.shift_remove("keep_conversation"));
        if fields.get("parameters").is_none_or(Value::is_null) {
            fields.insert("parameters".to_owned(), made.spec.parameters().clone());
        }
        let spec = ToolSpec::from_json_spelled(Value::Object(fields), Spelling::Snake, &["events", "keep_conversation"])?;
        let made = match events {
            None | Some(Value::Null) => made,
            Some(word) => made.events(word.as_str().unwrap_or_default().parse()?),
        };
        let made = match keeps {
            None | Some(Value::Null | Value::Bool(false)) => made,
            Some(Value::Bool(true)) => made.keep_conversation(),
            Some(other) => {
                let text = format!("keep_conversation: expected true or false, got {other}");
                return Err(Error::invalid_argument(text));
            }
        };
        Ok(made.with_spec(spec))
    }

    /// Another description of the tool. Arguments without a text `prompt` are given to the agent as JSON, where
    /// [`parameters`](Subagent::parameters) has not made a prompt of them.
    #[must_use]
    pub fn with_spec(mut self, spec: ToolSpec) -> Subagent {
        self.spec = spec;
        self
    }

    /// The longest a call may run, in milliseconds, where the agent's `tool_timeout_ms` is not to decide; 0 for no limit.
    #[must_use]
    pub fn timeout_ms(mut self, ms: u64) -> Subagent {
        self.spec = self.spec.with_timeout_ms(ms);
        self
    }

    async fn answer(self, arguments: Map<String, Value>, context: ToolContext) -> Result<Value, BoxError> {
        let prompt = (self.prompt)(&arguments)?;
        let _turn = match &self.turns {
            Some(turns) => {
                let check = || self.agent.check_turn_of(&context).map_err(|error| error.message().to_owned());
                check()?;
                let turn = tokio::select! {
                    turn = turns.lock() => Some(turn),
                    () = context.cancel_token().cancelled() => None,
                };
                check()?;
                turn
            }
            None => None,
        };
        // Why it cannot run is for the model, as every failure of a tool.
        let answered = async {
            let agent = if self.turns.is_some() { self.agent.clone() } else { self.agent.fork(Arc::clone(&self.messages))? };
            agent.prompt(prompt).within_showing(&context, self.events).start()?.ended().await
        };
        let result = answered.await.map_err(|error| error.message().to_owned())?;
        Ok(result.to_tool_result())
    }
}

impl fmt::Debug for Subagent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subagent").field("name", &self.spec.name()).field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl Tool for Subagent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn start(&self, call: PendingCall) {
        let (subagent, arguments) = (self.clone(), call.arguments().clone());
        let (context, scope) = (call.context().clone(), call.scope());
        let answer = async move {
            let answer = catch_unwind(AssertUnwindSafe(|| subagent.answer(arguments, context)));
            let answer = match answer {
                Ok(future) => catch_panic(future).await,
                Err(payload) => Err(payload),
            };
            match answer {
                Ok(Ok(value)) => call.respond(value),
                Ok(Err(error)) => call.fail_with(error),
                Err(payload) => call.fail(format!("the subagent panicked: {}", panic_message(&*payload))),
            }
        };
        tokio::spawn(scope.enter(answer).in_current_span());
    }
}

#[cfg(test)]
mod tests;
