//! Addresses of hosts, from the system's resolver, which blocks its thread.

use std::net::ToSocketAddrs;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::public;
use crate::error::Error;
use crate::threads::blocking;

/// Asks the system on a thread of the runtime's. The HTTP client's own way panics when there is no thread.
pub(super) struct Resolver {
    /// Whether a name that leads to an address that is not public is refused. What is checked is what is connected to.
    pub(super) is_public: bool,
    /// But these are not: the hosts of proxies, which the user has named.
    pub(super) trusted: Vec<String>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let is_public = self.is_public && !self.trusted.contains(&host);
        let answer = blocking(move || Ok((name.as_str(), 0).to_socket_addrs().map(Iterator::collect::<Vec<_>>)));
        Box::pin(async move {
            let addresses = answer.await??.into_iter();
            if let Some(private) = addresses.clone().find(|address| is_public && !public::is_public(address.ip())) {
                return Err(public::refused(&host, private.ip()).into());
            }
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// The error of a name that could not be asked for, in the sources of an HTTP client's.
pub(super) fn not_asked<'a>(mut sources: impl Iterator<Item = &'a (dyn std::error::Error + 'static)>) -> Option<&'a Error> {
    sources.find_map(|source| source.downcast_ref())
}
