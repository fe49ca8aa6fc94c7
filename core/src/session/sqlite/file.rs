//! The file: its tables, what is read of them, and what its errors mean.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, params};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};
use crate::session::alive::Alive;
use crate::session::backend::{CHECK_EVERY, Holding, ListQuery, Page, SessionInfo, SessionPage, StoredLine};
use crate::session::errors::forked;
use crate::session::store_options::SyncMode;

/// By this number in its header a file is a store, and no other program's database: "agLp".
const APPLICATION: i64 = 0x6167_4c70;
/// The version of the tables.
const TABLES_VERSION: i64 = 1;
/// How long another process may keep the file locked: each transaction is short.
pub(super) const BUSY: Duration = Duration::from_secs(10);
/// Between two tries to make a file that others make, too.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// The bits of a record's number in its key; those above are the session's.
const RECORD_BITS: u32 = 32;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS sessions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        title TEXT,
        metadata TEXT,
        token INTEGER NOT NULL DEFAULT 0,
        holder TEXT NOT NULL DEFAULT '',
        instance TEXT NOT NULL DEFAULT '',
        expires_ms INTEGER NOT NULL DEFAULT 0,
        last INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX IF NOT EXISTS sessions_by_time ON sessions (updated_ms DESC, id);
    CREATE TABLE IF NOT EXISTS records (place INTEGER PRIMARY KEY, line TEXT NOT NULL);
";

/// An SQLite file, with a connection to read it.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    sync: SyncMode,
    reader: Mutex<Option<Connection>>,
    /// A connection for checkpoints.
    copier: Mutex<Option<Connection>>,
    pub(super) alive: Alive,
    pid: u32,
}

impl Database {
    /// Opens the file, and makes it and its tables if there are none.
    pub(super) fn open(path: &Path, sync: SyncMode) -> Result<Database, Error> {
        let mut prefix = path.as_os_str().to_owned();
        prefix.push("-open-");
        let alive = Alive::new(prefix.into());
        let database = Database {
            path: path.to_owned(),
            sync,
            reader: Mutex::default(),
            copier: Mutex::default(),
            alive,
            pid: std::process::id(),
        };
        let connection = database.connect()?;
        let prepare = || {
            let found = found(&connection)?;
            if found == Found::Nothing {
                connection.pragma_update(None, "journal_mode", "WAL")?;
                connection.execute_batch(&format!(
                    "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {TABLES_VERSION}; \
                     COMMIT"
                ))?;
            }
            Ok(found)
        };
        let until = Instant::now() + BUSY;
        let prepared = loop {
            match prepare() {
                // Others make the file at the same time. Where it changes the mode of the log, SQLite does not wait for them:
                // it is asked again, and finds that it was done.
                Err(error) if is_busy(&error) && Instant::now() < until => std::thread::sleep(BETWEEN_TRIES),
                prepared => break prepared,
            }
        };
        match prepared.map_err(|error| database.failed("opening it", error))? {
            Found::Nothing | Found::Store(..=TABLES_VERSION) => {}
            Found::Other => return Err(no_store(&database.name())),
            Found::Store(newer) => {
                let text = format!(
                    "{} was made by a newer version of agent-loop (its tables have version {newer}, this one knows \
                     {TABLES_VERSION}): update agent-loop",
                    database.name()
                );
                return Err(Error::new(ErrorKind::NewerVersion, text));
            }
        }
        *database.reader() = Some(connection);
        Ok(database)
    }

    pub(super) fn name(&self) -> String {
        format!("the SQLite store {}", self.path.display())
    }

