//! Blocks a thread until a future is ready. Works on any thread, and after the runtime's end: what is waited for here needs
//! none of its timers.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// A bell that a waker rings. Not the thread's own (`park`): its handle would never be freed on a main thread of C.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}

impl Bell {
    /// Waits until it has been rung. False when the time was over first.
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        while !*rung {
            rung = match deadline {
                None => self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.changed.wait_timeout(rung, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *rung = false;
        true
    }
}

/// What the future gives; `None` when the time was over first.
pub(crate) fn wait_for<T>(future: impl Future<Output = T>, limit: Option<Duration>) -> Option<T> {
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(value);
        }
        if !bell.wait(deadline) {
            return None;
        }
    }
}
