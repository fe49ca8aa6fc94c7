//! Access to the files of a store, and what it means when the system refuses it.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind as IoErrorKind;
use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::session::errors::io;

/// Opens a file to write, and makes it if there is none; `append`: only at its end.
pub(super) fn opened(path: &Path, append: bool) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).create(true);
    let options = if append { options.append(true) } else { options.write(true).truncate(false) };
    options.open(path).map_err(refused("opening it", path))
}

/// What an error of the system means to who uses the store.
pub(super) fn refused<'a>(doing: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> Error + 'a {
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
        IoErrorKind::NotFound => {
            let text = format!("{}: {doing} failed, as its folder was removed ({error}); open the store again", path.display());
            Error::new(ErrorKind::Io, text).with_source(error)
        }
        _ => io(&format!("{}: {doing} failed", path.display()), error),
    }
}
