//! The files of one session.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind as IoErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use agent_loop_proto::session::{Info, JournalRecord, decode, without_end};
use serde::Deserialize;

use super::names::{earlier_name, file_name, id_of_file};
use crate::error::{Error, ErrorKind};
use crate::session::backend::{Holding, StoredLine};
use crate::session::errors::io;

/// A lease is written at once: a disk's sector, so that no reader sees half of one.
const LEASE_BYTES: usize = 512;
/// Those before its checksum, which is 8 digits and a line end.
const LEASE_TEXT: usize = LEASE_BYTES - 9;
/// How many places in files are remembered.
const REMEMBERED: usize = 64;
/// A first record is shorter.
const FIRST_RECORD: u64 = 1 << 16;
/// How long another process may keep the lock on a lease, which it has for one write.
const LOCKED: Duration = Duration::from_secs(10);
/// How often a lease is read that seems to be damaged.
const READS: usize = 3;
/// How often the lock is tried meanwhile.
const TRY_EVERY: Duration = Duration::from_millis(1);

/// Where the files are.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) id: String,
    journal: PathBuf,
    lease: PathBuf,
    info: PathBuf,
}

/// The places at which readers have stopped, for those that go on there.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<VecDeque<Place>>);

/// Where a line ends in a file.
#[derive(Debug)]
struct Place {
    journal: PathBuf,
    seq: u64,
    end: u64,
}

impl Places {
    /// Where the line of this number ends.
    fn find(&self, journal: &Path, seq: u64) -> Option<u64> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().find(|place| place.seq == seq && place.journal == journal).map(|place| place.end)
    }

    fn remember(&self, journal: &Path, seq: u64, end: u64) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|place| place.seq != seq || place.journal != journal);
        if places.len() == REMEMBERED {
            places.pop_front();
        }
        places.push_back(Place { journal: journal.to_owned(), seq, end });
    }
}

fn refused<'a>(doing: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> Error + 'a {
    move |error| match error.kind() {
        IoErrorKind::StorageFull | IoErrorKind::QuotaExceeded | IoErrorKind::FileTooLarge => {
            let text = format!(
                "{}: {doing} failed, as there is no room ({error}); make room and open the session again",
                path.display()
            );
            Error::new(ErrorKind::Io, text).with_source(error)
        }
        IoErrorKind::PermissionDenied | IoErrorKind::ReadOnlyFilesystem => {
            let text = format!("{}: {doing} failed ({error}); check the permissions of the folder and its files", path.display());
            Error::new(ErrorKind::Io, text).with_source(error)
        }
        _ => io(&format!("{}: {doing} failed", path.display()), error),
    }
}

impl Files {
    /// Those of the session of this id: as an earlier version has named them, if that has made them.
    pub(super) fn of(folder: &Path, id: &str) -> Result<Files, Error> {
        let files = Files::named(folder, &file_name(id), id);
        let Some(earlier) = earlier_name(id).map(|name| Files::named(folder, &name, id)) else { return Ok(files) };
        let exists = |files: &Files| files.length().map(|length| length.is_some_and(|length| length > 0));
        // Where upper and lower case are the same, the file may be that of another session.
        let is_other = |files: &Files| files.first_id().is_some_and(|first| first != id);
        Ok(if !exists(&files)? && exists(&earlier)? && !is_other(&earlier) { earlier } else { files })
    }

    /// Those with the journal of this file name; none if it is no session's.
    pub(super) fn of_file(folder: &Path, name: &str) -> Option<Files> {
        let name = name.strip_suffix(".jsonl")?;
        let files = |id: &str| Files::named(folder, name, id);
        let id = id_of_file(name).or_else(|| files("").first_id().filter(|id| file_name(id) == name))?;
        Some(files(&id))
    }

    fn named(folder: &Path, name: &str, id: &str) -> Files {
        let file = |end: &str| folder.join(format!("{name}.{end}"));
        Files { id: id.to_owned(), journal: file("jsonl"), lease: file("lease"), info: file("info") }
    }

