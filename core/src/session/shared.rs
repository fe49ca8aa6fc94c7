//! What all sessions of a store share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

use super::backend::{HeldLease, StoreBackend};
use super::closing::{Closings, ToTheEnd};
use super::feed::Feeds;
use super::renewal::Renewals;
use super::store_options::StoreOptions;
use crate::error::Error;

/// A store.
pub(super) struct SharedStore {
    pub(super) backend: Arc<dyn StoreBackend>,
    pub(super) options: StoreOptions,
    /// Whether it reaches no further than files and memory: neither a server, nor code of the program.
    #[cfg_attr(not(feature = "__bindings"), allow(dead_code))] // For hosts of other languages.
    pub(super) is_embedded: bool,
    pub(super) renewals: Arc<Renewals>,
    pub(super) feeds: Arc<Feeds>,
    pub(super) closings: Arc<Closings>,
    /// Leases that could not be given back: on a full disk, for example.
    kept: Mutex<Vec<HeldLease>>,
    pid: u32,
}

impl SharedStore {
    pub(super) fn new(backend: Arc<dyn StoreBackend>, is_embedded: bool, options: StoreOptions) -> Arc<SharedStore> {
        Arc::new(SharedStore {
            backend,
            options,
            is_embedded,
            renewals: Arc::default(),
            feeds: Arc::default(),
            closings: Arc::default(),
            kept: Mutex::default(),
            pid: std::process::id(),
        })
    }

    fn kept(&self) -> MutexGuard<'_, Vec<HeldLease>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a lease back. If that fails, it is tried again before the session is next opened here: else this store would wait
    /// for the end of its own lease.
    pub(super) async fn release(&self, lease: HeldLease) -> Result<(), Error> {
        let released = self.backend.release(lease.clone()).await;
        if released.is_err() {
            self.kept().push(lease);
        }
        released
    }

    /// Removes a session, or gives its lease back if that fails.
    pub(super) async fn delete(&self, lease: HeldLease) -> Result<(), Error> {
        let deleted = self.backend.delete(lease.clone()).await;
        if deleted.is_err() {
            let _ = self.release(lease).await;
        }
        deleted
    }

    /// Gives back what could not be given back of a session.
    ///
    /// # Errors
    /// Why it still cannot.
    pub(super) async fn release_kept(self: &Arc<SharedStore>, id: &str, runtime: &Handle) -> Result<(), Error> {
        while let Some(lease) = self.kept_of(id) {
            let shared = Arc::clone(self);
            let release = async move {
                shared.backend.release(lease.clone()).await?;
                // It stays there until it is given back.
                shared.kept().retain(|kept| *kept != lease);
                Ok(())
            };
            ToTheEnd::new(&self.closings, id, runtime, release).await?;
        }
        Ok(())
    }

    fn kept_of(&self, id: &str) -> Option<HeldLease> {
        self.kept().iter().find(|lease| lease.id == id).cloned()
    }

    /// Waits until no close of the session is under way here: for as long as its lease may last.
    pub(super) async fn closed(&self, id: &str) {
        if self.closings.are_under_way(Some(id)) {
            let limit = Duration::from_millis(self.options.lease_ms);
            let _ = tokio::time::timeout(limit, self.closings.ended(Some(id))).await;
        }
    }

    /// Whether this is another process than the one that has opened the store.
    pub(super) fn is_forked(&self) -> bool {
        self.pid != std::process::id()
    }
}

impl Drop for SharedStore {
    fn drop(&mut self) {
        if self.is_forked() {
            // What it would close belongs to the parent, and its locks may be held by threads that are not here.
            std::mem::forget(Arc::clone(&self.backend));
        }
    }
}

impl std::fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("name", &self.backend.name()).finish_non_exhaustive()
    }
}
