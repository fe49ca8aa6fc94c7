//! Reaching a provider: HTTP, TLS and proxies.

pub(crate) mod client;
pub(crate) mod header;
pub(crate) mod network;
mod tls;

use crate::error::{Error, ErrorKind};

/// Runs code that waits for files on a thread of its own: many runs share the runtime's.
///
/// # Errors
/// Those of the work; `invalid_state` when the runtime ends before it has begun.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|ended| match ended.try_into_panic() {
        Ok(payload) => std::panic::resume_unwind(payload),
        Err(_) => Err(Error::new(ErrorKind::InvalidState, "the runtime was shut down")),
    })
}
