//! No sandbox, on systems other than Linux.

/// There is none.
pub(crate) enum Jail {}
