//! Writes the records that the loop asks for to the journal of the run's session.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use agent_loop_proto::machine::Input;
use agent_loop_proto::session::JournalRecord;

use super::driver::Driver;
use crate::future::BoxFuture;

impl Driver {
    /// Writes records; the loop goes on when they are written. A store that does not answer holds the run up, but no longer than
    /// the grace time of an abort.
    pub(super) async fn record(&mut self, records: Vec<JournalRecord>) {
        let session = self.session.clone();
        let has_end = records.iter().any(|record| matches!(record, JournalRecord::RunEnd(_)));
        let mut append = pin!(session.append(records));
        self.run.has_recorded();
        // Most stores have written by now.
        let first = append.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let written = match first {
            Poll::Ready(written) => Some(written),
            Poll::Pending => {
                // What was emitted before is not held up.
                self.flush().await;
                let (_busy, run) = (self.clock.busy(), Arc::clone(&self.run));
                let mut grace: Option<BoxFuture<'static, ()>> = None;
                let written = std::future::poll_fn(|cx| {
                    if let Poll::Ready(written) = append.as_mut().poll(cx) {
                        return Poll::Ready(Some(written));
                    }
                    self.poll_limits(cx);
                    if grace.is_none() && (run.abort.is_cancelled() || self.aborted.poll(cx).is_ready()) {
                        let limit = Duration::from_millis(run.machine().record_grace_ms());
                        // Of the system's time, which is the store's.
                        grace = Some(Box::pin(tokio::time::sleep(limit)));
                    }
                    match &mut grace {
                        Some(grace) => grace.as_mut().poll(cx).map(|()| None),
                        None => Poll::Pending,
                    }
                })
                .await;
                self.report_activity();
                written
            }
        };
        let written = written.unwrap_or_else(|| {
            let grace_ms = self.run.machine().record_grace_ms();
            Err(session.give_up(grace_ms))
        });
        match written {
            Ok(()) => self.is_end_recorded |= has_end,
            Err(error) => self.run.machine().handle(Input::RecordFailed(error)),
        }
    }
}
