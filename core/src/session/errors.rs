//! The errors of stores that name a session or a store.

use crate::error::{Error, ErrorKind};

/// The session is open elsewhere.
pub(super) fn held(id: &str, holder: &str, left_ms: u64) -> Error {
    let text = format!(
        "the session {id:?} is open elsewhere, by {holder}, and has one writer at a time: close it there, or wait until its \
         lease ends, in {left_ms} ms unless it is renewed"
    );
    Error::new(ErrorKind::Busy, text)
}

/// The lease was lost to another holder.
pub(super) fn lost(id: &str, now: Option<&str>) -> Error {
    let text = match now {
        Some(holder) => format!(
            "the session {id:?} was opened by {holder} after the lease of this one had ended, and nothing more is written \
             here: open it again when it is closed there"
        ),
        None => format!("the lease on the session {id:?} has ended, and nothing more is written here: open the session again"),
    };
    Error::new(ErrorKind::Busy, text)
}

/// The process has forked: the store's files, connections and locks are those of the parent.
pub(super) fn forked(store: &str) -> Error {
    Error::new(ErrorKind::InvalidState, format!("{store} was opened before the process forked: open it again in the child"))
}

/// There is no such session.
pub(super) fn missing(id: &str, store: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no session {id:?} in {store}; list gives those that there are"))
}

/// The system refused something.
pub(super) fn io(what: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}")).with_source(error)
}
