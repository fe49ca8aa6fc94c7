//! The folder that built-in tools stay in.
//!
//! It is open, and everything that touches the disk goes through its handle, so that nothing depends on what a path means at
//! another moment. [`Root::resolve`] gives a path its one spelling, in which links are followed as far as they stay inside. What
//! then uses the path opens it name by name and follows no link: what was approved is what is used, whatever took its place.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::path::{self, ROOT};
use crate::data_folder::keys_folder;
use crate::error::Error;

/// The folder of the keys that a user has stored.
#[derive(Debug)]
struct Keys {
    /// Its path in the root, in its one spelling.
    inside: String,
    absolute: PathBuf,
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct Root {
    dir: Dir,
    path: PathBuf,
    /// Where in it the keys are that a user has stored: no tool for files goes there.
    keys: Option<Keys>,
    writing: Mutex<()>,
}

impl Root {
    /// Opens the folder.
    ///
    /// # Errors
    /// `invalid_argument`: there is none, it cannot be read, or it is where a user's keys are.
    pub(super) fn open(path: &Path) -> Result<Root, Error> {
        let opened = path.canonicalize().and_then(|path| {
            let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
            dir.entries()?;
            let keys = keys_in(&path)?;
            Ok(Root { dir, path, keys, writing: Mutex::default() })
        });
        opened.map_err(|error| {
            let why = if error.kind() == ErrorKind::NotADirectory { "not a folder".to_owned() } else { error.to_string() };
            Error::invalid_argument(format!("root: {:?}: {why}", path.display()))
        })
    }

    /// Its path, absolute and without links, as text.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// The absolute path of what stands there by a path in its one spelling.
    pub(super) fn absolute(&self, path: &str) -> PathBuf {
        if path == ROOT { self.path.clone() } else { self.path.join(path) }
    }

    /// Refuses a folder that was removed: it has nothing, and nothing can be made in it.
    ///
    /// # Errors
    /// It was, as a text for the model.
    pub(super) fn check_there(&self) -> Result<(), String> {
        if is_linked(&self.dir) || is_same(&self.dir, &self.path) {
            return Ok(());
        }
        Err(format!("the working folder, {}, was removed: the user has to begin again in another one", self.shown()))
    }

    /// Refuses a folder that is not by its path any more, for programs, which are started in it by that. Directly before the
    /// start: what happens in between is not noticed.
    ///
    /// # Errors
    /// It was moved or removed, as a text for the model.
    #[cfg(unix)]
    pub(super) fn check_place(&self) -> Result<(), String> {
        self.check_there()?;
        if is_same(&self.dir, &self.path) {
            return Ok(());
        }
        Err(format!("the working folder was moved from {}, and no program runs until it is there again", self.shown()))
    }

    /// While this is held, no other tool of these options writes beneath this root. Others are found out by what a file holds: a
    /// write replaces it only if it still is as it was read.
    pub(super) fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A path in its one spelling, without looking at the disk.
    ///
    /// # Errors
    /// As [`path::normal`]; the path is where a user's keys are.
    pub(super) fn normal(&self, given: &str) -> Result<String, String> {
        let normal = path::normal(given, &self.path)?;
        if self.is_closed(&normal) {
            return Err(because(&normal, &has_keys()));
        }
        Ok(normal)
    }

    /// The same, with links inside of the root followed, as far as the path exists.
    ///
    /// # Errors
    /// A text for the model: the path leads out of the root, or cannot be looked at.
    pub(super) fn resolve(&self, given: &str) -> Result<String, String> {
        let normal = self.normal(given)?;
        let mut head = normal.as_str();
        loop {
            match self.dir.canonicalize(head) {
                Ok(real) => {
                    let Some(real) = real.to_str() else {
                        return Err(format!("the path {given:?} leads to a name that is not UTF-8, which cannot be used"));
                    };
                    let real = if cfg!(windows) { real.replace('\\', "/") } else { real.to_owned() };
                    let rest = if head == ROOT { &*normal } else { normal.strip_prefix(head).unwrap_or_default() };
                    let rest = rest.trim_start_matches('/');
                    return Ok(if rest.is_empty() || rest == ROOT { real } else { path::join(&real, rest) });
                }
                // What does not exist cannot be a link. What uses the path finds out about the rest of it.
                Err(error) if is_missing(&error) => match path::split(head) {
                    Some((folder, _)) => head = folder,
                    None => return Ok(normal),
                },
                Err(error) => return Err(because(given, &error)),
            }
        }
    }

    /// Where a user's keys are in it, if they are.
    #[cfg(unix)]
    pub(super) fn keys(&self) -> Option<&str> {
        self.keys.as_ref().map(|keys| keys.inside.as_str())
    }

    /// Whether a path in its one spelling is where a user's keys are.
    pub(super) fn is_closed(&self, path: &str) -> bool {
        self.keys.as_ref().is_some_and(|keys| path::is_in(path, &keys.inside))
    }

    /// An open folder, by a path in its one spelling.
    ///
    /// # Errors
    /// Those of the system; a link is one. That it is where a user's keys are.
    pub(super) fn folder(&self, path: &str) -> io::Result<Dir> {
        path::names(path).try_fold(self.dir.try_clone()?, |folder, name| self.inner(&folder, name))
    }

    /// Opens a folder of a folder, but no link to one, and not that of the keys, whatever it is called there.
    ///
    /// # Errors
    /// As [`Root::folder`].
    pub(super) fn inner(&self, folder: &Dir, name: &str) -> io::Result<Dir> {
        let opened = open_folder(folder, name)?;
        match &self.keys {
            Some(keys) if is_same(&opened, &keys.absolute) => Err(has_keys()),
            _ => Ok(opened),
        }
    }

