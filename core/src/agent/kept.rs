//! The conversation of an agent that has a session: how the records of its changes get into the journal.

use std::future::Future;
use std::task::{Context, Poll, Waker};

#[cfg(feature = "store")]
use agent_loop_proto::conversation::Conversation;
#[cfg(feature = "store")]
use agent_loop_proto::conversation::journal::InterruptedRun;

use super::handle::Agent;
use super::session::AgentSession;
use super::state::State;
use crate::error::Error;
#[cfg(feature = "store")]
use crate::error::ErrorKind;
#[cfg(feature = "store")]
use crate::session::OpenSession;

impl State {
    /// Appends the records of what was changed, while no other change can be made. The store may need longer: its error is then
    /// that of the next change, or of [`Agent::flush`].
    pub(super) fn keep_changes(&mut self) -> Result<(), Error> {
        let records = self.conversation.take_records();
        if records.is_empty() {
            return Ok(());
        }
        let appended = std::pin::pin!(self.session.append(records));
        match appended.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(written) => written,
            Poll::Pending => Ok(()),
        }
    }
}

impl Agent {
    pub(crate) fn own_session(&self) -> AgentSession {
        self.state().session.clone()
    }

    /// Makes a change of the conversation, if it can be kept, and keeps it.
    pub(super) fn change_conversation<T>(&self, change: impl FnOnce(&mut State) -> Result<T, Error>) -> Result<T, Error> {
        let mut state = self.state();
        state.session.check()?;
        let changed = change(&mut state)?;
        state.keep_changes()?;
        if state.session.is_some()
            && let Some(run) = state.conversation.active()
        {
            // It asks for what is to be written.
            run.0.notice();
        }
        Ok(changed)
    }
}

#[cfg(feature = "store")]
impl State {
    /// Goes on with the conversation of a session.
    pub(super) fn open_session(&mut self, session: AgentSession) -> Result<(), Error> {
        let Some(open) = &session.open else { return Ok(()) };
        self.conversation.check_idle("it can be given no session")?;
        if let Some(had) = &self.session.open {
            let text = format!("session: the agent has one, {:?}: make another agent for {:?}", had.id(), open.id());
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        if !self.conversation.messages().is_empty() {
            let text = "messages: the session has the conversation; append to it with append_messages";
            return Err(Error::invalid_argument(text));
        }
        if self.conversation.has_queued() {
            let text = "session: the agent has queued messages, which the session would not have: give the session first";
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        self.conversation = Conversation::of_session(open.id(), &*open.attach()?);
        self.session = session;
        Ok(())
    }
}

#[cfg(feature = "store")]
#[cfg_attr(docsrs, doc(cfg(feature = "store")))]
impl Agent {
    /// The session that keeps its conversation. The agent gives it back when it is dropped; closing it here waits for that, and
    /// the agent takes no more changes then.
    pub fn session(&self) -> Option<OpenSession> {
        self.state().session.open.clone()
    }

    /// Goes on with the conversation of a session, as [`AgentBuilder::session`](super::AgentBuilder::session) does: for hosts
    /// that make an agent before they set it up.
    ///
    /// # Errors
    /// As [`AgentBuilder::build`](super::AgentBuilder::build) for a session; `busy` during a run; `invalid_argument` for an agent
    /// that has messages, `invalid_state` for one that has a session or queued messages.
    pub fn set_session(&self, session: OpenSession) -> Result<(), Error> {
        self.state().open_session(AgentSession::new(session))
    }

    /// The run that was interrupted when the process that had the session ended: until another run begins. [`Agent::resume`] goes
    /// on with it. `None` also when there is nothing left to go on with.
    pub fn interrupted(&self) -> Option<InterruptedRun> {
        self.state().conversation.interrupted()
    }

    /// Waits until the session's store has all changes that were made before.
    ///
    /// # Errors
    /// As [`OpenSession::append`], also for what was changed before this was called; `invalid_state` inside a callback of this
    /// agent, where it might wait for itself.
    pub async fn flush(&self) -> Result<(), Error> {
        self.check_outside("flush")?;
        let Some(open) = self.session() else { return Ok(()) };
        // What was queued during a run, its driver writes.
        while let Some(run) = self.active_run() {
            let recorded = run.recorded();
            let mut recorded = std::pin::pin!(recorded);
            recorded.as_mut().enable();
            if !run.machine().is_recording() || run.result.get().is_some() {
                break;
            }
            recorded.await;
        }
        open.flush().await
    }
}
