//! Follows a session: its records as they are written, by whoever has it open.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

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

/// How often it is checked whether the session is still the same: one that is deleted and begun anew elsewhere sends no notice.
const CHECK_FIRST: Duration = Duration::from_secs(2);

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
    /// The first record, once it was read: it distinguishes the session from a later one of the same id.
    first: Option<Arc<Entry>>,
    ready: VecDeque<Entry>,
    /// Reads more, in the runtime that it was begun in.
    more: Option<(Option<Id>, Reading)>,
    has_failed: bool,
}

/// The first record, and records that are next.
type Reading = BoxFuture<'static, Result<(Arc<Entry>, Vec<Entry>), Error>>;

impl Follow {
    pub(super) fn new(shared: Arc<SharedStore>, id: &str, after: u64) -> Follow {
        let feed = shared.feeds.of(id);
        Follow { shared, feed, after, first: None, ready: VecDeque::new(), more: None, has_failed: false }
    }

    /// The next record, when it is there: also the first one of a session that does not exist yet. May be dropped before; nothing
    /// is lost then.
    ///
    /// # Errors
    /// `not_found` behind a record that the session does not have, or not any more: it was deleted, and may have been begun anew.
    /// Else as [`Session::open`](super::Session::open) for what cannot be read.
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
            std::task::ready!(self.poll_read(cx))?;
        }
    }

    /// Makes sure that the session is the one whose record it follows.
    pub(super) fn poll_begin(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        while self.after > 0 && self.first.is_none() {
            std::task::ready!(self.poll_read(cx))?;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let runtime = Handle::try_current().ok().map(|runtime| runtime.id());
        // The other runtime may have ended, and its timers with it. It only reads: nothing is lost.
        drop(self.more.take_if(|(begun_in, _)| *begun_in != runtime));
        let read_more = || -> Reading {
            let place = Place { shared: Arc::clone(&self.shared), feed: Arc::clone(&self.feed), after: self.after };
            match &self.first {
                None if self.after > 0 => Box::pin(place.begin()),
                first => Box::pin(place.more(first.clone())),
            }
        };
        let (_, more) = self.more.get_or_insert_with(|| (runtime, read_more()));
        let read = std::task::ready!(more.as_mut().poll(cx));
        self.more = None;
        let (first, entries) = read?;
        self.first = Some(first);
        self.ready.extend(entries);
        Poll::Ready(Ok(()))
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

/// Where a follower is.
struct Place {
    shared: Arc<SharedStore>,
    feed: Arc<Feed>,
    after: u64,
}

impl Place {
    /// The first record, if the one is there behind which the session is followed.
    async fn begin(self) -> Result<(Arc<Entry>, Vec<Entry>), Error> {
        let (backend, id) = (&*self.shared.backend, self.feed.id());
        // It has the version.
        let first = entries(backend, id, 0, 1).await?.pop();
        let is_there = !entries(backend, id, self.after.saturating_sub(1), 1).await?.is_empty();
        first.filter(|_| is_there).map(|first| (Arc::new(first), Vec::new())).ok_or_else(|| self.begun_anew())
    }

    /// The records behind it, when there are any.
    async fn more(self, mut first: Option<Arc<Entry>>) -> Result<(Arc<Entry>, Vec<Entry>), Error> {
        let (backend, id) = (&*self.shared.backend, self.feed.id());
        let mut is_woken = false;
        loop {
            let mut written = pin!(self.feed.written().notified());
            // Before the store is read: what is written behind it is not missed.
            written.as_mut().enable();
            let read = match entries(backend, id, self.after, PAGE).await {
                Err(error) if self.is_early(&error) => None,
                read => Some(read?),
            };
            let read = read.unwrap_or_default();
            match &first {
                // Behind what was read: that is of the same session then.
                Some(first) if is_woken || !read.is_empty() => self.check(first).await?,
                Some(_) => {}
                None => first = read.first().cloned().map(Arc::new),
            }
            if let Some(first) = first.clone().filter(|_| !read.is_empty()) {
                return Ok((first, read));
            }
            let mut changed = pin!(self.changed());
            loop {
                tokio::select! {
                    () = &mut written => break,
                    changed = &mut changed => break changed?,
                    () = tokio::time::sleep(CHECK_FIRST), if first.is_some() => {}
                }
                if let Some(first) = &first {
                    self.check(first).await?;
                }
            }
            is_woken = true;
        }
    }

    /// Waits until there may be more.
    async fn changed(&self) -> Result<(), Error> {
        match self.shared.backend.changed(self.feed.id().to_owned(), self.after).await {
            Err(error) if self.is_early(&error) => {
                tokio::time::sleep(CHECK_EVERY).await;
                Ok(())
            }
            changed => changed,
        }
    }

    /// Whether an error only says that the session is not there yet: a page may be there before the first prompt. Behind a
    /// record, there was a session, and it was deleted.
    fn is_early(&self, error: &Error) -> bool {
        self.after == 0 && error.kind() == ErrorKind::NotFound
    }

    /// Fails if the session has another first record by now.
    async fn check(&self, first: &Entry) -> Result<(), Error> {
        let now = entries(&*self.shared.backend, self.feed.id(), 0, 1).await?;
        if now.first() == Some(first) { Ok(()) } else { Err(self.begun_anew()) }
    }

    fn begun_anew(&self) -> Error {
        let (id, store, after) = (self.feed.id(), self.shared.backend.name(), self.after);
        let text = format!(
            "the session {id:?} in {store} does not have the record {after} behind which it is followed, or has another one by \
             now, as it was deleted and begun anew: follow it from 0"
        );
        Error::new(ErrorKind::NotFound, text)
    }
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow").field("session", &self.feed.id()).field("after", &self.after).finish_non_exhaustive()
    }
}
