//! The session of a chat. One that the chat has begun and in which nothing was said is none.

use agent_loop::Agent;
use agent_loop::session::{OpenSession, Session};

use crate::failure::Failure;
use crate::settings::{Conversation, Settings};

pub(super) struct Opened {
    pub(super) stored: OpenSession,
    handle: Session,
    /// Whether there was none of this id.
    is_new: bool,
}

impl Opened {
    /// Opens or begins a session, with an agent that goes on with it.
    pub(super) async fn open(settings: &Settings, id: &str) -> Result<(Opened, Agent), Failure> {
        let handle = settings.store()?.session(id)?;
        let is_new = handle.info().await?.is_none();
        let session = Opened { stored: handle.open().await?, handle, is_new };
        match settings.agent(Conversation::Session(session.stored.clone())) {
            Ok(agent) => Ok((session, agent)),
            Err(failure) => {
                session.close(true).await?;
                Err(failure)
            }
        }
    }

    /// Lets others open it. `is_empty`: nothing was said.
    pub(super) async fn close(&self, is_empty: bool) -> Result<(), Failure> {
        self.stored.close().await?;
        if self.is_new && is_empty {
            self.handle.delete().await?;
        }
        Ok(())
    }
}
