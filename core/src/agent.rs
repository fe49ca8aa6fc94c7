//! The agent: model, system prompt, tools, limits and the conversation so far, with at most one active run.
//!
//! - `handle`: the agent, with what its runs and its other parts share; `state`: what is behind its lock; `models`: its models,
//!   their addresses and keys
//! - `builder`: making one; `setters`, `getters`; `options` and `hooks`: those that the table makes
//! - `session`: where its conversation is kept; `kept`: how its changes get there
//! - `export`: the conversation as one signed text, and back
//! - `pending_run`: a run that was asked for; `start`: starting it; `host_side`: what it executes its actions with;
//!   `tracing_of_run`: whether it has spans
//! - `replayed`: a recorded run, played again
//! - `builtin`: its built-in tools; `oracle`: another model that one of them asks
//! - `mcp`: its MCP servers; `served`: what it needs to be one
//! - `plugin_parts`: what plugins have added; `plugin`: adding it
//! - `stateless`: runs without an agent; `context`: what such a run begins with; `completion`: one model call

pub(crate) mod builder;
#[cfg(feature = "tools")]
mod builtin;
mod completion;
mod context;
pub(crate) mod export;
mod getters;
pub(crate) mod handle;
mod hooks;
pub(crate) mod host_side;
mod kept;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod options;
#[cfg(feature = "tools")]
mod oracle;
pub(crate) mod pending_run;
#[cfg(feature = "__bindings")]
mod plugin;
mod plugin_parts;
mod replayed;
#[cfg(feature = "mcp")]
mod served;
pub(crate) mod session;
mod setters;
mod start;
mod state;
mod stateless;
#[cfg(test)]
mod tests;
mod tracing_of_run;

pub use builder::AgentBuilder;
pub use completion::{CallSettings, Completion, complete};
pub use context::Context;
pub use handle::Agent;
pub use pending_run::PendingRun;
#[cfg(feature = "__bindings")]
pub(crate) use start::run_id;
#[cfg(feature = "__bindings")]
pub use stateless::replay_in;
pub use stateless::{replay, resume, run};
