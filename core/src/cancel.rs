//! [`CancelToken`]: says that something is no longer wanted, to all who hold a clone of it.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFuture, WaitForCancellationFutureOwned};

/// Says that something is no longer wanted. Cheap to clone: clones are the same token. It is cancelled once and stays so.
///
/// Tools, hooks and custom providers are given one, and [`PendingRun::abort_on`](crate::PendingRun::abort_on) takes one.
/// It has no timer: give `abort_on` a timer as well (the first to end counts), or cancel the token from a task.
///
/// ```
/// use agent_loop::CancelToken;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let token = CancelToken::new();
/// let held = token.clone();
/// let waits = tokio::spawn(async move { held.cancelled().await });
/// token.cancel();
/// waits.await.unwrap();
/// assert!(token.is_cancelled());
/// # }
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(CancellationToken);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels it and wakes all who wait for that. From any thread, any number of times; returns immediately.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it is cancelled. The future does not borrow the token and needs no runtime.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled(Box::pin(self.0.clone().cancelled_owned()))
    }

    /// A token that is cancelled with this one, and can be cancelled alone.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        CancelToken(self.0.child_token())
    }

    pub(crate) fn wait(&self) -> WaitForCancellationFuture<'_> {
        self.0.cancelled()
    }

    /// Cancels the token when the guard is dropped.
    pub(crate) fn drop_guard(self) -> DropGuard {
        self.0.drop_guard()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("is_cancelled", &self.is_cancelled()).finish()
    }
}

impl IntoFuture for CancelToken {
    type Output = ();
    type IntoFuture = Cancelled;

    fn into_future(self) -> Cancelled {
        Cancelled(Box::pin(self.0.cancelled_owned()))
    }
}

impl IntoFuture for &CancelToken {
    type Output = ();
    type IntoFuture = Cancelled;

    fn into_future(self) -> Cancelled {
        self.cancelled()
    }
}

/// Waits until a [`CancelToken`] is cancelled.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Cancelled(Pin<Box<WaitForCancellationFutureOwned>>);

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled").finish_non_exhaustive()
    }
}
