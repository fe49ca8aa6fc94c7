//! An agent's settings: what the loop and the encoders read. Credentials, headers and the network are not among them.

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::queues::{QueueMode, SteeringPolicy};
use crate::request::{ModelOptions, ThinkingLevel};
use crate::retry::Policy;
use crate::schema::Validation;
use crate::tool::ExecutionMode;

/// The settings of an agent's runs. A change during a run takes effect at its next turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The text that comes before the messages.
    pub system_prompt: String,
    /// How much thinking to ask for.
    pub thinking_level: ThinkingLevel,
    /// Options of a request.
    pub model: ModelOptions,
    /// The most turns of one run; 0 for no limit.
    pub max_turns: u32,
    /// Whether the calls of a message run concurrently.
    pub tool_execution: ExecutionMode,
    /// The most tools that run concurrently.
    pub max_parallel_tools: usize,
    /// How tool arguments are validated.
    pub validation: Validation,
    /// The most bytes of a tool's text that go to the model whole.
    pub max_result_bytes: usize,
    /// How long an aborted run waits for its tools, in milliseconds.
    pub abort_grace_ms: u64,
    /// Whether each frame is emitted as the provider sent it.
    pub raw_events: bool,
    /// How much of the steering queue one poll takes.
    pub steering_mode: QueueMode,
    /// How much of the follow-up queue one poll takes.
    pub follow_up_mode: QueueMode,
    /// What steering does to the calls of a batch that do not run yet.
    pub steering_policy: SteeringPolicy,
    /// Time limits.
    pub limits: Limits,
    /// Retries of a model call.
    pub retry: Policy,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            system_prompt: String::new(),
            thinking_level: ThinkingLevel::Off,
            model: ModelOptions::default(),
            max_turns: 10,
            tool_execution: ExecutionMode::Parallel,
            max_parallel_tools: 8,
            validation: Validation::Coerce,
            max_result_bytes: 50_000,
            abort_grace_ms: 1000,
            raw_events: false,
            steering_mode: QueueMode::OneAtATime,
            follow_up_mode: QueueMode::OneAtATime,
            steering_policy: SteeringPolicy::SkipRemaining,
            limits: Limits::default(),
            retry: Policy { max_retries: 2, base_ms: 500, max_delay_ms: 60_000 },
        }
    }
}
