//! The system's keyring in a build without the feature `keyring`: there is none.

use super::no_answer::NoAnswer;

fn none() -> NoAnswer {
    NoAnswer { why: "agent-loop was built without its feature keyring".to_owned(), is_late: false }
}

pub(super) fn read(_: &str) -> Result<Option<String>, NoAnswer> {
    Err(none())
}

pub(super) fn write(_: &str, _: &str) -> Result<(), NoAnswer> {
    Err(none())
}

pub(super) fn remove(_: &str) -> Result<bool, NoAnswer> {
    Err(none())
}
