//! When a failed model call is retried, and after which backoff. There is no other retry layer.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::table::options::option_struct;

crate::options_of!(retry, option_struct
    [
        /// How often a failed model call is retried, and how fast. The methods of `AgentBuilder` of these names say the defaults.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename = "strict", deny_unknown_fields)]
    ]
    RetryPolicy {}
);

impl RetryPolicy {
    /// The backoff before the retry of this number (1 for the first), in milliseconds, or the error that ends the call.
    ///
    /// # Errors
    /// The given error: not one that a retry may help, no tries left, or a demand for a longer backoff than allowed (which its
    /// message then says).
    pub fn pause(&self, error: Error, retry: u32, jitter: Jitter) -> Result<u64, Error> {
        if !error.is_retryable() || retry > self.max_retries {
            return Err(error);
        }
        if let Some(demanded) = error.retry_after_ms() {
            let most = self.max_retry_delay_ms;
            if demanded > most {
                let text = format!(
                    "{} (it asks to wait {demanded} ms, more than max_retry_delay_ms, {most}; try again then)",
                    error.message()
                );
                return Err(error.with_message(&text));
            }
            return Ok(demanded);
        }
        let doubled = 1_u64.checked_shl(retry.saturating_sub(1)).unwrap_or(u64::MAX);
        Ok(jitter.of(self.retry_base_ms.saturating_mul(doubled).min(self.max_retry_delay_ms)))
    }
}

/// What part of the upper bound of a backoff is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jitter {
    /// Any part, chosen by this random number, so that many clients do not come back at the same time.
    Random(u64),
    /// All of it, for virtual time.
    None,
}

impl Jitter {
    fn of(self, most: u64) -> u64 {
        match self {
            Jitter::None => most,
            Jitter::Random(number) => number % most.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const POLICY: RetryPolicy = RetryPolicy { max_retries: 3, retry_base_ms: 500, max_retry_delay_ms: 1500 };

    fn overloaded() -> Error {
        Error::new(ErrorKind::Overloaded, "busy")
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses: Vec<u64> = (1..=3).map(|retry| POLICY.pause(overloaded(), retry, Jitter::None).unwrap()).collect();
        assert_eq!(pauses, [500, 1000, 1500]);
        assert!(POLICY.pause(overloaded(), 4, Jitter::None).is_err(), "no try is left");
        for number in [0, 1, 1000, 1001, 123_456_789, u64::MAX] {
            assert!(POLICY.pause(overloaded(), 2, Jitter::Random(number)).unwrap() <= 1000);
        }
    }

    #[test]
    fn a_retry_never_helps_what_is_not_retryable() {
        for kind in ErrorKind::ALL {
            let error = Error::new(*kind, "x");
            assert_eq!(POLICY.pause(error.clone(), 1, Jitter::None).is_ok(), error.is_retryable(), "{kind}");
        }
    }

    #[test]
    fn a_demanded_pause_is_kept_or_refused() {
        assert_eq!(POLICY.pause(overloaded().with_retry_after_ms(1500), 1, Jitter::Random(7)), Ok(1500));
        let error = POLICY.pause(overloaded().with_retry_after_ms(1501), 1, Jitter::Random(7)).unwrap_err();
        assert_eq!(error.retry_after_ms(), Some(1501));
        assert!(error.message().contains("1501 ms, more than max_retry_delay_ms, 1500"), "{error}");
    }
}
