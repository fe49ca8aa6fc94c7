//! What goes on when no caller waits for it: giving leases back, and the rest of a call whose future was dropped.

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::error::{Error, ErrorKind};
use crate::future::{BoxFuture, catch_panic};
use crate::threads::inherit;

/// The sessions of a store that are being closed here.
#[derive(Debug)]
pub(super) struct Closings {
    /// How many closings of each are under way.
    counts: Mutex<HashMap<String, usize>>,
    ended: Notify,
    pid: u32,
}

/// A session is being closed while this lives.
#[derive(Debug)]
#[must_use = "it ends when this is dropped"]
pub(crate) struct Closing {
    closings: Arc<Closings>,
    id: String,
}

impl Default for Closings {
    fn default() -> Closings {
        Closings { counts: Mutex::default(), ended: Notify::new(), pid: std::process::id() }
    }
}

impl Closings {
    fn counts(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session is being closed from now on.
    pub(super) fn begin(self: &Arc<Closings>, id: &str) -> Closing {
        *self.counts().entry(id.to_owned()).or_default() += 1;
        Closing { closings: Arc::clone(self), id: id.to_owned() }
    }

    /// Whether the session is being closed; without an id, whether any is.
    pub(super) fn are_under_way(&self, id: Option<&str>) -> bool {
        let counts = self.counts();
        id.map_or(!counts.is_empty(), |id| counts.contains_key(id))
    }

    /// Waits until the session is not being closed; without an id, until none is.
    pub(super) async fn ended(&self, id: Option<&str>) {
        loop {
            let mut ended = pin!(self.ended.notified());
            // Before it is checked: what ends behind that is not missed.
            ended.as_mut().enable();
            if !self.are_under_way(id) {
                return;
            }
            ended.await;
        }
    }

    /// Does something here that is the end of a session, as far as it does not wait, then in a task. Who opens the session waits
    /// for it.
    pub(super) fn in_background(
        self: &Arc<Closings>,
        id: &str,
        runtime: &Handle,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        if self.pid != std::process::id() {
            // In a child of a fork, it is the parent's.
            return;
        }
        let closing = self.begin(id);
        in_background(runtime, async move {
            work.await;
            drop(closing);
        });
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        let mut counts = self.closings.counts();
        if let Some(count) = counts.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.id);
            }
        }
        drop(counts);
        // Not under the lock: whoever wakes an event loop of the host may have to wait for it.
        self.closings.ended.notify_waiters();
    }
}

/// Work on a session that is done to its end. What does not end at once goes on in a task: others may wait for it, and this
/// future may be dropped, or not be polled again.
pub(super) struct ToTheEnd<T: Send + 'static> {
    rest: Option<Rest<T>>,
    task: Option<JoinHandle<Result<T, Error>>>,
    of: Arc<Of>,
}

/// Whose work it is.
struct Of {
    closings: Arc<Closings>,
    id: String,
    runtime: Handle,
}

/// The part that is not done yet. If the runtime of its task ends, it goes on in that of the session.
struct Rest<T: Send + 'static> {
    work: Option<BoxFuture<'static, Result<T, Error>>>,
    of: Arc<Of>,
}

impl<T: Send + 'static> ToTheEnd<T> {
    /// The runtime is that of the session.
    pub(super) fn new(
        closings: &Arc<Closings>,
        id: &str,
        runtime: &Handle,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> ToTheEnd<T> {
        let of = Arc::new(Of { closings: Arc::clone(closings), id: id.to_owned(), runtime: runtime.clone() });
        let work: BoxFuture<'static, _> = Box::pin(work);
        ToTheEnd { rest: Some(Rest { work: Some(work), of: Arc::clone(&of) }), task: None, of }
    }
}

impl<T: Send + 'static> Future for ToTheEnd<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, Error>> {
        if let Some(mut rest) = self.rest.take() {
            let polled = Pin::new(&mut rest).poll(cx);
            if polled.is_ready() {
                return polled;
            }
            let runtime = Handle::try_current().unwrap_or_else(|_| self.of.runtime.clone());
            self.task = Some(runtime.spawn(inherit(rest)));
        }
        let Some(task) = &mut self.task else { return Poll::Pending };
        let ended = std::task::ready!(Pin::new(task).poll(cx));
        self.task = None;
        Poll::Ready(ended.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => {
                let text = format!("the runtime was shut down before the store was done with the session {:?}", self.of.id);
                Err(Error::new(ErrorKind::InvalidState, text))
            }
        }))
    }
}

impl<T: Send + 'static> Drop for ToTheEnd<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            self.of.in_background(async move { drop(task.await) });
        }
    }
}

impl<T: Send + 'static> Future for Rest<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, Error>> {
        // Out of its place while polled: if it panics, it is not polled again.
        let Some(mut work) = self.work.take() else { return Poll::Pending };
        let polled = work.as_mut().poll(cx);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Rest<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.of.in_background(async move { drop(work.await) });
        }
    }
}

impl Of {
    fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.closings.in_background(&self.id, &self.runtime, work);
    }
}

/// Does something here, as far as it does not wait, then in a task of this runtime; if that has ended, of the one that this code
/// runs in.
fn in_background(runtime: &Handle, work: impl Future<Output = ()> + Send + 'static) {
    let current = Handle::try_current().ok().filter(|_| !is_alive(runtime));
    let runtime = current.as_ref().unwrap_or(runtime);
    let _entered = runtime.enter();
    // The store may be the application's, and this may be in a destructor.
    let mut work = Box::pin(async { drop(catch_panic(work).await) });
    if work.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending {
        drop(runtime.spawn(work));
    }
}

/// Whether a runtime takes tasks. One that has ended cancels each at once.
fn is_alive(runtime: &Handle) -> bool {
    let probe = runtime.spawn(std::future::pending::<()>());
    let is_alive = !probe.is_finished();
    probe.abort();
    is_alive
}
