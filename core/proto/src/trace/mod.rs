//! What a run looks like from outside: its spans and measurements, by OpenTelemetry's semantic conventions for generative AI.
//!
//! [`Spans`] makes [`TraceRecord`]s of what a run does: of its events, and of its model calls as they begin and end. It knows
//! neither a tracer nor a clock; whoever drives the run hands the records to one: the OpenTelemetry of Python and Node, `tracing`
//! in Rust, OTLP for C.
//!
//! ```text
//! invoke_agent           a run
//! ├─ chat {model}        a model call; each attempt of its own
//! └─ execute_tool {name} a tool call
//!    └─ invoke_agent     a subagent that works for it
//! ```
//!
//! `record` has the records, `attributes` what stands in spans, `content` the texts of those that are only there when asked for,
//! `parent` the trace context of a caller.

mod attributes;
mod content;
pub mod parent;
mod record;
mod spans;
#[cfg(test)]
mod tests;

pub use attributes::{Attribute, Attributes, Text, provider_name};
pub use parent::TraceParent;
pub use record::{Instrument, Measured, SCHEMA_URL, SCOPE, SpanEnd, SpanStart, TraceRecord};
pub use spans::{RunSpan, Spans};