    fn connect(&self) -> Result<Connection, Error> {
        // Each connection is behind a lock of ours.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = || {
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(
                None,
                "synchronous",
                match self.sync {
                    SyncMode::Full => "FULL",
                    SyncMode::Normal => "NORMAL",
                    SyncMode::Off => "OFF",
                },
            )?;
            Ok(connection)
        };
        opened().map_err(|error| self.failed("opening it", error))
    }

    /// A connection for who writes. It never copies what it has written into the file itself: that waits for the disk.
    pub(super) fn writer(&self) -> Result<Connection, Error> {
        let connection = self.connect()?;
        let set = connection.pragma_update(None, "wal_autocheckpoint", 0);
        set.map_err(|error| self.failed("opening it", error))?;
        Ok(connection)
    }

    /// Copies what was written into the file itself, beside those who read and write. What cannot be copied now is copied later.
    pub(super) fn checkpoint(&self) {
        self.copying(|connection| connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)"));
    }

    /// Copies all that was written into the file itself, so that the next write begins the log anew. Whoever calls it keeps this
    /// process from writing. Returns whether it was done: others may read or write for too long.
    pub(super) fn begin_log_anew(&self) -> bool {
        // The log's file keeps its size: to shorten it, and to let it grow again, would take time.
        let is_busy = |connection: &Connection| connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0));
        self.copying(is_busy) == Some(0)
    }

    fn copying<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        let mut copier = self.copier.lock().unwrap_or_else(PoisonError::into_inner);
        if copier.is_none() && !self.is_forked() {
            *copier = self.connect().ok();
        }
        copier.as_ref().and_then(|connection| work(connection).ok())
    }

    fn reader(&self) -> MutexGuard<'_, Option<Connection>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let reader = self.reader();
        let Some(connection) = reader.as_ref() else {
            return Err(Error::new(ErrorKind::InvalidState, format!("{} was closed", self.name())));
        };
        work(connection).map_err(|error| self.failed("reading it", error))
    }

    /// SQLite's connections cannot be used in a child of a fork.
    pub(super) fn check_process(&self) -> Result<(), Error> {
        if self.is_forked() { Err(forked(&self.name())) } else { Ok(()) }
    }

    pub(super) fn is_forked(&self) -> bool {
        self.pid != std::process::id()
    }

    /// What an error means to who uses the store.
    pub(super) fn failed(&self, doing: &str, error: rusqlite::Error) -> Error {
        let name = self.name();
        let code = error.sqlite_error_code();
        let what = match code {
            Some(ErrorCode::DiskFull) => {
                format!("{name}: {doing} failed, as the disk is full; make room and open the session again")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                format!("{name}: {doing} failed, as the file or its folder cannot be written; check their permissions")
            }
            Some(ErrorCode::CannotOpen) if self.path.is_dir() => {
                let path = self.path.display();
                format!(
                    "{name}: it is a folder; name a file in it, or give \"jsonl:{path}\" for a store with a file for each session"
                )
            }
            Some(ErrorCode::CannotOpen) => {
                format!("{name}: it cannot be opened: check that its folder is there and can be written ({error})")
            }
            _ if is_busy(&error) => {
                format!("{name}: {doing} failed, as another program keeps it locked for more than {} s", BUSY.as_secs())
            }
            Some(ErrorCode::NotADatabase) => return no_store(&name).with_source(error),
            Some(ErrorCode::DatabaseCorrupt) => {
                format!("{name}: the file is damaged ({error}); salvage gives what can be read of a session")
            }
            _ => format!("{name}: {doing} failed: {error}"),
        };
        let kind = match code {
            Some(ErrorCode::DatabaseCorrupt) => ErrorKind::Damaged,
            _ => ErrorKind::Io,
        };
        Error::new(kind, what).with_source(error)
    }

    /// The lines behind a number; none if there is no such session.
    pub(super) fn read(&self, id: &str, after: u64, limit: usize) -> Result<Option<Page>, Error> {
        self.reading(|connection| {
            // What is read is of one moment, also if the session is deleted meanwhile.
            let _reads = connection.unchecked_transaction()?;
            let Some(number) = number_of(connection, id)? else { return Ok(None) };
            let last = connection
                .prepare_cached("SELECT last FROM sessions WHERE number = ?1")?
                .query_row([number], |row| Ok(u64::try_from(row.get::<_, i64>(0)?).unwrap_or_default()))
                .optional()?
                .unwrap_or_default();
            let (Some(from), Some(to)) = (place(number, after), place(number, u64::from(u32::MAX))) else {
                return Ok(Some(Page::default()));
            };
            let text = "SELECT place, line FROM records WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3";
            let mut statement = connection.prepare_cached(text)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let line = |row: &Row<'_>| {
                let place: i64 = row.get(0)?;
                // Damaged text need not be UTF-8.
                let text = row.get_ref(1)?.as_bytes().map(<[u8]>::to_vec).unwrap_or_default();
                Ok(StoredLine { seq: u64::try_from(place & i64::from(u32::MAX)).unwrap_or_default(), text })
            };
            let lines = statement.query_map(params![from, to, limit], line)?.collect::<rusqlite::Result<_>>()?;
            Ok(Some(Page { last, ..Page::new(lines) }))
        })
    }

    pub(super) fn info(&self, id: &str) -> Result<Option<SessionInfo>, Error> {
        let text = format!("SELECT {INFO} FROM sessions WHERE id = ?1");
        self.reading(|connection| connection.prepare_cached(&text)?.query_row([id], info).optional())
    }

    pub(super) fn list(&self, query: &ListQuery) -> Result<SessionPage, Error> {
        let (ms, id) = query.place()?.unwrap_or((u64::MAX, ""));
        let bound = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        let text = format!(
            "SELECT {INFO} FROM sessions WHERE (updated_ms < ?1 OR (updated_ms = ?1 AND id > ?2)) AND updated_ms >= ?3 \
             AND updated_ms < ?4 ORDER BY updated_ms DESC, id"
        );
        let (from, before) = (query.updated_from_ms.unwrap_or(0), query.updated_before_ms.unwrap_or(u64::MAX));
        self.reading(|connection| {
            let mut statement = connection.prepare_cached(&text)?;
            let mut rows = statement.query(params![bound(ms), id, bound(from), bound(before)])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let session = info(row)?;
                if !query.fits(session.metadata.as_ref()) {
                    continue;
                }
                if found.len() == query.most() {
                    return Ok(SessionPage::of(found, true));
                }
                found.push(session);
            }
            Ok(SessionPage::of(found, false))
        })
    }

    /// Waits until there may be a line behind a number.
    pub(super) async fn changed(&self, id: String, after: u64) -> Result<(), Error> {
        let mut seen = None;
        loop {
            self.check_process()?;
            // It costs microseconds, and shows whether anything has changed at all.
            let version: i64 =
                self.reading(|connection| connection.pragma_query_value(None, "data_version", |row| row.get(0)))?;
            if seen.replace(version) != Some(version) {
                match self.read(&id, after, 1)? {
                    Some(page) if page.lines.is_empty() => {}
                    _ => return Ok(()),
                }
            }
            tokio::time::sleep(CHECK_EVERY).await;
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.is_forked() {
            // Closing it would change what the parent has.
            std::mem::forget(self.reader().take());
            std::mem::forget(self.copier.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What is in a file.
#[derive(Debug, PartialEq)]
enum Found {
    /// Nothing yet.
    Nothing,
    /// Tables of this version.
    Store(i64),
    /// Another program's tables.
    Other,
}

fn found(connection: &Connection) -> rusqlite::Result<Found> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    let version = pragma("user_version")?;
    // As the last one: whoever makes our tables meanwhile says so in the same transaction.
    Ok(match (pragma("application_id")?, tables, version) {
        (APPLICATION, _, 0) | (0, 0, 0) => Found::Nothing,
        (APPLICATION, ..) => Found::Store(version),
        _ => Found::Other,
    })
}

fn no_store(name: &str) -> Error {
    let text =
        format!("{name}: the file is no store of sessions, or its beginning is damaged; give another path, or a copy of it");
    Error::new(ErrorKind::Damaged, text)
}

/// The columns of [`info`].
const INFO: &str = "id, title, metadata, created_ms, updated_ms, holder, expires_ms";

fn info(row: &Row<'_>) -> rusqlite::Result<SessionInfo> {
    let ms = |value: i64| u64::try_from(value).unwrap_or_default();
    let metadata: Option<String> = row.get(2)?;
    let lease = Holding { holder: row.get(5)?, expires_ms: ms(row.get(6)?), ..Holding::default() };
    Ok(SessionInfo {
        id: row.get(0)?,
        title: row.get(1)?,
        metadata: metadata.and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok()),
        created_ms: ms(row.get(3)?),
        updated_ms: ms(row.get(4)?),
        holder: lease.holder().filter(|_| lease.left_ms() > 0).map(str::to_owned),
    })
}

/// The number of a session in the keys of its records.
pub(super) fn number_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached("SELECT number FROM sessions WHERE id = ?1")?.query_row([id], |row| row.get(0)).optional()
}

/// The key of a record; none for a number that is too large.
pub(super) fn place(number: i64, seq: u64) -> Option<i64> {
    let seq = u32::try_from(seq).ok()?;
    let upper = number.checked_mul(1 << RECORD_BITS)?;
    upper.checked_add(i64::from(seq))
}

/// A number as SQLite has it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
