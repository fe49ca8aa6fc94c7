//! The connection that writes: appends in groups, leases, and what is set of a session.

use std::collections::HashMap;
use std::time::Duration;

use agent_loop_proto::session::Info;
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};
use serde_json::Value;
use tokio::sync::oneshot;

use super::file::{BUSY, Database, number_of, place};
use crate::error::{Error, ErrorKind};
use crate::session::backend::{Acquire, HeldLease, Holding, Lease};
use crate::session::clock::now_ms;
use crate::session::errors::{held, lost};

/// How exact `updated_ms` is: writing it costs as much as a record.
const TOUCH_EVERY_MS: u64 = 1_000;

/// How many pages are written before they are copied into the file itself, beside those who go on writing.
const CHECKPOINT_PAGES: usize = 1_000;
/// How many pages are written before all of them are copied while nothing is written. SQLite begins its log anew only then: it
/// would grow for as long as sessions are written. Some 32 MB.
const LOG_PAGES: usize = 8_000;
/// Those that giving or taking back a lease writes, at least: the session and the index of times.
const LEASE_PAGES: usize = 2;
/// The bits of a token that count a session's leases; those above are of the session.
const TOKEN_BITS: u32 = 24;

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
    fn fail(self, error: Error) {
        match self {
            Job::Append(append) => append.end(Err(error)),
            Job::Acquire { done, .. } => drop(done.send(Err(error))),
            Job::Release { done, .. } => drop(done.send(Err(error))),
        }
    }
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
    /// Some pages that were written since the last checkpoint: no fewer than half of them.
    uncopied: usize,
    /// The same since the log was begun anew.
    logged: usize,
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

#[derive(Debug, Clone, Copy)]
struct Open {
    number: i64,
    token: u64,
    /// When `updated_ms` was last written.
    touched_ms: u64,
    /// The number of the last record that was written here.
    last: u64,
}

impl Writer {
    pub(super) fn new(connection: Connection) -> Writer {
        Writer {
            connection: Some(connection),
            open: HashMap::new(),
            uncopied: 0,
            logged: 0,
            waits: None,
            pid: std::process::id(),
        }
    }

