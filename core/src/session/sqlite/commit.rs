//! The connection that writes: appends in groups, and what is set of a session.

use std::collections::HashMap;
use std::time::Duration;

use agent_loop_proto::session::Info;
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};
use serde_json::Value;
use tokio::sync::oneshot;

use super::file::{BUSY, Database, number_of, place, signed};
use super::leases::{LEASE_PAGES, Open, acquire, release, renew};
use crate::error::{Error, ErrorKind};
use crate::session::backend::{Acquire, HeldLease, Lease};
use crate::session::clock::now_ms;
use crate::session::errors::lost;

/// How exact `updated_ms` is: writing it costs as much as a record.
const TOUCH_EVERY_MS: u64 = 1_000;

/// How many pages are written before all of them are copied into the file itself while nothing is written. SQLite begins its log
/// anew only then: it would grow for as long as sessions are written. Some 16 MB to 32 MB.
const LOG_PAGES: usize = 5_000;
/// How many pages before that they are copied beside those who go on writing, so that few are left. Not more often: most pages
/// are written again soon.
const LAST_PAGES: usize = 1_000;

/// Where the result of a job goes. Who has asked need not wait for it.
type Done<T> = oneshot::Sender<Result<T, Error>>;

/// What the connection is to write.
#[derive(Debug)]
pub(super) enum Job {
    Append(Append),
    Acquire { request: Acquire, done: Done<Lease> },
    Release { lease: HeldLease, done: Done<()> },
}

impl Job {
    /// What it does, for errors.
    fn doing(&self) -> &'static str {
        match self {
            Job::Append(_) => "writing",
            Job::Acquire { .. } => "opening a session",
            Job::Release { .. } => "closing a session",
        }
    }

    /// Some of the pages that it writes.
    fn pages(&self) -> usize {
        match self {
            Job::Append(append) => append.pages(),
            Job::Acquire { .. } | Job::Release { .. } => LEASE_PAGES,
        }
    }

    fn fail(self, error: Error) {
        match self {
            Job::Append(append) => append.end(Err(error)),
            Job::Acquire { done, .. } => drop(done.send(Err(error))),
            Job::Release { done, .. } => drop(done.send(Err(error))),
        }
    }
}

/// What a job has written.
enum Written {
    Lines,
    Lease(Lease, Open),
    Release,
}

/// Lines to be appended to a session.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) lease: HeldLease,
    pub(super) seq: u64,
    pub(super) lines: Vec<String>,
    pub(super) done: Done<()>,
}

/// The connection that writes.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Option<Connection>,
    /// The sessions to which this store may append.
    open: HashMap<String, Open>,
    /// Some pages that were written since the log was begun anew: no fewer than half of them.
    logged: usize,
    /// Whether they were copied beside those who write.
    is_copied: bool,
    /// Whether the connection waits for other processes; none at its beginning.
    waits: Option<bool>,
    pid: u32,
}

impl Append {
    /// Some of the pages that it writes.
    fn pages(&self) -> usize {
        1 + self.lines.iter().map(String::len).sum::<usize>() / 4096
    }

    /// The number of its last line.
    fn last(&self) -> u64 {
        self.seq.saturating_add(self.lines.len() as u64).saturating_sub(1)
    }

    fn end(self, result: Result<(), Error>) {
        let _ = self.done.send(result);
    }
}

impl Writer {
    pub(super) fn new(connection: Connection) -> Writer {
        Writer {
            connection: Some(connection),
            open: HashMap::new(),
            logged: 0,
            is_copied: false,
            waits: None,
            pid: std::process::id(),
        }
    }

    /// The connection, which waits for other processes, or fails at once while one of them writes.
    pub(super) fn connection(
        &mut self,
        database: &Database,
        waits: bool,
    ) -> Result<(&mut Connection, &mut HashMap<String, Open>), Error> {
        let Some(connection) = &mut self.connection else {
            return Err(Error::new(ErrorKind::InvalidState, format!("{} was closed", database.name())));
        };
        if self.waits != Some(waits) {
            let timeout = if waits { BUSY } else { Duration::ZERO };
            connection.busy_timeout(timeout).map_err(|error| database.failed("opening it", error))?;
            self.waits = Some(waits);
        }
        Ok((connection, &mut self.open))
    }

