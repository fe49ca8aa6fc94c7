//! Files that are named in a prompt.

use std::path::Path;

use agent_loop::message::{ContentBlock, read_file};

use crate::failure::Failure;

/// A file, as a part of a prompt.
///
/// # Errors
/// It cannot be read, or is not what its name says.
pub(crate) fn part(path: &Path) -> Result<ContentBlock, Failure> {
    let block = read_file(path, None)?;
    if let Some(media) = block.as_media() {
        media.check_data().map_err(|error| Failure::usage(format!("{}: {}", path.display(), error.message())))?;
    }
    Ok(block)
}
