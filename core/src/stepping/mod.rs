//! The loop for hosts of other languages that step it themselves: they do the HTTP, the timers and the tools, in their own event
//! loop. Programs in Rust have [`machine`](crate::machine).
//!
//! [`HostLoop`] wraps the loop, `agent_loop_proto::machine::Loop`: actions and inputs are JSON, requests are encoded and answers
//! are decoded here. It has no runtime, no thread and no clock.
//!
//! - `host_loop`: the value; `step`: its actions and inputs, made from the table; `saved`: saving and loading it
//! - `exchange`: the HTTP of a call, where the host leaves that to us; `workflow`: what a host on a workflow engine keeps
//! - `options`: what it is made with; `models`: where they are served, and their requests; `open_call`: an answer as it comes

mod exchange;
mod host_loop;
mod models;
mod open_call;
mod options;
mod saved;
mod step;
#[cfg(test)]
mod tests;
mod workflow;

pub use exchange::{Exchange, ExchangeOptions, Exchanged};
pub use host_loop::HostLoop;
pub(crate) use host_loop::read_approval;
pub use step::{Auth, HostAction, HostInput};
pub use workflow::{WorkflowStep, workflow_step};
