//! What is recorded of one run, as its driver has it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_loop_proto::event::{Event, EventData};
use agent_loop_proto::trace::{RunSpan, Spans};
use agent_loop_proto::usage::Outcome;

use super::sink::Sink;
use crate::clock::Clock;
use crate::error::Error;
use crate::model::{Model, Request};

/// The number of the span of an agent's last run, while that may be gone on with; else 0.
pub(crate) type Suspended = Arc<AtomicU64>;

/// What is recorded of one run.
pub(crate) struct RunTrace {
    spans: Mutex<Spans>,
    sink: Sink,
    time: Time,
    suspended: Suspended,
    /// That of the run's span.
    pub(crate) run: u64,
}

/// The time of spans.
enum Time {
    Virtual(Clock),
    /// Since the epoch in nanoseconds, when the run began.
    Real(u64, Instant),
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Time {
    fn of(clock: &Clock) -> Time {
        if clock.is_simulated() {
            return Time::Virtual(clock.clone());
        }
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::Real(nanoseconds(since_epoch), Instant::now())
    }

    fn now_ns(&self) -> u64 {
        match self {
            Time::Virtual(clock) => clock.now_ms().saturating_mul(1_000_000),
            Time::Real(start_ns, start) => start_ns.saturating_add(nanoseconds(start.elapsed())),
        }
    }
}

impl RunTrace {
    /// A run begins. Who asks for it hands on its first record, outside of all locks and in its own context.
    pub(crate) fn begin(run: &RunSpan<'_>, sink: Sink, clock: &Clock, suspended: Suspended) -> RunTrace {
        let time = Time::of(clock);
        let spans = Spans::begin(run, time.now_ns());
        RunTrace { run: spans.run(), spans: Mutex::new(spans), sink, time, suspended }
    }

    /// Where its records go.
    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// The span of this number, for what runs inside of it.
    #[cfg(feature = "otel")]
    pub(crate) fn span(&self, id: u64) -> Option<tracing::Span> {
        self.sink.span(id)
    }

    fn lock(&self) -> MutexGuard<'_, Spans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn event(&self, event: &Event) {
        self.lock().event(event, self.time.now_ns());
        if let EventData::AgentEnd { outcome, .. } = &event.data {
            let goes_on = *outcome == Outcome::Suspended;
            self.suspended.store(if goes_on { self.run } else { 0 }, Ordering::Release);
            self.flush();
        }
    }

    pub(crate) fn model_called(&self, request: &Request, model: &dyn Model) {
        let info = model.info();
        self.lock().model_called(request, info.provider, info.id, model.server(), self.time.now_ns());
    }

    pub(crate) fn model_ended(&self, error: Option<&Error>) {
        self.lock().model_ended(error, self.time.now_ns());
    }

    /// The number of a tool call's span; 0 for one that has none.
    pub(crate) fn tool(&self, call_id: &str) -> u64 {
        self.lock().tool(call_id)
    }

    /// Hands on what was recorded. What records it is the application's: if it panics, the run goes on.
    pub(crate) fn flush(&self) {
        let records = self.lock().take();
        if !records.is_empty() {
            let _ = catch_unwind(AssertUnwindSafe(|| self.sink.record(records)));
        }
    }
}

impl std::fmt::Debug for RunTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunTrace").field("run", &self.run).finish_non_exhaustive()
    }
}

/// Whether spans have the texts of messages, unless the option says it.
pub(crate) fn wants_content() -> bool {
    let wanted = std::env::var("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").unwrap_or_default();
    ["true", "span_only", "span_and_event"].iter().any(|word| wanted.trim().eq_ignore_ascii_case(word))
}
