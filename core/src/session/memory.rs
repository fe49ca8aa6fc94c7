//! Sessions in memory: for tests, and the shortest example of a [`StoreBackend`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_loop_proto::session::Info;

use super::backend::{Acquire, HeldLease, Holding, Lease, ListQuery, Page, SessionInfo, SessionPage, StoreBackend, StoredLine};
use super::clock::now_ms;
use super::errors::{held, lost, missing};
use crate::error::Error;
use crate::future::BoxFuture;

/// A store that ends with its process.
#[derive(Debug, Default)]
pub(super) struct Memory {
    sessions: Mutex<BTreeMap<String, Stored>>,
    /// The last token of all sessions: one that was deleted has had others than one of the same id.
    token: AtomicU64,
}

#[derive(Debug)]
struct Stored {
    info: SessionInfo,
    lines: Vec<String>,
    lease: Holding,
}

impl Memory {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Stored>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with a session, if the lease is the last one that was given.
    fn with<T>(&self, lease: &HeldLease, work: impl FnOnce(&mut Stored) -> T) -> Result<T, Error> {
        let mut sessions = self.sessions();
        match sessions.get_mut(&lease.id) {
            Some(stored) if stored.lease.token == lease.token => Ok(work(stored)),
            Some(stored) => Err(lost(&lease.id, stored.lease.holder())),
            None => Err(lost(&lease.id, None)),
        }
    }
}

/// A future that has ended.
fn ready<T: Send + 'static>(result: T) -> BoxFuture<'static, T> {
    Box::pin(std::future::ready(result))
}

impl StoreBackend for Memory {
    fn name(&self) -> String {
        "the store in memory".to_owned()
    }

    fn acquire(&self, request: Acquire) -> BoxFuture<'_, Result<Lease, Error>> {
        let mut sessions = self.sessions();
        let stored = sessions.entry(request.id.clone()).or_insert_with(|| Stored {
            info: SessionInfo::new(request.id.as_str(), now_ms()),
            lines: Vec::new(),
            lease: Holding::default(),
        });
        let left_ms = stored.lease.left_ms();
        if left_ms > 0 {
            return ready(Err(held(&request.id, &stored.lease.holder, left_ms)));
        }
        stored.lease = stored.lease.next(&request, "");
        stored.lease.token = self.token.fetch_add(1, Ordering::Relaxed) + 1;
        ready(Ok(Lease::new(stored.lease.token)))
    }

    fn renew(&self, leases: Vec<HeldLease>, lease_ms: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        let expires_ms = now_ms().saturating_add(lease_ms);
        let prolong = |lease: &HeldLease| self.with(lease, |stored| stored.lease.expires_ms = expires_ms).is_err();
        ready(Ok(leases.into_iter().filter(prolong).map(|lease| lease.id).collect()))
    }

    fn release(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        let _ = self.with(&lease, |stored| stored.lease.holder.clear());
        ready(Ok(()))
    }

    fn append(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> BoxFuture<'_, Result<(), Error>> {
        ready(self.with(&lease, |stored| {
            debug_assert_eq!(seq, stored.lines.len() as u64 + 1);
            stored.lines.extend(lines);
            stored.info.updated_ms = now_ms();
        }))
    }

    fn read(&self, id: String, after: u64, limit: usize) -> BoxFuture<'_, Result<Page, Error>> {
        let sessions = self.sessions();
        let Some(stored) = sessions.get(&id) else {
            return ready(Err(missing(&id, &self.name())));
        };
        let skipped = usize::try_from(after).unwrap_or(usize::MAX);
        let lines = (after.saturating_add(1)..).zip(stored.lines.iter().skip(skipped)).take(limit);
        ready(Ok(Page::new(lines.map(|(seq, line)| StoredLine::new(seq, line.as_bytes())).collect())))
    }

    fn info(&self, id: String) -> BoxFuture<'_, Result<Option<SessionInfo>, Error>> {
        ready(Ok(self.sessions().get(&id).map(Stored::info)))
    }

    fn set_info(&self, lease: HeldLease, info: Info) -> BoxFuture<'_, Result<(), Error>> {
        ready(self.with(&lease, |stored| (stored.info.title, stored.info.metadata) = (info.title, info.metadata)))
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, Error>> {
        ready(query.page_of(self.sessions().values().map(Stored::info).collect()))
    }

    fn delete(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        let checked = self.with(&lease, |_| ());
        if checked.is_ok() {
            self.sessions().remove(&lease.id);
        }
        ready(checked)
    }
}

impl Stored {
    fn info(&self) -> SessionInfo {
        let holder = self.lease.holder().filter(|_| self.lease.left_ms() > 0);
        SessionInfo { holder: holder.map(str::to_owned), ..self.info.clone() }
    }
}
