//! Whether code runs inside a callback of an agent, where waiting for that agent would wait for ever.

use std::cell::RefCell;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The callbacks of one agent, or of one store of the host. Code run through it knows that it is inside.
#[derive(Debug, Clone)]
pub struct Scope(u64);

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Scope {
    /// Callbacks beside all others.
    #[allow(clippy::new_without_default)] // Two are never equal.
    pub fn new() -> Scope {
        Scope(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The callback that this thread is in, if it is in one (the innermost): for hosts that go on with its work on another
    /// thread.
    pub fn current() -> Option<Scope> {
        INSIDE.with_borrow(|agents| agents.last().copied()).map(Scope)
    }

    /// Whether this thread is inside one of these callbacks.
    pub fn is_inside(&self) -> bool {
        INSIDE.with_borrow(|agents| agents.contains(&self.0))
    }

    /// In a forked child: this thread is not inside any more, as nothing waits for it here.
    pub(crate) fn forget(&self) {
        INSIDE.with_borrow_mut(|agents| agents.retain(|agent| *agent != self.0));
    }

    /// Runs a function inside.
    pub fn run<T>(&self, function: impl FnOnce() -> T) -> T {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                INSIDE.with_borrow_mut(|agents| {
                    agents.pop();
                });
            }
        }
        INSIDE.with_borrow_mut(|agents| agents.push(self.0));
        let _leave = Leave;
        function()
    }

    /// The future, each step of which runs inside.
    pub async fn enter<T>(self, future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|cx| self.run(|| future.as_mut().poll(cx))).await
    }
}
