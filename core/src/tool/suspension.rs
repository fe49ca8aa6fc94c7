//! A tool's way to say that its answer comes from elsewhere, later.

use std::error::Error as StdError;
use std::fmt;

use crate::error::Error;

/// What a tool fails with whose answer comes from elsewhere, later: see [`ToolContext::suspend`].
///
/// [`ToolContext::suspend`]: crate::ToolContext::suspend
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspension {
    reason: String,
}

impl Suspension {
    pub(super) fn new(reason: impl Into<String>) -> Suspension {
        Suspension { reason: reason.into() }
    }

    /// Why the call waits, for the person who decides.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The suspension that an error comes from, also through middleware.
    pub(super) fn of(error: &Error) -> Option<&Suspension> {
        let mut source: Option<&(dyn StdError + 'static)> = Some(error);
        while let Some(error) = source {
            if let Some(suspension) = error.downcast_ref() {
                return Some(suspension);
            }
            source = error.source();
        }
        None
    }
}

impl fmt::Display for Suspension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call waits for a decision: {}", self.reason)
    }
}

impl StdError for Suspension {}
