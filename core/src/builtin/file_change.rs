//! What a call of `write_file` or `edit_file` changes, as texts before and after it: for applications that show it as a diff.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::root::Root;
use super::write::Target;
use super::{change, edit_file, path};

/// The largest text that is shown, in bytes.
const MAX_SHOWN: usize = 1024 * 1024;

/// A file's text before and after a call, for a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct FileChange {
    /// The file, absolute.
    pub path: PathBuf,
    /// Its text before; `None` for a file that there was not.
    pub before: Option<String>,
    /// Its text after.
    pub after: String,
}

/// What a call would change now.
pub(super) fn planned(root: &Root, tool_name: &str, arguments: &Map<String, Value>) -> Option<FileChange> {
    let path = root.resolve(arguments.get("path")?.as_str()?).ok()?;
    let before = text_at(root, &path).ok()?;
    let after = match tool_name {
        "write_file" => arguments.get("content")?.as_str()?.to_owned(),
        _ => edit_file::edited(before.as_deref()?, arguments)?,
    };
    shown(FileChange { path: root.absolute(&path), before, after })
}

/// What a call has changed.
pub(super) fn made(root: &Root, tool_name: &str, arguments: &Map<String, Value>, details: &Value) -> Option<FileChange> {
    let write = details.get(change::WRITE)?;
    let field = |name: &str| write.get(name).and_then(Value::as_str);
    if field("root")? != root.shown() {
        return None;
    }
    let path = root.normal(field("path")?).ok()?;
    let after = match tool_name {
        "write_file" => arguments.get("content")?.as_str()?.to_owned(),
        _ => text_at(root, &path).ok()??,
    };
    if field("hash")? != change::hash(after.as_bytes()) {
        return None;
    }
    let before = match field("action")? {
        "created" => None,
        _ => Some(String::from_utf8(change::restored(after.as_bytes(), write.get("before")?)?).ok()?),
    };
    shown(FileChange { path: root.absolute(&path), before, after })
}

/// The text of a file; `Ok(None)` if there is none.
fn text_at(root: &Root, path: &str) -> Result<Option<String>, ()> {
    let (folder, name) = path::split(path).ok_or(())?;
    let target = match root.folder(folder).and_then(|folder| Target::open(folder, name)) {
        Ok(target) => target,
        // The folder, too, may be one that is made.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(()),
    };
    let Some(before) = target.before else { return Ok(None) };
    let content = before.content.filter(|content| content.len() <= MAX_SHOWN).ok_or(())?;
    String::from_utf8(content).map(Some).map_err(drop)
}

fn shown(change: FileChange) -> Option<FileChange> {
    let fits = change.after.len() <= MAX_SHOWN && change.before.as_ref().is_none_or(|before| before.len() <= MAX_SHOWN);
    fits.then_some(change)
}
