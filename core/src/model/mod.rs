//! Models: known ones, other servers, and custom providers.
//!
//! A [`ModelSpec`] describes a model that speaks one of the wire formats. For anything else there are two ways. A
//! [`ProviderFn`] is a function that answers a [`ModelCall`] with chunks in JSON, from any
//! thread:
//!
//! ```
//! use agent_loop::{Agent, ModelSpec};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
//! let agent = Agent::builder(ModelSpec::parse("mine/parrot")?).provider(|call| {
//!     let asked = call.request().request.messages.last().map(|message| message.text()).unwrap_or_default();
//!     let pushed = call.push(&json!({ "text": asked })).and_then(|()| call.push(&json!({ "end": { "stop_reason": "stop" } })));
//!     match pushed {
//!         Ok(()) => call.finish(),
//!         Err(error) => call.fail(error),
//!     }
//! }).build()?;
//! assert_eq!(agent.prompt("Hello.").await?.text, "Hello.");
//! # Ok(()) }
//! ```
//!
//! The trait [`Model`] is for a type of your own, which pushes [`Delta`]s:
//!
//! ```
//! use agent_loop::model::{BlockStart, BoxFuture, Delta, DeltaSink, Model, ModelInfo, ModelRequest};
//! use agent_loop::{Agent, Error, StopReason};
//!
//! struct Parrot;
//!
//! impl Model for Parrot {
//!     fn info(&self) -> ModelInfo<'_> {
//!         ModelInfo::new("mine", "mine", "parrot")
//!     }
//!
//!     fn stream<'a>(&'a self, call: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
//!         Box::pin(async move {
//!             let asked = call.request.messages.last().map(|message| message.text()).unwrap_or_default();
//!             sink.push(Delta::Start { key: 0, block: BlockStart::Text });
//!             sink.push(Delta::Append { key: 0, text: asked });
//!             sink.push(Delta::Stop { reason: StopReason::Stop, raw: None });
//!             Ok(())
//!         })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
//! assert_eq!(Agent::new(Parrot)?.prompt("Hello.").await?.text, "Hello.");
//! # Ok(()) }
//! ```

pub(crate) mod answer;
pub(crate) mod custom;
pub(crate) mod endpoint;
pub(crate) mod http;
pub(crate) mod interface;
pub(crate) mod redact;
pub(crate) mod resolve;
mod scripted;
pub(crate) mod source;
pub(crate) mod table;

pub use agent_loop_proto::transcript::Constraints;
pub use custom::{ModelCall, ProviderFn};
pub use interface::{
    BlockStart, CacheRetention, Delta, DeltaSink, Encoder, IgnoredOption, Model, ModelInfo, ModelOptions, ModelRequest, Request,
    ThinkingBudgets, ThinkingLevel, ToolChoice, ToolDescription,
};
pub use source::ModelSource;

pub use crate::clock::{Clock, Sleep};
pub use crate::future::BoxFuture;
pub use crate::provider::{ModelSpec, models};
pub use crate::usage::{Cost, PriceTier, Prices};
