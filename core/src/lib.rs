#![doc = include_str!("../README.md")]
//!
//! # From here
//!
//! | to | read |
//! | --- | --- |
//! | begin: whole programs and their dependencies | [`guide`] |
//! | ask a model | [`Agent::builder`], [`ModelSpec`], [`models`] |
//! | let it call functions | [`tool`]: [`FnTool`] (of Rust types with the feature `schema`), or the trait [`Tool`] |
//! | show what happens | [`Run`] and [`event`] |
//! | serve it over HTTP | [the endpoint in the guide](guide#an-endpoint) |
//! | stream it to `useChat` or AG-UI (feature `ui`) | `ui` |
//! | log it | [`tracing` spans](guide#logs) |
//! | trace it with OpenTelemetry (feature `otel` or `otlp`) | [`trace`] |
//! | steer, queue, abort, resume | [`Agent::steer`], [`Agent::follow_up`], [`Agent::abort`], [`Agent::resume`] |
//! | cancel with a token, a timer or a signal; run many agents | [`PendingRun::abort_on`], [`CancelToken`] |
//! | decide between turns, approve calls, change requests | [`hook`] |
//! | let agents call agents, or hand the conversation over | [`subagent`], [`handoff`] |
//! | use a model that is not known | [`model`]: a spec, a function, or the trait [`Model`] |
//! | get through a proxy, trust an authority | [`network`] |
//! | run without an agent, over messages that you keep | [`run`], [`resume`], [`Context`] |
//! | drive a run by hand, save and load it | [`machine`] |
//! | let it read and write files and run commands (feature `tools`) | `builtin` |
//! | use the tools of MCP servers, or be one (feature `mcp`) | `mcp` |
//! | keep conversations in a store (feature `store`) | `session` |
//! | record runs, play them again | [`Record`], [`replay`](fn@replay), [`Replay`] |
//! | read and write transcripts of other programs | [`transcript::import`], [`transcript::export`] |
//! | test without a model server | [`ModelSpec::script`], [`testing`] |
//!
//! Runs need a [tokio](https://docs.rs/tokio) runtime: the one that the code already runs in, or a [`Runtime`] of this crate.
//! What fails is an [`Error`] with a [kind](ErrorKind); a run that fails emits the same error in its last event.
//!
//! An agent has one active run at a time and is cheap to make: a server makes one for each conversation, from stored
//! [messages](message::Message), and shares a [`Runtime`], whose connections they all use.

// But for the signal masks of threads (threads/signals.rs), and for what processes are made with (builtin/command/supervisor.rs,
// builtin/command/process_group.rs, builtin/sandbox/jail.rs).
#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod agent;
#[cfg(feature = "tools")]
#[cfg_attr(docsrs, doc(cfg(feature = "tools")))]
pub mod builtin;
#[cfg(not(feature = "tools"))]
#[path = "builtin/off.rs"]
mod builtin;
mod cancel;
mod clock;
mod connection;
#[cfg(feature = "sign-in")]
mod credentials;
#[cfg(not(feature = "sign-in"))]
#[path = "credentials/off.rs"]
mod credentials;
#[cfg(any(feature = "sign-in", feature = "tools"))]
mod data_folder;
mod file;
mod file_lock;
mod future;
pub mod guide;
pub mod handoff;
pub mod hook;
#[cfg(feature = "__bindings")]
#[doc(hidden)] // For hosts of other languages, without any promise.
pub mod host;
#[cfg(not(feature = "__bindings"))]
mod host;
pub mod limiter;
mod listener;
#[cfg_attr(not(feature = "__bindings"), allow(dead_code, unreachable_pub))] // The functions for records are of bindings.
mod log;
pub mod machine;
#[cfg(feature = "mcp")]
#[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
pub mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "mcp/off.rs"]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_server;
pub mod model;
#[cfg(any(feature = "mcp", feature = "tools"))]
mod option_fields;
mod option_names;
pub mod output;
#[cfg(any(feature = "mcp", feature = "sign-in"))]
mod private_file;
mod provider;
mod recording;
#[cfg(any(feature = "mcp", feature = "sign-in"))]
mod redirect;
mod run;
mod runtime;
mod scope;
#[cfg(feature = "store")]
#[cfg_attr(docsrs, doc(cfg(feature = "store")))]
pub mod session;
#[cfg(feature = "sign-in")]
#[cfg_attr(docsrs, doc(cfg(feature = "sign-in")))]
pub mod sign_in;
#[cfg(feature = "__bindings")]
mod stepping;
pub mod subagent;
pub mod testing;
#[cfg_attr(not(feature = "__bindings"), allow(unreachable_pub))] // What bindings hand over.
mod threads;
pub mod tool;
#[cfg_attr(not(feature = "__bindings"), allow(unreachable_pub))] // The records are for bindings.
pub mod trace;
pub mod transcript;
mod transport;
#[cfg(feature = "schema")]
mod type_schema;
#[cfg(feature = "ui")]
#[cfg_attr(docsrs, doc(cfg(feature = "ui")))]
pub mod ui;

#[cfg(feature = "__bindings")]
pub(crate) use agent_loop_proto::partial;
pub(crate) use agent_loop_proto::{did_you_mean, error, queues, result, usage};

