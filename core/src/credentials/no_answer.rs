//! Why the system's keyring has not answered.

use crate::error::{Error, ErrorKind};

/// Why it has not.
pub(super) struct NoAnswer {
    pub(super) why: String,
    /// Whether it may still answer: then there is a keyring.
    pub(super) is_late: bool,
}

impl From<NoAnswer> for Error {
    fn from(NoAnswer { why, .. }: NoAnswer) -> Error {
        Error::new(ErrorKind::Io, format!("the system's keyring: {why}; AGENT_KEYRING=file keeps keys in files instead"))
    }
}
