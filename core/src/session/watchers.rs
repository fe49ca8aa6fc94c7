//! Those in this process who wait for records of a session.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Who waits, by session.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    /// How many sessions are waited for: mostly none, which costs no lock.
    count: AtomicUsize,
    sessions: Mutex<HashMap<String, Watched>>,
}

#[derive(Debug)]
struct Watched {
    watchers: usize,
    notify: Arc<Notify>,
}

/// One who waits.
#[derive(Debug)]
pub(super) struct Watcher {
    watchers: Arc<Watchers>,
    id: String,
    notify: Arc<Notify>,
}

impl Watchers {
    /// From now on, a session is waited for.
    pub(super) fn watch(self: &Arc<Watchers>, id: &str) -> Watcher {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = sessions.entry(id.to_owned()).or_insert_with(|| Watched { watchers: 0, notify: Arc::default() });
        watched.watchers += 1;
        self.count.store(sessions.len(), Ordering::Release);
        let notify = sessions.get(id).map(|watched| Arc::clone(&watched.notify)).unwrap_or_default();
        Watcher { watchers: Arc::clone(self), id: id.to_owned(), notify }
    }

    /// A session has more records.
    pub(super) fn changed(&self, id: &str) {
        if self.count.load(Ordering::Acquire) > 0 {
            let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            let notify = sessions.get(id).map(|watched| Arc::clone(&watched.notify));
            drop(sessions);
            // Not under the lock: whoever wakes an event loop of the host may have to wait for it.
            if let Some(notify) = notify {
                notify.notify_waiters();
            }
        }
    }
}

impl Watcher {
    /// Ends with the next records, from the moment when this is first polled.
    pub(super) fn notify(&self) -> &Notify {
        &self.notify
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut sessions = self.watchers.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = sessions.get_mut(&self.id) {
            watched.watchers -= 1;
            if watched.watchers == 0 {
                sessions.remove(&self.id);
            }
        }
        self.watchers.count.store(sessions.len(), Ordering::Release);
    }
}
