//! Sessions in an SQLite file.
//!
//! Two tables: a row for each session with its lease, a row for each record. A record's key has the session's number in its upper
//! half and the record's in its lower, so that the records of a session stand together and appending one writes one page.
//!
//! Whoever writes while no write is under way does it itself, and with it all that comes meanwhile: one transaction for what
//! waits, records and leases. Only what waits for a disk has a thread.

mod commit;
mod file;
mod leases;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use agent_loop_proto::session::Info;
use tokio::sync::oneshot;

use self::commit::{Append, Job, Writer};
use self::file::Database;
use super::backend::{Acquire, HeldLease, Lease, ListQuery, Page, SessionInfo, SessionPage, StoreBackend};
use super::errors::missing;
use super::store_options::SyncMode;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::threads::{Blocking, hand_over};

/// With so many open sessions, who writes first waits for the other tasks that are ready: one transaction for all of them costs
/// less than one for each, and that is most of what a session costs.
const MANY_OPEN: usize = 8;

/// How often one task writes what has come meanwhile before a thread goes on: others wait for the task's thread.
const MOST_ROUNDS: usize = 32;

/// A store in an SQLite file.
#[derive(Debug)]
pub(super) struct Sqlite(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    database: Database,
    writer: Mutex<Writer>,
    waiting: Mutex<Waiting>,
    /// How many sessions are open.
    open: AtomicUsize,
    /// Whether writing waits for a disk.
    is_slow: bool,
}

/// What is to be written.
#[derive(Debug, Default)]
struct Waiting {
    jobs: Vec<Job>,
    /// Whether a write is under way, which takes these too.
    is_written: bool,
}

impl Sqlite {
    /// Opens the file, and makes it if there is none.
    pub(super) fn open(path: &Path, sync: SyncMode) -> Result<Sqlite, Error> {
        let database = Database::open(path, sync)?;
        let writer = Mutex::new(Writer::new(database.writer()?));
        let is_slow = sync == SyncMode::Full;
        let (waiting, open) = (Mutex::default(), AtomicUsize::new(0));
        Ok(Sqlite(Arc::new(Shared { database, writer, waiting, open, is_slow })))
    }

    /// Does a job that the connection is to write: here, if nothing is waited for. For tasks alone: others wait for the future
    /// that writes, which is to be polled or dropped.
    fn write<'a, T: Send + 'a>(
        &'a self,
        job: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Job + Send + 'a,
    ) -> BoxFuture<'a, Result<T, Error>> {
        Box::pin(async move {
            self.0.database.check_process()?;
            let (done, is_done) = oneshot::channel();
            let is_first = {
                let mut waiting = self.0.waiting();
                waiting.jobs.push(job(done));
                !std::mem::replace(&mut waiting.is_written, true)
            };
            if is_first {
                let mut slot = Deferred(Some(WriteSlot { shared: Arc::clone(&self.0), is_over: false }));
                if self.0.open.load(Ordering::Relaxed) >= MANY_OPEN {
                    tokio::task::yield_now().await;
                }
                slot.take();
            }
            is_done.await.unwrap_or_else(|_| {
                let text = format!("{}: the write was given up, as the runtime ends", self.0.database.name());
                Err(Error::new(ErrorKind::InvalidState, text))
            })
        })
    }

    /// Runs work that may wait for a disk or for another process on a thread of its own.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, Error>> {
        let shared = Arc::clone(&self.0);
        Box::pin(crate::threads::blocking(move || {
            shared.database.check_process()?;
            work(&shared)
        }))
    }
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of the one that writes: there is one at a time. Without its end, what waits would wait for ever.
struct WriteSlot {
    shared: Arc<Shared>,
    is_over: bool,
}

/// What is left for the one that writes.
enum Next {
    Nothing,
    More,
    /// To wait for the disk or for others, which takes a thread.
    Wait,
}

impl WriteSlot {
    /// Writes all that waits, until nothing does; `waits`: also for the disk and for other processes. Otherwise a thread goes on
    /// where that is needed, and where so much comes that the tasks of this one's runtime would wait.
    fn write(mut self, waits: bool) {
        for round in 0.. {
            match self.round(waits) {
                Next::Nothing => return,
                Next::More if waits || round < MOST_ROUNDS => {}
                Next::More | Next::Wait => return self.write_on_a_thread(),
            }
        }
    }

