//! The time of a run: what the host says it is, the run's time limit, and the timer that the host is asked for.

use serde::{Deserialize, Serialize};

use super::action::{ListenerLimit, Timer};
use super::interruption::Interruption;
use crate::settings::Settings;

/// How long a listener of an interrupted run is waited for at least: with less, one that has to reach another thread would be
/// left before it is called.
const LEAST_LISTENER_GRACE_MS: u64 = 100;

/// The time of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RunClock {
    now_ms: u64,
    /// When the run began.
    #[serde(default)]
    started_ms: u64,
    interruption: Option<Interruption>,
    /// Since when the run is known to be interrupted.
    interrupted_ms: Option<u64>,
    /// `run_timeout_ms` as it was at the start, and when it passes.
    limit: Option<(u64, u64)>,
    /// The timer that the host has set. It is not part of the saved state: the host of a loaded loop has none.
    #[serde(skip)]
    timer: Option<Timer>,
    /// Whether what the timer was set for may be over.
    #[serde(skip, default = "is_stale_when_loaded")]
    is_timer_stale: bool,
}

fn is_stale_when_loaded() -> bool {
    true
}

impl RunClock {
    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    pub(super) fn interruption(&self) -> Option<Interruption> {
        self.interruption
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interruption.is_some()
    }

    pub(super) fn abort(&mut self) {
        self.interrupt(Interruption::Aborted);
    }

    /// The earlier one counts: a host cancels its tools as for an abort when the time limit has passed.
    fn interrupt(&mut self, why: Interruption) {
        self.interruption.get_or_insert(why);
    }

    /// For how long the run will have run, after so many milliseconds.
    pub(super) fn ran_ms(&self, after_ms: u64) -> u64 {
        self.now_ms.saturating_add(after_ms).saturating_sub(self.started_ms)
    }

    /// For how long it has run at a time that it was not polled at.
    pub(super) fn ran_until_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.started_ms)
    }

    /// The run begins, with its own limit; 0 for none.
    pub(super) fn start(&mut self, limit_ms: u64) {
        self.started_ms = self.now_ms;
        self.limit = (limit_ms > 0).then(|| (limit_ms, self.now_ms.saturating_add(limit_ms)));
    }

    /// When the run's own limit passes.
    pub(super) fn deadline_ms(&self) -> Option<u64> {
        self.limit.map(|(_, deadline_ms)| deadline_ms)
    }

    /// The run is over: its limit no longer counts.
    pub(super) fn end(&mut self) {
        self.limit = None;
    }

    /// What the timer was set for may be over.
    pub(super) fn mark_timer_stale(&mut self) {
        self.is_timer_stale = true;
    }

    /// Whether the timer is to be checked before anything else is done; once.
    pub(super) fn take_timer_stale(&mut self) -> bool {
        std::mem::take(&mut self.is_timer_stale)
    }

    pub(super) fn set_now(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        if self.interruption.is_some() && self.interrupted_ms.is_none() {
            self.interrupted_ms = Some(now_ms);
        }
    }

    /// Until when the run waits for a listener, or for `after_run`, that was called then; `None`: without limit.
    pub(super) fn listener_limit(&self, called_ms: u64, settings: &Settings) -> Option<ListenerLimit> {
        let limit = |since_ms: u64, ms, is_grace| ListenerLimit { at_ms: since_ms.saturating_add(ms), ms, is_grace };
        let timeout_ms = settings.limits.listener_timeout_ms;
        let timeout = (timeout_ms > 0).then(|| limit(called_ms, timeout_ms, false));
        let grace_ms = settings.abort_grace_ms.max(LEAST_LISTENER_GRACE_MS);
        let grace = self.interrupted_ms.map(|since_ms| limit(since_ms.max(called_ms), grace_ms, true));
        timeout.into_iter().chain(grace).min_by_key(|limit| limit.at_ms)
    }

    /// Whether the run's own limit has passed is decided between two steps.
    pub(super) fn check(&mut self) {
        if let Some((limit_ms, deadline_ms)) = self.limit
            && self.now_ms >= deadline_ms
        {
            self.interrupt(Interruption::TimedOut(limit_ms));
        }
    }

    /// The new timer, when the next time to poll has changed.
    pub(super) fn set_timer(&mut self, others: impl IntoIterator<Item = Option<Timer>>) -> Option<Option<Timer>> {
        let run = self.limit.filter(|_| !self.is_interrupted()).map(|(_, at_ms)| Timer::limit(at_ms));
        // A limit that has passed and was not acted on waits for a hook, and is checked after its answer.
        let next = others.into_iter().chain([run]).flatten().filter(|timer| timer.at_ms > self.now_ms);
        let next = next.min_by_key(|timer| timer.at_ms);
        (next != self.timer).then(|| {
            self.timer = next;
            next
        })
    }
}
