//! Files that are named in a prompt.

use std::path::Path;

use agent_loop::ErrorKind;
use agent_loop::message::{ContentBlock, mime_type_of, read_file};

use crate::failure::Failure;

/// The text of a file; `None` if it is another one: an image, a document, or has a byte that no text has.
///
/// # Errors
/// It cannot be read.
pub(crate) fn text(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = std::fs::read(path).map_err(|why| {
        let hint = if path == Path::new("-") { ": standard input is a - without --input" } else { "" };
        Failure::usage(format!("{} cannot be read: {why}{hint}", path.display()))
    })?;
    if mime_type_of(None, &bytes).is_some() || bytes.contains(&0) {
        return Ok(None);
    }
    Ok(String::from_utf8(bytes).ok())
}

/// A file, as a part of a prompt.
///
/// # Errors
/// It cannot be read, or is not what its name says.
pub(crate) fn part(path: &Path) -> Result<ContentBlock, Failure> {
    let shown = path.display();
    let block = read_file(path, None).map_err(|error| match error.kind() {
        ErrorKind::InvalidArgument => Failure::usage(format!("{shown} is no text, image or PDF document, or is empty")),
        _ => error.into(),
    })?;
    checked(block, &shown.to_string())
}

/// A part of a prompt, if it is what its type says.
///
/// # Errors
/// It is not: it begins with where it is from.
pub(crate) fn checked(block: ContentBlock, from: &str) -> Result<ContentBlock, Failure> {
    if let Some(media) = block.as_media() {
        media.check_data().map_err(|error| Failure::usage(format!("{from}: {}", error.message())))?;
    }
    Ok(block)
}
