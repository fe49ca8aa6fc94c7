//! The time limits of one try of a model call.

use std::task::{Context, Poll};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::model::BoxFuture;

/// The time limits of one try.
pub(super) struct Watch<'a> {
    clock: Clock,
    provider: &'a str,
    limits: Limits,
    whole: Option<Limit>,
    silence: Option<Limit>,
    /// Whether the model has given any sign of life, when the last one came, and how many were not deltas.
    alive: bool,
    last_ms: u64,
    signs: u64,
}

type Limit = BoxFuture<'static, ()>;

impl<'a> Watch<'a> {
    pub(super) fn new(clock: Clock, limits: &Limits, provider: &'a str) -> Watch<'a> {
        let limit = |ms| (ms > 0).then(|| Box::pin(clock.limit(ms)) as Limit);
        Watch {
            whole: limit(limits.request_timeout_ms),
            silence: limit(limits.first_byte_timeout_ms),
            clock,
            provider,
            limits: *limits,
            alive: false,
            last_ms: 0,
            signs: 0,
        }
    }

    /// Ready with an error when a limit has passed.
    pub(super) fn poll(&mut self, deltas: bool, signs: u64, cx: &mut Context<'_>) -> Poll<Error> {
        if deltas || signs > self.signs {
            self.signs = signs;
            self.last_ms = self.clock.now_ms();
            if !self.alive {
                self.alive = true;
                self.silence = self.limit(self.limits.idle_timeout_ms);
            }
        }
        if let Some(whole) = &mut self.whole
            && whole.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(self.error("the answer was not complete", "request_timeout_ms", self.limits.request_timeout_ms));
        }
        while let Some(silence) = &mut self.silence
            && silence.as_mut().poll(cx).is_ready()
        {
            let idle_ms = self.limits.idle_timeout_ms;
            // Set when the first sign came; later ones only leave their time, so that a delta costs no timer.
            let quiet_ms = self.clock.now_ms().saturating_sub(self.last_ms);
            match self.alive {
                false => {
                    let limit_ms = self.limits.first_byte_timeout_ms;
                    return Poll::Ready(self.error("nothing came", "first_byte_timeout_ms", limit_ms));
                }
                true if quiet_ms >= idle_ms => {
                    return Poll::Ready(self.error("nothing more came", "idle_timeout_ms", idle_ms));
                }
                true => self.silence = self.limit(idle_ms - quiet_ms),
            }
        }
        Poll::Pending
    }

    fn limit(&self, ms: u64) -> Option<Limit> {
        (ms > 0).then(|| Box::pin(self.clock.limit(ms)) as Limit)
    }

    fn error(&self, what: &str, name: &str, ms: u64) -> Error {
        let text = format!("{}: {what} within {name} ({ms})", self.provider);
        Error::new(ErrorKind::Timeout, text).with_provider(self.provider)
    }
}
