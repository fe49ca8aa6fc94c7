//! The session of an agent: where its conversation is kept.

use std::future::Future;

use agent_loop_proto::session::JournalRecord;

use crate::error::Error;
use crate::event::Event;
#[cfg(feature = "store")]
use crate::session::OpenSession;

/// The session of an agent, if it has one.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentSession {
    #[cfg(feature = "store")]
    pub(super) open: Option<OpenSession>,
}

#[cfg(feature = "store")]
impl AgentSession {
    pub(super) fn new(open: OpenSession) -> AgentSession {
        AgentSession { open: Some(open) }
    }

    pub(crate) fn is_some(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.open.as_ref().map(OpenSession::id)
    }

    /// Refuses changes that could not be kept.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.open.as_ref().map_or(Ok(()), OpenSession::check)
    }

    /// Appends records; the future ends when the store has them, and may be dropped.
    pub(crate) fn append(&self, records: Vec<JournalRecord>) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let appended = self.open.as_ref().map(|open| open.append_of_agent(records));
        async move {
            match appended {
                Some(appended) => appended.await.map(drop),
                None => Ok(()),
            }
        }
    }

    /// Appends records of a run, which awaits the future at once: it writes them itself.
    pub(crate) fn append_awaited(&self, records: &[JournalRecord]) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        if records.iter().any(is_answer) {
            self.end_message();
        }
        let appended = self.open.as_ref().map(|open| open.append_awaited(records));
        async move {
            match appended {
                Some(appended) => appended.await.map(drop),
                None => Ok(()),
            }
        }
    }

    /// Whether somebody follows the events of the session's runs.
    pub(crate) fn is_followed(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.live().is_followed())
    }

    /// Hands an event to who follows the session, if it says what no record says.
    pub(crate) fn publish(&self, event: &Event) {
        if let Some(open) = &self.open {
            open.live().publish(event);
        }
    }

    /// No message is streamed any more, for who begins to follow.
    pub(crate) fn end_message(&self) {
        if let Some(open) = &self.open {
            open.live().end_message();
        }
    }

    /// While this is kept, who opens the session waits, as it is about to be given back if its agent was dropped.
    pub(crate) fn ending(&self) -> impl Sized + use<> {
        self.open.as_ref().map(OpenSession::ending)
    }

    /// The store does not answer: nothing more is written, and the lease is given back. The error for the run.
    pub(crate) fn give_up(&self, grace_ms: u64) -> Error {
        self.open.as_ref().map_or_else(|| Error::invalid_argument("the agent has no session"), |open| open.give_up(grace_ms))
    }
}

/// Whether it is an assistant's message, whole.
#[cfg(feature = "store")]
fn is_answer(record: &JournalRecord) -> bool {
    matches!(record, JournalRecord::Message(record) if record.message.as_assistant().is_some())
}

#[cfg(not(feature = "store"))]
impl AgentSession {
    pub(crate) fn is_some(&self) -> bool {
        false
    }

    pub(super) fn id(&self) -> Option<&str> {
        None
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) fn append(&self, _records: Vec<JournalRecord>) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        std::future::ready(Ok(()))
    }

    pub(crate) fn append_awaited(&self, _records: &[JournalRecord]) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        std::future::ready(Ok(()))
    }

    pub(crate) fn is_followed(&self) -> bool {
        false
    }

    pub(crate) fn publish(&self, _event: &Event) {}

    pub(crate) fn end_message(&self) {}

    pub(crate) fn ending(&self) -> impl Sized + use<> {}

    pub(crate) fn give_up(&self, _grace_ms: u64) -> Error {
        Error::invalid_argument("the agent has no session")
    }
}
