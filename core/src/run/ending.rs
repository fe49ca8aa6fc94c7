//! The end of a run: what is written and logged then, and the end of one whose driver cannot go on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agent_loop_proto::machine::EndCause;
use agent_loop_proto::table::logs;

use super::driver::Driver;
use crate::error::Error;
use crate::future::catch_panic;
use crate::log::{LogRecord, RunLog};
use crate::recording::RunRecording;
use crate::result::RunResult;
use crate::threads::blocking;
use crate::usage::Outcome;

impl Driver {
    /// The run is in its file before its result can be had.
    pub(super) async fn write_recording(&mut self, recording: RunRecording) {
        let on_thread = recording.clone();
        let written = match blocking(move || on_thread.write()).await {
            // There was no thread.
            Err(_) if !recording.is_written() => recording.write(),
            written => written,
        };
        if let Err(why) = written {
            self.log_unrecorded(why);
        }
    }

    /// What watches is the application's: if it panics, the run still ends.
    fn log_unrecorded(&self, why: Error) {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let what = "the run could not be recorded";
            self.run.log.write(logs::RECORD_ERROR, |code| LogRecord::new(code, what).because(why));
        }));
    }

    fn log_end(log: &RunLog, result: &RunResult, latency_ms: u64) {
        let span = tracing::Span::current();
        span.record("outcome", result.outcome.as_str());
        span.record("turns", result.turns);
        match (&result.error, result.outcome) {
            (Some(error), Outcome::Error) => log.write(logs::RUN_ERROR, |code| {
                let record = LogRecord::new(code, "the run failed").with("turns", result.turns).because(error.clone());
                record.with("latency_ms", latency_ms).with_usage(&result.usage)
            }),
            (_, outcome) => log.write(logs::RUN_END, |code| {
                let record = LogRecord::new(code, "the run ended").with("outcome", outcome.as_str());
                record.with("turns", result.turns).with("latency_ms", latency_ms).with_usage(&result.usage)
            }),
        }
    }

    pub(super) async fn end_after_panic(&mut self, why: &str) -> RunResult {
        let (last, result) = self.run.machine().force_end(EndCause::Panic(why.to_owned()));
        self.outbox.extend(self.emitting.take());
        let mut what = if last.is_empty() { Some("a panic after the end of the run") } else { None };
        for event in last {
            let clock = self.clock.clone();
            if catch_panic(clock.working(Box::pin(self.emit(event)))).await.is_err() {
                what = Some("a panic while the end of the run was emitted");
            }
        }
        if let Some(what) = what {
            let log = AssertUnwindSafe(&self.run.log);
            let _ = catch_unwind(|| log.write(logs::RUN_ERROR, |code| LogRecord::new(code, what)));
        }
        result
    }

    /// Idle before the reader sees the end, so that its next prompt finds the agent free.
    pub(super) fn finish(&mut self, result: RunResult) {
        self.has_ended = true;
        self.session.end_message();
        // What watches is the application's: if it panics, its run still ends.
        let latency_ms = self.clock.now_ms().saturating_sub(self.began_ms);
        let _ = catch_unwind(AssertUnwindSafe(|| Driver::log_end(&self.run.log, &result, latency_ms)));
        self.agent.run_ended(&self.run, result, &mut self.outbox);
    }
}

impl Drop for Driver {
    /// The runtime went away under an unfinished run, or a panic has come past all that catches them: it ends all the same, so
    /// that no caller waits for it for ever.
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let cause = match std::thread::panicking() {
            true => EndCause::Panic("outside of the run's steps".to_owned()),
            false => EndCause::ShutDown,
        };
        let (last, result) = self.run.machine().force_end(cause);
        // The thread may not be one that listeners can be called on; the reader gets the events.
        for event in &last {
            self.agent.record_event(event);
            if let Some(trace) = &self.run.trace {
                trace.event(event);
            }
            self.publish(event);
        }
        if self.run.queue.is_some() {
            self.outbox.extend(self.emitting.take().into_iter().chain(last));
        }
        if let Some(Err(why)) = self.run.recording.as_ref().map(|recording| recording.write()) {
            self.log_unrecorded(why);
        }
        self.finish(result);
    }
}
