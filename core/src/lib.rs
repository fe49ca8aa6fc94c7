#![doc = include_str!("../README.md")]
//!
//! # From here
//!
//! | to | read |
//! | --- | --- |
//! | ask a model | [`Agent`], [`ModelSpec`], [`models`] |
//! | let it call functions | [`tool`]: [`FnTool`], or the trait [`Tool`] |
//! | show what happens, serve it over HTTP | [`Run`] and [`event`] |
//! | steer, queue, abort, resume | [`Agent::steer`], [`Agent::follow_up`], [`Agent::abort`], [`Agent::resume`] |
//! | decide between turns, approve calls, change requests | [`hook`] |
//! | use a model that is not known | [`model`]: a spec, a function, or the trait [`Model`] |
//! | get through a proxy, trust an authority | [`network`] |
//! | run without an agent, over messages that you keep | [`run`], [`resume`], [`Context`] |
//! | drive a run by hand, save and load it | [`machine`] |
//! | test without a model server | [`ModelSpec::script`], [`testing`] |
//!
//! Runs need a [tokio](https://docs.rs/tokio) runtime: the one that the code already runs in, or a [`Runtime`] of this crate.
//! What fails is an [`Error`] with a [kind](ErrorKind); a run that fails emits the same error in its last event.
//!
//! # An endpoint
//!
//! A run is a sequence of events that can be written as they come; dropping it, as a server does when its client hangs up, aborts
//! it. With axum, each event becomes one server-sent event:
//!
//! ```
//! use agent_loop::{Agent, Run};
//!
//! /// The body of the answer: `Sse::new(stream)` of axum takes `stream.map(|data| Ok(Event::default().data(data)))`.
//! fn frames(run: Run) -> impl futures_util::Stream<Item = String> {
//!     futures_util::stream::unfold(run, |mut run| async move {
//!         let event = run.next().await?;
//!         Some((event.to_json(), run))
//!     })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
//! # use futures_util::StreamExt;
//! # let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": {"stop_reason": "stop"}}]]}"#;
//! let agent = Agent::new(model)?;
//! let frames: Vec<String> = frames(agent.stream("Say hello.")?).collect().await;
//! assert!(frames.last().unwrap().contains("\"type\":\"agent_end\""));
//! # Ok(()) }
//! ```
//!
//! An agent has one active run at a time and is cheap to make: a server makes one for each conversation, from stored
//! [messages](message::Message), and shares a [`Runtime`], whose connections they all use.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod agent;
mod cancel;
mod clock;
mod future;
// The modules below have the names: they show users what is theirs, under the paths that this crate uses, too.
#[path = "hook.rs"]
#[cfg_attr(not(feature = "__bindings"), allow(unreachable_pub))] // What is for JSON hooks.
mod hook_parts;
#[path = "host/mod.rs"]
mod host_parts;
mod listener;
#[path = "model/mod.rs"]
mod model_parts;
mod provider;
mod run;
mod runtime;
mod scope;
mod settings;
#[path = "tool/mod.rs"]
mod tool_parts;
pub mod transcript;
mod transport;

pub(crate) use agent_loop_proto::{did_you_mean, error, partial, queues, result, usage};
#[doc(inline)]
pub use agent_loop_proto::{machine, testing};

pub use agent::{Agent, AgentBuilder, Context, PendingRun, resume, run};
pub use cancel::{CancelToken, Cancelled};
pub use error::{Error, ErrorKind};
pub use event::{Event, EventData, MessageUpdate, Subscription};
pub use message::{AssistantMessage, ContentBlock, Message, Prompt, ToolCall, ToolResultMessage, UserMessage};
pub use model::{Model, ModelSpec, ThinkingLevel, models};
pub use network::Network;
pub use queues::{QueueMode, SteeringPolicy};
pub use result::{RunResult, Undelivered};
pub use run::{AbortHandle, Run};
pub use runtime::Runtime;
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
    pub use agent_loop_proto::message::{
        AssistantMessage, ContentBlock, Message, Prompt, ToolCall, ToolResultMessage, UserMessage,
    };
}

