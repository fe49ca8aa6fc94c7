//! Work of stores beside an event loop.

use std::future::Future;
use std::pin::pin;

use tokio::sync::oneshot;

use crate::error::{Error, ErrorKind};
use crate::runtime::Runtime;

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
