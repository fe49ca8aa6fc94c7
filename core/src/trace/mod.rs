//! Runs seen from outside: spans and measurements of OpenTelemetry. The option [`traces`](crate::AgentBuilder::traces).
//!
//! What is recorded is decided in [`agent_loop_proto::trace`]. Here are the option (`option`), what a run's driver has
//! (`run_trace`), and where records go (`sink`): to `tracing` (`spans`, feature `otel`), to a collector (`otlp`, a feature), or
//! to a host of another language.
//!
//! ```
//! # #[cfg(feature = "otel")] {
//! use agent_loop::Agent;
//!
//! let agent = Agent::builder("anthropic/claude-sonnet-4-5").traces(true).agent_name("Researcher").build()?;
//! # drop(agent); }
//! # Ok::<(), agent_loop::Error>(())
//! ```

pub(crate) mod option;
#[cfg(feature = "otlp")]
pub(crate) mod otlp;
pub(crate) mod run_trace;
pub(crate) mod sink;
#[cfg(feature = "otel")]
pub(crate) mod spans;

pub use option::Traces;
