//! Futures behind a pointer, and futures of the host that may panic.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A future that the caller owns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whether a future of the host has ended. One that panics has.
pub(crate) fn has_ended(future: &mut BoxFuture<'static, ()>, cx: &mut Context<'_>) -> bool {
    let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
    polled.map_or(true, |polled| polled.is_ready())
}

/// Awaits a future; a panic in it becomes its payload.
pub(crate) async fn catch_panic<T>(future: impl Future<Output = T>) -> Result<T, Box<dyn std::any::Any + Send>> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(move |cx| match std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => Poll::Ready(Err(payload)),
    })
    .await
}

/// A future that is polled only when it was woken itself. A task looks at its timers and at its abort each time that anything
/// wakes it, thousands of times for one time that they have news.
#[derive(Debug)]
pub(crate) struct OnWake<F> {
    future: F,
    signal: Option<Arc<Signal>>,
}

/// Notes that the future was woken, and wakes the task that waits for it.
#[derive(Debug)]
struct Signal {
    is_woken: AtomicBool,
    task: Waker,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl<F: Future + Unpin> OnWake<F> {
    pub(crate) fn new(future: F) -> OnWake<F> {
        OnWake { future, signal: None }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<F::Output> {
        let signal = match &self.signal {
            Some(signal) if signal.task.will_wake(cx.waker()) => {
                if !signal.is_woken.load(Ordering::Acquire) {
                    return Poll::Pending;
                }
                // Before the future looks: what wakes it meanwhile is not lost.
                signal.is_woken.store(false, Ordering::Release);
                signal
            }
            // The first time, or on behalf of another task.
            _ => self.signal.insert(Arc::new(Signal { is_woken: AtomicBool::new(false), task: cx.waker().clone() })),
        };
        let waker = Waker::from(Arc::clone(signal));
        Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how often it is polled; ends when it is told to.
    #[derive(Default)]
    struct Counted {
        polls: usize,
        waker: Option<Waker>,
        is_over: bool,
    }

    impl Future for &mut Counted {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            self.polls += 1;
            self.waker = Some(cx.waker().clone());
            if self.is_over { Poll::Ready(()) } else { Poll::Pending }
        }
    }

    /// A task that counts how often it is woken.
    #[derive(Default)]
    struct Task(std::sync::atomic::AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_future_is_polled_when_it_was_woken_and_for_another_task() {
        let tasks = [Arc::new(Task::default()), Arc::new(Task::default())];
        let [one, other] = tasks.each_ref().map(|task| Waker::from(Arc::clone(task)));
        let mut counted = Counted::default();
        let mut future = OnWake::new(&mut counted);
        for _ in 0..3 {
            assert!(future.poll(&mut Context::from_waker(&one)).is_pending());
        }
        assert_eq!(future.future.polls, 1, "nothing woke it");
        let woken = |future: &OnWake<&mut Counted>| future.future.waker.clone().unwrap().wake();
        woken(&future);
        assert!(future.poll(&mut Context::from_waker(&one)).is_pending());
        assert!(future.poll(&mut Context::from_waker(&one)).is_pending());
        assert_eq!(future.future.polls, 2, "it was woken once");
        assert!(future.poll(&mut Context::from_waker(&other)).is_pending());
        assert_eq!(future.future.polls, 3, "another task waits for it");
        future.future.is_over = true;
        woken(&future);
        assert!(future.poll(&mut Context::from_waker(&other)).is_ready());
        assert_eq!(tasks.map(|task| task.0.load(Ordering::Relaxed)), [1, 1]);
    }
}
