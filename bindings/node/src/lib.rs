//! agent-loop for Node: the native half of the npm package.
//!
//! It is one thin layer over the core. Text crosses as JSON, in batches; what JavaScript says better (classes, errors, async
//! iteration, `AbortSignal`) is in `lib/`. Threads never call JavaScript: they leave jobs in the environment's mailbox
//! ([`bridge`]), which one weak wakeup per batch has emptied on the main thread.

mod agent;
mod bridge;
mod call;
mod camel_case;
pub mod error;
mod event;
pub mod hook;
mod message;
pub mod model;
mod run;
mod runtime;
pub mod testing;
mod tool;
pub mod transcript;

use napi_derive::napi;

/// The version of this module.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    agent_loop::VERSION
}
