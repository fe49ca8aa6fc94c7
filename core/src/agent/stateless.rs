//! The loop without an agent: a run over a context that the caller owns and that is never changed.
//!
//! ```no_run
//! use agent_loop::{Agent, Context, Message};
//! # async fn example() -> Result<(), agent_loop::Error> {
//! let settings = Agent::new("anthropic/claude-sonnet-4-5")?;
//! let context = Context::new(vec![Message::user("Rain in Oslo?", 0)]).system_prompt("Be brief.");
//! let result = agent_loop::resume(&context, &settings)?.result().await?;
//! println!("{} ({} new messages)", result.text, result.messages.len());
//! # Ok(()) }
//! ```

use std::sync::Arc;

use super::handle::Agent;
use super::state::State;
use crate::error::Error;
use crate::message::{Message, Prompt};
use crate::run::Run;
use crate::tool::ToolSet;

/// What a run without an agent begins with.
///
/// ```
/// use agent_loop::{Agent, Context, Message};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// # let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": {"stop_reason": "stop"}}]]}"#;
/// let stored = vec![Message::user("Say hello.", 0)];
/// let context = Context::new(stored).system_prompt("Be brief.");
/// let result = agent_loop::resume(&context, &Agent::new(model)?)?.result().await?;
/// println!("{} messages to store", result.messages.len());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Context {
    /// The text that comes before the messages.
    pub system_prompt: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// What the model may call.
    pub tools: ToolSet,
}

impl Context {
    /// A conversation without a system prompt and tools.
    pub fn new(messages: Vec<Message>) -> Context {
        Context { messages, ..Context::default() }
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

/// Runs prompts over a context. Of `settings`, an agent that many runs may share, only model, key, address, hooks, middleware,
/// limits and the other options are read. Steering and follow-up come from [`Run::steer`] and [`Run::follow_up`], and from the
/// hooks `get_steering_messages` and `get_follow_up_messages`; what was not shown of them is in the result's `undelivered`.
///
/// # Errors
/// `invalid_argument` for an unusable model or an empty prompt; `invalid_state` without a runtime or after its shutdown.
pub fn run(context: &Context, prompts: impl Into<Prompt>, settings: &Agent) -> Result<Run, Error> {
    settings.for_loop(context)?.start(Some(prompts.into()), true, false)
}

/// Goes on with a context as it stands, adding no message; see [`run`].
///
/// # Errors
/// As [`run`]; `invalid_state` when the context has no message, or ends with an answer.
pub fn resume(context: &Context, settings: &Agent) -> Result<Run, Error> {
    settings.for_loop(context)?.start(None, true, false)
}

/// [`run`], or [`resume`] where there are no prompts, of a run that was aborted before it began; see [`Agent::start_aborted`].
///
/// # Errors
/// As [`run`] and [`resume`].
#[cfg(feature = "__bindings")]
pub fn start_aborted(context: &Context, prompts: Option<Prompt>, settings: &Agent) -> Result<Run, Error> {
    settings.for_loop(context)?.start_aborted(prompts, true)
}

impl Agent {
    /// What stands in for an agent during one run.
    fn for_loop(&self, context: &Context) -> Result<Agent, Error> {
        let mut state = self.state();
        let runtime = state.runtime_here()?;
        // Made once for all runs: they share its connections, and a script goes on.
        let model = state.resolve_all()?;
        let mut settings = state.settings.clone();
        context.system_prompt.clone_into(&mut settings.system_prompt);
        let alone = State {
            runtime: Some(runtime),
            provider: state.provider.clone(),
            base_url: state.base_url.clone(),
            api_key: state.api_key.clone(),
            keys_for: state.keys_for.clone(),
            resolved: Some(model),
            fallbacks: state.fallbacks.clone(),
            settings,
            tools: context.tools.clone(),
            hooks: Arc::clone(&state.hooks),
            middleware: Arc::clone(&state.middleware),
            messages: Arc::new(context.messages.iter().cloned().map(Arc::new).collect()),
            ..State::new(state.model.clone())
        };
        Ok(Agent::from_state(alone, true))
    }
}
