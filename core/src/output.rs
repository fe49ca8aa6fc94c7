//! The typed final answer of a run: a value that fits a JSON Schema, in place of text.
//!
//! The option [`output`](crate::AgentBuilder::output) asks for one, and the result has it:
//! [`RunResult::output_as`](crate::RunResult::output_as). A wrong answer goes back to the model with what was wrong, at most
//! [`output_retries`](crate::AgentBuilder::output_retries) times. The hook `check_output` may refuse one that fits the schema.
//!
//! ```
//! use agent_loop::output::OutputSpec;
//! use agent_loop::Agent;
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
//! let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
//! // In place of "anthropic/claude-sonnet-4-5": it answers from a script (see `testing`).
//! let model = r#"{"provider": "scripted", "id": "s", "script": [
//!     [{"delta": {"tool_call": {"id": "1", "name": "final_answer", "arguments": {"city": "Oslo"}}}}, {"end": "tool_use"}]]}"#;
//! let agent = Agent::builder(model).output(OutputSpec::new(schema)?).build()?;
//! let result = agent.prompt("Where does it rain?").await?;
//! assert_eq!(result.output, Some(json!({ "city": "Oslo" })));
//! # Ok(()) }
//! ```

pub use agent_loop_proto::output::{OutputFormat, OutputMode, OutputSpec};

#[cfg(feature = "schema")]
use crate::error::Error;

/// An answer that is a type with schemars' `JsonSchema`, of any form: a struct, an enum, a list, a number. Doc comments become
/// descriptions for the model. [`RunResult::output_as`](crate::RunResult::output_as) gives the value.
///
/// ```
/// use agent_loop::{Agent, output};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Weather {
///     /// The city, for example Oslo.
///     city: String,
///     degrees: i32,
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// # let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": {"tool_call": {"id": "1", "name": "final_answer",
/// #     "arguments": {"city": "Oslo", "degrees": 7}}}}, {"end": "tool_use"}]]}"#;
/// let agent = Agent::builder(model).output(output::of::<Weather>()?).build()?;
/// let weather: Weather = agent.prompt("Where does it rain?").await?.output_as()?;
/// assert_eq!((weather.city.as_str(), weather.degrees), ("Oslo", 7));
/// # Ok(()) }
/// ```
///
/// # Errors
/// `invalid_argument`: the schema of the type is none that can be checked.
#[cfg(feature = "schema")]
pub fn of<T: schemars::JsonSchema>() -> Result<OutputSpec, Error> {
    OutputSpec::new(crate::type_schema::schema_of::<T>())
}
