//! Emits an event: the agent's state first, then the listeners in order, then the queue.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop_proto::machine::{Input, Timer};

use super::driver::Driver;
use super::queue::BATCH;
use crate::error::panic_message;
use crate::event::{Event, EventData};
use crate::future::{BoxFuture, catch_panic};
use crate::listener::{Listener, ListenerKind};

impl Driver {
    pub(super) async fn emit(&mut self, event: Event) {
        if matches!(event.data, EventData::TurnStart) {
            self.begin_turn();
        }
        if let EventData::Retry { error, .. } = &event.data {
            tracing::warn!(kind = error.kind().as_str(), %error, "a model call failed and is retried");
        }
        if !matches!(event.data, EventData::MessageUpdate(_)) {
            self.agent.record(&event);
        }
        let failed = match self.agent.listeners().kind() {
            ListenerKind::None => Vec::new(),
            ListenerKind::Quick => self.call_listeners(&event),
            ListenerKind::Blocking if has_more_threads() => tokio::task::block_in_place(|| self.call_listeners(&event)),
            // Boxed: it would make each run larger by kilobytes.
            ListenerKind::Blocking | ListenerKind::Future => Box::pin(self.await_listeners(&event)).await,
        };
        self.count_failures(&event, failed);
        if self.run.queue.is_some() {
            self.outbox.push(event);
            if self.outbox.len() >= BATCH {
                self.flush().await;
            }
        }
    }

    fn call_listeners(&self, event: &Event) -> Vec<String> {
        let mut failed = Vec::new();
        for listener in self.agent.listeners().snapshot().iter() {
            if listener.is_subscribed()
                && let Listener::Function { function, .. } = &listener.listener
            {
                failed.extend(self.scope.run(|| call_function(&**function, event)).err());
            }
        }
        failed
    }

    async fn await_listeners(&mut self, event: &Event) -> Vec<String> {
        let mut failed = Vec::new();
        for listener in self.agent.listeners().snapshot().iter() {
            if !listener.is_subscribed() {
                continue;
            }
            let _busy = self.clock.busy();
            let result = match &listener.listener {
                Listener::Function { function, blocking: false } => self.scope.run(|| call_function(&**function, event)),
                Listener::Function { function, blocking: true } if has_more_threads() => {
                    tokio::task::block_in_place(|| self.scope.run(|| call_function(&**function, event)))
                }
                Listener::Function { function, blocking: true } => {
                    let (function, event, scope) = (Arc::clone(function), event.clone(), self.scope.clone());
                    let call = tokio::task::spawn_blocking(move || scope.run(|| call_function(&*function, &event)));
                    // It is not called any more when the runtime is shut down.
                    self.await_listener(async { call.await.unwrap_or(Ok(())) }).await
                }
                Listener::Future(function) => {
                    self.await_listener(self.scope.clone().enter(call_future(&**function, event.clone()))).await
                }
            };
            failed.extend(result.err());
        }
        self.report_activity();
        failed
    }

    /// Awaits a listener, during which the run's time limit holds.
    async fn await_listener(&mut self, call: impl Future<Output = Result<(), String>>) -> Result<(), String> {
        let mut call = std::pin::pin!(call);
        std::future::poll_fn(|cx| {
            let answer = call.as_mut().poll(cx);
            if answer.is_pending() {
                self.poll_limits(cx);
            }
            answer
        })
        .await
    }

    /// While a reader or a listener blocks the run: its time limit still holds.
    fn poll_limits(&mut self, cx: &mut Context<'_>) {
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
        if self.outbox.is_empty() || self.run.queue.is_none() {
            return;
        }
        let mut busy = None;
        let run = Arc::clone(&self.run);
        std::future::poll_fn(|cx| {
            let Some(queue) = &run.queue else {
                return Poll::Ready(());
            };
            let mut capacity = queue.poll_push(&mut self.outbox, cx);
            if capacity.is_pending() {
                self.poll_limits(cx);
                if run.abort.is_cancelled() || Pin::new(&mut self.aborted).poll(cx).is_ready() {
                    queue.unbound();
                    capacity = queue.poll_push(&mut self.outbox, cx);
                }
            }
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

    /// A reader or a listener has blocked the run, and the model was not read meanwhile: it was not silent.
    fn report_activity(&self) {
        if let Some(model) = &self.model {
            self.run.machine().handle(Input::ModelActivity { call: model.call() });
        }
    }

    /// Failed listeners are counted, and reported to the loop.
    fn count_failures(&self, event: &Event, failed: Vec<String>) {
        if failed.is_empty() {
            return;
        }
        let kind = event.kind();
        for why in &failed {
            tracing::warn!(event = kind, error = %why, "a listener failed");
            self.agent.listeners().count_error();
        }
        self.run.machine().handle(Input::ListenersFailed { event: kind.to_owned(), errors: failed });
    }
}

/// Whether the runtime has other threads, which take over the tasks of one that blocks.
fn has_more_threads() -> bool {
    use tokio::runtime::{Handle, RuntimeFlavor};
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

fn call_function(function: &(dyn Fn(&Event) -> Result<(), String> + Send + Sync), event: &Event) -> Result<(), String> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| function(event)));
    result.unwrap_or_else(|payload| Err(format!("it panicked: {}", panic_message(&*payload))))
}

async fn call_future(
    function: &(dyn Fn(Event) -> BoxFuture<'static, Result<(), String>> + Send + Sync),
    event: Event,
) -> Result<(), String> {
    let result = catch_panic(async { function(event).await }).await;
    result.unwrap_or_else(|payload| Err(format!("it panicked: {}", panic_message(&*payload))))
}
