//! Time limits and aborts: how a run ends that did not end by itself, and when the loop has to be polled.

use serde::{Deserialize, Serialize};

use super::{Action, Loop, Timer};
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

impl Loop {
    /// The first interruption counts.
    pub(super) fn interrupt(&mut self, why: Interruption) {
        self.interruption.get_or_insert(why);
    }

    /// Starts the run's own limit.
    pub(super) fn start_run_limit(&mut self) {
        let limit_ms = self.config.settings.limits.run_timeout_ms;
        self.run_limit = (limit_ms > 0).then(|| (limit_ms, self.now_ms.saturating_add(limit_ms)));
    }

    pub(super) fn check_run_limit(&mut self) {
        if let Some((limit_ms, deadline_ms)) = self.run_limit
            && self.now_ms >= deadline_ms
        {
            self.interrupt(Interruption::TimedOut(limit_ms));
        }
    }

    /// Asks for a timer when the next time to poll has changed.
    pub(super) fn set_timer(&mut self) -> Option<Action> {
        let limit = |at_ms| Timer { at_ms, is_limit: true };
        let run = self.run_limit.filter(|_| !self.is_interrupted()).map(|(_, at_ms)| limit(at_ms));
        let hook = self.asked.as_ref().and_then(|asked| asked.deadline_ms).map(limit);
        let answer = self.answer.as_ref().and_then(super::Answer::timer);
        let batch = self.batch.as_ref().and_then(super::Batch::deadline_ms).map(limit);
        let next = [run, hook, answer, batch].into_iter().flatten().min_by_key(|timer| timer.at_ms);
        if next == self.timer {
            return None;
        }
        self.timer = next;
        Some(Action::SetTimer(next))
    }
}
