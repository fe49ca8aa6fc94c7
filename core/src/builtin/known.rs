//! The built-in tools, one row each.

use std::sync::Arc;

use super::shared::{MadeTool, Shared};
#[cfg(unix)]
use super::{command, git};
use super::{edit_file, fetch, find_files, list_directory, oracle, read_file, scratch_pad, search_text, todo, write_file};
use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;

/// A built-in tool.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) make: fn(&Arc<Shared>) -> MadeTool,
}

const KNOWN: &[Known] = &[
    Known { name: "read_file", make: read_file::make },
    Known { name: "write_file", make: write_file::make },
    Known { name: "edit_file", make: edit_file::make },
    Known { name: "list_directory", make: list_directory::make },
    Known { name: "find_files", make: find_files::make },
    Known { name: "search_text", make: search_text::make },
    #[cfg(unix)]
    Known { name: "run_command", make: command::make },
    #[cfg(unix)]
    Known { name: "git", make: git::make },
    Known { name: "fetch_url", make: fetch::make },
    Known { name: "oracle", make: oracle::make },
    Known { name: "scratch_pad", make: scratch_pad::make },
    Known { name: "todo", make: todo::make },
];

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    KNOWN.iter().map(|tool| tool.name)
}

/// The tool of that name.
///
/// # Errors
/// `invalid_argument`: there is none; names the nearest one.
pub(super) fn known(name: &str) -> Result<&'static Known, Error> {
    let found = KNOWN.iter().find(|tool| tool.name == name);
    found.ok_or_else(|| unknown_name("built-in tool", name, names(), Spelling::Snake))
}
