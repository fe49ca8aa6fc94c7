//! Follows a session for a host, whose event loop awaits what comes.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::work::on_runtime;
use crate::error::Error;
use crate::runtime::Runtime;
use crate::session::follow::Follow;
use crate::session::follow_live::{FollowLive, Followed};
use crate::session::handle::Session;

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
