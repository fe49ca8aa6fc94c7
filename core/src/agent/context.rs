//! What a stateless run begins with, and the agent that stands in for it.

use std::sync::Arc;

use agent_loop_proto::conversation::Conversation;
use agent_loop_proto::machine::Tools;

use super::handle::{Agent, StandsFor};
use super::state::State;
use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::message::Message;
use crate::tool::ToolSet;

/// What a run without an agent begins with.
///
/// ```
/// use agent_loop::{Agent, Context, Message};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
/// let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;
/// let stored = vec![Message::user("Say hello.", 0)];
/// let context = Context::new(stored).system_prompt("Be brief.");
/// let result = agent_loop::resume(&context, &Agent::new(model)?).await?;
/// println!("{} messages to store", result.messages.len());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Context {
    /// The text that comes before the messages.
    pub system_prompt: String,
    /// The conversation so far.
    pub messages: Vec<Arc<Message>>,
    /// What the model may call.
    pub tools: ToolSet,
}

impl Context {
    /// A conversation without a system prompt and tools.
    pub fn new(messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Context {
        Context { messages: messages.into_iter().map(Into::into).collect(), ..Context::default() }
    }

    /// Refuses a field that a context does not have, in JSON or in an object of another language.
    ///
    /// # Errors
    /// `invalid_argument`: names it, and the nearest right one.
    #[doc(hidden)]
    pub fn check_fields<'a>(names: impl IntoIterator<Item = &'a str>, spelling: Spelling) -> Result<(), Error> {
        const FIELDS: [&str; 3] = ["system_prompt", "messages", "tools"];
        match names.into_iter().find(|name| !FIELDS.iter().any(|field| spelling.spell(field) == *name)) {
            None => Ok(()),
            Some(unknown) => Err(unknown_name("context field", unknown, FIELDS.into_iter(), spelling)),
        }
    }

    /// The text that comes before the messages.
    #[must_use]
    pub fn system_prompt(mut self, text: impl Into<String>) -> Context {
        self.system_prompt = text.into();
        self
    }

    /// What the model may call.
    #[must_use]
    pub fn tools(mut self, tools: ToolSet) -> Context {
        self.tools = tools;
        self
    }
}

/// A context that a run owns.
pub(super) struct OwnedContext {
    pub(super) system_prompt: String,
    pub(super) messages: Arc<Vec<Arc<Message>>>,
    pub(super) tools: ToolSet,
    /// In place of those of `tools`: of a model call, which executes none.
    pub(super) specs: Option<Tools>,
    /// What errors in it begin with.
    pub(super) place: &'static str,
}

impl From<&Context> for OwnedContext {
    fn from(context: &Context) -> OwnedContext {
        let messages = Arc::new(context.messages.clone());
        OwnedContext {
            system_prompt: context.system_prompt.clone(),
            messages,
            tools: context.tools.clone(),
            specs: None,
            place: "context: ",
        }
    }
}

impl Agent {
    /// What stands in for an agent during one run.
    pub(super) fn for_stateless_run(&self, context: OwnedContext) -> Result<Agent, Error> {
        let mut state = self.state();
        let runtime = state.runtime_here()?;
        // Made once for all runs: they share its connections, and a script goes on.
        state.resolve_all()?;
        let mut settings = state.settings.clone();
        settings.system_prompt = context.system_prompt;
        let alone = State {
            runtime: Some(runtime),
            settings,
            tools: context.tools,
            specs: context.specs,
            hooks: Arc::clone(&state.hooks),
            middleware: Arc::clone(&state.middleware),
            plugins: state.plugins.clone(),
            conversation: Conversation::new(context.messages).map_err(|e| e.reworded(|why| format!("{}{why}", context.place)))?,
            ..State::new(state.models.clone())
        };
        Ok(Agent::from_state(alone, StandsFor::StatelessRun))
    }
}
