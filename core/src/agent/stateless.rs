//! The loop without an agent: a run over a context that the caller owns and that is never changed.
//!
//! ```no_run
//! use agent_loop::{Agent, Context, Message};
//! # async fn example() -> Result<(), agent_loop::Error> {
//! let settings = Agent::new("anthropic/claude-sonnet-4-5")?;
//! let context = Context::new(vec![Message::user("Rain in Oslo?", 0)]).system_prompt("Be brief.");
//! let result = agent_loop::resume(&context, &settings).await?;
//! println!("{} ({} new messages)", result.text, result.messages.len());
//! # Ok(()) }
//! ```

use super::context::Context;
use super::handle::Agent;
use super::pending_run::{PendingRun, RunInput};
use crate::message::Prompt;

/// Asks for a run with prompts over a context: await it for the result. Of `settings`, an agent that many runs may share, only
/// model, key, address, hooks, middleware, limits and the other options are read. Steering and follow-up come from
/// [`Run::steer`] and [`Run::follow_up`], and from the hooks `get_steering_messages` and `get_follow_up_messages`; what was not
/// appended of them is in the result's `undelivered`.
///
/// [`Run::steer`]: crate::Run::steer
/// [`Run::follow_up`]: crate::Run::follow_up
pub fn run(context: &Context, prompts: impl Into<Prompt>, settings: &Agent) -> PendingRun {
    PendingRun::of_context(context.into(), settings.clone(), RunInput::Prompt(prompts.into()))
}

/// Asks for a run that goes on with the context, adding no message; see [`run`]. `invalid_state` when the context
/// has no message, or ends with an answer.
pub fn resume(context: &Context, settings: &Agent) -> PendingRun {
    PendingRun::of_context(context.into(), settings.clone(), RunInput::Resume(Vec::new()))
}
