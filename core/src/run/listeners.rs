//! Hands an event to the listeners, in order. The run waits for each, until its limit: then it leaves the listener behind.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop_proto::machine::{Input, ListenerLimit, ListenerReport};
use agent_loop_proto::table::logs;

use super::driver::{Driver, ListenerTimer};
use crate::error::{Error, ErrorKind, panic_message};
use crate::event::{Event, EventData};
use crate::future::BoxFuture;
use crate::listener::{Listener, ListenerKind, Subscribed};
use crate::log::LogRecord;
use crate::threads::blocking;

type Failure = Result<(), Error>;

/// A listener that was called and may take its time.
enum Called {
    Plain(BoxFuture<'static, Result<(), String>>),
    /// A host's, or one on a thread.
    WithSource(BoxFuture<'static, Failure>),
}

impl Future for Called {
    type Output = Failure;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Failure> {
        let polled = catch_unwind(AssertUnwindSafe(|| match self.get_mut() {
            Called::Plain(future) => future.as_mut().poll(cx).map_err(Error::callback),
            Called::WithSource(future) => future.as_mut().poll(cx),
        }));
        polled.unwrap_or_else(|payload| Poll::Ready(Err(panicked(&*payload))))
    }
}

impl Driver {
    /// Every listener gets the event, but for those that were left behind.
    pub(super) async fn call_listeners(&mut self, event: &Event) {
        let reports = match self.agent.listeners().kind() {
            ListenerKind::None => return,
            ListenerKind::Quick => self.call_functions(event),
            // Boxed: it would make each run larger by kilobytes.
            ListenerKind::Waiting => Box::pin(self.await_listeners(event)).await,
        };
        if !reports.is_empty() {
            self.report_listeners(event, reports);
        }
    }

    fn call_functions(&self, event: &Event) -> Vec<ListenerReport> {
        let mut reports = Vec::new();
        for listener in self.agent.listeners().snapshot().iter() {
            if listener.is_subscribed()
                && let Listener::Function { function, .. } = &listener.listener
            {
                let called = self.scope.run(|| call_function(&**function, event));
                reports.extend(called.err().map(|why| self.failed(listener.id, event, why)));
            }
        }
        reports
    }

    /// A listener has failed at this event.
    fn failed(&self, listener: u64, event: &Event, why: Error) -> ListenerReport {
        self.run.log.write(logs::LISTENER_ERROR, |code| {
            let record = LogRecord::new(code, "a listener failed").with("listener", listener).with("event", event.kind());
            record.because(why.clone())
        });
        ListenerReport::Failed(why.message().to_owned())
    }

    async fn await_listeners(&mut self, event: &Event) -> Vec<ListenerReport> {
        let mut reports = Vec::new();
        self.emitting = self.run.queue.as_ref().map(|_| event.clone());
        for listener in self.agent.listeners().snapshot().iter() {
            if !listener.is_subscribed() || listener.misses_event() {
                continue;
            }
            // After the last event nothing is reported: then the next run does it.
            if !matches!(event.data, EventData::AgentEnd { .. })
                && let Some(missed) = listener.take_missed()
            {
                reports.push(ListenerReport::Back { listener: listener.id, missed });
            }
            let _busy = self.clock.busy();
            let called = match &listener.listener {
                Listener::Function { function, blocking: false } => {
                    let called = self.scope.run(|| call_function(&**function, event));
                    reports.extend(called.err().map(|why| self.failed(listener.id, event, why)));
                    continue;
                }
                Listener::Function { function, blocking: true } => {
                    let (function, event, scope) = (Arc::clone(function), event.clone(), self.scope.clone());
                    let called = on_thread(move || scope.run(|| call_function(&*function, &event)));
                    Called::WithSource(Box::pin(called))
                }
                Listener::Future(function) => self.call_future(|| Called::Plain(function(event.clone()))),
                #[cfg(feature = "__bindings")]
                Listener::Host(function) => self.call_future(|| Called::WithSource(function(event.clone()))),
            };
            reports.extend(self.await_listener(listener, event, called).await.err());
        }
        if self.clock.is_simulated() {
            // Virtual time is not to stop at it.
            self.listener_timer = None;
        }
        self.emitting = None;
        self.report_activity();
        reports
    }

    fn call_future(&self, call: impl FnOnce() -> Called) -> Called {
        let called = catch_unwind(AssertUnwindSafe(|| self.scope.run(call)));
        called.unwrap_or_else(|payload| Called::WithSource(Box::pin(std::future::ready(Err(panicked(&*payload))))))
    }

    /// Awaits a listener until its limit; the run's time limit holds meanwhile.
    async fn await_listener(
        &mut self,
        listener: &Arc<Subscribed>,
        event: &Event,
        mut called: Called,
    ) -> Result<(), ListenerReport> {
        let (scope, mut called_ms) = (self.scope.clone(), None);
        let ended = std::future::poll_fn(|cx| {
            if let Poll::Ready(result) = scope.run(|| Pin::new(&mut called).poll(cx)) {
                return Poll::Ready(Ok(result));
            }
            self.poll_limits(cx);
            self.poll_listener_limit(&mut called_ms, cx).map(Err)
        })
        .await;
        match ended {
            Ok(result) => result.map_err(|why| self.failed(listener.id, event, why)),
            Err(limit) => {
                listener.leave();
                let (left, log) = (Arc::clone(listener), self.run.log.clone());
                // It holds up neither the run nor the end of the runtime.
                tokio::spawn(scope.enter(async move {
                    if let Err(why) = called.await {
                        log.write(logs::LISTENER_ERROR, |code| {
                            let record = LogRecord::new(code, "a listener failed that had been left").with("listener", left.id);
                            record.because(why)
                        });
                    }
                    left.come_back();
                }));
                Err(ListenerReport::Left { listener: listener.id, limit })
            }
        }
    }

    /// Ready when the limit of a listener that was first found waiting then has passed.
    fn poll_listener_limit(&mut self, called_ms: &mut Option<u64>, cx: &mut Context<'_>) -> Poll<ListenerLimit> {
        // The limit of an aborted run is another one.
        let _ = self.poll_abort(cx);
        loop {
            let now_ms = self.clock.now_ms();
            let called_ms = *called_ms.get_or_insert(now_ms);
            let Some(limit) = self.run.machine().listener_limit(called_ms, now_ms) else {
                return Poll::Pending;
            };
            if now_ms >= limit.at_ms {
                return Poll::Ready(limit);
            }
            // One timer for many events: mostly it is set anew only when it has ended.
            let timer = match &mut self.listener_timer {
                Some(timer) if timer.at_ms <= limit.at_ms => timer,
                slot => {
                    let sleep = Box::pin(self.clock.limit(limit.at_ms - now_ms));
                    slot.insert(ListenerTimer { at_ms: limit.at_ms, sleep })
                }
            };
            if timer.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.listener_timer = None;
        }
    }

    /// What failed is counted; all is reported to the loop.
    fn report_listeners(&self, event: &Event, reports: Vec<ListenerReport>) {
        let kind = event.kind();
        for report in &reports {
            match report {
                // Logged where it is known what it threw.
                ListenerReport::Failed(_) => {}
                ListenerReport::Left { listener, .. } => self.run.log.write(logs::LISTENER_LEFT, |code| {
                    let record = LogRecord::new(code, "a listener has not returned; the run goes on without it");
                    record.with("listener", *listener).with("event", kind)
                }),
                ListenerReport::Back { listener, missed } => {
                    self.run.log.write(logs::LISTENER_BACK, |code| {
                        LogRecord::new(code, "a listener has returned").with("listener", *listener).with("missed", *missed)
                    });
                    continue;
                }
                #[cfg(not(feature = "__bindings"))]
                _ => continue,
            }
            self.agent.listeners().count_error();
        }
        self.run.machine().handle(Input::ListenerReports { event: kind.to_owned(), reports });
    }
}

fn call_function(function: &(dyn Fn(&Event) -> Result<(), String> + Send + Sync), event: &Event) -> Failure {
    let called = catch_unwind(AssertUnwindSafe(|| function(event).map_err(Error::callback)));
    called.unwrap_or_else(|payload| Err(panicked(&*payload)))
}

/// Calls a listener that may block, on a thread of its own.
async fn on_thread(call: impl FnOnce() -> Failure + Send + 'static) -> Failure {
    match blocking(move || Ok(call())).await {
        Ok(answer) => answer,
        // It is not called any more when the runtime is shut down.
        Err(error) if error.kind() == ErrorKind::InvalidState => Ok(()),
        Err(error) => Err(Error::callback(format!("it could not be called: {}", error.message()))),
    }
}

fn panicked(payload: &(dyn std::any::Any + Send)) -> Error {
    Error::callback(format!("it panicked: {}", panic_message(payload)))
}
