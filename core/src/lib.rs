//! The LLM agent loop as a library: prompt → model stream → tools → next turn.
//!
//! An [`Agent`] has a model, tools and a conversation. A prompt starts a [`Run`], which asks the model, executes the tools it
//! calls and asks again until the work is done, and emits [`Event`]s on the way.
//!
//! ```no_run
//! use agent_loop::{Agent, EventData, FnTool, MessageUpdate};
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), agent_loop::Error> {
//! let double = FnTool::new("double", "Doubles a number.", json!({
//!     "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"],
//! }), |arguments, _call| async move {
//!     let n = arguments["n"].as_f64().ok_or("n is not a number")?;
//!     Ok::<_, &str>(json!({ "result": n * 2.0 }))
//! })?;
//! let agent = Agent::new("openai/tiny")?.base_url("http://127.0.0.1:8080/v1").tool(double)?;
//! let mut run = agent.stream("What is 21 doubled?")?;
//! while let Some(event) = run.next().await {
//!     if let EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) = &event.data {
//!         print!("{delta}");
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! The modules, in the order data flows: [`Agent`] → run (decisions, driver, tools) → model → protocol → transport, and back
//! as [`Delta`]s, [`Event`]s and [`Message`]s.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod agent;
mod clock;
mod future;
mod hook;
mod host;
mod listener;
mod model;
mod provider;
mod run;
mod runtime;
mod scope;
mod settings;
mod tool;
pub mod transcript;
mod transport;

// The layer below, under the paths of this crate.
pub use agent_loop_proto::testing;
pub(crate) use agent_loop_proto::{did_you_mean, error, event, message, partial, queues, result, usage};
#[doc(hidden)] // For the bindings: names of options, kinds and the like.
pub use agent_loop_proto::{events_of, for_each_hook, hook_inputs_of, table};

pub use agent::{Agent, Context, resume, run, start_aborted};
pub use agent_loop_proto::surrogate::read_json;
pub use clock::{Busy, Clock, Sleep};
pub use did_you_mean::{Spelling, nearest};
pub use error::{Error, ErrorKind};
pub use event::{Event, EventData, MessageUpdate, PartialResult};
pub use future::BoxFuture;
pub use hook::inputs::*;
pub use hook::{HookContext, HookInput, HookKind, JsonHook, Question, ToolDecision, ToolOverride, TurnChange};
pub use host::{HostAnswer, HostCall, HostFunction, HostKind, HostTool, JobQueue, Wakeup};
pub use listener::{Listener, Subscription};
pub use message::{AssistantMessage, ContentBlock, Message, Prompt, ToolCall, ToolResultMessage, UserMessage};
pub use model::custom::{ModelCall, ProviderFn};
pub use model::{
    BlockStart, CacheRetention, Delta, DeltaSink, Encoder, IgnoredOption, Model, ModelInfo, ModelOptions, ModelRequest, Request,
    ThinkingBudgets, ThinkingLevel, ToolChoice, ToolDescription,
};
pub use partial::Partial;
pub use provider::{ModelSpec, models};
pub use queues::{QueueMode, SteeringPolicy};
pub use result::{RunResult, Undelivered};
pub use run::queue::Observer;
pub use run::{AbortHandle, Run};
pub use runtime::Runtime;
pub use scope::Scope;
pub use tokio_util::sync::CancellationToken;
pub use tool::middleware::{Middleware, MiddlewareCall};
pub use tool::{
    ExecutionMode, FnTool, PendingCall, PreparedArguments, Tool, ToolContext, ToolOutput, ToolSet, ToolSpec, Validation,
};
pub use transport::network::{Network, Proxy, Roots};
pub use usage::{Cost, Outcome, Prices, StopReason, Usage};

/// This library's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
