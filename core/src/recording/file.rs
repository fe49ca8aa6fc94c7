//! The file of recorded runs. Each run is appended to it as a whole.

use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, ErrorKind as IoErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind};

/// Runs that end at the same time are written in sequence.
static APPENDING: Mutex<()> = Mutex::new(());

/// The advice where the path is a folder.
const FOLDER: &str = "it is a folder: name a file in it";

/// Opens a file to append to it, and makes it where there is none.
///
/// # Errors
/// `io`: it cannot be written; `damaged`: it ends within a line.
pub(super) fn open(path: &Path) -> Result<File, Error> {
    let refused = |error: IoError| {
        let advice = match error.kind() {
            IoErrorKind::NotFound => "its folder does not exist: make it first",
            IoErrorKind::IsADirectory => FOLDER,
            _ => "choose a file that can be written",
        };
        failed(path, "written", error, advice)
    };
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(refused)?;
    if !ends_with_line(&mut file).map_err(refused)? {
        let text = format!(
            "the recording {} ends within a line, and no run can be added: cut the line off, or delete the file",
            path.display()
        );
        return Err(Error::new(ErrorKind::Damaged, text));
    }
    Ok(file)
}

/// Whether a file is empty or ends with a line break; of what is no file, such as a pipe, it is not known.
fn ends_with_line(file: &mut File) -> Result<bool, IoError> {
    let about = file.metadata()?;
    if !about.is_file() || about.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Appends a run. If that fails, nothing of it is left in the file.
///
/// # Errors
/// `io`: says why.
pub(super) fn append(file: &mut File, path: &Path, text: &[u8]) -> Result<(), Error> {
    let _one = APPENDING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = file.metadata().map(|about| about.len());
    file.write_all(text).map_err(|error| {
        if let Ok(length) = before {
            // As well as it can be done: the disk has failed already.
            let _ = file.set_len(length);
        }
        failed(path, "written", error, "the run was not recorded; make room, or choose another file")
    })
}

/// Reads a file.
///
/// # Errors
/// `io`: says why.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| {
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