    /// The id in the first record, also if that is damaged elsewhere.
    fn first_id(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct First {
            id: String,
        }
        let mut line = Vec::new();
        let opened = File::open(&self.journal).ok()?.take(FIRST_RECORD);
        BufReader::new(opened).read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice::<First>(&line).ok().map(|first| first.id)
    }

    /// Opens the files to write, and makes them if there are none.
    pub(super) fn open(self) -> Result<OpenFiles, Error> {
        let opened = |path: &Path, append: bool| {
            let mut options = OpenOptions::new();
            options.read(true).create(true);
            let options = if append { options.append(true) } else { options.write(true).truncate(false) };
            options.open(path).map_err(refused("opening it", path))
        };
        let lease = opened(&self.lease, false)?;
        let journal = opened(&self.journal, true)?;
        let is_new = journal.metadata().map_err(refused("reading it", &self.journal))?.len() == 0;
        Ok(OpenFiles { journal, lease, is_new, last: 0, paths: self })
    }

    /// The lease, without a lock.
    pub(super) fn lease(&self) -> Result<Holding, Error> {
        let read = || match std::fs::read(&self.lease) {
            Ok(text) => read_lease(&self.lease, &text),
            Err(error) if error.kind() == IoErrorKind::NotFound => Ok(Holding::default()),
            Err(error) => Err(refused("reading it", &self.lease)(error)),
        };
        // Another process may be writing it: once more if it seems damaged.
        (1..READS).find_map(|_| read().ok()).map_or_else(read, Ok)
    }

    /// Title and metadata.
    pub(super) fn info(&self) -> Result<Info, Error> {
        match std::fs::read(&self.info) {
            Ok(text) => serde_json::from_slice(&text).or_else(|_| self.info_of_journal()),
            Err(error) if error.kind() == IoErrorKind::NotFound => Ok(Info::default()),
            Err(error) => Err(refused("reading it", &self.info)(error)),
        }
    }