    /// How many sessions are open here.
    pub(super) fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Does all in order, in one transaction: who is refused gets an error, the others are written. Returns whether a checkpoint
    /// is due.
    ///
    /// # Errors
    /// The jobs, if it is not to wait and another process writes: none of them was done.
    pub(super) fn work(&mut self, database: &Database, jobs: Vec<Job>, waits: bool) -> Result<bool, Vec<Job>> {
        let (connection, open) = match self.connection(database, waits) {
            Ok(parts) => parts,
            Err(error) => {
                jobs.into_iter().for_each(|job| job.fail(error.clone()));
                return Ok(false);
            }
        };
        let now = now_ms();
        let written = match jobs.as_slice() {
            // A statement is a transaction by itself, for half the price.
            [Job::Append(job)] if job.lines.len() == 1 && !is_touched(open, job, now) => {
                append(connection, open, job, None).map(|result| vec![result.map(|()| Written::Lines)])
            }
            [job @ Job::Release { .. }] => {
                write(connection, database, open, job, &At { now, version: None }).map(|result| vec![result])
            }
            jobs => in_transaction(connection, |connection| {
                let version = connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
                let at = At { now, version: Some(version) };
                jobs.iter().map(|job| write(connection, database, open, job, &at)).collect()
            }),
        };
        match written {
            Ok(results) => {
                let pages = jobs.iter().map(Job::pages).sum();
                jobs.into_iter().zip(results).for_each(|(job, result)| self.end(job, result));
                Ok(self.count(pages))
            }
            Err(error) if is_busy(&error, waits) => Err(jobs),
            Err(error) => {
                // None of it was written.
                let doing = if let [job] = jobs.as_slice() { job.doing() } else { "writing" };
                let error = database.failed(doing, error);
                jobs.into_iter().for_each(|job| job.fail(error.clone()));
                Ok(false)
            }
        }
    }

    /// Reports what a job has written, once it is.
    fn end(&mut self, job: Job, result: Result<Written, Error>) {
        let written = match result {
            Ok(written) => written,
            Err(error) => return job.fail(error),
        };
        match (job, written) {
            (Job::Append(append), _) => {
                if let Some(session) = self.open.get_mut(&append.lease.id) {
                    session.last = append.last();
                }
                append.end(Ok(()));
            }
            (Job::Acquire { request, done }, Written::Lease(lease, session)) => {
                self.open.insert(request.id, session);
                let _ = done.send(Ok(lease));
            }
            (Job::Release { done, .. }, _) => drop(done.send(Ok(()))),
            // It is given up: who waits is answered by that.
            (Job::Acquire { .. }, _) => {}
        }
    }

    /// Counts pages that were written. Returns whether they are to be copied beside those who write.
    fn count(&mut self, pages: usize) -> bool {
        self.logged = self.logged.saturating_add(pages);
        self.logged >= LOG_PAGES.saturating_sub(LAST_PAGES) && !std::mem::replace(&mut self.is_copied, true)
    }

    /// Whether the log has to be begun anew.
    pub(super) fn is_log_full(&self) -> bool {
        self.logged >= LOG_PAGES
    }

    /// Copies all that was written into the file itself and begins the log anew, which waits for the disk and for readers. If a
    /// reader takes too long, it is tried again soon.
    pub(super) fn begin_log_anew(&mut self, database: &Database) {
        let is_done = database.begin_log_anew();
        self.logged = if is_done { 0 } else { LOG_PAGES.saturating_sub(LAST_PAGES) };
        self.is_copied = !is_done;
    }

    /// Prolongs leases. Returns those that another holder has taken.
    pub(super) fn renew(&mut self, database: &Database, leases: Vec<HeldLease>, lease_ms: u64) -> Result<Vec<String>, Error> {
        let (connection, _) = self.connection(database, true)?;
        let lost = in_transaction(connection, |connection| renew(connection, leases, lease_ms));
        lost.map_err(|error| database.failed("renewing leases", error))
    }

    pub(super) fn set_info(&mut self, database: &Database, lease: &HeldLease, info: Info) -> Result<(), Error> {
        let (connection, _) = self.connection(database, true)?;
        let metadata = info.metadata.map(|metadata| Value::Object(metadata).to_string());
        let text = "UPDATE sessions SET title = ?3, metadata = ?4 WHERE id = ?1 AND token = ?2";
        let changed = connection
            .prepare_cached(text)
            .and_then(|mut update| update.execute(params![lease.id, signed(lease.token), info.title, metadata]))
            .map_err(|error| database.failed("writing", error))?;
        if changed == 0 { Err(now_held(connection, database, &lease.id)) } else { Ok(()) }
    }

    pub(super) fn delete(&mut self, database: &Database, lease: &HeldLease) -> Result<(), Error> {
        let (connection, open) = self.connection(database, true)?;
        let deleted = in_transaction(connection, |connection| {
            let number = number_of(connection, &lease.id)?;
            let removed = connection
                .prepare_cached("DELETE FROM sessions WHERE id = ?1 AND token = ?2")?
                .execute(params![lease.id, signed(lease.token)])?;
            if let Some(number) = number.filter(|_| removed == 1) {
                let mut delete = connection.prepare_cached("DELETE FROM records WHERE place >= ?1 AND place <= ?2")?;
                delete.execute(params![place(number, 0), place(number, u64::from(u32::MAX))])?;
            }
            Ok(removed == 1)
        });
        if !deleted.map_err(|error| database.failed("deleting a session", error))? {
            return Err(now_held(connection, database, &lease.id));
        }
        open.remove(&lease.id);
        Ok(())
    }
}

