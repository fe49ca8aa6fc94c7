//! Why a script cannot be played.

use std::fmt;
use std::io;

/// A mistake in a script, or no port to play it on.
#[derive(Debug)]
pub enum Error {
    /// The script is wrong; the text says where, what and what to do.
    Script(String),
    /// The address could not be listened on.
    Listen {
        /// The port that was asked for; 0 is any.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Script(problem) => f.write_str(problem),
            Error::Listen { port, source } => {
                write!(f, "cannot listen on 127.0.0.1:{port}: {source}; port 0 takes a free one")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Script(_) => None,
            Error::Listen { source, .. } => Some(source),
        }
    }
}
