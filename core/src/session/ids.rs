//! The ids of sessions.

use crate::error::Error;

/// The longest id, in bytes.
const LONGEST_ID: usize = 200;

/// Refuses what cannot be a session's id.
pub(super) fn check_id(id: &str) -> Result<(), Error> {
    let wrong = match () {
        () if id.is_empty() => "it is empty",
        () if id.len() > LONGEST_ID => "it is longer than 200 bytes",
        () if id.chars().any(char::is_control) => "it has a control character",
        () => return Ok(()),
    };
    Err(Error::invalid_argument(format!("session: the id {id:?} cannot be used: {wrong}")))
}

#[cfg(test)]
mod tests;
