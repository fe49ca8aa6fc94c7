//! Sessions in a folder: a readable file for each, with a line for each record.
//!
//! Beside `ID.jsonl` stand `ID.lease`, who has the session open, and `ID.info`, its title and metadata, if it has any. `names`
//! says what stands for the id, `access` opens files. Whoever appends has a lock on the lease while it does: the lease cannot
//! change between the check and the write.

mod access;
mod files;
mod lease;
mod names;
mod open_files;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use agent_loop_proto::session::Info;

use self::files::{Files, Places};
use self::open_files::OpenFiles;
use super::alive::Alive;
use super::backend::{Acquire, CHECK_EVERY, HeldLease, Holding, Lease, ListQuery, Page, SessionInfo, SessionPage, StoreBackend};
use super::clock::now_ms;
use super::errors::{forked, held, io, lost, missing};
use super::store_options::SyncMode;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;

/// A store in a folder.
#[derive(Debug)]
pub(super) struct Jsonl(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    sync: SyncMode,
    alive: Alive,
    /// The sessions that are open here. Each has a lock of its own: they do not wait for each other's disk.
    open: Mutex<HashMap<String, Arc<Mutex<OpenFiles>>>>,
    places: Places,
    pid: u32,
}

impl Jsonl {
    /// Opens the folder, and makes it if there is none.
    pub(super) fn open(folder: &Path, sync: SyncMode) -> Result<Jsonl, Error> {
        let refused = |error| io(&format!("the folder of sessions {} cannot be made", folder.display()), error);
        std::fs::create_dir_all(folder).map_err(refused)?;
        let alive = Alive::new(folder.join(".open-"));
        let (folder, pid) = (folder.to_owned(), std::process::id());
        let (open, places) = (Mutex::default(), Places::default());
        Ok(Jsonl(Arc::new(Shared { folder, sync, alive, open, places, pid })))
    }

    /// Runs work that may wait for a disk or for another process on a thread of its own.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, Error>> {
        let shared = Arc::clone(&self.0);
        Box::pin(crate::threads::blocking(move || {
            shared.check_process()?;
            work(&shared)
        }))
    }
}

impl Shared {
    fn name(&self) -> String {
        format!("the folder of sessions {}", self.folder.display())
    }

    fn check_process(&self) -> Result<(), Error> {
        if self.pid == std::process::id() { Ok(()) } else { Err(forked(&self.name())) }
    }

