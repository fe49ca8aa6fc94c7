//! Blocks a thread until a future is ready. Works on any thread, and after the runtime's end: the futures that are awaited here
//! need none of its timers.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Set by a waker. Not `park`: the handle of a main thread of C would never be freed.
#[derive(Default)]
struct Notification {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Notification {
    fn wake(self: Arc<Self>) {
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}

impl Notification {
    /// Blocks until it is set, and resets it. False if the time passed first.
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        while !*set {
            set = match deadline {
                None => self.changed.wait(set).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.changed.wait_timeout(set, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *set = false;
        true
    }
}

/// The output of the future; `None` if the time passed first.
pub(crate) fn block_on<T>(future: impl Future<Output = T>, limit: Option<Duration>) -> Option<T> {
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let notification = Arc::new(Notification::default());
    let waker = Waker::from(Arc::clone(&notification));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(value);
        }
        if !notification.wait(deadline) {
            return None;
        }
    }
}
