//! Work of stores beside an event loop.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_loop_proto::session::Entry;
use tokio::sync::oneshot;

use crate::error::{Error, ErrorKind};
use crate::runtime::Runtime;
use crate::session::follow::Follow;
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

/// Closes sessions at the end of the host's program, as far as that is possible in this time: others could open them only when
/// their leases have ended.
pub fn close_all(runtime: &Runtime, sessions: Vec<OpenSession>, within: Duration) {
    runtime.block_on(async {
        let close = async {
            for session in sessions {
                // Nobody is there any more who could do something about it.
                let _ = session.close().await;
            }
        };
        let _ = tokio::time::timeout(within, close).await;
    });
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
