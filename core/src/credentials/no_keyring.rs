//! The system's keyring in a build without the feature `keyring`: there is none.

use crate::error::{Error, ErrorKind};

/// Why it has not answered.
pub(super) struct Failure {
    pub(super) why: String,
    pub(super) is_late: bool,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        let text = format!("the system's keyring: {}; AGENT_KEYRING=file keeps keys in files instead", failure.why);
        Error::new(ErrorKind::Io, text)
    }
}

fn none() -> Failure {
    Failure { why: "agent-loop was built without its feature keyring".to_owned(), is_late: false }
}

pub(super) fn read(_: &str) -> Result<Option<String>, Failure> {
    Err(none())
}

pub(super) fn write(_: &str, _: &str) -> Result<(), Failure> {
    Err(none())
}

pub(super) fn remove(_: &str) -> Result<bool, Failure> {
    Err(none())
}
