//! The file that says who has a session open, and its lock.

use std::fs::File;
use std::io::{ErrorKind as IoErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::access::{opened, refused};
use crate::error::{Error, ErrorKind};
use crate::file_lock::FileLock;
use crate::session::backend::Holding;

/// A lease is written at once: a disk's sector, so that no reader sees half of one.
const LEASE_BYTES: usize = 512;
/// Those before its checksum, which is 8 digits and a line end.
const LEASE_TEXT: usize = LEASE_BYTES - 9;
/// How long another process may keep the lock on a lease, which it has for one write.
const LOCKED: Duration = Duration::from_secs(10);
/// How often a lease is read that seems to be damaged.
const READS: usize = 3;

/// The lease of a session, to write it. Whoever has its lock may.
#[derive(Debug)]
pub(super) struct LeaseFile {
    file: Arc<File>,
    path: PathBuf,
}

impl LeaseFile {
    /// Opens the file, and makes it if there is none.
    pub(super) fn open(path: &Path) -> Result<LeaseFile, Error> {
        Ok(LeaseFile { file: Arc::new(opened(path, false)?), path: path.to_owned() })
    }

    /// The file, to lock it.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Locks the file, which is this one's; none if another one has the lock, and `waits` is not set. Who waits is no thread of a
    /// runtime.
    pub(super) fn lock<'a>(&self, file: &'a File, waits: bool) -> Result<Option<FileLock<&'a File>>, Error> {
        match FileLock::exclusive(file, if waits { LOCKED } else { Duration::ZERO }) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if !waits && error.kind() == IoErrorKind::TimedOut => Ok(None),
            Err(error) => Err(refused("locking it", &self.path)(error)),
        }
    }

    /// What it says. For who has the lock.
    pub(super) fn read(&self) -> Result<Holding, Error> {
        let mut text = [0; LEASE_BYTES];
        let mut length = 0;
        let mut file = &*self.file;
        let mut read = || {
            file.seek(SeekFrom::Start(0))?;
            loop {
                let Some(rest) = text.get_mut(length..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
                match file.read(rest)? {
                    0 => return Ok(()),
                    read => length += read,
                }
            }
        };
        read().map_err(refused("reading it", &self.path))?;
        parsed(&self.path, text.get(..length).unwrap_or_default())
    }

    /// For who has the lock.
    pub(super) fn write(&self, lease: &Holding) -> Result<(), Error> {
        let mut text = serde_json::to_vec(lease).unwrap_or_default();
        if text.len() > LEASE_TEXT {
            let wrong = format!("store: holder: the name {:?} is too long; give one of at most 200 bytes", lease.holder);
            return Err(Error::invalid_argument(wrong));
        }
        text.resize(LEASE_TEXT, b' ');
        text.extend_from_slice(format!("{:08x}\n", crc32fast::hash(&text)).as_bytes());
        let mut file = &*self.file;
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&text));
        written.map_err(refused("writing it", &self.path))
    }
}

/// What the file says, without its lock.
pub(super) fn read_unlocked(path: &Path) -> Result<Holding, Error> {
    let read = || match std::fs::read(path) {
        Ok(text) => parsed(path, &text),
        Err(error) if error.kind() == IoErrorKind::NotFound => Ok(Holding::default()),
        Err(error) => Err(refused("reading it", path)(error)),
    };
    // Another process may be writing it: once more if it seems damaged.
    (1..READS).find_map(|_| read().ok()).map_or_else(read, Ok)
}

/// A file without text is that of a session that was never opened, or of a machine that lost power before it was written.
fn parsed(path: &Path, text: &[u8]) -> Result<Holding, Error> {
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