    /// An open folder that is made where there is none, with those around it. Adds the paths of those that were made.
    pub(super) fn make_folder(&self, path: &str, made: &mut Vec<String>) -> io::Result<Dir> {
        let (mut folder, mut so_far) = (self.dir.try_clone()?, ROOT.to_owned());
        for name in path::names(path) {
            so_far = path::join(&so_far, name);
            folder = match self.inner(&folder, name) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    match folder.create_dir(name) {
                        Ok(()) => made.push(so_far.clone()),
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                        Err(error) => return Err(error),
                    }
                    self.inner(&folder, name)?
                }
                opened => opened?,
            };
        }
        Ok(folder)
    }

    /// A file, open for reading, by a path in its one spelling.
    ///
    /// # Errors
    /// A text for the model.
    pub(super) fn file(&self, path: &str) -> Result<(File, Metadata), String> {
        let Some((folder, name)) = path::split(path) else { return Err(because(path, &is_a_folder())) };
        self.folder(folder).and_then(|folder| open_file(&folder, name)).map_err(|error| because(path, &error))
    }
}

/// Where in a root a user's keys are, if they are in it. Their folder need not exist yet.
///
/// # Errors
/// The root is in their folder.
fn keys_in(root: &Path) -> io::Result<Option<Keys>> {
    let Some(keys) = keys_folder() else { return Ok(None) };
    let keys = std::path::absolute(keys)?;
    let real = keys.ancestors().find_map(|folder| Some(folder.canonicalize().ok()?.join(keys.strip_prefix(folder).ok()?)));
    let absolute = real.unwrap_or(keys);
    if root.starts_with(&absolute) {
        return Err(io::Error::other("a user's keys are stored there, which no tool for files can use"));
    }
    let Ok(inside) = absolute.strip_prefix(root) else { return Ok(None) };
    // Of names that are not UTF-8, no tool can be given the path.
    let inside: Vec<_> = inside.components().map(|name| name.as_os_str().to_string_lossy()).collect();
    Ok(Some(Keys { inside: inside.join("/"), absolute }))
}

fn has_keys() -> io::Error {
    io::Error::other("is where a user's keys are stored, which no tool for files can use")
}

/// Whether an open folder is the one of a path. Not known everywhere.
#[cfg(unix)]
fn is_same(folder: &Dir, path: &Path) -> bool {
    use cap_std::fs::MetadataExt;
    let (Ok(one), Ok(other)) = (folder.dir_metadata(), std::fs::metadata(path)) else { return false };
    (one.dev(), one.ino()) == (std::os::unix::fs::MetadataExt::dev(&other), std::os::unix::fs::MetadataExt::ino(&other))
}

#[cfg(not(unix))]
fn is_same(_: &Dir, _: &Path) -> bool {
    false
}

/// Whether an open folder is still in another one. Some file systems do not say.
#[cfg(unix)]
fn is_linked(folder: &Dir) -> bool {
    use cap_std::fs::MetadataExt;
    folder.dir_metadata().is_ok_and(|about| about.nlink() > 0)
}

/// An open folder can be neither moved nor removed.
#[cfg(not(unix))]
fn is_linked(_: &Dir) -> bool {
    true
}

/// Opens a folder of a folder, but no link to one.
fn open_folder(folder: &Dir, name: &str) -> io::Result<Dir> {
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW);
        folder.open_with(name, &options).map(|opened| Dir::from_std_file(opened.into_std()))
    }
    #[cfg(not(unix))]
    folder.open_dir(name)
}

/// Opens a file of a folder for reading, but no link to one, and nothing that is not a plain file: opening a device, a named pipe
/// or a socket may block, or have effects.
pub(super) fn open_file(folder: &Dir, name: &str) -> io::Result<(File, Metadata)> {
    check_plain(&folder.symlink_metadata(name)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    let file = folder.open_with(name, &options)?;
    let found = file.metadata()?;
    // Something else may have taken its place.
    check_plain(&found)?;
    Ok((file, found))
}

/// Refuses what is not a plain file.
fn check_plain(found: &Metadata) -> io::Result<()> {
    match found.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(is_a_folder()),
        kind if kind.is_symlink() => Err(io::Error::other("is a link to something that does not exist")),
        _ => Err(io::Error::other("is no plain file, but a device, a named pipe or a socket, which cannot be used")),
    }
}

fn is_a_folder() -> io::Error {
    io::Error::other("is a folder; list_directory shows what is in it")
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Why a path cannot be used, for the model.
pub(super) fn because(path: &str, error: &io::Error) -> String {
    let why = match error.kind() {
        ErrorKind::NotFound => "does not exist",
        ErrorKind::NotADirectory => "is or goes through something that is not a folder",
        // Of a handle that confines; the system's own has a number.
        ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            "leads out of the root through a link: only what is in the root can be used"
        }
        ErrorKind::PermissionDenied => "cannot be used: the system denies permission",
        _ if is_link_refused(error) => "goes through a link that leads to itself, or that was not there before",
        ErrorKind::Other if error.raw_os_error().is_none() => return format!("the path {path:?} {error}"),
        _ => return format!("the path {path:?} cannot be used: {error}"),
    };
    format!("the path {path:?} {why}")
}

fn is_link_refused(error: &io::Error) -> bool {
    cfg!(unix) && error.raw_os_error() == Some(too_many_links())
}

#[cfg(unix)]
fn too_many_links() -> i32 {
    libc::ELOOP
}

#[cfg(not(unix))]
fn too_many_links() -> i32 {
    -1
}
