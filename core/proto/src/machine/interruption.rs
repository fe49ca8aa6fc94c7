//! Why a run ends that did not end by itself.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::usage::{Outcome, StopReason};

/// Why a run ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Interruption {
    /// It was aborted.
    Aborted,
    /// `run_timeout_ms` has passed: its value.
    TimedOut(u64),
}

impl Interruption {
    /// The stop reason of a message that was being streamed.
    pub(super) fn stop_reason(self) -> StopReason {
        match self {
            Interruption::Aborted => StopReason::Aborted,
            Interruption::TimedOut(_) => StopReason::Error,
        }
    }

    pub(super) fn outcome(self) -> Outcome {
        match self {
            Interruption::Aborted => Outcome::Aborted,
            Interruption::TimedOut(_) => Outcome::Error,
        }
    }

    pub(super) fn error(self) -> Error {
        match self {
            Interruption::Aborted => Error::new(ErrorKind::Aborted, "the run was aborted"),
            Interruption::TimedOut(limit_ms) => {
                let text = format!("the run took longer than run_timeout_ms ({limit_ms}) and was ended");
                Error::new(ErrorKind::Timeout, text).with_retryable(false)
            }
        }
    }
}
