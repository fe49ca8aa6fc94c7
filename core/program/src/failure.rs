//! Why a command ends without a result: what the user reads, and what the program exits with.

use agent_loop::{Error, ErrorKind};

use crate::exit;

/// A text for standard error, and an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) text: String,
    pub(crate) code: u8,
}

impl Failure {
    /// Something went wrong.
    pub(crate) fn error(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), code: exit::ERROR }
    }

    /// The command line is wrong.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), code: exit::USAGE }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        // What it was called with.
        let code = if error.kind() == ErrorKind::InvalidArgument { exit::USAGE } else { exit::ERROR };
        Failure { text: error.message().to_owned(), code }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            // The reader of the output has gone, as `head` does: no message is wanted.
            std::io::ErrorKind::BrokenPipe => Failure { text: String::new(), code: exit::BROKEN_PIPE },
            _ => Failure::error(format!("the output cannot be written: {error}")),
        }
    }
}
