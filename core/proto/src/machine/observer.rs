//! What observes a loop: all that goes into it, and all that comes out. For recordings.

use std::fmt::Debug;

use super::action::{Action, EndCause, Input};
use crate::error::Error;

/// Observes one loop, from its start on. It is called with the loop's lock held, so it must not block.
pub trait Observer: Debug + Send + Sync {
    /// An input, before the loop takes it in.
    fn input(&mut self, input: &Input);

    /// The loop was polled at this time, and gave this.
    fn polled(&mut self, now_ms: u64, action: Option<&Action>);

    /// The loop was told the time without being polled.
    fn checked(&mut self, check: TimeCheck, now_ms: u64);

    /// The host cannot go on, and ends the run.
    fn forced(&mut self, cause: &EndCause);

    /// Why a run that ends now by itself should not have ended: it then ends with this error.
    fn objection(&mut self) -> Option<Error> {
        None
    }
}

/// How a loop learns the time without being polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeCheck {
    /// By [`Loop::check_limits`](super::Loop::check_limits).
    Limits,
    /// By [`Loop::listener_limit`](super::Loop::listener_limit).
    ListenerLimit,
}
