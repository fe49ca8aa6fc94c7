//! `agent acp`, driven by the protocol's own client library, against a strict model server.

mod editor;
mod permissions;
mod prompts;
mod sessions;

use std::future::Future;

/// Runs a test's work.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}