    /// The connection, which waits for other processes, or fails at once while one of them writes.
    fn connection(&mut self, database: &Database, waits: bool) -> Result<(&mut Connection, &mut HashMap<String, Open>), Error> {
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

    /// Does all in order. Returns whether a checkpoint is due.
    ///
    /// # Errors
    /// The jobs that were not done, if it is not to wait and another process writes.
    pub(super) fn work(&mut self, database: &Database, jobs: Vec<Job>, waits: bool) -> Result<bool, Vec<Job>> {
        if let Err(error) = self.connection(database, waits) {
            jobs.into_iter().for_each(|job| job.fail(error.clone()));
            return Ok(false);
        }
        let mut jobs = jobs.into_iter();
        let mut appends = Vec::new();
        loop {
            let job = jobs.next();
            if let Some(Job::Append(append)) = job {
                appends.push(append);
                continue;
            }
            // Those that stand together are written together.
            let refused = match self.commit(database, std::mem::take(&mut appends), waits) {
                Ok(()) => match job {
                    Some(job) => self.lease_job(database, job, waits).err().into_iter().collect(),
                    None => break,
                },
                Err(appends) => appends.into_iter().map(Job::Append).chain(job).collect::<Vec<_>>(),
            };
            if !refused.is_empty() {
                return Err(refused.into_iter().chain(jobs).collect());
            }
        }
        let is_due = self.uncopied >= CHECKPOINT_PAGES;
        if is_due {
            self.uncopied = 0;
        }
        Ok(is_due)
    }

    /// Writes all in one transaction. Who has lost its lease gets an error; the others are written.
    ///
    /// # Errors
    /// The jobs, if it is not to wait and another process writes: none of them was written.
    fn commit(&mut self, database: &Database, jobs: Vec<Append>, waits: bool) -> Result<(), Vec<Append>> {
        let (Some(connection), false) = (&mut self.connection, jobs.is_empty()) else { return Ok(()) };
        let (open, pages) = (&mut self.open, jobs.iter().map(Append::pages).sum());
        let now = now_ms();
        let written = match jobs.as_slice() {
            // A statement is a transaction by itself, for half the price.
            [job] if job.lines.len() == 1 && !is_touched(open, job, now) => {
                append(connection, open, job).map(|result| vec![result])
            }
            jobs => in_transaction(connection, |connection| {
                jobs.iter().map(|job| append_and_touch(connection, open, job, now)).collect::<rusqlite::Result<Vec<_>>>()
            }),
        };
        match written {
            Ok(results) => jobs.into_iter().zip(results).for_each(|(job, result)| {
                if let (Ok(()), Some(session)) = (&result, open.get_mut(&job.lease.id)) {
                    session.last = job.last();
                }
                job.end(result);
            }),
            Err(error) if is_busy(&error, waits) => return Err(jobs),
            Err(error) => {
                // None of it was written.
                let error = database.failed("writing", error);
                jobs.into_iter().for_each(|job| job.end(Err(error.clone())));
            }
        }
        self.count(pages);
        Ok(())
    }

    fn count(&mut self, pages: usize) {
        self.uncopied = self.uncopied.saturating_add(pages);
        self.logged = self.logged.saturating_add(pages);
    }

    /// Whether the log has to be begun anew.
    pub(super) fn is_log_full(&self) -> bool {
        self.logged >= LOG_PAGES
    }

    /// Copies all that was written into the file itself and begins the log anew, which waits for the disk and for readers. If a
    /// reader takes too long, it is tried again soon.
    pub(super) fn empty_log(&mut self, database: &Database) {
        self.uncopied = 0;
        self.logged = if database.empty_log() { 0 } else { LOG_PAGES.saturating_sub(CHECKPOINT_PAGES) };
    }

    /// Gives or takes back a lease.
    ///
    /// # Errors
    /// The job, if it is not to wait and another process writes.
    fn lease_job(&mut self, database: &Database, job: Job, waits: bool) -> Result<(), Job> {
        self.count(LEASE_PAGES);
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let open = &mut self.open;
        match job {
            Job::Acquire { request, done } => {
                let acquired = database.alive.instance().map(|instance| acquire(connection, database, &request, instance));
                let result = match acquired {
                    Ok(Err(error)) if is_busy(&error, waits) => return Err(Job::Acquire { request, done }),
                    Ok(Err(error)) => Err(database.failed("opening a session", error)),
                    Ok(Ok(Ok((lease, session)))) => {
                        open.insert(request.id, session);
                        Ok(lease)
                    }
                    Ok(Ok(Err(error))) | Err(error) => Err(error),
                };
                let _ = done.send(result);
            }
            Job::Release { lease, done } => {
                // Not if it was opened again here.
                let closed = open.get(&lease.id).filter(|open| open.token == lease.token).copied();
                let result = match release(connection, &lease, closed.map_or(0, |closed| closed.last)) {
                    Err(error) if is_busy(&error, waits) => return Err(Job::Release { lease, done }),
                    Err(error) => Err(database.failed("closing a session", error)),
                    Ok(()) => {
                        if closed.is_some() {
                            open.remove(&lease.id);
                        }
                        Ok(())
                    }
                };
                let _ = done.send(result);
            }
            other => return Err(other),
        }
        Ok(())
    }

    pub(super) fn renew(&mut self, database: &Database, leases: Vec<HeldLease>, lease_ms: u64) -> Result<Vec<String>, Error> {
        let expires_ms = signed(now_ms().saturating_add(lease_ms));
        let (connection, _) = self.connection(database, true)?;
        let lost = in_transaction(connection, |connection| {
            let mut update = connection.prepare_cached("UPDATE sessions SET expires_ms = ?3 WHERE id = ?1 AND token = ?2")?;
            let mut lost = Vec::new();
            for lease in leases {
                if update.execute(params![lease.id, signed(lease.token), expires_ms])? == 0 {
                    lost.push(lease.id);
                }
            }
            Ok(lost)
        });
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

/// Takes the lease on a session, which is created if there is none, or says who has it.
fn acquire(
    connection: &mut Connection,
    database: &Database,
    request: &Acquire,
    instance: &str,
) -> rusqlite::Result<Result<(Lease, Open), Error>> {
    in_transaction(connection, |connection| {
        let found = connection
            .prepare_cached("SELECT number, token, holder, instance, expires_ms, last FROM sessions WHERE id = ?1")?
            .query_row([&request.id], |row| {
                let lease = Holding {
                    token: unsigned(row.get(1)?),
                    holder: row.get(2)?,
                    instance: row.get(3)?,
                    expires_ms: unsigned(row.get(4)?),
                    last: unsigned(row.get(5)?),
                };
                Ok((row.get::<_, i64>(0)?, lease))
            })
            .optional()?;
        let is_new = found.is_none();
        let (number, before) = match found {
            Some((_, lease)) if lease.left_ms() > 0 && !database.alive.has_ended(&lease.instance) => {
                return Ok(Err(held(&request.id, &lease.holder, lease.left_ms())));
            }
            Some((number, lease)) => (number, lease),
            None => {
                let mut insert =
                    connection.prepare_cached("INSERT INTO sessions (id, created_ms, updated_ms) VALUES (?1, ?2, ?2)")?;
                let number = insert.insert(params![request.id, signed(now_ms())])?;
                // A deleted session's tokens are those of no other of the same id.
                (number, Holding { token: unsigned(number) << TOKEN_BITS, ..Holding::default() })
            }
        };
        let Holding { token, holder, instance, expires_ms, last } = before.next(request, instance);
        connection
            .prepare_cached("UPDATE sessions SET token = ?2, holder = ?3, instance = ?4, expires_ms = ?5 WHERE number = ?1")?
            .execute(params![number, signed(token), holder, instance, signed(expires_ms)])?;
        // The time of a new session is that of its row.
        let touched_ms = if is_new { now_ms() } else { 0 };
        Ok(Ok((Lease { token, torn: 0, last, is_new }, Open { number, token, touched_ms, last })))
    })
}

/// Gives a lease back, of a session that has at least so many records.
fn release(connection: &Connection, lease: &HeldLease, last: u64) -> rusqlite::Result<()> {
    let text = "UPDATE sessions SET holder = '', instance = '', expires_ms = 0, updated_ms = ?3, last = max(last, ?4) \
                WHERE id = ?1 AND token = ?2";
    let mut update = connection.prepare_cached(text)?;
    update.execute(params![lease.id, signed(lease.token), signed(now_ms()), signed(last)]).map(drop)
}

/// Appends the lines of a job, or says who has the session now.
fn append(connection: &Connection, open: &HashMap<String, Open>, job: &Append) -> rusqlite::Result<Result<(), Error>> {
    let id = &job.lease.id;
    let Some(session) = open.get(id).filter(|session| session.token == job.lease.token) else {
        return Ok(Err(lost(id, None)));
    };
    // The lease is checked where the line is written, so that nothing can come between.
    let text =
        "INSERT INTO records (place, line) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM sessions WHERE number = ?3 AND token = ?4)";
    let mut insert = connection.prepare_cached(text)?;
    let last = job.seq.saturating_add(job.lines.len() as u64);
    let (Some(first), Some(_)) = (place(session.number, job.seq), place(session.number, last)) else {
        let text = format!("the session {id:?} has {} records, and an SQLite store takes no more of one session", u32::MAX);
        return Ok(Err(Error::new(ErrorKind::Limit, text)));
    };
    for (place, line) in (first..).zip(&job.lines) {
        // All lines of a job have the same lease: none or each of them is written.
        if insert.execute(params![place, line, session.number, signed(job.lease.token)])? == 0 {
            return holder_of(connection, id).map(|holder| Err(lost(id, holder.as_deref())));
        }
    }
    Ok(Ok(()))
}

/// The same, with the time of the change if it was not written for a while.
fn append_and_touch(
    connection: &Connection,
    open: &mut HashMap<String, Open>,
    job: &Append,
    now: u64,
) -> rusqlite::Result<Result<(), Error>> {
    let appended = append(connection, open, job)?;
    if appended.is_ok()
        && is_touched(open, job, now)
        && let Some(session) = open.get_mut(&job.lease.id)
    {
        connection.prepare_cached("UPDATE sessions SET updated_ms = ?2, last = ?3 WHERE number = ?1")?.execute(params![
            session.number,
            signed(now),
            signed(job.last())
        ])?;
        session.touched_ms = now;
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

/// A number as SQLite has it.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            // Closing it in a child of a fork would change what the parent has.
            std::mem::forget(self.connection.take());
        }
    }
}
