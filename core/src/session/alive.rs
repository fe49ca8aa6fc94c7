//! Whether the process that has a lease is still there: each store that is open keeps a lock on a file of its own, and the system
//! gives the lock back when the process ends, however it ends. Without it, a session of a killed process could be opened only
//! when its lease has ended.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::errors::io;
use crate::error::Error;

/// This store among all that have the same files open, and its lock.
#[derive(Debug)]
pub(super) struct Alive {
    /// What the names of such files begin with.
    prefix: PathBuf,
    instance: String,
    file: Mutex<Option<File>>,
    pid: u32,
}

impl Alive {
    /// Of a store whose lock files begin with this path. There is none until it is needed.
    pub(super) fn new(prefix: PathBuf) -> Alive {
        let random = RandomState::new().hash_one((std::process::id(), &prefix));
        Alive { prefix, instance: format!("{random:016x}"), file: Mutex::new(None), pid: std::process::id() }
    }

    fn path(&self, instance: &str) -> PathBuf {
        let mut path = self.prefix.clone().into_os_string();
        path.push(instance);
        path.into()
    }

    /// The name of this store, which holds its lock from now on.
    ///
    /// # Errors
    /// `io` when the file cannot be made.
    pub(super) fn instance(&self) -> Result<&str, Error> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            let path = self.path(&self.instance);
            let refused = |error| io(&format!("{}: check that its folder can be written", path.display()), error);
            // Under this name, no other process finds it before it is locked.
            let unlocked = self.path(&format!("{}.new", self.instance));
            let made = open(&unlocked).map_err(refused)?;
            // Where a file system has no locks, leases end by time alone.
            let _ = fs4::FileExt::try_lock(&made);
            std::fs::rename(&unlocked, &path).map_err(refused)?;
            *file = Some(made);
            self.remove_ended();
        }
        Ok(&self.instance)
    }

    /// Removes what killed processes have left.
    fn remove_ended(&self) {
        let (Some(folder), Some(prefix)) = (self.prefix.parent(), self.prefix.file_name().and_then(OsStr::to_str)) else {
            return;
        };
        // The folder of a path without one.
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if let Some(instance) = entry.file_name().to_str().and_then(|name| name.strip_prefix(prefix)) {
                self.has_ended(instance);
            }
        }
    }

    /// Whether the process of that store has ended. Its file is then removed.
    pub(super) fn has_ended(&self, instance: &str) -> bool {
        if instance == self.instance || instance.is_empty() || !instance.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        let path = self.path(instance);
        match OpenOptions::new().read(true).write(true).open(&path) {
            // A store that is closed removes it.
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
            Ok(file) => {
                let is_free = fs4::FileExt::try_lock(&file).is_ok();
                if is_free {
                    let _ = std::fs::remove_file(&path);
                }
                is_free
            }
        }
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

impl Drop for Alive {
    fn drop(&mut self) {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // In a child of a fork, it is the parent's.
        if let Some(file) = file.filter(|_| self.pid == std::process::id()) {
            let _ = std::fs::remove_file(self.path(&self.instance));
            drop(file);
        }
    }
}

#[cfg(test)]
mod tests;
