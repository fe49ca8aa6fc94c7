//! The folder that built-in tools stay in.

use std::path::Path;

use crate::error::Error;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Root {}

impl Root {
    /// Opens the folder.
    ///
    /// # Errors
    /// `invalid_argument`: there is none, or it cannot be read.
    pub(super) fn open(path: &Path) -> Result<Root, Error> {
        let wrong = |why: &dyn std::fmt::Display| Error::invalid_argument(format!("root: {:?}: {why}", path.display()));
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(Root {}),
            Ok(_) => Err(wrong(&"not a folder")),
            Err(error) => Err(wrong(&error)),
        }
    }
}
