//! Futures behind a pointer, and futures of the host that may panic.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::Context;

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
        Err(payload) => std::task::Poll::Ready(Err(payload)),
    })
    .await
}