#[cfg(feature = "__bindings")]
#[doc(hidden)]
pub use agent::replay_in;
pub use agent::{Agent, AgentBuilder, CallSettings, Completion, Context, PendingRun, complete, replay, resume, run};
pub use cancel::{CancelToken, Cancelled};
pub use error::{BoxError, Error, ErrorKind};
pub use event::{Event, EventData, MessageUpdate, Subscription};
pub use message::{AssistantMessage, ContentBlock, Message, Prompt, ToolCall, ToolResultMessage, UserMessage};
pub use model::{Model, ModelSpec, ThinkingLevel, models};
pub use network::Network;
pub use queues::{Delivery, QueueMode, SteeringPolicy};
pub use recording::{Record, Replay};
pub use result::{RunResult, Undelivered};
pub use run::{AbortHandle, Run};
pub use runtime::Runtime;
pub use runtime::builder::RuntimeBuilder;
pub use tool::{FnTool, Tool, ToolContext, ToolOutput, ToolSet, ToolSpec};
pub use usage::{Outcome, StopReason, Usage};

/// Events: what a run emits, and who listens.
///
/// [`Run::next`] gives them to one reader, [`Agent::subscribe`] calls a function with each. They come in order, numbered without
/// gaps, and are the same in all languages; [`Event::to_json`] is their canonical form.
///
/// ```
/// use agent_loop::event::{Event, EventData, MessageUpdate};
///
/// fn show(event: &Event) -> String {
///     match &event.data {
///         EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => delta.clone(),
///         EventData::ToolExecutionStart { tool_name, .. } => format!("[{tool_name}] "),
///         EventData::Retry { delay_ms, error, .. } => format!("[again in {delay_ms} ms: {error}] "),
///         // There will be more.
///         _ => String::new(),
///     }
/// }
/// ```
pub mod event {
    pub use crate::listener::{Listener, Subscription};
    pub use agent_loop_proto::event::{Event, EventData, MessageUpdate, PartialResult};
}

/// What a model reads of a long conversation: the option [`context`](AgentBuilder::context).
///
/// ```
/// use agent_loop::Agent;
/// use agent_loop::context::ContextPolicy;
///
/// let agent = Agent::builder("anthropic/claude-sonnet-4-5").context(ContextPolicy::new().with_max_tokens(50_000)).build()?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
pub mod context {
    pub use agent_loop_proto::context_policy::ContextPolicy;
}

/// Which tool calls run, which wait for a decision, and which are refused: the option [`gate`](AgentBuilder::gate), and what a
/// conversation remembers of decisions ([`Agent::remembered`]).
///
/// ```
/// use agent_loop::Agent;
/// use agent_loop::gate::Gate;
///
/// let gate = Gate::new().allow(["read_file(src/**)"])?.ask(["run_command(git push *)"])?.deny(["*_file(**/.env)"])?;
/// let agent = Agent::builder("anthropic/claude-sonnet-4-5").gate(gate).build()?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
pub mod gate {
    pub use agent_loop_proto::gate::{Gate, Remembered, Rule, Subject, SubjectKind};
}

/// Messages: what a transcript is made of.
///
/// ```
/// use agent_loop::message::{AssistantMessage, ContentBlock, Message};
///
/// let said = Message::Assistant(AssistantMessage::new(vec![ContentBlock::text("Hello.")]));
/// let stored = serde_json::to_string(&said)?;
/// assert_eq!(serde_json::from_str::<Message>(&stored)?.text(), "Hello.");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub mod message {
    pub use crate::file::read_file;
    pub use agent_loop_proto::media::{Media, MediaSource, mime_type_of};
    pub use agent_loop_proto::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage, UserMessage};
    pub use agent_loop_proto::prompt::Prompt;
}

/// Tool calls that wait for a decision: an approval, or an answer that comes from elsewhere, later.
///
/// ```
/// use agent_loop::suspension::Decision;
/// use agent_loop::{Agent, FnTool, Outcome};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// let schema = json!({ "type": "object", "properties": { "to": { "type": "string" } } });
/// let send = FnTool::new("send", "Sends a mail.", schema, |_, _| async { Ok::<_, String>(json!("sent")) })?.with_approval();
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script (see `testing`).
/// let model = r#"{"provider": "scripted", "id": "s", "script": [
///     [{"delta": {"tool_call": {"id": "1", "name": "send", "arguments": {"to": "ann"}}}}, {"end": "tool_use"}],
///     [{"delta": "Sent."}, {"end": "stop"}]]}"#;
/// let agent = Agent::builder(model).tool(send).build()?;
///
/// let result = agent.prompt("Write to Ann.").await?;
/// assert_eq!(result.outcome, Outcome::Suspended);
/// let call = &result.pending[0];
/// println!("{} {:?}: {}", call.tool_name, call.arguments, call.reason);
///
/// let result = agent.resume().decisions([(&*call.tool_call_id, Decision::Approve)]).await?;
/// assert_eq!(result.text, "Sent.");
/// # Ok(()) }
/// ```
pub mod suspension {
    pub use crate::tool::Suspension;
    pub use agent_loop_proto::suspension::{Decision, SuspendedCall};
}

/// How requests leave this machine: proxies, certificate authorities, names.
///
/// ```
/// use agent_loop::Agent;
/// use agent_loop::network::{Network, Proxy, Roots};
///
/// let mut network = Network::default();
/// network.proxy = Proxy::Address("http://proxy.example:3128".into());
/// network.ca_file = Some("/etc/ssl/company.pem".into());
/// network.roots = Roots::System;
/// let agent = Agent::builder("anthropic/claude-sonnet-4-5").network(network).build()?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
pub mod network {
    pub use crate::transport::network::{Network, Proxy, Roots};
}

/// This library's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
