//! Reaching a provider: HTTP, and the frames of its streams.

pub(crate) mod client;
pub(crate) mod network;
pub(crate) mod retry;
pub(crate) mod sse;
mod tls;
