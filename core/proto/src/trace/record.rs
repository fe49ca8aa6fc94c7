//! What is recorded of a run: spans that begin and end, and measurements.

use std::sync::Arc;

use super::attributes::{Attributes, Text};
use super::parent::TraceParent;

/// The name of the scope of all spans and measurements.
pub const SCOPE: &str = "agent_loop";

/// The semantic conventions that spans follow: those of the repository `semantic-conventions-genai`, on this base.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.42.0";

/// Something for a tracer or a meter. Times are in nanoseconds since the epoch, numbers of spans unique in the process.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum TraceRecord {
    /// A span begins.
    Start(Box<SpanStart>),
    /// A span ends.
    End(SpanEnd),
    /// A measurement.
    Measured(Measured),
}

/// A span that begins.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct SpanStart {
    /// Its number; not 0.
    pub id: u64,
    /// The number of the span around it; 0 for the host's own.
    pub parent: u64,
    /// Whether it is a request to a service (`CLIENT`); else `INTERNAL`.
    pub is_client: bool,
    /// For example `chat claude-sonnet-4-5`.
    pub name: Arc<str>,
    /// When it began.
    pub time_ns: u64,
    /// What is known at its start.
    pub attributes: Attributes,
    /// The number of a span that it goes on with: that of the run that was suspended; 0 for none.
    pub link: u64,
    /// The trace that it belongs to, in place of the host's own.
    pub remote: Option<TraceParent>,
}

/// A span that ends.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct SpanEnd {
    /// Its number.
    pub id: u64,
    /// When it ended.
    pub time_ns: u64,
    /// What is known at its end.
    pub attributes: Attributes,
    /// Why it failed, as `error.type` and in words. The words are empty where they may have content.
    pub error: Option<(Text, String)>,
    /// Whether a later run may go on with it.
    pub is_suspended: bool,
}

/// A value for a histogram.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Measured {
    /// Which one.
    pub instrument: Instrument,
    /// How much.
    pub value: f64,
    /// Of what.
    pub attributes: Attributes,
}

/// A histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Instrument {
    /// Tokens of a model call, by `gen_ai.token.type`.
    TokenUsage,
    /// How long a model call has taken.
    OperationDuration,
    /// How long the first part of an answer has taken.
    TimeToFirstChunk,
    /// How long a run has taken.
    AgentDuration,
    /// How long a tool call has taken.
    ToolDuration,
}

impl Instrument {
    /// All of them.
    pub const ALL: &'static [Instrument] = &[
        Instrument::TokenUsage,
        Instrument::OperationDuration,
        Instrument::TimeToFirstChunk,
        Instrument::AgentDuration,
        Instrument::ToolDuration,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Instrument::TokenUsage => "gen_ai.client.token.usage",
            Instrument::OperationDuration => "gen_ai.client.operation.duration",
            Instrument::TimeToFirstChunk => "gen_ai.client.operation.time_to_first_chunk",
            Instrument::AgentDuration => "gen_ai.invoke_agent.duration",
            Instrument::ToolDuration => "gen_ai.execute_tool.duration",
        }
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        if self == Instrument::TokenUsage { "{token}" } else { "s" }
    }

    /// What it measures.
    pub fn description(self) -> &'static str {
        match self {
            Instrument::TokenUsage => "Number of input and output tokens used.",
            Instrument::OperationDuration => "GenAI operation duration.",
            Instrument::TimeToFirstChunk => "Time to receive the first chunk of an answer.",
            Instrument::AgentDuration => "Duration of an agent's run.",
            Instrument::ToolDuration => "Duration of a tool call.",
        }
    }

    /// The bounds of its buckets, as the conventions advise.
    pub fn bounds(self) -> &'static [f64] {
        match self {
            Instrument::TokenUsage => &[
                1.,
                4.,
                16.,
                64.,
                256.,
                1024.,
                4096.,
                16_384.,
                65_536.,
                262_144.,
                1_048_576.,
                4_194_304.,
                16_777_216.,
                67_108_864.,
            ],
            Instrument::TimeToFirstChunk => {
                &[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1., 2.5, 5., 7.5, 10.]
            }
            _ => &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
        }
    }
}
