//! Locks on files that several processes, or several threads of one, read and write. The system gives them back when a process
//! ends, however it ends.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{Error as IoError, ErrorKind as IoErrorKind};
use std::time::{Duration, Instant};

/// How often a lock is tried that another one has.
const TRY_EVERY: Duration = Duration::from_millis(1);

/// A lock on a file, which it may own, until it is dropped. Each file that was opened has one of its own, also within a process.
#[derive(Debug)]
pub(crate) struct FileLock<F: Borrow<File>>(F);

impl<F: Borrow<File>> FileLock<F> {
    /// The lock, which nobody else may have meanwhile. Blocks until it is free, so long at most.
    ///
    /// # Errors
    /// `TimedOut`: another one still has it. Others are those of file systems that have no locks.
    pub(crate) fn exclusive(file: F, at_most: Duration) -> Result<FileLock<F>, IoError> {
        FileLock::get(file, at_most, fs4::FileExt::try_lock)
    }

    /// The lock, which others may have meanwhile that only read. Blocks until it is free, so long at most.
    ///
    /// # Errors
    /// As [`FileLock::exclusive`].
    pub(crate) fn shared(file: F, at_most: Duration) -> Result<FileLock<F>, IoError> {
        FileLock::get(file, at_most, fs4::FileExt::try_lock_shared)
    }

    fn get(file: F, at_most: Duration, attempt: fn(&File) -> Result<(), fs4::TryLockError>) -> Result<FileLock<F>, IoError> {
        let began = Instant::now();
        loop {
            match attempt(file.borrow()) {
                Ok(()) => return Ok(FileLock(file)),
                Err(fs4::TryLockError::Error(error)) => return Err(error),
                Err(fs4::TryLockError::WouldBlock) if began.elapsed() >= at_most => {
                    let seconds = at_most.as_secs();
                    let text = format!("another process keeps it locked, for more than {seconds} s, or was stopped meanwhile");
                    return Err(IoError::new(IoErrorKind::TimedOut, text));
                }
                Err(fs4::TryLockError::WouldBlock) => std::thread::sleep(TRY_EVERY),
            }
        }
    }
}

impl<F: Borrow<File>> Drop for FileLock<F> {
    fn drop(&mut self) {
        // Closing the file would do it, too, but not in a child that was forked meanwhile.
        let _ = fs4::FileExt::unlock(self.0.borrow());
    }
}
