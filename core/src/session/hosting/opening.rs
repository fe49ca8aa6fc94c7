//! Opens a session for an agent that is being made.

use super::work::on_runtime;
use crate::agent::Agent;
use crate::error::Error;
use crate::runtime::Runtime;
use crate::session::handle::Session;
use crate::session::open::OpenSession;

/// How a host's constructor was given a session.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// Whether an event loop runs on its thread, which does nothing while the thread waits.
    pub is_in_event_loop: bool,
    /// How the language gives the option, up to its value: `session=` in Python.
    pub assigned: &'a str,
}

/// Opens a session for an agent while this thread waits: for constructors, which are not async. On an error it is not left open.
///
/// # Errors
/// `invalid_argument` in an event loop for a store that needs a network, or code of the program: its answer may take long, or
/// need that loop. Else as [`Session::open`], [`Agent::set_session`] and [`on_runtime`].
pub fn open_for(agent: &Agent, runtime: &Runtime, session: &Session, given: Given<'_>) -> Result<OpenSession, Error> {
    if given.is_in_event_loop && !session.is_embedded() {
        let (store, id) = (session.store_name(), session.id());
        return Err(Error::invalid_argument(format!(
            "session: a constructor in an event loop cannot wait for {store}: open the session first, as in {}await \
             store.session({id:?}).open()",
            given.assigned
        )));
    }
    let (agent, session) = (agent.clone(), session.clone());
    runtime.block_on(on_runtime(runtime, async move {
        let open = session.open().await?;
        if let Err(error) = agent.set_session(open.clone()) {
            // Whoever tries again finds it free. There is nothing to write that could fail.
            let _ = open.close().await;
            return Err(error);
        }
        Ok(open)
    }))
}
