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
mod path;
mod read_file;
mod reading;
mod root;
mod sandbox;
mod scratch_pad;
mod search_text;
mod shared;
mod todo;
pub(crate) mod undo;
mod walk;
mod write;
mod write_file;

use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::tool::ToolSet;

use self::known::known;
use self::root::Root;
use self::shared::Shared;

pub use self::file_change::FileChange;
pub use self::options::{BuiltinOptions, SandboxMode};
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
    /// `invalid_argument`: a name that is none of theirs or is there twice, or a root that is no folder that can be read.
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
        let shared = Arc::new(Shared { root: Root::open(&options.root)?, options });
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
