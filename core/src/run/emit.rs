//! Emits an event: the agent's state first, then who follows its session, then the listeners in order, then the queue.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use agent_loop_proto::machine::{Input, Timer};
use agent_loop_proto::table::logs;

use super::driver::Driver;
use super::model_call::Streaming;
use super::queue::BATCH;
use crate::event::{Event, EventData};
use crate::log::LogRecord;
use crate::usage::StopReason;

impl Driver {
    pub(super) async fn emit(&mut self, event: Event) {
        if matches!(event.data, EventData::TurnStart) {
            self.begin_turn();
        }
        if !matches!(event.data, EventData::MessageUpdate(_)) {
            self.log_event(&event);
            self.agent.record_event(&event);
            if let Some(trace) = &self.run.trace {
                trace.event(&event);
            }
        }
        self.publish(&event);
        self.call_listeners(&event).await;
        if self.run.parent.is_some() {
            // Boxed: it would be a part of the future of each event.
            Box::pin(self.forward(&event)).await;
        }
        if let EventData::SubagentEvent { tool_call_id, .. } = &event.data
            && let Some(call) = self.tools.values().find(|call| call.id() == &**tool_call_id)
        {
            call.make_room();
        }
        if self.run.queue.is_some() {
            self.outbox.push(event);
            if self.outbox.len() >= BATCH {
                self.flush().await;
            }
        }
    }

    /// What of an event belongs in a log.
    fn log_event(&self, event: &Event) {
        let log = &self.run.log;
        match &event.data {
            EventData::TurnStart => log.turn.store(event.turn, Ordering::Relaxed),
            EventData::Retry { attempt, delay_ms, error } => log.write(logs::RETRY, |code| {
                let record = LogRecord::new(code, "a model call failed and is retried");
                record.with("attempt", *attempt).with("delay_ms", *delay_ms).because(error.clone())
            }),
            EventData::MessageEnd { message } => {
                if let (Some(answer), Some(began_ms)) = (message.as_assistant(), self.call_began_ms) {
                    log.write(logs::MODEL_CALL, |code| {
                        let model = format!("{}/{}", answer.provider, answer.model);
                        let outcome = answer.stop_reason.map(StopReason::as_str).unwrap_or_default();
                        let record = LogRecord::new(code, "a model call ended").with("model", model).with("outcome", outcome);
                        record.with("latency_ms", self.clock.now_ms().saturating_sub(began_ms)).with_usage(&answer.usage)
                    });
                }
            }
            EventData::ToolExecutionEnd { tool_call_id, tool_name, is_error, duration_ms, .. } => {
                log.write(logs::TOOL_CALL, |code| {
                    let record = LogRecord::new(code, "a tool call ended").with("tool_call_id", &**tool_call_id);
                    let record = record.with("tool_name", &**tool_name);
                    record.with("outcome", if *is_error { "error" } else { "ok" }).with("latency_ms", *duration_ms)
                });
            }
            _ => {}
        }
    }

    /// Who follows the session gets what its journal does not say.
    pub(super) fn publish(&self, event: &Event) {
        if !(self.is_end_recorded && matches!(event.data, EventData::AgentEnd { .. })) {
            self.session.publish(event);
        }
    }

    /// While a reader or a listener blocks the run: its time limit still holds.
    pub(super) fn poll_limits(&mut self, cx: &mut Context<'_>) {
        while self.poll_timer(cx).is_ready() {
            let mut machine = self.run.machine();
            if machine.check_limits(self.clock.now_ms()) {
                drop(machine);
                return self.run.abort();
            }
            // It was another limit's, which the loop checks when it is polled again.
            let Some(at_ms) = machine.run_deadline_ms() else {
                return;
            };
            drop(machine);
            self.timer = Some(self.sleep_until(Timer::limit(at_ms)));
        }
    }

    /// Hands the gathered events to the reader and waits until its queue has capacity; a virtual clock stands still meanwhile.
    /// After an abort it always has.
    pub(super) async fn flush(&mut self) {
        if !self.outbox.is_empty() {
            self.await_capacity().await;
        }
    }

    pub(super) async fn await_capacity(&mut self) {
        let mut busy = None;
        std::future::poll_fn(|cx| {
            let capacity = self.poll_flush(cx);
            if capacity.is_pending() && busy.is_none() {
                busy = Some(self.clock.busy());
            }
            capacity
        })
        .await;
        if busy.is_some() {
            self.report_activity();
        }
    }

    /// Hands the gathered events to the reader; ready when its queue has capacity.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let run = Arc::clone(&self.run);
        let Some(queue) = &run.queue else {
            return Poll::Ready(());
        };
        let mut capacity = queue.poll_push(&mut self.outbox, cx);
        if capacity.is_pending() {
            self.poll_limits(cx);
            if run.abort.is_cancelled() || self.aborted.poll(cx).is_ready() {
                queue.unbound();
                capacity = queue.poll_push(&mut self.outbox, cx);
            }
        }
        capacity
    }

    /// Hands an event of a subagent to the run around it. While that has no room, its reader blocks this run, too.
    async fn forward(&mut self, event: &Event) {
        let run = Arc::clone(&self.run);
        let Some(parent) = &run.parent else { return };
        let mut room = pin!(parent.room(event));
        let mut busy = None;
        let room = std::future::poll_fn(|cx| {
            let room = room.as_mut().poll(cx);
            if room.is_pending() {
                busy.get_or_insert_with(|| self.clock.busy());
                self.poll_limits(cx);
                // After an abort nothing more is emitted there.
                if run.abort.is_cancelled() || self.poll_abort(cx).is_ready() {
                    return Poll::Ready(None);
                }
            }
            room
        });
        if let Some(room) = room.await {
            parent.forward(event, room);
        }
        if busy.is_some() {
            self.report_activity();
        }
    }

    /// A reader or a listener has blocked the run, and the model was not read meanwhile: it was not silent.
    pub(super) fn report_activity(&self) {
        if let Some(call) = self.model.as_ref().and_then(Streaming::call_under_way) {
            self.run.machine().handle(Input::ModelActivity { call });
        }
    }
}
