//! Files with secrets: for their owner's eyes, written as a whole, and one process at a time.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::file_lock::FileLock;

/// How old a file is that a writer has left for good.
const LEFT_AFTER: Duration = Duration::from_secs(60 * 60);

/// Writes a file: whoever reads it meanwhile gets the old content or the new one.
///
/// # Errors
/// Why it cannot be written. The file is as it was.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = fresh(path);
    let written = opened(OpenOptions::new().create_new(true).write(true), &fresh)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&fresh, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&fresh)))?;
    remove_leftovers(path, LEFT_AFTER);
    Ok(())
}

/// Removes what writers of this file have left that were killed: it has secrets, too. Younger ones may still be written.
pub(crate) fn remove_leftovers(path: &Path, at_least: Duration) {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_old = |entry: &std::fs::DirEntry| {
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age >= at_least)
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|other| is_fresh(other, name)) && is_old(&entry) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a file can be written.
///
/// # Errors
/// Why not.
#[cfg(feature = "mcp")]
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let fresh = fresh(path);
    opened(OpenOptions::new().create_new(true).write(true), &fresh).and_then(|_| std::fs::remove_file(&fresh))
}

/// The lock that this file is. Blocks until it is free, so long at most.
///
/// # Errors
/// As [`FileLock::exclusive`]; why the file cannot be opened.
pub(crate) fn lock(path: &Path, at_most: Duration) -> io::Result<FileLock<File>> {
    let file = opened(OpenOptions::new().create(true).truncate(false).write(true), path)?;
    FileLock::exclusive(file, at_most)
}

/// A name beside this file that no other writer has.
fn fresh(path: &Path) -> PathBuf {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut fresh = path.to_path_buf().into_os_string();
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    fresh.push(format!(".{}.{number}.{nanos}", std::process::id()));
    PathBuf::from(fresh)
}

/// Whether a name is one of [`fresh`] for a file of this name.
fn is_fresh(other: &str, name: &str) -> bool {
    let Some(rest) = other.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) else { return false };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    rest.split('.').count() == 3 && rest.split('.').all(is_number)
}

#[allow(clippy::unnecessary_wraps)] // Elsewhere than on Unix there is no mode to set.
fn opened(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_writer_has_left_goes_with_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let names = ["a.json.12.0.345", "a.json.12.0", "a.json.x.0.3", "b.json.12.0.345", "a.json.lock"];
        for name in names {
            let file = File::create(path(name)).unwrap();
            file.set_modified(SystemTime::now() - 2 * LEFT_AFTER).unwrap();
        }
        // It may be another writer's, that goes on.
        std::fs::write(path("a.json.13.0.345"), "").unwrap();
        write(&path("a.json"), b"new").unwrap();
        let is_there = |name: &&str| path(name).exists();
        assert_eq!(names.iter().copied().filter(is_there).collect::<Vec<_>>(), names[1..]);
        assert!(is_there(&"a.json.13.0.345") && std::fs::read(path("a.json")).unwrap() == b"new");
    }
}
