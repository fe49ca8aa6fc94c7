//! A session's journal: what a conversation is made of, record by record, and the conversation that is rebuilt from it.
//!
//! - `record`: what a journal holds.
//! - `kinds`: the words of its kinds. `given`: a record as an application gives it (feature `journal`).
//! - `line`: a record as a line of JSON with a checksum, and back (feature `journal`).
//! - `text`: the lines of a whole journal, a torn end and damage (feature `journal`).
//! - `fold`: records to a conversation, and to what was going on.
//!
//! A journal does not replay a run. It holds messages, changes of the queues, tool calls and their answers, and where runs began
//! and ended: a session that is opened again has the conversation, and knows what was interrupted.
//!
//! ```
//! # #[cfg(feature = "journal")] {
//! use agent_loop_proto::message::Message;
//! use agent_loop_proto::session::{Fold, JournalRecord, decode, encode};
//!
//! let said = JournalRecord::message(Message::user("Rain in Oslo?", 0));
//! let line = encode(2, 1_767_225_600_000, &said).unwrap();
//! assert!(line.starts_with(r#"{"seq":2,"at":1767225600000,"kind":"message","message":{"role":"user","#));
//!
//! let entry = decode(line.as_bytes()).unwrap();
//! assert_eq!((entry.seq, &entry.record), (2, &said));
//! let mut fold = Fold::new();
//! fold.push(entry.record);
//! assert_eq!(fold.finish().messages[0].text(), "Rain in Oslo?");
//! # }
//! ```

mod fold;
#[cfg(feature = "journal")]
mod given;
mod kinds;
#[cfg(feature = "journal")]
mod line;
mod record;
#[cfg(feature = "journal")]
mod text;

pub use fold::{CallProgress, Fold, Interrupted, LastRun, OpenCall, Rebuilt, WaitingMessage};
#[cfg(feature = "journal")]
pub use line::{Entry, Unreadable, decode, encode};
pub use record::{
    Appended, Decisions, ForkedFrom, HookDecision, Info, JOURNAL_VERSION, JournalRecord, MessageRecord, OfQueue, QueueCleared,
    Queued, Replaced, Reset, Retried, RunEnd, RunOf, RunStart, SessionStart, Suspended, ToolAnswer, ToolStart,
};
#[cfg(feature = "journal")]
pub use text::{JournalReader, Salvaged, read_text, without_end};

#[cfg(all(test, feature = "journal"))]
mod tests;
