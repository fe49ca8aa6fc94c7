//! A file for each provider.

use std::io::{self, ErrorKind as IoErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::private_file;

pub(super) fn of_io(what: &str, path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{} cannot be {what}: {error}", path.display())).with_source(error)
}

/// Makes the folder of the files, which is nobody else's business.
pub(super) fn make_folder(folder: &Path) -> Result<(), Error> {
    let mut maker = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    let made = maker.recursive(true).create(folder);
    // One that was there may be open to others.
    #[cfg(unix)]
    let made = made.and_then(|()| {
        use std::os::unix::fs::PermissionsExt;
        match std::fs::metadata(folder)?.permissions().mode() & 0o077 {
            0 => Ok(()),
            _ => std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)),
        }
    });
    made.map_err(|error| of_io("made", folder, error))
}

/// The content of a file that only its owner can read.
///
/// # Errors
/// `io`: it cannot be read, or others can read it, too.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(of_io("read", path, error)),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata().map_err(|error| of_io("read", path, error))?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let path = path.display();
            return Err(Error::new(
                ErrorKind::Io,
                format!(
                    "{path} is open to other users (mode {mode:03o}) and is not used. If nobody else has read it: chmod 600 \
                     {path}. Else make a new key, and sign in again"
                ),
            ));
        }
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| of_io("read", path, error))?;
    Ok(Some(text))
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    private_file::write(path, text.as_bytes()).map_err(|error| of_io("written", path, error))
}

/// Whether there was one. For who has the lock: nobody else is about to write it.
pub(super) fn remove(path: &Path) -> Result<bool, Error> {
    private_file::remove_leftovers(path, Duration::ZERO);
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == IoErrorKind::NotFound => Ok(false),
        Err(error) => Err(of_io("removed", path, error)),
    }
}

/// The providers that have a file with one of these endings.
pub(super) fn names(folder: &Path, endings: &[&str]) -> Result<Vec<String>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(of_io("read", folder, error)),
    };
    let name = |entry: io::Result<std::fs::DirEntry>| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let (provider, ending) = name.rsplit_once('.')?;
        endings.contains(&ending).then(|| provider.to_owned())
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    names.dedup();
    Ok(names)
}
