//! Spans and measurements to a collector: OTLP over HTTP, as JSON, which the specification has beside protobuf and which needs no
//! crate of its own.
//!
//! - `target`: where to, from the option and the standard variables
//! - `exporter`: gathers, and sends in the background; `histogram`: measurements until they are sent; `json`: the messages

pub(crate) mod exporter;
mod histogram;
mod json;
pub(crate) mod target;
#[cfg(test)]
mod tests;
