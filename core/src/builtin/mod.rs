//! Built-in tools: files, commands and notes, for agents that work in a folder. The option
//! [`builtin_tools`](crate::AgentBuilder::builtin_tools).
//!
//! An agent has those that are named, and no others. All of them stay in one folder, the root, whatever the model asks for: a
//! path that leads out of it, through `..`, a link or a race, is an error result. What changes something waits for approval.
//!
//! ```no_run
//! use agent_loop::Agent;
//! use agent_loop::builtin::BuiltinTools;
//!
//! # async fn example() -> Result<(), agent_loop::Error> {
//! let tools = BuiltinTools::new(".", ["read_file", "search_text", "todo"])?;
//! let agent = Agent::builder("anthropic/claude-sonnet-4-5").builtin_tools(tools).build()?;
//! println!("{}", agent.prompt("What does this project do?").await?.text);
//! # Ok(()) }
//! ```

mod atomic;
mod change;
#[cfg(unix)]
mod command;
mod commit;
mod edit_file;
mod fetch;
mod file_change;
mod file_tool;
mod find_files;
#[cfg(unix)]
mod git;
mod known;
mod list_directory;
mod options;
mod oracle;
mod path;
mod read_file;
mod reading;
mod root;
mod sandbox;
mod scratch_pad;
mod search_text;
mod shared;
mod todo;
#[cfg(unix)]
mod uncommit;
#[cfg(not(unix))]
#[path = "no_uncommit.rs"]
mod uncommit;
pub(crate) mod undo;
mod walk;
mod write;
mod write_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::Error;
use crate::tool::ToolSet;

use self::known::known;
use self::root::Root;
use self::shared::Shared;

pub use self::file_change::FileChange;
pub use self::options::{BuiltinOptions, SandboxMode};
pub(crate) use self::oracle::Oracle;
pub use self::undo::{RefusedUndo, UndoneWrite, UndoneWrites};

/// Built-in tools of an agent, and the folder they stay in. Cheap to clone.
#[derive(Clone, Default)]
pub struct BuiltinTools {
    tools: Arc<ToolSet>,
    pub(crate) shared: Option<Arc<Shared>>,
}

impl BuiltinTools {
    /// These tools, by their names, in this folder.
    ///
    /// # Errors
    /// `invalid_argument`: a name that is none of theirs or is there twice, a root that is no folder that can be read, or
    /// an `oracle` that is no model.
    pub fn new<N: AsRef<str>>(root: impl AsRef<Path>, names: impl IntoIterator<Item = N>) -> Result<BuiltinTools, Error> {
        let tools = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        BuiltinTools::with_options(BuiltinOptions { tools, root: root.as_ref().to_owned(), ..BuiltinOptions::default() })
    }

    /// The names of all built-in tools.
    pub fn names() -> impl Iterator<Item = &'static str> {
        known::names()
    }

    /// The tools that these options name, as the options have them.
    ///
    /// # Errors
    /// As [`BuiltinTools::new`].
    pub fn with_options(options: BuiltinOptions) -> Result<BuiltinTools, Error> {
        let names = options.tools.clone();
        let oracle = options.oracle.as_deref().map(oracle::model_of).transpose()?;
        let shared = Arc::new(Shared { root: Root::open(&options.root)?, oracle, options });
        let mut tools = ToolSet::default();
        for name in &names {
            tools.add((known(name)?.make)(&shared)?)?;
        }
        Ok(BuiltinTools { tools: Arc::new(tools), shared: Some(shared) })
    }

    /// The tools, in the order of their names in the options.
    pub fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// What they were made with; `None` where there are none.
    pub fn options(&self) -> Option<&BuiltinOptions> {
        self.shared.as_deref().map(|shared| &shared.options)
    }

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
        file_change::planned(self.root_of(tool_name)?, tool_name, arguments)
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
        file_change::made(self.root_of(tool_name)?, tool_name, arguments, details)
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

    /// The agent's own tools, and those of these whose names they do not have.
    pub(crate) fn with_own(&self, own: &ToolSet) -> ToolSet {
        let mut all = own.clone();
        for tool in self.tools.iter() {
            // One of the agent's own takes the place of a built-in one.
            let _ = all.add(Arc::clone(tool));
        }
        all
    }
}

impl std::fmt::Debug for BuiltinTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.tools.fmt(f)
    }
}

#[cfg(test)]
mod tests;
