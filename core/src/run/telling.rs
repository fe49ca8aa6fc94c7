//! Telling an event: the agent's state first, then the listeners one after the other, then the queue.

use std::sync::Arc;

use serde_json::json;

use super::driver::Driver;
use super::flush;
use crate::error::panic_message;
use crate::event::{Event, EventData};
use crate::listener::{Listener, ListenerKind};
use crate::partial::Partial;
use crate::tool::catch_panic;

impl Driver {
    /// Tells an event to everybody, in order.
    pub(super) async fn emit(&mut self, data: EventData) {
        self.tell(data, None).await;
        self.flush().await;
    }

    pub(super) async fn tell(&mut self, data: EventData, partial: Option<Partial>) {
        match self.agent.listeners().kind() {
            ListenerKind::None | ListenerKind::Quick => self.emit_now(data, partial),
            ListenerKind::Blocking => may_block(|| self.emit_now(data, partial)),
            // Boxed: it would make each place that tells an event, and so each run, larger by kilobytes.
            ListenerKind::Future => Box::pin(self.tell_and_wait(data, partial)).await,
        }
    }

    /// Tells an event where listeners have to be awaited.
    async fn tell_and_wait(&mut self, data: EventData, partial: Option<Partial>) {
        let event = self.next_event(data, partial);
        let mut failed = Vec::new();
        for listener in self.agent.listeners().snapshot().iter() {
            if !listener.is_subscribed() {
                continue;
            }
            let _busy = self.clock.busy();
            let heard = match &listener.listener {
                Listener::Function { function, blocking: false } => self.scope.run(|| call_function(&**function, &event)),
                Listener::Function { function, blocking: true } => {
                    may_block(|| self.scope.run(|| call_function(&**function, &event)))
                }
                Listener::Future(function) => self.scope.clone().enter(call_future(&**function, event.clone())).await,
            };
            failed.extend(heard.err());
        }
        for failure in self.heard(event, failed) {
            // One level deep: a failure on a diagnostic is only counted.
            Box::pin(self.tell(failure, None)).await;
        }
    }

    /// Tells an event when no listener has to be awaited.
    pub(super) fn emit_now(&mut self, data: EventData, partial: Option<Partial>) {
        let event = self.next_event(data, partial);
        let mut failed = Vec::new();
        if self.agent.listeners().kind() != ListenerKind::None {
            for listener in self.agent.listeners().snapshot().iter() {
                if listener.is_subscribed()
                    && let Listener::Function { function, .. } = &listener.listener
                {
                    failed.extend(self.scope.run(|| call_function(&**function, &event)).err());
                }
            }
        }
        for failure in self.heard(event, failed) {
            self.emit_now(failure, None);
        }
    }

    pub(super) fn next_event(&mut self, data: EventData, partial: Option<Partial>) -> Event {
        let event = Event::new(Arc::clone(&self.run.id), self.seq, self.turn, data, partial);
        self.seq += 1;
        if !matches!(event.data, EventData::MessageUpdate(_)) {
            if let EventData::MessageEnd { message } = &event.data {
                self.added.push(Arc::clone(message));
                if let Some(context) = &mut self.changes.messages {
                    context.push(Arc::clone(message));
                }
            }
            self.agent.note(&event);
        }
        event
    }

    /// After the listeners: counts those that failed, and hands the event to the reader.
    fn heard(&mut self, event: Event, failed: Vec<String>) -> Vec<EventData> {
        let silent = matches!(event.data, EventData::Diagnostic { .. } | EventData::AgentEnd { .. });
        let kind = event.kind();
        if self.run.queue.is_some() {
            self.outbox.push(event);
        }
        for why in &failed {
            tracing::warn!(event = kind, error = %why, "a listener failed");
            self.agent.listeners().count_error();
        }
        if silent {
            return Vec::new();
        }
        let told = |why: String| EventData::Diagnostic {
            code: "listener_error".into(),
            message: format!("a listener failed on {kind}: {why}"),
            data: Box::new(json!({ "event": kind, "error": why })),
        };
        failed.into_iter().map(told).collect()
    }

    pub(super) async fn flush(&mut self) {
        if self.outbox.is_empty() {
            return;
        }
        if let Some(queue) = &self.run.queue {
            flush(&self.run, queue, &mut self.outbox, || self.clock.busy()).await;
        }
    }
}

/// Calls what may block this thread; where the runtime has others, they take over its tasks meanwhile.
pub(super) fn may_block<T>(call: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(call),
        _ => call(),
    }
}

fn call_function(function: &(dyn Fn(&Event) -> Result<(), String> + Send + Sync), event: &Event) -> Result<(), String> {
    let heard = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| function(event)));
    heard.unwrap_or_else(|payload| Err(format!("it panicked: {}", panic_message(&*payload))))
}

async fn call_future(
    function: &(dyn Fn(Event) -> crate::model::BoxFuture<'static, Result<(), String>> + Send + Sync),
    event: Event,
) -> Result<(), String> {
    let heard = catch_panic(async { function(event).await }).await;
    heard.unwrap_or_else(|payload| Err(format!("it panicked: {}", panic_message(&*payload))))
}
