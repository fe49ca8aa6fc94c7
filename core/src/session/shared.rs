//! What all sessions of a store share.

use std::sync::Arc;

use super::backend::StoreBackend;
use super::renewal::Renewals;
use super::store_options::StoreOptions;
use super::watchers::Watchers;

/// A store.
pub(super) struct SharedStore {
    pub(super) backend: Arc<dyn StoreBackend>,
    pub(super) options: StoreOptions,
    pub(super) renewals: Arc<Renewals>,
    pub(super) watchers: Arc<Watchers>,
    pid: u32,
}

impl SharedStore {
    pub(super) fn new(backend: Arc<dyn StoreBackend>, options: StoreOptions) -> Arc<SharedStore> {
        Arc::new(SharedStore { backend, options, renewals: Arc::default(), watchers: Arc::default(), pid: std::process::id() })
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
