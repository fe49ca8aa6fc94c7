//! The built-in tools, one row each.

use std::sync::Arc;

use super::{Shared, fetch, todo};
#[cfg(unix)]
use super::{command, git};
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
    Known { name: "fetch_url", make: fetch::make },
    #[cfg(unix)]
    Known { name: "git", make: git::make },
    #[cfg(unix)]
    Known { name: "run_command", make: command::make },
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