/// Whether another process writes, for which this one is not to wait.
fn is_busy(error: &rusqlite::Error, waits: bool) -> bool {
    !waits && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// When something is written.
struct At {
    /// In milliseconds since the epoch.
    now: u64,
    /// The file's version, in a transaction: what other connections have written until then.
    version: Option<i64>,
}

/// Does a job in a transaction, or says why it is refused.
fn write(
    connection: &Connection,
    database: &Database,
    open: &mut HashMap<String, Open>,
    job: &Job,
    at: &At,
) -> rusqlite::Result<Result<Written, Error>> {
    Ok(match job {
        Job::Append(job) => append_and_touch(connection, open, job, at)?.map(|()| Written::Lines),
        Job::Acquire { request, .. } => {
            let acquired = match database.alive.instance() {
                Ok(instance) => acquire(connection, database, request, instance)?,
                Err(error) => Err(error),
            };
            if acquired.is_ok()
                && let Some(before) = open.get_mut(&request.id)
            {
                // Its lease has ended: who still writes with it is refused.
                before.checked = None;
            }
            acquired.map(|(lease, session)| Written::Lease(lease, session))
        }
        Job::Release { lease, .. } => {
            // Not if it was opened again here.
            let closed = open.get(&lease.id).filter(|open| open.token == lease.token);
            release(connection, lease, closed.map_or(0, |closed| closed.last))?;
            if closed.is_some() {
                open.remove(&lease.id);
            }
            Ok(Written::Release)
        }
    })
}

/// Appends the lines of a job, or says who has the session now.
fn append(
    connection: &Connection,
    open: &mut HashMap<String, Open>,
    job: &Append,
    version: Option<i64>,
) -> rusqlite::Result<Result<(), Error>> {
    let id = &job.lease.id;
    let Some(session) = open.get_mut(id).filter(|session| session.token == job.lease.token) else {
        return Ok(Err(lost(id, None)));
    };
    let last = job.seq.saturating_add(job.lines.len() as u64);
    let (Some(first), Some(_)) = (place(session.number, job.seq), place(session.number, last)) else {
        let text = format!("the session {id:?} has {} records, and an SQLite store takes no more of one session", u32::MAX);
        return Ok(Err(Error::new(ErrorKind::Limit, text)));
    };
    let lines = (first..).zip(&job.lines);
    if version.is_some() && session.checked == version {
        // No other connection has written since the lease was checked.
        let mut insert = connection.prepare_cached("INSERT INTO records (place, line) VALUES (?1, ?2)")?;
        for (place, line) in lines {
            insert.execute(params![place, line])?;
        }
        return Ok(Ok(()));
    }
    // The lease is checked where the line is written, so that nothing can come between.
    let text =
        "INSERT INTO records (place, line) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM sessions WHERE number = ?3 AND token = ?4)";
    let mut insert = connection.prepare_cached(text)?;
    for (place, line) in lines {
        // All lines of a job have the same lease: none or each of them is written.
        if insert.execute(params![place, line, session.number, signed(job.lease.token)])? == 0 {
            return holder_of(connection, id).map(|holder| Err(lost(id, holder.as_deref())));
        }
    }
    session.checked = version;
    Ok(Ok(()))
}

/// The same, with the time of the change if it was not written for a while.
fn append_and_touch(
    connection: &Connection,
    open: &mut HashMap<String, Open>,
    job: &Append,
    at: &At,
) -> rusqlite::Result<Result<(), Error>> {
    let appended = append(connection, open, job, at.version)?;
    if appended.is_ok()
        && is_touched(open, job, at.now)
        && let Some(session) = open.get_mut(&job.lease.id)
    {
        connection.prepare_cached("UPDATE sessions SET updated_ms = ?2, last = ?3 WHERE number = ?1")?.execute(params![
            session.number,
            signed(at.now),
            signed(job.last())
        ])?;
        session.touched_ms = at.now;
    }
    Ok(appended)
}

/// Whether the time of the change is to be written, too.
fn is_touched(open: &HashMap<String, Open>, job: &Append, now: u64) -> bool {
    open.get(&job.lease.id).is_some_and(|session| now.saturating_sub(session.touched_ms) >= TOUCH_EVERY_MS)
}

/// Who has a session.
fn holder_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let mut select = connection.prepare_cached("SELECT holder FROM sessions WHERE id = ?1 AND holder != ''")?;
    select.query_row([id], |row| row.get(0)).optional()
}

/// The error of who has lost its lease.
fn now_held(connection: &Connection, database: &Database, id: &str) -> Error {
    match holder_of(connection, id) {
        Ok(holder) => lost(id, holder.as_deref()),
        Err(error) => database.failed("reading it", error),
    }
}

/// Runs work in a transaction that has the write lock from its beginning, and takes it back if it fails.
fn in_transaction<T>(connection: &mut Connection, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let result = work(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            // Closing it in a child of a fork would change what the parent has.
            std::mem::forget(self.connection.take());
        }
    }
}
