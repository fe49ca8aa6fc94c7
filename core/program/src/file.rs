//! Files of the command line: those that a prompt is read from, as is standard input; and whether two of them are the same.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use agent_loop::ErrorKind;
use agent_loop::message::{ContentBlock, mime_type_of};

use crate::failure::Failure;

/// The most megabytes that are read: no model takes as many, and a device has no end.
const LARGEST: u64 = 100;

/// Checks that these files are different ones. Each is given with its flag, or with what else it is called.
///
/// # Errors
/// Two are the same: the one would replace or damage what the other reads or writes.
pub(crate) fn check_different(named: &[(&str, Option<PathBuf>)]) -> Result<(), Failure> {
    // Devices are for all.
    let named =
        named.iter().filter_map(|(name, path)| Some((name, path.as_ref()?))).filter(|(_, path)| path.is_file() || !path.exists());
    let mut before: Vec<(&str, PathBuf)> = Vec::new();
    for (name, path) in named {
        let place = resolved(path);
        if let Some((other, _)) = before.iter().find(|(_, other)| *other == place) {
            let text = format!("{other} and {name} are the same file, {}: name another one for one of them", path.display());
            return Err(Failure::usage(text));
        }
        before.push((name, place));
    }
    Ok(())
}

/// A path without links and `..`, also of a file that is not there yet.
fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let of_folder = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}

/// The bytes of a file or of standard input.
///
/// # Errors
/// They cannot be read, or are too many: it begins with where they are from.
pub(crate) fn bytes_of(source: io::Result<impl Read>, from: &str) -> Result<Vec<u8>, Failure> {
    let most = LARGEST * 1_000_000;
    let mut bytes = Vec::new();
    let read = source.and_then(|source| source.take(most + 1).read_to_end(&mut bytes));
    let read = read.map_err(|why| {
        let hint = if from == "-" { ": standard input is a - without --input" } else { "" };
        Failure::usage(format!("{from} cannot be read: {why}{hint}"))
    })?;
    match read as u64 > most {
        true => Err(Failure::usage(format!("{from} has more than {LARGEST} MB, which no model reads"))),
        false => Ok(bytes),
    }
}

/// A file in a prompt.
pub(crate) enum Given {
    Text(String),
    /// An image, a document, or what has bytes that no text has.
    Block(ContentBlock),
}

/// Reads a file, once: it may be a pipe.
///
/// # Errors
/// It cannot be read, or is not what its name says.
pub(crate) fn read(path: &Path) -> Result<Given, Failure> {
    let shown = path.display().to_string();
    let bytes = bytes_of(File::open(path), &shown)?;
    if mime_type_of(None, &bytes).is_none()
        && !bytes.contains(&0)
        && let Ok(text) = str::from_utf8(&bytes)
    {
        return Ok(Given::Text(text.to_owned()));
    }
    block_of(path, &bytes).map(Given::Block)
}

/// A file that is no text, as a part of a prompt.
///
/// # Errors
/// It cannot be read, or is not what its name says.
pub(crate) fn part(path: &Path) -> Result<ContentBlock, Failure> {
    block_of(path, &bytes_of(File::open(path), &path.display().to_string())?)
}

fn block_of(path: &Path, bytes: &[u8]) -> Result<ContentBlock, Failure> {
    let shown = path.display();
    let name = path.file_name().map(|name| name.to_string_lossy());
    let block = ContentBlock::from_bytes(bytes, None, name.as_deref()).map_err(|error| match error.kind() {
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
