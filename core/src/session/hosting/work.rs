//! Work of stores beside an event loop.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::agent::Agent;
use crate::error::{Error, ErrorKind};
use crate::runtime::Runtime;
use crate::session::follow::Follow;
use crate::session::follow_live::{FollowLive, Followed};
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

/// Opens a session for an agent while this thread waits: for constructors, which are not async. Not of a store that needs this
/// thread. On an error it is not left open.
///
/// # Errors
/// As [`Session::open`], [`Agent::set_session`] and [`on_runtime`].
pub fn open_for(agent: &Agent, runtime: &Runtime, session: &Session) -> Result<OpenSession, Error> {
    let (agent, session) = (agent.clone(), session.clone());
    runtime.block_on(on_runtime(runtime, async move {
        let open = session.open().await?;
        if let Err(error) = agent.set_session(open.clone()) {
            // Whoever tries again finds it free. There is nothing to write that could fail.
            let _ = open.close().await;
            return Err(error);
        }
        Ok(open)
    }))
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

/// How many are read before they are taken.
const READ_AHEAD: usize = 1_024;

/// Reads what a [`Follow`] or a [`FollowLive`] gives on the runtime's threads. Cheap to clone: clones share their place in the
/// session.
#[derive(Debug, Clone)]
pub struct Follower {
    source: Arc<tokio::sync::Mutex<Source>>,
    /// What was read, until it is taken: a future that is dropped has taken nothing.
    ready: Arc<Mutex<VecDeque<Followed>>>,
}

#[derive(Debug)]
enum Source {
    Records(Follow),
    Live(Box<FollowLive>),
}

impl Follower {
    /// Of a session, behind the record of this number: its records, or its run's events as well.
    pub fn new(session: &Session, after: u64, live: bool) -> Follower {
        let source = match live {
            false => Source::Records(session.follow(after)),
            true => Source::Live(Box::new(session.follow_live(after))),
        };
        Follower { source: Arc::new(tokio::sync::Mutex::new(source)), ready: Arc::default() }
    }

    /// What is next, when it is there. The future may be dropped before; nothing is lost then.
    ///
    /// # Errors
    /// As [`Follow::next`], and as [`on_runtime`].
    pub fn next(&self, runtime: &Runtime) -> impl Future<Output = Result<Followed, Error>> + Send + 'static + use<> {
        let (this, runtime) = (self.clone(), runtime.clone());
        async move {
            loop {
                if let Some(next) = this.ready().pop_front() {
                    return Ok(next);
                }
                on_runtime(&runtime, this.clone().read()).await?;
            }
        }
    }

    fn ready(&self) -> MutexGuard<'_, VecDeque<Followed>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(self) -> Result<(), Error> {
        let mut source = self.source.lock().await;
        if self.ready().is_empty() {
            let mut read = vec![std::future::poll_fn(|cx| source.poll(cx)).await?];
            // An error comes again.
            while read.len() < READ_AHEAD
                && let Poll::Ready(Ok(next)) = source.poll(&mut Context::from_waker(Waker::noop()))
            {
                read.push(next);
            }
            self.ready().extend(read);
        }
        Ok(())
    }
}

impl Source {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Followed, Error>> {
        match self {
            Source::Records(follow) => follow.poll(cx).map_ok(Followed::Record),
            Source::Live(follow) => follow.poll(cx),
        }
    }
}
