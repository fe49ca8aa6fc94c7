//! The options of a store.

use serde::{Deserialize, Serialize};

/// The option `sync`: what a record survives once it is written. The module's documentation has the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum SyncMode {
    /// The end of the process and a loss of power: each write waits for the disk.
    Full,
    /// The end of the process; after a loss of power, the last records may be missing.
    #[default]
    Normal,
    /// The end of the process; after a loss of power, the store may be damaged.
    Off,
}

/// The options of a store.
#[derive(Debug, Clone)]
pub(super) struct StoreOptions {
    pub(super) sync: SyncMode,
    pub(super) lease_ms: u64,
    pub(super) holder: String,
    /// Which authorities a server's certificate is checked with.
    #[cfg(feature = "postgres")]
    pub(super) network: crate::network::Network,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        let host = ["HOSTNAME", "COMPUTERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
        let host = host.as_deref().map(str::trim).filter(|host| !host.is_empty()).unwrap_or("this machine");
        let holder = format!("process {} on {host}", std::process::id());
        StoreOptions {
            sync: SyncMode::default(),
            lease_ms: 30_000,
            holder,
            #[cfg(feature = "postgres")]
            network: crate::network::Network::default(),
        }
    }
}
