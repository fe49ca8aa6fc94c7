//! An agent's settings: what the loop and the encoders read. Credentials, headers and the network are not among them. The fields
//! and their defaults are declared in [`crate::table::options`].

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::context_policy::ContextPolicy;
use crate::gate::Gate;
use crate::limits::Limits;
use crate::output::OutputSpec;
use crate::queues::{QueueMode, SteeringPolicy};
use crate::request::{ModelOptions, ThinkingLevel};
use crate::retry::RetryPolicy;
use crate::schema::Validation;
use crate::table::options::option_struct;
use crate::tool::ExecutionMode;

crate::options_of!(settings, option_struct
    [
        /// The settings of an agent's runs. A change during a run takes effect at its next turn.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename = "strict", deny_unknown_fields)]
    ]
    Settings {
        /// Options of a request.
        model: ModelOptions,
        /// Time limits.
        limits: Limits,
        /// Retries of a model call.
        retry: RetryPolicy,
        /// What a run may use.
        #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
        budget: Budget,
    }
);

/// For options that are off at 0, and then not saved.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn output_retries() -> u32 {
    Settings::default().output_retries
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_output_retries(number: &u32) -> bool {
    *number == output_retries()
}

fn max_subagent_depth() -> u32 {
    Settings::default().max_subagent_depth
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_max_subagent_depth(depth: &u32) -> bool {
    *depth == max_subagent_depth()
}
