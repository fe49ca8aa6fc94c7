//! Who listens to an agent's events.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::Event;
use crate::future::BoxFuture;

/// A function that is called with each event while the run waits. An error, like a panic, is counted and never breaks the run.
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

/// What has to be done to tell all listeners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ListenerKind {
    None,
    Quick,
    Blocking,
    Future,
}

pub(crate) struct Subscribed {
    id: u64,
    gone: AtomicBool,
    pub(crate) listener: Listener,
}

impl Subscribed {
    pub(crate) fn is_subscribed(&self) -> bool {
        !self.gone.load(Ordering::Acquire)
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
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut list = self.lock();
        Arc::make_mut(&mut list).push(Arc::new(Subscribed { id, gone: AtomicBool::new(false), listener }));
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
            Listener::Function { blocking: true, .. } => ListenerKind::Blocking,
            Listener::Future(_) => ListenerKind::Future,
        };
        let most = list.iter().map(kind).max().unwrap_or(ListenerKind::None);
        self.kind.store(most as u8, Ordering::Release);
    }

    pub(crate) fn kind(&self) -> ListenerKind {
        match self.kind.load(Ordering::Acquire) {
            0 => ListenerKind::None,
            1 => ListenerKind::Quick,
            2 => ListenerKind::Blocking,
            _ => ListenerKind::Future,
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
