//! Where a program is, by `PATH`. What a command could have written is none.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Everybody's folders for temporary files, beside the one that the environment names.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Leaves the folders in `PATH` that are absolute and in none of these, nor for temporary files: with links followed.
pub(crate) fn keep_trusted(environment: &mut [(OsString, OsString)], untrusted: &[&Path]) {
    if let Some((_, path)) = environment.iter_mut().find(|(name, _)| name == "PATH") {
        let trusted = std::env::split_paths(path).filter(|folder| folder.is_absolute() && is_trusted(folder, untrusted));
        // All of them were parts of one text.
        *path = std::env::join_paths(trusted).unwrap_or_default();
    }
}

/// The absolute path of a program, in the folders of `PATH`; links that lead to it lead to none of these folders either.
pub(crate) fn program(name: &str, environment: &[(OsString, OsString)], untrusted: &[&Path]) -> Option<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, path)| path);
    let places = std::env::split_paths(path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    places.into_iter().find(|place| is_program(place) && is_trusted(place, untrusted))
}

fn is_trusted(place: &Path, untrusted: &[&Path]) -> bool {
    let Ok(place) = place.canonicalize() else { return false };
    let own = std::env::temp_dir().canonicalize();
    let temporary = TEMPORARY.iter().map(Path::new).chain(own.as_deref().ok());
    !untrusted.iter().copied().chain(temporary).any(|folder| place.starts_with(folder))
}

fn is_program(place: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    place.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
