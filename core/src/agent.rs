//! The agent: model, system prompt, tools, limits and the conversation so far, with at most one active run.
//!
//! [`handle`] has what runs and the rest of the agent share; on it are built its setters, its getters and the start of its runs.

pub(crate) mod builder;
mod conversation;
mod getters;
pub(crate) mod handle;
mod hooks;
pub(crate) mod host_side;
mod models;
mod options;
pub(crate) mod pending_run;
mod setters;
mod start;
mod state;
mod stateless;
#[cfg(test)]
mod tests;

pub use builder::AgentBuilder;
pub use conversation::Context;
pub use handle::Agent;
pub use pending_run::PendingRun;
pub use stateless::{resume, run};