    /// Title and metadata, as the journal has them, too.
    fn info_of_journal(&self) -> Result<Info, Error> {
        let mut info = Info::default();
        for line in self.read(&Places::default(), 0, usize::MAX)?.unwrap_or_default() {
            match decode(&line.text).map(|entry| entry.record) {
                Ok(JournalRecord::Info(changed)) => info.merge(changed),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        Ok(info)
    }

    /// When the session was created, and when it was changed; none if there is no such session.
    pub(super) fn times(&self) -> Result<Option<(u64, u64)>, Error> {
        let opened = match File::open(&self.journal) {
            Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(None),
            other => other.map_err(refused("reading it", &self.journal))?,
        };
        let meta = opened.metadata().map_err(refused("reading it", &self.journal))?;
        let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let changed = u64::try_from(changed.as_millis()).unwrap_or_default();
        let mut first = Vec::new();
        let line = BufReader::new(opened).read_until(b'\n', &mut first);
        line.map_err(refused("reading it", &self.journal))?;
        let created = decode(without_end(&first)).map_or(changed, |entry| entry.at);
        Ok(Some((created, changed)))
    }

    /// How long the journal is; none without one.
    pub(super) fn length(&self) -> Result<Option<u64>, Error> {
        match std::fs::metadata(&self.journal) {
            Ok(meta) => Ok(Some(meta.len())),
            // An earlier version had names that are too long: there is no such file.
            Err(error) if matches!(error.kind(), IoErrorKind::NotFound | IoErrorKind::InvalidFilename) => Ok(None),
            Err(error) => Err(refused("reading it", &self.journal)(error)),
        }
    }

    /// Lines behind a number, without an end that is torn or is being written; none if there is no such session.
    pub(super) fn read(&self, places: &Places, after: u64, limit: usize) -> Result<Option<Vec<StoredLine>>, Error> {
        let refused = refused("reading it", &self.journal);
        let opened = match File::open(&self.journal) {
            Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(None),
            other => other.map_err(&refused)?,
        };
        let mut reader = BufReader::with_capacity(1 << 16, opened);
        let (mut seq, mut end) = (0, 0);
        if let Some(known) = places.find(&self.journal, after) {
            reader.seek(SeekFrom::Start(known)).map_err(&refused)?;
            let expected = format!("{{\"seq\":{},", after.saturating_add(1));
            // Not if another session has been written there meanwhile, under the same id.
            match reader.fill_buf().map_err(&refused)?.starts_with(expected.as_bytes()) {
                true => (seq, end) = (after, known),
                false => reader.rewind().map_err(&refused)?,
            }
        }
        let mut lines = Vec::new();
        while lines.len() < limit {
            let mut text = Vec::new();
            let read = reader.read_until(b'\n', &mut text).map_err(&refused)?;
            if text.last() != Some(&b'\n') {
                break;
            }
            end = end.saturating_add(read as u64);
            text.truncate(without_end(&text).len());
            // As an editor leaves it.
            if text.is_empty() {
                continue;
            }
            seq = seq.saturating_add(1);
            if seq > after {
                lines.push(StoredLine { seq, text });
            }
        }
        places.remember(&self.journal, seq, end);
        Ok(Some(lines))
    }
}

/// The files of a session that may be written to.
#[derive(Debug)]
pub(super) struct OpenFiles {
    journal: File,
    lease: File,
    /// Whether there was no record when they were opened.
    is_new: bool,
    /// The number of the last line that was appended; 0 before the first.
    last: u64,
    paths: Files,
}

impl OpenFiles {
    /// The number of the last line that was appended; 0 if there was none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Does something under the lock on the lease, which it is given.
    pub(super) fn locked<T>(&mut self, work: impl FnOnce(&mut OpenFiles, Holding) -> Result<T, Error>) -> Result<T, Error> {
        self.lock().map_err(refused("locking it", &self.paths.lease))?;
        let lease = self.read_lease();
        let done = lease.and_then(|lease| work(self, lease));
        let unlocked = fs4::FileExt::unlock(&self.lease).map_err(refused("unlocking it", &self.paths.lease));
        done.and_then(|done| unlocked.map(|()| done))
    }

    fn lock(&self) -> std::io::Result<()> {
        let began = Instant::now();
        loop {
            match fs4::FileExt::try_lock(&self.lease) {
                Ok(()) => return Ok(()),
                Err(fs4::TryLockError::Error(error)) => return Err(error),
                Err(fs4::TryLockError::WouldBlock) if began.elapsed() > LOCKED => {
                    let text = format!("another process has kept it locked for {} s, or was stopped meanwhile", LOCKED.as_secs());
                    return Err(std::io::Error::new(IoErrorKind::TimedOut, text));
                }
                Err(fs4::TryLockError::WouldBlock) => std::thread::sleep(TRY_EVERY),
            }
        }
    }

    fn read_lease(&mut self) -> Result<Holding, Error> {
        let mut text = [0; LEASE_BYTES];
        let mut length = 0;
        let mut read = || {
            self.lease.seek(SeekFrom::Start(0))?;
            loop {
                let Some(rest) = text.get_mut(length..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
                match self.lease.read(rest)? {
                    0 => return Ok(()),
                    read => length += read,
                }
            }
        };
        read().map_err(refused("reading it", &self.paths.lease))?;
        read_lease(&self.paths.lease, text.get(..length).unwrap_or_default())
    }

    pub(super) fn write_lease(&mut self, lease: &Holding) -> Result<(), Error> {
        let mut text = serde_json::to_vec(lease).unwrap_or_default();
        if text.len() > LEASE_TEXT {
            let wrong = format!("store: holder: the name {:?} is too long; give one of at most 200 bytes", lease.holder);
            return Err(Error::invalid_argument(wrong));
        }
        text.resize(LEASE_TEXT, b' ');
        text.extend_from_slice(format!("{:08x}\n", crc32fast::hash(&text)).as_bytes());
        let written = self.lease.seek(SeekFrom::Start(0)).and_then(|_| self.lease.write_all(&text));
        written.map_err(refused("writing it", &self.paths.lease))
    }

    /// Removes a torn end, and returns how many bytes that were. A last record that lacks only its line end gets it.
    pub(super) fn repair(&mut self) -> Result<u64, Error> {
        let refused = refused("reading it", &self.paths.journal);
        let length = self.journal.metadata().map_err(&refused)?.len();
        let mut tail = Vec::new();
        let mut from = length;
        let start = loop {
            if let Some(at) = memchr::memrchr(b'\n', &tail) {
                break from.saturating_add(at as u64).saturating_add(1);
            }
            if from == 0 {
                break 0;
            }
            let back = from.min(1 << 12).max(tail.len() as u64).min(from);
            from = from.saturating_sub(back);
            let mut more = vec![0; usize::try_from(back).unwrap_or_default()];
            self.journal.seek(SeekFrom::Start(from)).map_err(&refused)?;
            self.journal.read_exact(&mut more).map_err(&refused)?;
            more.extend_from_slice(&tail);
            tail = more;
        };
        let torn = tail.get(usize::try_from(start.saturating_sub(from)).unwrap_or(usize::MAX)..).unwrap_or_default();
        if torn.is_empty() {
            return Ok(0);
        }
        if decode(without_end(torn)).is_ok() {
            self.journal.write_all(b"\n").map_err(&refused)?;
            return Ok(0);
        }
        self.journal.set_len(start).map_err(&refused)?;
        Ok(torn.len() as u64)
    }

    /// Appends lines, all or none; `sync`: and waits for the disk.
    pub(super) fn append(&mut self, seq: u64, lines: &[String], sync: bool) -> Result<(), Error> {
        let mut text = String::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        let refused = refused("writing it", &self.paths.journal);
        let before = self.journal.metadata().map_err(&refused)?.len();
        let written = self.journal.write_all(text.as_bytes()).and_then(|()| if sync { self.journal.sync_data() } else { Ok(()) });
        written.map_err(|error| {
            // What was written of it is no record. If that fails, too, whoever opens the session next removes it.
            let _ = self.journal.set_len(before);
            refused(error)
        })?;
        self.last = seq.saturating_add(lines.len() as u64).saturating_sub(1);
        Ok(())
    }

    /// Waits until the disk has all.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        self.journal.sync_data().map_err(refused("writing it", &self.paths.journal))
    }

    /// Waits until the disk has the names of new files.
    pub(super) fn sync_names(&self) -> Result<(), Error> {
        // Elsewhere a folder cannot be opened as a file.
        #[cfg(unix)]
        if let Some(folder) = self.paths.journal.parent().filter(|_| self.is_new) {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(refused("writing it", folder))?;
        }
        Ok(())
    }

    pub(super) fn write_info(&mut self, info: &Info) -> Result<(), Error> {
        let text = serde_json::to_vec(info).unwrap_or_default();
        let fresh = self.paths.info.with_extension("info-new");
        let written = std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, &self.paths.info));
        written.map_err(refused("writing it", &self.paths.info))
    }

