//! Keeps the leases of a store's open sessions: one task for all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::backend::{HeldLease, StoreBackend};
use super::errors::lost;
use super::writer::Writer;

/// The sessions whose leases are renewed.
#[derive(Debug, Default)]
pub(super) struct Renewals(Mutex<Renewed>);

#[derive(Debug, Default)]
struct Renewed {
    writers: Vec<Weak<Writer>>,
    /// Whether there is a task.
    is_running: bool,
}

impl Renewals {
    fn renewed(&self) -> MutexGuard<'_, Renewed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the lease of a session from now on, for as long as its writer lives.
    pub(super) fn add(self: &Arc<Renewals>, writer: &Arc<Writer>, lease_ms: u64) {
        let is_running = {
            let mut renewed = self.renewed();
            renewed.writers.push(Arc::downgrade(writer));
            std::mem::replace(&mut renewed.is_running, true)
        };
        if !is_running {
            // Not under the lock: a runtime that was shut down drops the task here, which takes it.
            let task = Task { renewals: Arc::downgrade(self), backend: Arc::downgrade(writer.backend()) };
            drop(writer.runtime().spawn(task.run(lease_ms)));
        }
    }

    /// The sessions that are open, if there are any; else there is no task any more.
    fn open(&self) -> Vec<Arc<Writer>> {
        let mut renewed = self.renewed();
        // One that was closed may be there still, and its session be open again.
        let open: Vec<Arc<Writer>> = renewed.writers.iter().filter_map(Weak::upgrade).filter(|writer| writer.is_open()).collect();
        renewed.writers = open.iter().map(Arc::downgrade).collect();
        renewed.is_running = !open.is_empty();
        open
    }
}

/// It keeps nothing alive.
struct Task {
    renewals: Weak<Renewals>,
    backend: Weak<dyn StoreBackend>,
}

impl Task {
    async fn run(self, lease_ms: u64) {
        // Twice before it ends.
        let pause = Duration::from_millis((lease_ms / 3).max(1));
        loop {
            tokio::time::sleep(pause).await;
            let (Some(renewals), Some(backend)) = (self.renewals.upgrade(), self.backend.upgrade()) else { return };
            let open = renewals.open();
            if open.is_empty() {
                return;
            }
            let leases: Vec<HeldLease> = open.iter().map(|writer| writer.lease().clone()).collect();
            // What fails, or takes too long, is tried again the next time; a session that was taken meanwhile refuses what is
            // appended.
            if let Ok(Ok(taken)) = tokio::time::timeout(pause, backend.renew(leases, lease_ms)).await {
                for writer in open.iter().filter(|writer| taken.contains(&writer.lease().id)) {
                    let now = backend.info(writer.lease().id.clone()).await.ok().flatten();
                    writer.fail(&lost(&writer.lease().id, now.and_then(|info| info.holder).as_deref()));
                }
            }
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // The runtime has ended: another one's session starts the task again.
        if let Some(renewals) = self.renewals.upgrade() {
            let mut renewed = renewals.renewed();
            renewed.is_running = false;
        }
    }
}
