//! Tools: functions that the model may call.
//!
//! [`FnTool`] makes one of a function and a JSON Schema. The arguments are checked against the schema before the function is
//! called; a failure goes to the model as the call's result.
//!
//! ```
//! use agent_loop::{Agent, FnTool};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
//! let parameters = json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
//! let double = FnTool::new("double", "Doubles a number.", parameters, |arguments, _context| async move {
//!     let n = arguments["n"].as_f64().ok_or("n is not a number")?;
//!     Ok::<_, &str>(json!(n * 2.0))
//! })?;
//! // In place of "anthropic/claude-sonnet-4-5": it answers from a script (see `testing`).
//! let model = r#"{"provider": "scripted", "id": "s", "script": [
//!     [{"delta": {"tool_call": {"id": "1", "name": "double", "arguments": {"n": 21}}}}, {"end": "tool_use"}],
//!     [{"delta": "42"}, {"end": "stop"}]]}"#;
//! let result = Agent::builder(model).tool(double).build()?.prompt("What is 21 doubled?").await?;
//! assert_eq!(result.messages[2].text(), "42.0", "the tool's result");
//! # Ok(()) }
//! ```
//!
//! - [`ToolContext`] is for functions that report progress, sleep, or notice that they are cancelled.
//! - [`ToolOutput`] says what a result may be: a value, or an object with `content`, `details`, `is_error` and `terminate`. An
//!   object that is meant as the latter but has a wrong field makes the call fail.
//! - [`Tool`] is for a type of your own; [`PendingCall`] can be answered later, from any thread.
//! - [`Middleware`] stands around every call.
//! - [`FnTool::with_approval`] and [`ToolContext::suspend`] let calls wait for a decision: [`suspension`](crate::suspension).

pub(crate) mod call;
pub(crate) mod execute;
pub(crate) mod function;
pub(crate) mod interface;
pub(crate) mod middleware;
pub(crate) mod run_of_call;
pub(crate) mod subagent_events;
mod suspension;
#[cfg(feature = "schema")]
mod typed;

pub use call::{PendingCall, ToolContext};
pub use function::FnTool;
pub use interface::{
    Approval, ApprovalReason, ExecutionMode, OnInterrupted, PreparedArguments, Tool, ToolOutput, ToolSet, ToolSpec, Validation,
};
pub use middleware::{Middleware, MiddlewareCall};
pub use suspension::Suspension;