    fn open_sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Mutex<OpenFiles>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self, id: &str) -> Result<Files, Error> {
        Files::of(&self.folder, id)
    }

    fn open_files(&self, lease: &HeldLease) -> Result<Arc<Mutex<OpenFiles>>, Error> {
        self.open_sessions().get(&lease.id).cloned().ok_or_else(|| lost(&lease.id, None))
    }

    /// Does something with a session that is open here, under the lock on its lease, if that is still the last one.
    fn with<T>(&self, lease: &HeldLease, work: impl FnOnce(&mut OpenFiles, Holding) -> Result<T, Error>) -> Result<T, Error> {
        under_lease(&*self.open_files(lease)?, lease, work)
    }

    /// The files are those of an open session no more. Others of the same id are, if it was opened again meanwhile.
    fn forget(&self, id: &str, files: &Arc<Mutex<OpenFiles>>) {
        let mut open = self.open_sessions();
        if open.get(id).is_some_and(|open| Arc::ptr_eq(open, files)) {
            open.remove(id);
        }
    }

    /// The same if no other thread and no other process is doing something with it; else nothing.
    fn try_with<T>(
        &self,
        lease: &HeldLease,
        work: impl FnOnce(&mut OpenFiles, Holding) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let files = self.open_files(lease)?;
        let mut files = match files.try_lock() {
            Ok(files) => files,
            Err(TryLockError::Poisoned(files)) => files.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        files.try_locked(|files, holding| work(files, checked(lease, holding)?))
    }

    fn acquire(&self, request: &Acquire) -> Result<Lease, Error> {
        let instance = self.alive.instance()?;
        let mut files = OpenFiles::open(self.files(&request.id)?)?;
        let lease = files.locked(|files, before| {
            let left_ms = before.left_ms();
            if left_ms > 0 && !self.alive.has_ended(&before.instance) {
                return Err(held(&request.id, &before.holder, left_ms));
            }
            let lease = before.next(request, instance);
            let torn = files.repair()?;
            files.write_lease(&lease)?;
            if self.sync == SyncMode::Full {
                files.sync_names()?;
            }
            Ok(Lease { torn, last: lease.last, ..Lease::new(lease.token) })
        })?;
        self.open_sessions().insert(request.id.clone(), Arc::new(Mutex::new(files)));
        Ok(lease)
    }

    fn release(&self, lease: &HeldLease) -> Result<(), Error> {
        // Another holder has it by now.
        let Ok(open) = self.open_files(lease) else { return Ok(()) };
        let released = under_lease(&open, lease, |files, before| {
            // If they were removed, what was written is lost, and there is nothing to wait for.
            let is_there = files.length().map(drop);
            if is_there.is_ok() && self.sync == SyncMode::Normal {
                files.sync()?;
                files.sync_names()?;
            }
            files.write_lease(&before.given_back(files.last()))?;
            Ok(is_there)
        });
        match released {
            Ok(is_there) => {
                self.forget(&lease.id, &open);
                is_there
            }
            Err(error) if error.kind() == ErrorKind::Busy => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn delete(&self, lease: &HeldLease) -> Result<(), Error> {
        let open = self.open_files(lease)?;
        under_lease(&open, lease, |files, holding| files.remove(&holding))?;
        self.forget(&lease.id, &open);
        Ok(())
    }

    /// Prolongs leases. One that cannot be, or that another process has locked, does not hold up the others.
    fn renew(&self, leases: Vec<HeldLease>, lease_ms: u64) -> Result<Vec<String>, Error> {
        let renew = |files: &mut OpenFiles, holding: Holding| {
            files.write_lease(&Holding { expires_ms: now_ms().saturating_add(lease_ms), ..holding })
        };
        let (mut gone, mut failed, mut locked) = (Vec::new(), None, Vec::new());
        let mut refused = |lease: HeldLease, error: Error| match error.kind() {
            ErrorKind::Busy => gone.push(lease.id),
            _ => failed = Some(error),
        };
        for lease in leases {
            match self.try_with(&lease, renew) {
                Ok(Some(())) => {}
                Ok(None) => locked.push(lease),
                Err(error) => refused(lease, error),
            }
        }
        for lease in locked {
            if let Err(error) = self.with(&lease, renew) {
                refused(lease, error);
            }
        }
        match failed {
            Some(error) if gone.is_empty() => Err(error),
            _ => Ok(gone),
        }
    }

    fn append(&self, lease: &HeldLease, seq: u64, lines: &[String]) -> Result<(), Error> {
        self.with(lease, |files, _| files.append(seq, lines, self.sync == SyncMode::Full))
    }

    fn read(&self, id: &str, after: u64, limit: usize) -> Result<Page, Error> {
        let files = self.files(id)?;
        // Before the lines are read: those up to the last one are there then. A damaged lease does not say how many they were.
        let last = files.lease().map_or(0, |lease| lease.last);
        match files.read(&self.places, after, limit)? {
            Some(lines) => Ok(Page { last, ..Page::new(lines) }),
            None => files.check_removed().and_then(|()| Err(missing(id, &self.name()))),
        }
    }

    fn info(&self, id: &str) -> Result<Option<SessionInfo>, Error> {
        self.info_of(&self.files(id)?)
    }

    fn info_of(&self, files: &Files) -> Result<Option<SessionInfo>, Error> {
        let Some((created_ms, updated_ms)) = files.times()? else { return Ok(None) };
        // A damaged one says nothing of who has the session open.
        let lease = files.lease().unwrap_or_default();
        let Info { title, metadata, .. } = files.info()?;
        let holder = lease.holder().filter(|_| lease.left_ms() > 0).map(str::to_owned);
        Ok(Some(SessionInfo { id: files.id.clone(), title, metadata, created_ms, updated_ms, holder }))
    }

    fn list(&self, query: &ListQuery) -> Result<SessionPage, Error> {
        query.place()?;
        let refused = |error| io(&format!("{} cannot be read", self.name()), error);
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(refused)? {
            let name = entry.map_err(refused)?.file_name();
            // One that is deleted meanwhile has no info.
            if let Some(files) = name.to_str().and_then(|name| Files::of_file(&self.folder, name))
                && let Some(info) = self.info_of(&files)?
            {
                all.push(info);
            }
        }
        query.page_of(all)
    }
}

/// Does something with files under the lock on their lease, if that is this one.
fn under_lease<T>(
    files: &Mutex<OpenFiles>,
    lease: &HeldLease,
    work: impl FnOnce(&mut OpenFiles, Holding) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
    files.locked(|files, holding| work(files, checked(lease, holding)?))
}

/// What a lease's file says, if it is this lease.
fn checked(lease: &HeldLease, holding: Holding) -> Result<Holding, Error> {
    if holding.token == lease.token { Ok(holding) } else { Err(lost(&lease.id, holding.holder())) }
}

impl StoreBackend for Jsonl {
    fn name(&self) -> String {
        self.0.name()
    }

    fn acquire(&self, request: Acquire) -> BoxFuture<'_, Result<Lease, Error>> {
        self.blocking(move |shared| shared.acquire(&request))
    }

    fn renew(&self, leases: Vec<HeldLease>, lease_ms: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        self.blocking(move |shared| shared.renew(leases, lease_ms))
    }

    fn release(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        self.blocking(move |shared| shared.release(&lease))
    }

    fn append(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> BoxFuture<'_, Result<(), Error>> {
        if self.0.sync == SyncMode::Full {
            return self.blocking(move |shared| shared.append(&lease, seq, &lines));
        }
        // It takes microseconds: less than handing it to a thread. Only who has to wait for another process has one.
        Box::pin(async move {
            self.0.check_process()?;
            match self.0.try_with(&lease, |files, _| files.append(seq, &lines, false))? {
                Some(()) => Ok(()),
                None => self.blocking(move |shared| shared.append(&lease, seq, &lines)).await,
            }
        })
    }

    fn read(&self, id: String, after: u64, limit: usize) -> BoxFuture<'_, Result<Page, Error>> {
        self.blocking(move |shared| shared.read(&id, after, limit))
    }

    fn info(&self, id: String) -> BoxFuture<'_, Result<Option<SessionInfo>, Error>> {
        self.blocking(move |shared| shared.info(&id))
    }

    fn set_info(&self, lease: HeldLease, info: Info) -> BoxFuture<'_, Result<(), Error>> {
        self.blocking(move |shared| shared.with(&lease, |files, _| files.write_info(&info)))
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, Error>> {
        self.blocking(move |shared| shared.list(&query))
    }

    fn delete(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        self.blocking(move |shared| shared.delete(&lease))
    }

    fn changed(&self, id: String, after: u64) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let (mut seen, files) = (None, self.0.files(&id)?);
            loop {
                self.0.check_process()?;
                let length = files.length()?;
                if seen.replace(length) != Some(length) && !self.read(id.clone(), after, 1).await?.lines.is_empty() {
                    return Ok(());
                }
                tokio::time::sleep(CHECK_EVERY).await;
            }
        })
    }
}

#[cfg(test)]
mod tests;
