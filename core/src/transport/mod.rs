//! Reaching a provider: HTTP, TLS and proxies.

pub(crate) mod client;
#[cfg(feature = "gzip")]
mod coding;
pub(crate) mod header;
pub(crate) mod loopback;
mod names;
pub(crate) mod network;
pub(crate) mod public;
pub(crate) mod tls;