    /// Writes what waits now.
    fn round(&mut self, waits: bool) -> Next {
        let mut writer = match self.shared.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // What has the connection may wait for another process.
            Err(TryLockError::WouldBlock) if !waits => return Next::Wait,
            Err(TryLockError::WouldBlock) => self.shared.writer(),
        };
        if writer.is_log_full() {
            if !waits {
                return Next::Wait;
            }
            writer.begin_log_anew(&self.shared.database);
        }
        let jobs = {
            let mut waiting = self.shared.waiting();
            if waiting.jobs.is_empty() {
                waiting.is_written = false;
                // From here on, another one may have it.
                self.is_over = true;
                return Next::Nothing;
            }
            std::mem::take(&mut waiting.jobs)
        };
        let written = writer.work(&self.shared.database, jobs, waits);
        self.shared.open.store(writer.open_count(), Ordering::Relaxed);
        drop(writer);
        match written {
            Ok(false) => Next::More,
            Ok(true) => {
                // Not here: it waits for the disk.
                let shared = Arc::clone(&self.shared);
                hand_over(Blocking::Other, shared, |shared| shared.database.checkpoint(), |_, _| ());
                Next::More
            }
            Err(jobs) => {
                // In front of those that have come meanwhile.
                self.shared.waiting().jobs.splice(0..0, jobs);
                Next::Wait
            }
        }
    }

    /// The same, on a thread that may wait. Without one, this one has to.
    fn write_on_a_thread(self) {
        hand_over(Blocking::Other, self, |slot| slot.write(true), |slot, _| slot.write(true));
    }
}

/// A place that may wait for others to join in: what they ask for is written together. It is taken also when the caller no longer
/// waits.
struct Deferred(Option<WriteSlot>);

impl Deferred {
    fn take(&mut self) {
        let Some(slot) = self.0.take().filter(|slot| !slot.shared.database.is_forked()) else { return };
        match slot.shared.is_slow {
            true => slot.write_on_a_thread(),
            false => slot.write(false),
        }
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.take();
    }
}

impl Drop for WriteSlot {
    fn drop(&mut self) {
        if !self.is_over {
            // A thread that never came: who waits notices the end of the channel.
            let mut waiting = self.shared.waiting();
            let jobs = std::mem::take(&mut waiting.jobs);
            waiting.is_written = false;
            drop(waiting);
            drop(jobs);
        }
    }
}

impl StoreBackend for Sqlite {
    fn name(&self) -> String {
        self.0.database.name()
    }

    fn acquire(&self, request: Acquire) -> BoxFuture<'_, Result<Lease, Error>> {
        self.write(|done| Job::Acquire { request, done })
    }

    fn renew(&self, leases: Vec<HeldLease>, lease_ms: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        self.blocking(move |shared| shared.writer().renew(&shared.database, leases, lease_ms))
    }

    fn release(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        self.write(|done| Job::Release { lease, done })
    }

    fn append(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |done| Job::Append(Append { lease, seq, lines, done }))
    }

    fn read(&self, id: String, after: u64, limit: usize) -> BoxFuture<'_, Result<Page, Error>> {
        self.blocking(move |shared| {
            let page = shared.database.read(&id, after, limit)?;
            page.ok_or_else(|| missing(&id, &shared.database.name()))
        })
    }

    fn info(&self, id: String) -> BoxFuture<'_, Result<Option<SessionInfo>, Error>> {
        self.blocking(move |shared| shared.database.info(&id))
    }

    fn set_info(&self, lease: HeldLease, info: Info) -> BoxFuture<'_, Result<(), Error>> {
        self.blocking(move |shared| shared.writer().set_info(&shared.database, &lease, info))
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, Error>> {
        self.blocking(move |shared| shared.database.list(&query))
    }

    fn delete(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        self.blocking(move |shared| shared.writer().delete(&shared.database, &lease))
    }

    fn changed(&self, id: String, after: u64) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.0.database.changed(id, after))
    }
}