/// Tools: functions that the model may call.
///
/// [`FnTool`] makes one of a function and a JSON Schema. The arguments are checked against the schema before the function is
/// called; a failure goes to the model as the call's result.
///
/// ```
/// use agent_loop::{Agent, FnTool};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// let parameters = json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
/// let double = FnTool::new("double", "Doubles a number.", parameters, |arguments, _context| async move {
///     let n = arguments["n"].as_f64().ok_or("n is not a number")?;
///     Ok::<_, &str>(json!(n * 2.0))
/// })?;
/// # let model = r#"{"provider": "scripted", "id": "s", "script": [
/// #     [{"delta": {"tool_call": {"id": "1", "name": "double", "arguments": {"n": 21}}}}, {"end": {"stop_reason": "tool_use"}}],
/// #     [{"delta": "42"}, {"end": {"stop_reason": "stop"}}]]}"#;
/// let result = Agent::builder(model).tool(double).build()?.prompt("What is 21 doubled?").await?;
/// assert_eq!(result.messages[2].text(), "42.0", "the tool's result");
/// # Ok(()) }
/// ```
///
/// - [`ToolContext`] is for functions that report progress, sleep, or notice that they are cancelled.
/// - [`ToolOutput`] says what a result may be: a value, or an object with `content`, `details`, `is_error` and `terminate`.
/// - [`Tool`] is for a type of your own; [`PendingCall`](tool::PendingCall) can be answered later, from any thread.
/// - [`Middleware`](tool::Middleware) stands around every call.
pub mod tool {
    pub(crate) use crate::tool_parts::*;

    pub use crate::tool_parts::function::FnTool;
    pub use crate::tool_parts::middleware::{Middleware, MiddlewareCall};
    pub use crate::tool_parts::{
        ExecutionMode, PendingCall, PreparedArguments, Tool, ToolContext, ToolOutput, ToolSet, ToolSpec, Validation,
    };
}

/// Hooks: functions that a run asks, and their inputs and answers.
///
/// They are set on an [`Agent`], by the methods of their names. One that fails is reported as a diagnostic, or fails the call
/// that it was to approve.
///
/// ```
/// use agent_loop::hook::{ToolDecision, TurnChange};
/// # fn example(builder: agent_loop::AgentBuilder) -> agent_loop::AgentBuilder {
/// builder
///     .before_tool_call(|call, _context| async move {
///         Ok::<_, String>(match call.tool_name.as_str() {
///             "delete" => ToolDecision::Block { reason: "ask first".into() },
///             _ => ToolDecision::Allow,
///         })
///     })
///     .prepare_next_turn(|turn, _context| async move {
///         let change = TurnChange::default();
///         Ok::<_, String>(if turn.turn == 3 { change.system_prompt("Come to an end.") } else { change })
///     })
/// # }
/// ```
pub mod hook {
    pub(crate) use crate::hook_parts::*;

    pub use crate::hook_parts::inputs::*;
    pub use crate::hook_parts::{Hook, HookContext, HookKind, ToolDecision, ToolOverride, TurnChange};
}

