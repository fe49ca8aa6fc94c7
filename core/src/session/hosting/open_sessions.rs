//! The sessions that a host's program has open, for its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::runtime::Runtime;
use crate::session::open::OpenSession;
use crate::session::shared::SharedStore;

/// The sessions that a host's program has open: at its end they are closed, as others could open them only when their leases have
/// ended.
#[derive(Debug)]
pub struct OpenSessions(Mutex<Known>);

#[derive(Debug)]
struct Known {
    sessions: Vec<Weak<OpenSession>>,
    /// Their stores: sessions that were dropped may still be on their way back.
    stores: Vec<Weak<SharedStore>>,
}

impl OpenSessions {
    /// None yet.
    pub const fn new() -> OpenSessions {
        OpenSessions(Mutex::new(Known { sessions: Vec::new(), stores: Vec::new() }))
    }

    /// Adds one, as long as it is referenced.
    pub fn add(&self, session: OpenSession) -> Arc<OpenSession> {
        let session = Arc::new(session);
        let mut known = self.lock();
        if known.sessions.len() == known.sessions.capacity() {
            // Before it grows: most of them are closed.
            known.sessions.retain(|session| session.strong_count() > 0);
            known.stores.retain(|store| store.strong_count() > 0);
        }
        known.sessions.push(Arc::downgrade(&session));
        let store = session.shared();
        if !known.stores.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(store))) {
            known.stores.push(Arc::downgrade(store));
        }
        session
    }

    /// Closes all concurrently, and waits for those that are being closed already. What is not closed in this time keeps its
    /// lease, until that ends.
    pub fn close(&self, runtime: &Runtime, within: Duration) {
        let known = std::mem::replace(&mut *self.lock(), Known { sessions: Vec::new(), stores: Vec::new() });
        let open: Vec<Arc<OpenSession>> = known.sessions.iter().filter_map(Weak::upgrade).collect();
        let stores: Vec<Arc<SharedStore>> = known.stores.iter().filter_map(Weak::upgrade).collect();
        if open.is_empty() && !stores.iter().any(|store| store.closings.are_under_way(None)) {
            return;
        }
        runtime.block_on(async {
            let mut closing = JoinSet::new();
            for session in open {
                // There is no caller left for the error.
                closing.spawn(async move { drop(session.close().await) });
            }
            for store in stores {
                closing.spawn(async move { store.closings.ended(None).await });
            }
            let all = async { while closing.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(within, all).await;
        });
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for OpenSessions {
    fn default() -> OpenSessions {
        OpenSessions::new()
    }
}
