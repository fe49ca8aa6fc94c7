//! Which addresses secrets may be sent to.

use std::net::IpAddr;

use reqwest::Url;

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether what is sent to an address is encrypted, or stays on this machine. A proxy for plain http sees it all the same.
pub(crate) fn keeps_secrets(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}