/// Models: known ones, other servers, and custom providers.
///
/// A [`ModelSpec`] describes a model that speaks one of the wire formats. For anything else there are two ways. A
/// [`ProviderFn`](model::ProviderFn) is a function that answers a [`ModelCall`](model::ModelCall) with chunks in JSON, from any
/// thread:
///
/// ```
/// use agent_loop::{Agent, ModelSpec};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// let agent = Agent::builder(ModelSpec::parse("mine/parrot")?).provider(|call| {
///     let asked = call.request().request.messages.last().map(|message| message.text()).unwrap_or_default();
///     let pushed = call.push(&json!({ "text": asked })).and_then(|()| call.push(&json!({ "end": { "stop_reason": "stop" } })));
///     match pushed {
///         Ok(()) => call.finish(),
///         Err(error) => call.fail(error),
///     }
/// }).build()?;
/// assert_eq!(agent.prompt("Hello.").await?.text, "Hello.");
/// # Ok(()) }
/// ```
///
/// The trait [`Model`] is for a type of your own, which pushes [`Delta`](model::Delta)s:
///
/// ```
/// use agent_loop::model::{BlockStart, BoxFuture, Delta, DeltaSink, Model, ModelInfo, ModelRequest};
/// use agent_loop::{Agent, Error, StopReason};
///
/// struct Parrot;
///
/// impl Model for Parrot {
///     fn info(&self) -> ModelInfo<'_> {
///         ModelInfo::new("mine", "mine", "parrot")
///     }
///
///     fn stream<'a>(&'a self, call: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
///         Box::pin(async move {
///             let asked = call.request.messages.last().map(|message| message.text()).unwrap_or_default();
///             sink.push(Delta::Start { key: 0, block: BlockStart::Text });
///             sink.push(Delta::Append { key: 0, text: asked });
///             sink.push(Delta::Stop { reason: StopReason::Stop, raw: None });
///             Ok(())
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
/// assert_eq!(Agent::new(Parrot)?.prompt("Hello.").await?.text, "Hello.");
/// # Ok(()) }
/// ```
pub mod model {
    pub(crate) use crate::model_parts::*;

    pub use crate::clock::{Clock, Sleep};
    pub use crate::future::BoxFuture;
    pub use crate::model_parts::custom::{ModelCall, ProviderFn};
    pub use crate::model_parts::source::ModelSource;
    pub use crate::model_parts::{
        BlockStart, CacheRetention, Delta, DeltaSink, Encoder, IgnoredOption, Model, ModelInfo, ModelOptions, ModelRequest,
        Request, ThinkingBudgets, ThinkingLevel, ToolChoice, ToolDescription,
    };
    pub use crate::provider::{ModelSpec, models};
    pub use crate::usage::{Cost, Prices};
    pub use agent_loop_proto::transcript::Constraints;
}

/// How requests leave this machine: proxies, certificate authorities, names.
///
/// ```
/// use agent_loop::network::{Network, Proxy, Roots};
///
/// let mut network = Network::default();
/// network.proxy = Proxy::Address("http://proxy.example:3128".into());
/// network.ca_file = Some("/etc/ssl/company.pem".into());
/// network.roots = Roots::System;
/// # fn example(builder: agent_loop::AgentBuilder, network: Network) -> agent_loop::AgentBuilder {
/// builder.network(network)
/// # }
/// ```
pub mod network {
    pub use crate::transport::network::{Network, Proxy, Roots};
}

/// For hosts of other languages: callbacks that are answered later, from any thread, and names in their spelling.
#[cfg(feature = "__bindings")]
#[doc(hidden)]
pub mod host {
    pub(crate) use crate::host_parts::*;

    pub use crate::clock::Busy;
    pub use crate::did_you_mean::{Spelling, nearest};
    pub use crate::hook_parts::{HookInput, Question};
    pub use crate::host_parts::{HostAnswer, HostCall, HostFunction, HostKind, HostTool, JobQueue, Wakeup};
    pub use crate::partial::Partial;
    pub use crate::run::queue::Observer;
    pub use crate::runtime::RuntimeGuard;
    pub use crate::scope::Scope;
    pub use agent_loop_proto::surrogate::read_json;
    pub use agent_loop_proto::{events_of, for_each_hook, hook_inputs_of, table};
}
#[cfg(not(feature = "__bindings"))]
pub(crate) use host_parts as host;

/// All that the bindings use, under one roof.
#[cfg(feature = "__bindings")]
mod flat {
    pub use crate::event::*;
    pub use crate::hook::*;
    pub use crate::host::*;
    pub use crate::model::*;
    pub use crate::network::*;
    pub use crate::tool::*;
    // Not the models' module of that name.
    pub use agent_loop_proto::table;
}
#[cfg(feature = "__bindings")]
#[doc(hidden)]
pub use flat::*;

/// This library's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
