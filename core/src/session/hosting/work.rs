//! Work of stores beside an event loop.

use std::future::Future;
use std::pin::pin;

use tokio::sync::oneshot;

use crate::agent::Agent;
use crate::error::{Error, ErrorKind};
use crate::runtime::Runtime;
use crate::session::handle::Session;
use crate::session::open::OpenSession;

/// Does work of a store on the runtime's threads: the event loop that awaits the future does nothing of it, and a long session is
/// read beside it. The work is dropped with the future.
///
/// # Errors
/// Those of the work; `invalid_state` if the runtime was shut down.
pub fn on_runtime<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> + Send + 'static {
    let (mut sender, receiver) = oneshot::channel();
    runtime.spawn(async move {
        let mut work = pin!(work);
        let done = tokio::select! {
            done = &mut work => done,
            () = sender.closed() => return,
        };
        let _ = sender.send(done);
    });
    async move {
        receiver
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::InvalidState, "the runtime was shut down before this was done")))
    }
}

/// Opens a session for an agent while this thread waits: for constructors, which are not async. Not of a store that needs this
/// thread. On an error it is not left open.
///
/// # Errors
/// As [`Session::open`], [`Agent::set_session`] and [`on_runtime`].
pub fn open_for(agent: &Agent, runtime: &Runtime, session: &Session) -> Result<OpenSession, Error> {
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
