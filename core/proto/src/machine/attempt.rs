//! One attempt of a model call: what has come of its stream, and its time limits.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize, Serializer};

use super::action::Timer;
use crate::delta::Delta;
use crate::error::Error;
use crate::limits::Limits;

/// One attempt of a model call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Attempt {
    call: u32,
    #[serde(serialize_with = "storable")]
    deltas: VecDeque<Delta>,
    end: Option<Result<(), Error>>,
    /// When the whole attempt takes too long.
    deadline_ms: Option<u64>,
    /// When the server has been silent for too long. Set at the start and at the first byte; later bytes only leave their time,
    /// which is compared when this has passed: it costs less.
    silence_deadline_ms: Option<u64>,
    last_activity_ms: u64,
    has_new_activity: bool,
    has_first_byte: bool,
    /// Whether the request waits for its turn, and whether that has come since.
    #[serde(default)]
    is_held: bool,
    #[serde(default)]
    is_sent: bool,
}

/// How deep a delta's data may nest is checked when it is applied; a saved loop with what waits can be read before that.
fn storable<S: Serializer>(deltas: &VecDeque<Delta>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(deltas.iter().map(Delta::storable))
}

impl Attempt {
    pub(super) fn new(call: u32, limits: &Limits, now_ms: u64) -> Attempt {
        let mut attempt = Attempt {
            call,
            deltas: VecDeque::new(),
            end: None,
            deadline_ms: None,
            silence_deadline_ms: None,
            last_activity_ms: now_ms,
            has_new_activity: false,
            has_first_byte: false,
            is_held: false,
            is_sent: false,
        };
        attempt.begin(limits, now_ms);
        attempt
    }

    /// The request waits: no limit of it passes.
    pub(super) fn hold(&mut self) {
        (self.deadline_ms, self.silence_deadline_ms) = (None, None);
        self.is_held = true;
    }

    /// It waits no longer.
    pub(super) fn send(&mut self) {
        self.is_sent |= std::mem::take(&mut self.is_held);
    }

    /// Whether its limits are to begin.
    pub(super) fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// The request was sent: its limits begin.
    pub(super) fn begin(&mut self, limits: &Limits, now_ms: u64) {
        self.is_sent = false;
        let limit = |ms: u64| (ms > 0).then(|| now_ms.saturating_add(ms));
        self.deadline_ms = limit(limits.request_timeout_ms);
        self.silence_deadline_ms = limit(limits.first_byte_timeout_ms);
    }

    /// Notes whether the server has sent something since this was called last.
    pub(super) fn note_activity(&mut self, limits: &Limits, now_ms: u64) {
        if std::mem::take(&mut self.has_new_activity) {
            self.last_activity_ms = now_ms;
            if !std::mem::replace(&mut self.has_first_byte, true) {
                let idle_ms = limits.idle_timeout_ms;
                self.silence_deadline_ms = (idle_ms > 0).then(|| now_ms.saturating_add(idle_ms));
            }
        }
    }

    /// The limit that has passed: what did not happen, its name and value.
    pub(super) fn passed(&mut self, limits: &Limits, now_ms: u64) -> Option<(&'static str, &'static str, u64)> {
        if self.deadline_ms.is_some_and(|deadline_ms| now_ms >= deadline_ms) {
            return Some(("the answer was not complete", "request_timeout_ms", limits.request_timeout_ms));
        }
        if self.silence_deadline_ms.is_none_or(|silence_ms| now_ms < silence_ms) {
            return None;
        }
        if !self.has_first_byte {
            return Some(("nothing came", "first_byte_timeout_ms", limits.first_byte_timeout_ms));
        }
        let idle_ms = limits.idle_timeout_ms;
        let silent_until_ms = self.last_activity_ms.saturating_add(idle_ms);
        if now_ms >= silent_until_ms {
            return Some(("nothing more came", "idle_timeout_ms", idle_ms));
        }
        self.silence_deadline_ms = Some(silent_until_ms);
        None
    }

    pub(super) fn call(&self) -> u32 {
        self.call
    }

    pub(super) fn receive(&mut self, deltas: Vec<Delta>) {
        self.has_new_activity |= !deltas.is_empty();
        self.deltas.extend(deltas);
    }

    /// Bytes have come, though no delta.
    pub(super) fn record_activity(&mut self) {
        self.has_new_activity = true;
    }

    /// The first end counts.
    pub(super) fn end(&mut self, result: Result<(), Error>) {
        self.end.get_or_insert(result);
    }

    pub(super) fn next_delta(&mut self) -> Option<Delta> {
        self.deltas.pop_front()
    }

    /// How the stream has ended, once no delta is left.
    pub(super) fn take_end(&mut self) -> Option<Result<(), Error>> {
        self.end.take()
    }

    /// When a limit passes.
    pub(super) fn timer(&self) -> Option<Timer> {
        let at_ms = [self.deadline_ms, self.silence_deadline_ms].into_iter().flatten().min()?;
        Some(Timer::limit(at_ms))
    }
}
