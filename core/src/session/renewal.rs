//! Keeps the leases of a store's open sessions: one task for those of each runtime. A runtime that stands still holds up its own
//! sessions alone, and those of one that ends go on in another one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Id;
use tokio::time::timeout;

use super::backend::{HeldLease, StoreBackend};
use super::errors::lost;
use super::writer::Writer;
use crate::future::catch_panic;

/// The sessions whose leases are renewed.
#[derive(Debug, Default)]
pub(super) struct Renewals(Mutex<Renewed>);

#[derive(Debug, Default)]
struct Renewed {
    /// Those of each runtime that has a task.
    writers: HashMap<Id, Vec<Weak<Writer>>>,
    /// Those of runtimes that have ended, until there is another task.
    left: Vec<Weak<Writer>>,
}

impl Renewals {
    fn renewed(&self) -> MutexGuard<'_, Renewed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the lease of a session from now on, for as long as its writer lives.
    pub(super) fn add(self: &Arc<Renewals>, writer: &Arc<Writer>, lease_ms: u64) {
        let runtime = writer.runtime().id();
        let is_running = {
            let mut renewed = self.renewed();
            let mut added = std::mem::take(&mut renewed.left);
            added.push(Arc::downgrade(writer));
            match renewed.writers.entry(runtime) {
                Entry::Occupied(mut known) => {
                    known.get_mut().append(&mut added);
                    true
                }
                Entry::Vacant(new) => {
                    new.insert(added);
                    false
                }
            }
        };
        if !is_running {
            // Not under the lock: a runtime that was shut down drops the task here, which takes it.
            let (renewals, backend) = (Arc::downgrade(self), Arc::downgrade(writer.backend()));
            let task = Task { runtime, renewals, backend, is_over: false };
            drop(writer.runtime().spawn(task.run(lease_ms)));
        }
    }

    /// The sessions of a runtime that are open, if there are any; else it has no task any more.
    fn open(&self, runtime: Id) -> Vec<Arc<Writer>> {
        let mut renewed = self.renewed();
        let known = renewed.writers.remove(&runtime).unwrap_or_default();
        // One that was closed may be there still, and its session be open again.
        let open: Vec<Arc<Writer>> = known.iter().filter_map(Weak::upgrade).filter(|writer| writer.is_open()).collect();
        if !open.is_empty() {
            renewed.writers.insert(runtime, open.iter().map(Arc::downgrade).collect());
        }
        drop(renewed);
        let mut last: HashMap<&str, u64> = HashMap::new();
        for HeldLease { id, token } in open.iter().map(|writer| writer.lease()) {
            last.entry(id).and_modify(|known| *known = (*known).max(*token)).or_insert(*token);
        }
        // A lease may end while the store is away, and the session be opened here once more: a store names sessions, not leases.
        let (open, ended): (Vec<_>, Vec<_>) =
            open.iter().cloned().partition(|writer| last.get(&*writer.lease().id) == Some(&writer.lease().token));
        for writer in ended {
            writer.fail(&lost(&writer.lease().id, None));
        }
        open
    }
}

/// It keeps nothing alive.
struct Task {
    runtime: Id,
    renewals: Weak<Renewals>,
    backend: Weak<dyn StoreBackend>,
    /// It has ended by itself: what its runtime has open from then on is another task's.
    is_over: bool,
}

impl Task {
    /// The sessions that are open. Without any, it is over.
    fn open(&mut self, renewals: &Renewals) -> Vec<Arc<Writer>> {
        let open = renewals.open(self.runtime);
        self.is_over = open.is_empty();
        open
    }

    async fn run(mut self, lease_ms: u64) {
        // Twice before it ends.
        let pause = Duration::from_millis((lease_ms / 3).max(1));
        loop {
            tokio::time::sleep(pause).await;
            let (Some(renewals), Some(backend)) = (self.renewals.upgrade(), self.backend.upgrade()) else { return };
            let open = self.open(&renewals);
            if self.is_over {
                return;
            }
            let leases: Vec<HeldLease> = open.iter().map(|writer| writer.lease().clone()).collect();
            // What fails, or takes too long, is tried again the next time; a session that was taken meanwhile refuses what is
            // appended. The store may be the application's.
            let renewed = timeout(pause, catch_panic(async { backend.renew(leases, lease_ms).await })).await;
            if let Ok(Ok(Ok(taken))) = renewed {
                end(&*backend, open.iter().filter(|writer| taken.contains(&writer.lease().id)), pause).await;
            }
        }
    }
}

/// Ends sessions that others have taken. Their names are asked for only so long: the other leases are to be renewed.
async fn end<'a>(backend: &dyn StoreBackend, taken: impl Iterator<Item = &'a Arc<Writer>> + Clone, limit: Duration) {
    let with_names = async {
        for writer in taken.clone() {
            let now = backend.info(writer.lease().id.clone()).await.ok().flatten();
            writer.fail(&lost(&writer.lease().id, now.and_then(|info| info.holder).as_deref()));
        }
    };
    if !matches!(timeout(limit, catch_panic(with_names)).await, Ok(Ok(()))) {
        taken.for_each(|writer| writer.fail(&lost(&writer.lease().id, None)));
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let Some(renewals) = self.renewals.upgrade().filter(|_| !self.is_over) else { return };
        let mut renewed = renewals.renewed();
        // There are some if the runtime has ended.
        let left = renewed.writers.remove(&self.runtime).unwrap_or_default();
        let Renewed { writers, left: without } = &mut *renewed;
        writers.values_mut().next().unwrap_or(without).extend(left);
    }
}

#[cfg(test)]
mod tests;
