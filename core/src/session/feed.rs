//! What a store has for the followers of its sessions in this process: when there are more records, and the events of the run
//! that goes on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use super::live::Live;

/// The feeds of a store's sessions, by their ids: of those that are open or followed.
#[derive(Debug, Default)]
pub(super) struct Feeds(Mutex<HashMap<String, Weak<Feed>>>);

/// The feed of one session.
#[derive(Debug)]
pub(super) struct Feed {
    feeds: Weak<Feeds>,
    id: String,
    written: Notify,
    live: Arc<Live>,
}

impl Feeds {
    /// The feed of a session.
    pub(super) fn of(self: &Arc<Feeds>, id: &str) -> Arc<Feed> {
        let mut feeds = self.lock();
        if let Some(feed) = feeds.get(id).and_then(Weak::upgrade) {
            return feed;
        }
        let (id_of_feed, written, live) = (id.to_owned(), Notify::new(), Arc::default());
        let feed = Arc::new(Feed { feeds: Arc::downgrade(self), id: id_of_feed, written, live });
        feeds.insert(id.to_owned(), Arc::downgrade(&feed));
        feed
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<Feed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feed {
    /// The session's id.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Notifies of the next records, from the moment when a waiter is enabled.
    pub(super) fn written(&self) -> &Notify {
        &self.written
    }

    /// The events of its run.
    pub(super) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Wakes who waits for records. Not under a lock: whoever wakes an event loop of the host may have to wait for it.
    pub(super) fn notify(&self) {
        self.written.notify_waiters();
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if let Some(feeds) = self.feeds.upgrade() {
            let mut feeds = feeds.lock();
            // There may be another one of this session by now.
            if feeds.get(&self.id).is_some_and(|feed| feed.strong_count() == 0) {
                feeds.remove(&self.id);
            }
        }
    }
}
