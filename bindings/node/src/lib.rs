//! agent-loop for Node: the native half of the npm package.
//!
//! A thin layer over the core. Data crosses as JSON, in batches; classes, errors, async iteration and `AbortSignal` are in
//! `lib/`. Threads never call JavaScript: they post jobs to the environment's queue (`bridge`), which is emptied on the
//! environment's thread after one weak wakeup per batch.

pub mod agent;
mod bridge;
mod call;
mod camel_case;
pub mod conversion;
pub mod error;
mod event;
pub mod exchange;
pub mod hook;
mod log;
pub mod message;
pub mod model;
pub mod options;
pub mod pieces;
pub mod program;
mod run;
mod runtime;
pub mod session;
pub mod stepping;
pub mod store;
pub mod testing;
mod tool;
pub mod traces;
pub mod transcript;
pub mod ui;

use napi_derive::napi;

/// The version of this module.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    agent_loop::VERSION
}
