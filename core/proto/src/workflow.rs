//! What a host of a stepped loop keeps of a session on a workflow engine: a server that has a journal of what a handler did, and
//! calls the handler again elsewhere when its process dies.
//!
//! - [`Inbox`]: what reaches a run while it is active
//! - [`StoredConversation`]: a session's conversation between two runs
//! - [`Room`]: how large it may get; [`http_status`]: what a handler answers whose caller has made a mistake
//!
//! All of it is data, and methods without IO. `examples/restate` is a host, and so are the packages for Python and Node.
//!
//! ```
//! # mod agent_loop { pub use agent_loop_proto::error::Error; pub mod machine { pub use agent_loop_proto::workflow; } }
//! use agent_loop::machine::workflow::{Inbox, InboxInput};
//! # fn main() -> Result<(), agent_loop::Error> {
//! let steering = || InboxInput::Steer { message: "In short.".into() };
//! let mut inbox = Inbox::default();
//! assert!(inbox.put(steering(), None)?.is_none(), "it waits for a run");
//! assert_eq!(inbox.open("inv_1".to_owned()), [steering()]);
//! let signal = inbox.put(InboxInput::Abort, None)?.expect("a run is active");
//! assert_eq!((&*signal.invocation, signal.number), ("inv_1", 1));
//! // The run has stored its conversation, with both.
//! inbox.close(2);
//! assert!(inbox.now().waiting.is_empty());
//! # Ok(())
//! # }
//! ```

mod inbox;
mod room;
mod stored;
#[cfg(test)]
mod tests;

pub use self::inbox::{Inbox, InboxInput, InboxState, Signal, Suspended};
pub use self::room::{MAX_CONVERSATION_BYTES, Room};
pub use self::stored::StoredConversation;
use crate::error::ErrorKind;

/// The HTTP status of a handler whose request fails with an error of this kind: 400, 409 and 413 for mistakes of the caller.
pub fn http_status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::InvalidArgument => 400,
        ErrorKind::InvalidState => 409,
        ErrorKind::Limit => 413,
        _ => 500,
    }
}
