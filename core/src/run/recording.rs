//! Writes the records that the loop asks for to the journal of the run's session.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
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
        let (mut busy, mut is_held_up, mut grace): (_, _, Option<BoxFuture<'static, ()>>) = (None, false, None);
        let written = {
            // Not longer than it is polled: what it still writes for others, a task goes on with.
            let mut append = pin!(session.append_awaited(&records));
            self.run.has_recorded();
            let run = Arc::clone(&self.run);
            std::future::poll_fn(|cx| {
                if let Poll::Ready(written) = append.as_mut().poll(cx) {
                    return Poll::Ready(Some(written));
                }
                busy.get_or_insert_with(|| self.clock.busy());
                // What was emitted before is not held up. Nor is the store by a slow reader: this may write for many sessions.
                if is_held_up || !self.outbox.is_empty() {
                    is_held_up = self.poll_flush(cx).is_pending();
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
            .await
        };
        if busy.is_some() {
            self.report_activity();
        }
        if is_held_up {
            self.await_capacity().await;
        }
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
