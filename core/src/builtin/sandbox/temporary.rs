//! A folder for the temporary files of one command.

use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::threads::{Blocking, spawn_blocking};

/// It is removed with this value.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// A new folder that no other user can read.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(super) fn new() -> Result<Temporary, Error> {
        let parent = std::env::temp_dir().canonicalize()?;
        loop {
            let path = parent.join(format!("agent-loop-{:016x}", RandomState::new().hash_one(0)));
            let mut folder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
            match folder.create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Temporary(path)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let folder = Removed(std::mem::take(&mut self.0));
        // It may hold a tree of files. Where no thread takes the work, at the end of a runtime, it is done here.
        let _ = spawn_blocking(Blocking::Other, move || drop(folder));
    }
}

/// A folder that is removed wherever this is dropped.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Removes a folder, also one whose folders cannot be written, and while the last process that writes to it ends.
fn remove(path: &Path) {
    for _ in 0..20 {
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {}
            _ => return,
        }
        make_writable(path);
        std::thread::sleep(Duration::from_millis(50));
    }
    tracing::warn!(path = %path.display(), "a folder for temporary files cannot be removed");
}

fn make_writable(folder: &Path) {
    #[cfg(unix)]
    let _ = std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        // Of a link, the type is that of the link.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
