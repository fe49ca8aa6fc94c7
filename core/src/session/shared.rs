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
}

impl SharedStore {
    pub(super) fn new(backend: Arc<dyn StoreBackend>, options: StoreOptions) -> Arc<SharedStore> {
        Arc::new(SharedStore { backend, options, renewals: Arc::default(), watchers: Arc::default() })
    }
}

impl std::fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("name", &self.backend.name()).finish_non_exhaustive()
    }
}
