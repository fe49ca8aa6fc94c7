//! The files of a session that is open.

use std::fs::{File, Metadata};
use std::io::{ErrorKind as IoErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use agent_loop_proto::session::{Info, decode, without_end};

use super::access::{opened, refused};
use super::files::Files;
use super::lease::LeaseFile;
use crate::error::{Error, ErrorKind};
use crate::session::backend::Holding;

/// What tells a file from another one at the same path, where the system says it.
#[cfg(unix)]
fn identity(meta: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// A journal that may be written to.
#[derive(Debug)]
struct Journal {
    file: File,
    /// Whether there was no record when it was opened.
    is_new: bool,
    identity: Option<(u64, u64)>,
}

impl Journal {
    /// Opens the file, and makes it if there is none.
    fn open(path: &Path) -> Result<Journal, Error> {
        let file = opened(path, true)?;
        let meta = file.metadata().map_err(refused("reading it", path))?;
        Ok(Journal { file, is_new: meta.len() == 0, identity: identity(&meta) })
    }
}

/// The files of a session that may be written to.
#[derive(Debug)]
pub(super) struct OpenFiles {
    journal: Journal,
    lease: LeaseFile,
    /// The number of the last line that was appended; 0 before the first.
    last: u64,
    paths: Files,
}

impl OpenFiles {
    /// Opens the files, and makes them if there are none.
    pub(super) fn open(paths: Files) -> Result<OpenFiles, Error> {
        paths.check_known()?;
        let lease = LeaseFile::open(&paths.lease)?;
        Ok(OpenFiles { journal: Journal::open(&paths.journal)?, lease, last: 0, paths })
    }

    /// The number of the last line that was appended; 0 if there was none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Does something under the lock on the lease, which it is given. Waits for the lock: not for the threads of a runtime.
    pub(super) fn locked<T>(&mut self, work: impl FnOnce(&mut OpenFiles, Holding) -> Result<T, Error>) -> Result<T, Error> {
        let file = self.lease.file();
        let _lock = self.lease.lock(&file, true)?;
        self.lease.read().and_then(|lease| work(self, lease))
    }

    /// The same if the lock is free; else nothing.
    pub(super) fn try_locked<T>(
        &mut self,
        work: impl FnOnce(&mut OpenFiles, Holding) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let file = self.lease.file();
        let Some(_lock) = self.lease.lock(&file, false)? else { return Ok(None) };
        self.lease.read().and_then(|lease| work(self, lease)).map(Some)
    }

    pub(super) fn write_lease(&mut self, lease: &Holding) -> Result<(), Error> {
        self.lease.write(lease)
    }

    /// How long the journal is.
    ///
    /// # Errors
    /// `io` when its file was removed, or another one is there: what is written would be lost.
    pub(super) fn length(&self) -> Result<u64, Error> {
        let path = &self.paths.journal;
        let there = match std::fs::metadata(path) {
            Err(error) if error.kind() == IoErrorKind::NotFound => None,
            other => Some(other.map_err(refused("reading it", path))?),
        };
        match there.filter(|there| identity(there) == self.journal.identity) {
            Some(there) => Ok(there.len()),
            None => {
                let (id, path) = (&self.paths.id, path.display());
                let text = format!(
                    "the session {id:?} cannot be written, as its file {path} was removed or replaced while the session was \
                     open: put it back and open the session again"
                );
                Err(Error::new(ErrorKind::Io, text))
            }
        }
    }

    /// Removes a torn end, and returns how many bytes that were. A last record that lacks only its line end gets it.
    pub(super) fn repair(&mut self) -> Result<u64, Error> {
        let length = self.length().or_else(|_| {
            // Before the lock was taken, another process has deleted the session.
            self.journal = Journal::open(&self.paths.journal)?;
            self.length()
        })?;
        let refused = refused("reading it", &self.paths.journal);
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
            self.journal.file.seek(SeekFrom::Start(from)).map_err(&refused)?;
            self.journal.file.read_exact(&mut more).map_err(&refused)?;
            more.extend_from_slice(&tail);
            tail = more;
        };
        let torn = tail.get(usize::try_from(start.saturating_sub(from)).unwrap_or(usize::MAX)..).unwrap_or_default();
        if torn.is_empty() {
            return Ok(0);
        }
        if decode(without_end(torn)).is_ok() {
            self.journal.file.write_all(b"\n").map_err(&refused)?;
            return Ok(0);
        }
        self.journal.file.set_len(start).map_err(&refused)?;
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
        let before = self.length()?;
        let written =
            self.journal.file.write_all(text.as_bytes()).and_then(|()| if sync { self.journal.file.sync_data() } else { Ok(()) });
        written.map_err(|error| {
            // What was written of it is no record. If that fails, too, whoever opens the session next removes it.
            let _ = self.journal.file.set_len(before);
            refused(error)
        })?;
        self.last = seq.saturating_add(lines.len() as u64).saturating_sub(1);
        Ok(())
    }

    /// Waits until the disk has all.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        self.journal.file.sync_data().map_err(refused("writing it", &self.paths.journal))
    }

    /// Waits until the disk has the names of new files.
    pub(super) fn sync_names(&self) -> Result<(), Error> {
        // Elsewhere a folder cannot be opened as a file.
        #[cfg(unix)]
        if let Some(folder) = self.paths.journal.parent().filter(|_| self.journal.is_new) {
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
    pub(super) fn remove(&mut self, lease: &Holding) -> Result<(), Error> {
        // A session of the same id begins anew. First: a journal that is not there and has had records is damage.
        self.last = 0;
        self.write_lease(&Holding { token: lease.token, ..Holding::default() })?;
        for path in [&self.paths.journal, &self.paths.info] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != IoErrorKind::NotFound => return Err(refused("deleting it", path)(error)),
                _ => {}
            }
        }
        Ok(())
    }
}
