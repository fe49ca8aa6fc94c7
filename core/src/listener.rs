//! Who listens to an agent's events.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(feature = "__bindings")]
use crate::error::Error;
use crate::event::Event;
use crate::future::BoxFuture;

/// A function that is called with each event while the run waits. An error, like a panic, is counted and never breaks the run.
/// One that takes longer than `listener_timeout_ms` is left and gets no event until it returns, unless it is a function that
/// blocks the run's thread.
///
/// ```
/// use std::sync::Arc;
///
/// use agent_loop::Agent;
/// use agent_loop::event::Listener;
///
/// let agent = Agent::new("anthropic/claude-sonnet-4-5")?;
/// // Awaited: the run goes on when the event is stored.
/// let listener = Listener::Future(Arc::new(|event| {
///     Box::pin(async move {
///         println!("{}", event.to_json());
///         Ok(())
///     })
/// }));
/// agent.add_listener(listener).detach();
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Clone)]
#[allow(clippy::type_complexity)] // two function types, each used once
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Listener {
    /// Called on the run's thread, if it does not block or other threads can take over what else is done there.
    Function {
        /// The function.
        function: Arc<dyn Fn(&Event) -> Result<(), String> + Send + Sync>,
        /// Whether it may block its thread for long.
        blocking: bool,
    },
    /// Called on the run's thread and awaited.
    Future(Arc<dyn Fn(Event) -> BoxFuture<'static, Result<(), String>> + Send + Sync>),
    /// The same of a host, whose errors have a source.
    #[cfg(feature = "__bindings")]
    #[doc(hidden)]
    Host(Arc<dyn Fn(Event) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>),
}

/// A listener's place; dropping it unsubscribes. A removed listener is not called again.
///
/// ```
/// use agent_loop::Agent;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
/// let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;
/// let agent = Agent::new(model)?;
/// let subscription = agent.subscribe(|event| println!("{}", event.kind()));
/// agent.prompt("Say hello.").await?;
/// drop(subscription);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "dropping a subscription unsubscribes"]
pub struct Subscription {
    listeners: Arc<Listeners>,
    id: u64,
    detached: bool,
}

impl Subscription {
    /// The number of the listener, which diagnostics name it by: 1 for the first one of its agent.
    pub fn number(&self) -> u64 {
        self.id
    }

    /// Lets the listener stay as long as its agent, or until [`Agent::unsubscribe`](crate::Agent::unsubscribe) with the number
    /// that this gives. For hosts that count references themselves.
    pub fn detach(mut self) -> u64 {
        self.detached = true;
        self.id
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if !self.detached {
            self.listeners.remove(self.id);
        }
    }
}

/// What an event takes to reach all listeners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ListenerKind {
    None,
    /// Functions that return at once.
    Quick,
    /// Some that the run waits for.
    Waiting,
}

pub(crate) struct Subscribed {
    pub(crate) id: u64,
    gone: AtomicBool,
    pub(crate) listener: Listener,
    /// Whether it has not returned in time: it gets no event until it does.
    is_left: AtomicBool,
    missed: AtomicU64,
}

impl Subscribed {
    pub(crate) fn is_subscribed(&self) -> bool {
        !self.gone.load(Ordering::Acquire)
    }

    pub(crate) fn leave(&self) {
        self.is_left.store(true, Ordering::Release);
    }

    /// It has returned after it was left.
    pub(crate) fn come_back(&self) {
        self.is_left.store(false, Ordering::Release);
    }

    /// Whether it was left and gets no event; the event is counted.
    pub(crate) fn misses_event(&self) -> bool {
        let is_left = self.is_left.load(Ordering::Acquire);
        if is_left {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        is_left
    }

    /// How many events it has missed, if any; counted anew from now on.
    pub(crate) fn take_missed(&self) -> Option<u64> {
        // Mostly none: no write then.
        (self.missed.load(Ordering::Relaxed) > 0).then(|| self.missed.swap(0, Ordering::Relaxed))
    }
}

/// The listeners of an agent, in the order they subscribed.
#[derive(Default)]
pub(crate) struct Listeners {
    list: Mutex<Arc<Vec<Arc<Subscribed>>>>,
    kind: AtomicU8,
    next_id: AtomicU64,
    errors: AtomicU64,
}

impl Listeners {
    pub(crate) fn add(self: &Arc<Self>, listener: Listener) -> Subscription {
        let mut list = self.lock();
        // Under the lock, so that the numbers are in the order of the calls. From 1: the first one is listener 1 in diagnostics.
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::make_mut(&mut list).push(Arc::new(Subscribed {
            id,
            gone: AtomicBool::new(false),
            listener,
            is_left: AtomicBool::new(false),
            missed: AtomicU64::new(0),
        }));
        self.note_kind(&list);
        Subscription { listeners: Arc::clone(self), id, detached: false }
    }

    /// Says whether there was one.
    pub(crate) fn remove(&self, id: u64) -> bool {
        let mut list = self.lock();
        let Some(at) = list.iter().position(|one| one.id == id) else {
            return false;
        };
        let removed = Arc::make_mut(&mut list).remove(at);
        removed.gone.store(true, Ordering::Release);
        self.note_kind(&list);
        // Not under the lock: what the listener owns may call back when it is dropped.
        drop(list);
        drop(removed);
        true
    }

    /// Kept beside the list, so that a delta without listeners costs no lock.
    fn note_kind(&self, list: &[Arc<Subscribed>]) {
        let kind = |one: &Arc<Subscribed>| match &one.listener {
            Listener::Function { blocking: false, .. } => ListenerKind::Quick,
            Listener::Function { blocking: true, .. } | Listener::Future(_) => ListenerKind::Waiting,
            #[cfg(feature = "__bindings")]
            Listener::Host(_) => ListenerKind::Waiting,
        };
        let most = list.iter().map(kind).max().unwrap_or(ListenerKind::None);
        self.kind.store(most as u8, Ordering::Release);
    }

    pub(crate) fn kind(&self) -> ListenerKind {
        match self.kind.load(Ordering::Acquire) {
            0 => ListenerKind::None,
            1 => ListenerKind::Quick,
            _ => ListenerKind::Waiting,
        }
    }

    /// The listeners as they stand now.
    pub(crate) fn snapshot(&self) -> Arc<Vec<Arc<Subscribed>>> {
        Arc::clone(&self.lock())
    }

    pub(crate) fn count_error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Vec<Arc<Subscribed>>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listeners").field("count", &self.lock().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_listeners_are_in_the_order_of_their_calls() {
        let listeners: Arc<Listeners> = Arc::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let function = Arc::new(|_: &Event| Ok(()));
                        listeners.add(Listener::Function { function, blocking: false }).detach();
                    }
                });
            }
        });
        let numbers: Vec<u64> = listeners.snapshot().iter().map(|one| one.id).collect();
        assert_eq!(numbers, (1..=2000).collect::<Vec<u64>>());
    }
}
