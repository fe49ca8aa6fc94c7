//! Writes a file in one step: whoever reads it has the whole content before or the whole content after, also after a crash.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};

use cap_std::fs::{Dir, File, OpenOptions, Permissions};

/// How many names are tried for the temporary file.
const NAMES: usize = 16;

/// Gives the file of that name in the folder this content. One that is there keeps its mode; a link is replaced, not followed.
/// `check` is asked at the last moment.
///
/// # Errors
/// Those of the system and of the check; the file is then as it was.
pub(super) fn replace(
    folder: &Dir,
    name: &str,
    content: &[u8],
    mode: Option<&Permissions>,
    check: &dyn Fn() -> io::Result<()>,
) -> io::Result<()> {
    // Another one for each call.
    let (random, mut attempt) = (RandomState::new(), 0);
    let mut names = || {
        attempt += 1;
        format!(".agent-loop-{:016x}.tmp", random.hash_one(attempt))
    };
    replace_as(folder, name, content, mode, check, &mut names)
}

/// The same with names for the temporary file.
pub(super) fn replace_as(
    folder: &Dir,
    name: &str,
    content: &[u8],
    mode: Option<&Permissions>,
    check: &dyn Fn() -> io::Result<()>,
    names: &mut dyn FnMut() -> String,
) -> io::Result<()> {
    let (mut file, mut temporary) = temporary(folder, mode.is_some(), names)?;
    file.write_all(content)?;
    if let Some(mode) = mode {
        file.set_permissions(mode.clone())?;
    }
    file.sync_all()?;
    drop(file);
    check()?;
    folder.rename(&temporary.name, folder, name)?;
    temporary.is_there = false;
    sync(folder);
    Ok(())
}

/// Makes the names in a folder durable, where the file system can.
pub(super) fn sync(folder: &Dir) {
    let _ = folder.try_clone().and_then(|folder| folder.into_std_file().sync_all());
}

/// A file that goes when this is dropped.
struct Temporary<'a> {
    folder: &'a Dir,
    name: String,
    is_there: bool,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.is_there {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

fn temporary<'a>(folder: &'a Dir, is_private: bool, names: &mut dyn FnMut() -> String) -> io::Result<(File, Temporary<'a>)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        use cap_std::fs::OpenOptionsExt;
        // Until it has the mode of the file that it replaces, which may be secret.
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = is_private;
    for _ in 0..NAMES {
        let name = names();
        match folder.open_with(&name, &options) {
            Ok(file) => return Ok((file, Temporary { folder, name, is_there: true })),
            // Whatever it is, a link too, it is somebody else's.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "there are temporary files of all names that were tried"))
}
