//! Work of stores beside an event loop.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use agent_loop_proto::session::Entry;
use tokio::sync::oneshot;

use crate::error::{Error, ErrorKind};
use crate::runtime::Runtime;
use crate::session::follow::Follow;
use crate::session::handle::Session;
use crate::session::open::OpenSession;

/// Does work of a store on the runtime's threads: the event loop that awaits the future does nothing of it, and a long session is
/// read beside it. The work is dropped with the future.
///
/// # Errors
/// Those of the work; `invalid_state` if the runtime was shut down.
pub fn on_runtime<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> + Send + 'static {
    let (mut sender, receiver) = oneshot::channel();
    runtime.spawn(async move {
        let mut work = pin!(work);
        let done = tokio::select! {
            done = &mut work => done,
            () = sender.closed() => return,
        };
        let _ = sender.send(done);
    });
    async move {
        receiver
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::InvalidState, "the runtime was shut down before this was done")))
    }
}

/// Opens a session while this thread waits for it: for constructors, which are not async. Not of a store that needs this thread.
///
/// # Errors
/// As [`Session::open`], and as [`on_runtime`].
pub fn open_here(runtime: &Runtime, session: &Session) -> Result<OpenSession, Error> {
    let session = session.clone();
    runtime.block_on(on_runtime(runtime, async move { session.open().await }))
}

/// The sessions that a host's program has open: at its end they are closed, as others could open them only when their leases have
/// ended.
#[derive(Debug)]
pub struct OpenSessions(Mutex<Vec<Weak<OpenSession>>>);

impl OpenSessions {
    /// None yet.
    pub const fn new() -> OpenSessions {
        OpenSessions(Mutex::new(Vec::new()))
    }

    /// Adds one, as long as it is referenced.
    pub fn add(&self, session: OpenSession) -> Arc<OpenSession> {
        let session = Arc::new(session);
        let mut open = self.lock();
        if open.len() == open.capacity() {
            // Before it grows: most of them are closed.
            open.retain(|session| session.strong_count() > 0);
        }
        open.push(Arc::downgrade(&session));
        session
    }

    /// Closes all, as far as that is possible in this time.
    pub fn close(&self, runtime: &Runtime, within: Duration) {
        let open = std::mem::take(&mut *self.lock());
        let open: Vec<Arc<OpenSession>> = open.iter().filter_map(Weak::upgrade).collect();
        if open.is_empty() {
            return;
        }
        runtime.block_on(async {
            let close = async {
                for session in open {
                    // There is no caller left for the error.
                    let _ = session.close().await;
                }
            };
            let _ = tokio::time::timeout(within, close).await;
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<OpenSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for OpenSessions {
    fn default() -> OpenSessions {
        OpenSessions::new()
    }
}

/// Reads what a [`Follow`] gives on the runtime's threads. Cheap to clone: clones share their place in the session.
#[derive(Debug, Clone)]
pub struct Follower {
    follow: Arc<tokio::sync::Mutex<Follow>>,
    /// Records that were read, until they are taken: a future that is dropped has taken none.
    ready: Arc<Mutex<VecDeque<Entry>>>,
}

impl Follower {
    /// From the place of this one on.
    pub fn new(follow: Follow) -> Follower {
        Follower { follow: Arc::new(tokio::sync::Mutex::new(follow)), ready: Arc::default() }
    }

    /// The next record, when it is there. The future may be dropped before; nothing is lost then.
    ///
    /// # Errors
    /// As [`Follow::next`], and as [`on_runtime`].
    pub fn next(&self, runtime: &Runtime) -> impl Future<Output = Result<Entry, Error>> + Send + 'static + use<> {
        let (this, runtime) = (self.clone(), runtime.clone());
        async move {
            loop {
                if let Some(entry) = this.take() {
                    return Ok(entry);
                }
                on_runtime(&runtime, this.clone().read()).await?;
            }
        }
    }

    fn take(&self) -> Option<Entry> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    async fn read(self) -> Result<(), Error> {
        let mut follow = self.follow.lock().await;
        let is_empty = self.ready.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if is_empty {
            let some = follow.next_some().await?;
            self.ready.lock().unwrap_or_else(PoisonError::into_inner).extend(some);
        }
        Ok(())
    }
}
