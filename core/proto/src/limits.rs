//! Time limits of runs, model calls and tool calls.

use serde::{Deserialize, Serialize};

/// Time limits in milliseconds; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Setting up a connection.
    pub connect_timeout_ms: u64,
    /// Until the first byte of a model's answer.
    pub first_byte_timeout_ms: u64,
    /// Between two bytes of a model's answer.
    pub idle_timeout_ms: u64,
    /// One try of a model call.
    pub request_timeout_ms: u64,
    /// One tool call.
    pub tool_timeout_ms: u64,
    /// A run.
    pub run_timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connect_timeout_ms: 10_000,
            first_byte_timeout_ms: 120_000,
            idle_timeout_ms: 120_000,
            request_timeout_ms: 600_000,
            tool_timeout_ms: 0,
            run_timeout_ms: 0,
        }
    }
}
