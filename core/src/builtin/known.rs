//! The built-in tools, one row each.

use std::sync::Arc;

use super::{Shared, edit_file, find_files, list_directory, read_file, scratch_pad, search_text, todo, write_file};
use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::tool::Tool;

/// What makes a tool gives: an error would be a mistake in its description.
pub(super) type MadeTool = Result<Arc<dyn Tool>, Error>;

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
    Known { name: "scratch_pad", make: scratch_pad::make },
    Known { name: "todo", make: todo::make },
];

/// The tool of that name.
///
/// # Errors
/// `invalid_argument`: there is none; names the nearest one.
pub(super) fn known(name: &str) -> Result<&'static Known, Error> {
    let names = KNOWN.iter().map(|tool| tool.name);
    let found = KNOWN.iter().find(|tool| tool.name == name);
    found.ok_or_else(|| unknown_name("built-in tool", name, names, Spelling::Snake))
}
