//! The file that says who has a session open, and its lock.

use std::fs::File;
use std::io::{ErrorKind as IoErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::access::{opened, refused};
use crate::error::{Error, ErrorKind};
use crate::session::backend::Holding;

/// A lease is written at once: a disk's sector, so that no reader sees half of one.
const LEASE_BYTES: usize = 512;
/// Those before its checksum, which is 8 digits and a line end.
const LEASE_TEXT: usize = LEASE_BYTES - 9;
/// How long another process may keep the lock on a lease, which it has for one write.
const LOCKED: Duration = Duration::from_secs(10);
/// How often the lock is tried meanwhile.
const TRY_EVERY: Duration = Duration::from_millis(1);
/// How often a lease is read that seems to be damaged.
const READS: usize = 3;

/// The lease of a session, to write it. Whoever has its lock may.
#[derive(Debug)]
pub(super) struct LeaseFile {
    file: File,
    path: PathBuf,
}

impl LeaseFile {
    /// Opens the file, and makes it if there is none.
    pub(super) fn open(path: &Path) -> Result<LeaseFile, Error> {
        Ok(LeaseFile { file: opened(path, false)?, path: path.to_owned() })
    }

    /// Waits for the lock. Not for the threads of a runtime.
    pub(super) fn lock(&self) -> Result<(), Error> {
        let began = Instant::now();
        while !self.try_lock()? {
            if began.elapsed() > LOCKED {
                let text = format!("another process has kept it locked for {} s, or was stopped meanwhile", LOCKED.as_secs());
                return Err(self.lock_refused(std::io::Error::new(IoErrorKind::TimedOut, text)));
            }
            std::thread::sleep(TRY_EVERY);
        }
        Ok(())
    }

    /// Takes the lock if it is free now.
    pub(super) fn try_lock(&self) -> Result<bool, Error> {
        match fs4::FileExt::try_lock(&self.file) {
            Ok(()) => Ok(true),
            Err(fs4::TryLockError::WouldBlock) => Ok(false),
            Err(fs4::TryLockError::Error(error)) => Err(self.lock_refused(error)),
        }
    }

    fn lock_refused(&self, error: std::io::Error) -> Error {
        refused("locking it", &self.path)(error)
    }

    pub(super) fn unlock(&self) -> Result<(), Error> {
        fs4::FileExt::unlock(&self.file).map_err(refused("unlocking it", &self.path))
    }

    /// What it says. For who has the lock.
    pub(super) fn read(&mut self) -> Result<Holding, Error> {
        let mut text = [0; LEASE_BYTES];
        let mut length = 0;
        let mut read = || {
            self.file.seek(SeekFrom::Start(0))?;
            loop {
                let Some(rest) = text.get_mut(length..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
                match self.file.read(rest)? {
                    0 => return Ok(()),
                    read => length += read,
                }
            }
        };
        read().map_err(refused("reading it", &self.path))?;
        parsed(&self.path, text.get(..length).unwrap_or_default())
    }

    /// For who has the lock.
    pub(super) fn write(&mut self, lease: &Holding) -> Result<(), Error> {
        let mut text = serde_json::to_vec(lease).unwrap_or_default();
        if text.len() > LEASE_TEXT {
            let wrong = format!("store: holder: the name {:?} is too long; give one of at most 200 bytes", lease.holder);
            return Err(Error::invalid_argument(wrong));
        }
        text.resize(LEASE_TEXT, b' ');
        text.extend_from_slice(format!("{:08x}\n", crc32fast::hash(&text)).as_bytes());
        let written = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(&text));
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
