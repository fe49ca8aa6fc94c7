//! What a call of `write_file` or `edit_file` changes, as texts before and after it: for applications that show it as a diff.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::root::Root;
use super::write::Target;
use super::{BuiltinTools, change, edit_file, path};

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

impl BuiltinTools {
    /// What a call of `write_file` or `edit_file` with these arguments would change now, for a person who decides about it. It
    /// changes nothing, and blocks while it reads the file. `None` for other tools, for what cannot be shown (a file that is not
    /// UTF-8 text, or has more than 1 MiB), and for a call that would fail.
    ///
    /// ```
    /// use agent_loop::builtin::BuiltinTools;
    /// use serde_json::{Map, json};
    ///
    /// let tools = BuiltinTools::new(".", ["write_file"])?;
    /// let arguments = Map::from_iter([("path".to_owned(), json!("a new file")), ("content".to_owned(), json!("Hi"))]);
    /// let change = tools.planned_change("write_file", &arguments).unwrap();
    /// assert_eq!((change.before, change.after.as_str()), (None, "Hi"));
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    pub fn planned_change(&self, tool_name: &str, arguments: &Map<String, Value>) -> Option<FileChange> {
        let root = self.root_of(tool_name)?;
        let path = root.resolve(arguments.get("path")?.as_str()?).ok()?;
        let before = text_at(root, &path).ok()?;
        let after = match tool_name {
            "write_file" => arguments.get("content")?.as_str()?.to_owned(),
            _ => edit_file::edited(before.as_deref()?, arguments)?,
        };
        shown(FileChange { path: root.absolute(&path), before, after })
    }

    /// What a call of `write_file` or `edit_file` has changed, from its arguments and the `details` of its result. Blocks while
    /// it reads the file. `None` as for [`planned_change`](BuiltinTools::planned_change), for a call that has changed nothing,
    /// and where the text before was not kept or the file of an edit was changed since.
    ///
    /// ```
    /// use agent_loop::builtin::BuiltinTools;
    /// use serde_json::{Map, json};
    ///
    /// let tools = BuiltinTools::new(".", ["write_file"])?;
    /// assert_eq!(tools.made_change("write_file", &Map::new(), &json!({})), None);
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    pub fn made_change(&self, tool_name: &str, arguments: &Map<String, Value>, details: &Value) -> Option<FileChange> {
        let root = self.root_of(tool_name)?;
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

    /// The absolute path of what a tool's argument `path` names, without looking at the disk. `None` if it leads out of the root,
    /// and where there are no tools.
    ///
    /// ```
    /// use agent_loop::builtin::BuiltinTools;
    ///
    /// let tools = BuiltinTools::new(".", ["read_file"])?;
    /// assert!(tools.absolute_path("src/main.rs").unwrap().is_absolute());
    /// assert_eq!(tools.absolute_path("../secret"), None);
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    pub fn absolute_path(&self, path: &str) -> Option<PathBuf> {
        let root = &self.shared.as_ref()?.root;
        Some(root.absolute(&root.normal(path).ok()?))
    }

    /// The root, for a tool of these that writes.
    fn root_of(&self, tool_name: &str) -> Option<&Root> {
        let writes = matches!(tool_name, "write_file" | "edit_file") && self.tools.get(tool_name).is_some();
        self.shared.as_ref().filter(|_| writes).map(|shared| &shared.root)
    }
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
