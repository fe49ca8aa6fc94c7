//! Writes a file for `write_file` and `edit_file`, and says what is needed to take it back.

use std::io::{self, ErrorKind, Read};

use cap_std::fs::{Dir, Permissions};
use serde_json::{Map, Value, json};

use super::file_tool::FileCall;
use super::root::{Root, because, open_file};
use super::{atomic, change, path};

/// A file that is about to be written, in its open folder.
pub(super) struct Target {
    pub(super) folder: Dir,
    pub(super) name: String,
    /// What is there now.
    pub(super) before: Option<Before>,
}

/// A file before it is written.
pub(super) struct Before {
    mode: Permissions,
    bytes: u64,
    modified: Option<cap_std::time::SystemTime>,
    /// `None` if it is too large to be compared.
    pub(super) content: Option<Vec<u8>>,
}

impl Target {
    /// The file of that name.
    ///
    /// # Errors
    /// Those of the system, and a text where it cannot be written.
    pub(super) fn open(folder: Dir, name: &str) -> io::Result<Target> {
        let before = match folder.symlink_metadata(name) {
            Ok(_) => Some(Before::read(&folder, name)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Target { folder, name: name.to_owned(), before })
    }

    /// Gives it this content, and keeps its mode.
    ///
    /// # Errors
    /// Those of the system, and a text where the file is not as it was read; it is then as it was.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        let mode = self.before.as_ref().map(|before| &before.mode);
        atomic::replace(&self.folder, &self.name, content, mode, &|| self.check_unchanged())
    }

    /// Another process may have written it since.
    fn check_unchanged(&self) -> io::Result<()> {
        let now = Target::open(self.folder.try_clone()?, &self.name)?.before;
        match (&self.before, &now) {
            (None, None) => Ok(()),
            (Some(before), Some(now)) if before.is_as(now) => Ok(()),
            _ => Err(io::Error::other("was changed by somebody else meanwhile, and was left so; read it again")),
        }
    }
}

impl Before {
    fn read(folder: &Dir, name: &str) -> io::Result<Before> {
        let (file, found) = open_file(folder, name)?;
        if found.permissions().readonly() {
            return Err(io::Error::other("is read-only"));
        }
        let mut content = Vec::new();
        file.take(change::MAX_COMPARED as u64 + 1).read_to_end(&mut content)?;
        let content = (content.len() <= change::MAX_COMPARED).then_some(content);
        Ok(Before { mode: found.permissions(), bytes: found.len(), modified: found.modified().ok(), content })
    }

    /// Whether it has the same content, as far as that is known.
    fn is_as(&self, other: &Before) -> bool {
        self.content == other.content && (self.content.is_some() || (self.bytes, self.modified) == (other.bytes, other.modified))
    }
}

/// Writes the whole content of a file. Gives the field `write` of the result's details; `None` if nothing has changed.
///
/// # Errors
/// A text for the model; nothing is changed then.
pub(super) fn write(call: &FileCall<'_>, path: &str, target: &Target, content: &[u8]) -> Result<Option<Value>, String> {
    let is_same = target.before.as_ref().is_some_and(|before| before.content.as_deref() == Some(content));
    if is_same {
        return Ok(None);
    }
    call.check_wanted()?;
    let action = if target.before.is_some() { "changed" } else { "created" };
    let mut record = change::record(call.context.idempotency_key(), &call.root.shown(), path, action, content);
    if content.len() > change::MAX_COMPARED {
        let why = format!("it has {} bytes, and files of at most {} can be taken back", content.len(), change::MAX_COMPARED);
        record.insert("no_undo".to_owned(), why.into());
    } else if let Some(before) = &target.before {
        let kept = before.content.as_ref().and_then(|before| change::replaced(before, content));
        match kept {
            Some(kept) => record.insert("before".to_owned(), kept),
            None => record.insert("no_undo".to_owned(), too_much(before).into()),
        };
    }
    target.write(content).map_err(|error| because(path, &error))?;
    Ok(Some(Value::Object(record)))
}

fn too_much(before: &Before) -> String {
    format!(
        "it has replaced too much of a file that had {} bytes: at most {} bytes are kept, of files of at most {} bytes",
        before.bytes,
        change::MAX_KEPT,
        change::MAX_COMPARED
    )
}

/// Removes folders that were made for a file, the innermost first, as far as they are empty.
pub(super) fn remove_folders(root: &Root, made: &[String]) {
    for made in made.iter().rev() {
        if let Some((folder, name)) = path::split(made)
            && let Ok(folder) = root.folder(folder)
        {
            let _ = folder.remove_dir(name);
        }
    }
}

/// A result with this text and what was written.
pub(super) fn result(text: String, written: Option<Value>) -> Value {
    let mut details = Map::new();
    details.extend(written.map(|written| (change::WRITE.to_owned(), written)));
    json!({ "content": [{ "type": "text", "text": text }], "details": details })
}
