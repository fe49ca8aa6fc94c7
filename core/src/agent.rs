//! The agent: model, system prompt, tools, limits and the conversation so far, with at most one active run.
//!
//! [`handle`] has what runs and the rest of the agent share; on it are built its setters, its getters and the start of its runs.

mod builder;
mod getters;
pub(crate) mod handle;
mod hooks;
pub(crate) mod host_side;
mod setters;
mod start;
mod state;
mod stateless;
#[cfg(test)]
mod tests;

pub use handle::Agent;
#[cfg(feature = "__bindings")]
pub use stateless::start_aborted;
pub use stateless::{Context, resume, run};