    /// Removes the session. The lease stays, so that whoever had it before is refused still.
    pub(super) fn remove(&mut self) -> Result<(), Error> {
        for path in [&self.paths.journal, &self.paths.info] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != IoErrorKind::NotFound => return Err(refused("deleting it", path)(error)),
                _ => {}
            }
        }
        // A session of the same id begins anew.
        let lease = self.read_lease()?;
        self.last = 0;
        self.write_lease(&Holding { token: lease.token, ..Holding::default() })
    }
}

/// A file without text is that of a session that was never opened, or of a machine that lost power before it was written.
fn read_lease(path: &Path, text: &[u8]) -> Result<Holding, Error> {
    if text.iter().all(|byte| matches!(byte, 0 | b' ')) {
        return Ok(Holding::default());
    }
    let lease = text.split_at_checked(LEASE_TEXT).and_then(|(lease, crc)| {
        let is_whole = crc == format!("{:08x}\n", crc32fast::hash(lease)).as_bytes();
        serde_json::from_slice(lease).ok().filter(|_| is_whole)
    });
    lease.ok_or_else(|| {
        let path = path.display();
        let text = format!("{path}: it is damaged, and no longer says who has the session open; delete it if no program has");
        Error::new(ErrorKind::Damaged, text)
    })
}
