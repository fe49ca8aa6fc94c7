//! Follows a session: its records as they are written, by whoever has it open.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop_proto::session::Entry;
use futures_core::Stream;
use tokio::runtime::{Handle, Id};

use super::backend::CHECK_EVERY;
use super::feed::Feed;
use super::live::Live;
use super::reading::{PAGE, entries};
use super::shared::SharedStore;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;

/// The records of a session from a number on, those that are there and those to come. It ends only with an error.
///
/// A follower that stops may go on with [`Session::follow`](super::Session::follow) after the number of the last record that it
/// got: it loses and repeats nothing.
///
/// ```
/// # let runtime = agent_loop::Runtime::new()?;
/// # runtime.block_on(async {
/// use agent_loop::session::{JournalRecord, Store};
///
/// let store = Store::open("memory:")?;
/// let session = store.session("user-7")?.open().await?;
/// let mut records = store.session("user-7")?.follow(0);
/// let first = records.next().await?;
/// assert!(first.seq == 1 && matches!(first.record, JournalRecord::Session(_)));
/// # session.close().await
/// # })?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[must_use = "nothing is read until it is polled"]
pub struct Follow {
    shared: Arc<SharedStore>,
    feed: Arc<Feed>,
    after: u64,
    ready: VecDeque<Entry>,
    /// Reads more, in the runtime that it was begun in.
    more: Option<(Option<Id>, Reading)>,
    has_failed: bool,
}

type Reading = BoxFuture<'static, Result<Vec<Entry>, Error>>;

impl Follow {
    pub(super) fn new(shared: Arc<SharedStore>, id: &str, after: u64) -> Follow {
        let feed = shared.feeds.of(id);
        Follow { shared, feed, after, ready: VecDeque::new(), more: None, has_failed: false }
    }

    /// The next record, when it is there: also the first one of a session that does not exist yet. May be dropped before; nothing
    /// is lost then.
    ///
    /// # Errors
    /// `not_found` behind a record if there is no such session any more; else as [`Session::open`](super::Session::open) for what
    /// cannot be read.
    pub async fn next(&mut self) -> Result<Entry, Error> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// The events of the session's run in this process.
    pub(super) fn live(&self) -> Arc<Live> {
        Arc::clone(self.feed.live())
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Entry, Error>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                self.after = entry.seq;
                return Poll::Ready(Ok(entry));
            }
            let runtime = Handle::try_current().ok().map(|runtime| runtime.id());
            // The other runtime may have ended, and its timers with it. It only reads: nothing is lost.
            drop(self.more.take_if(|(begun_in, _)| *begun_in != runtime));
            let read_more = || more(Arc::clone(&self.shared), Arc::clone(&self.feed), self.after);
            let (_, more) = self.more.get_or_insert_with(|| (runtime, Box::pin(read_more())));
            let read = std::task::ready!(more.as_mut().poll(cx));
            self.more = None;
            self.ready.extend(read?);
        }
    }
}

impl Stream for Follow {
    type Item = Result<Entry, Error>;

    /// As [`Follow::next`]; there is nothing behind an error.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.has_failed {
            return Poll::Ready(None);
        }
        let next = std::task::ready!(self.poll(cx));
        self.has_failed = next.is_err();
        Poll::Ready(Some(next))
    }
}

/// Records behind a number, when there are any.
async fn more(shared: Arc<SharedStore>, feed: Arc<Feed>, after: u64) -> Result<Vec<Entry>, Error> {
    let (backend, id) = (&*shared.backend, feed.id());
    if after > 0 {
        // The first record has the version.
        entries(backend, id, 0, 1).await?;
    }
    loop {
        let mut written = pin!(feed.written().notified());
        // Before the store is read: what is written behind it is not missed.
        written.as_mut().enable();
        match entries(backend, id, after, PAGE).await {
            Ok(read) if read.is_empty() => {
                tokio::select! {
                    () = written => {}
                    changed = backend.changed(id.to_owned(), after) => changed?,
                }
            }
            // A page may be there before the first prompt. Behind a record, there was a session, and it was deleted.
            Err(error) if after == 0 && error.kind() == ErrorKind::NotFound => {
                tokio::select! {
                    () = written => {}
                    () = tokio::time::sleep(CHECK_EVERY) => {}
                }
            }
            read => return read,
        }
    }
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow").field("session", &self.feed.id()).field("after", &self.after).finish_non_exhaustive()
    }
}
