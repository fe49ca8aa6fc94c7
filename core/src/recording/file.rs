//! The file of recorded runs. Each run is appended to it as a whole, under a lock: other runs and processes append to it, too.

use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, ErrorKind as IoErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use agent_loop_proto::recording::{END, HEAD};

use crate::error::{Error, ErrorKind};
use crate::file_lock::FileLock;

/// How long another process may keep the lock, which it has while it appends a run.
const LOCKED: Duration = Duration::from_secs(10);
/// How long a reader waits for it. What is read then is checked all the same.
const LOCKED_FOR_READER: Duration = Duration::from_secs(1);

/// More bytes than the last line of a run has.
const LONGEST_END: u64 = 128;

/// The advice where the path is a folder.
const FOLDER: &str = "it is a folder: name a file in it";

/// Opens a file to append to it, and makes it where there is none. Does not wait for those that append to it.
///
/// # Errors
/// `io`: it cannot be written; `invalid_argument`: it is no recording; `damaged`: it ends within a run.
pub(super) fn open(path: &Path) -> Result<File, Error> {
    let refused = |error: IoError| {
        let advice = match error.kind() {
            IoErrorKind::NotFound => "its folder does not exist: make it first",
            IoErrorKind::IsADirectory => FOLDER,
            _ => "choose a file that can be written",
        };
        failed(path, "written", error, advice)
    };
    let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(refused)?;
    if !is_recording(&file).map_err(refused)? {
        let text = format!("{}: there is something else in this file than a recording; choose another one", path.display());
        return Err(Error::invalid_argument(text));
    }
    match lock(&file, FileLock::shared, Duration::ZERO) {
        // A run is being appended. It may not be whole yet, and is checked again before another one follows it.
        Err(_) => {}
        Ok(_lock) => check_end(&file, path, refused)?,
    }
    Ok(file)
}

/// Whether a file is empty or begins as a recording; of what is no file, it is not known.
fn is_recording(mut file: &File) -> Result<bool, IoError> {
    let about = file.metadata()?;
    if !about.is_file() || about.len() == 0 {
        return Ok(true);
    }
    let mut begin = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(HEAD.len() as u64).read_to_end(&mut begin)?;
    // The first run may be on its way.
    Ok(HEAD.as_bytes().starts_with(&begin))
}

/// Refuses a file that ends within a run: one behind it could not be read. Of what is no file, such as a pipe, it is not known.
///
/// # Errors
/// `damaged`: says what the file ends within; what `refused` makes of an error.
fn check_end(mut file: &File, path: &Path, refused: impl Fn(IoError) -> Error) -> Result<(), Error> {
    let mut read = || {
        let about = file.metadata()?;
        if !about.is_file() || about.len() == 0 {
            return Ok(None);
        }
        let mut last = Vec::new();
        file.seek(SeekFrom::Start(about.len().saturating_sub(LONGEST_END)))?;
        file.take(LONGEST_END).read_to_end(&mut last)?;
        Ok(Some(last))
    };
    let Some(last) = read().map_err(refused)? else { return Ok(()) };
    let line = last.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let within = match () {
        () if !last.ends_with(b"\n") => "a line",
        () if !line.starts_with(END.as_bytes()) => "a run",
        () => return Ok(()),
    };
    let text = format!(
        "the recording {} ends within {within}, and no run can be added: cut off its last run, from the line that begins with \
         {HEAD} on, or delete the file",
        path.display()
    );
    Err(Error::new(ErrorKind::Damaged, text))
}

/// A lock on a file of recordings, until it is dropped.
enum Lock<'a> {
    OfFile { _lock: FileLock<&'a File> },
    OfProcess { _lock: MutexGuard<'static, ()> },
}

/// Locks a file of recordings. There is no lock on what is no file. Where the file system has none, there is one for the runs of
/// this process, whatever their file.
///
/// # Errors
/// Another one has had the lock all this time.
fn lock<'a>(
    file: &'a File,
    kind: impl FnOnce(&'a File, Duration) -> Result<FileLock<&'a File>, IoError>,
    at_most: Duration,
) -> Result<Option<Lock<'a>>, IoError> {
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(None);
    }
    match kind(file, at_most) {
        Ok(lock) => Ok(Some(Lock::OfFile { _lock: lock })),
        Err(error) if error.kind() == IoErrorKind::TimedOut => Err(error),
        Err(_) => in_process(at_most).map(|lock| Some(Lock::OfProcess { _lock: lock })),
    }
}

fn in_process(at_most: Duration) -> Result<MutexGuard<'static, ()>, IoError> {
    // A file of the process, and so no runtime's.
    static RUNS: Mutex<()> = Mutex::new(());
    let began = Instant::now();
    loop {
        match RUNS.try_lock() {
            Ok(lock) => return Ok(lock),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if began.elapsed() >= at_most => {
                return Err(IoError::new(IoErrorKind::TimedOut, "another run is being appended"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Appends a run. If that fails, nothing of it is left in the file. Blocks while others append.
///
/// # Errors
/// `io`: says why; `damaged`: a process was killed while it appended, and the file ends within a run.
pub(super) fn append(mut file: &File, path: &Path, text: &[u8]) -> Result<(), Error> {
    let refused = |error| failed(path, "written", error, "the run was not recorded; make room, or choose another file");
    let lock = lock(file, FileLock::exclusive, LOCKED)
        .map_err(|error| failed(path, "written", error, "the run was not recorded; end that process, or choose another file"))?;
    check_end(file, path, refused)?;
    let before = file.metadata().map_err(refused)?.len();
    file.write_all(text).map_err(|error| {
        // Of what is no file, nothing can be taken back.
        if lock.is_some() {
            // As well as it can be done: the disk has failed already.
            let _ = file.set_len(before);
        }
        refused(error)
    })
}

/// Reads a file, without a run that is being appended.
///
/// # Errors
/// `io`: says why.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let read = || {
        let file = File::open(path)?;
        let mut bytes = Vec::new();
        let _lock = lock(&file, FileLock::shared, LOCKED_FOR_READER);
        (&file).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error: IoError| {
        let advice = match error.kind() {
            IoErrorKind::NotFound => "record it first, with the option record",
            IoErrorKind::IsADirectory => FOLDER,
            _ => "choose a file that can be read",
        };
        failed(path, "read", error, advice)
    })
}

fn failed(path: &Path, what: &str, error: IoError, advice: &str) -> Error {
    let text = format!("the recording {} cannot be {what} ({error}): {advice}", path.display());
    Error::new(ErrorKind::Io, text).with_source(error)
}

#[cfg(test)]
mod tests;
