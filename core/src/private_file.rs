//! Files with secrets: for their owner's eyes, written as a whole, and one process at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::file_lock::FileLock;

/// Writes a file: whoever reads it meanwhile gets the old content or the new one.
///
/// # Errors
/// Why it cannot be written. The file is as it was.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = fresh(path);
    let written = opened(OpenOptions::new().create_new(true).write(true), &fresh)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&fresh, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&fresh)))
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

#[allow(clippy::unnecessary_wraps)] // Elsewhere than on Unix there is no mode to set.
fn opened(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}
