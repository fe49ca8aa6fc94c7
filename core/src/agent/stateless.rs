//! The loop without an agent: a run over a context that the caller owns and that is never changed; and one that was recorded.
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
use crate::recording::Replay;
#[cfg(feature = "__bindings")]
use crate::runtime::Runtime;

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

/// Asks for a recorded run to be played: await it for the result. It emits the events that it emitted when it was recorded, byte
/// for byte, as fast as they are read: without a network, a key, tools or hooks, whatever language it was recorded in.
///
/// ```no_run
/// # async fn example() -> Result<(), agent_loop::Error> {
/// use agent_loop::{Replay, replay};
///
/// let mut run = replay(Replay::of("runs.jsonl").run(2)).stream()?;
/// while let Some(event) = run.next().await {
///     println!("{}", event.to_json());
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// Awaiting it gives `io` for a file that cannot be read, `damaged` and `newer_version` for one that is no recording of this
/// version, with the line, `invalid_argument` where it has no such run, `invalid_state` without a runtime, and the recorded run's
/// own error. Where this version of the library does something else than the one that recorded the run, the run ends with the
/// error `replay`, which says where, and both.
pub fn replay(recording: impl Into<Replay>) -> PendingRun {
    PendingRun::of_recording(recording.into(), None)
}

/// As [`replay`], in this runtime. For hosts of other languages.
#[cfg(feature = "__bindings")]
#[doc(hidden)]
pub fn replay_in(runtime: &Runtime, recording: impl Into<Replay>) -> PendingRun {
    PendingRun::of_recording(recording.into(), Some(runtime.clone()))
}
