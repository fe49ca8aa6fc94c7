//! Sessions in stores: what each kind of store has to do, and what happens to it.
//!
//! `conformance` is played with each of them; `damage` and `processes` with those that outlive their process, `files` with those
//! in files; `custom` is a store of an application, `custom_of_host` of one in another language, `postgres` the way to a server,
//! `postgres_faults` what may happen to one, `full_disk` the disk of each, `growth` what one takes of it. `closing` is the end of
//! a session in its process, in a `gated` store, `renewals` its leases before. `agents` have their conversations in them, which a
//! `client` follows `live`, an `early_follower` before they begin, and others when they are `begun_anew`; `kills` end the process
//! at each write of one, and `workers` share many sessions while one of them is killed again and again.

#[path = "stores/agents.rs"]
mod agents;
#[path = "stores/begun_anew.rs"]
mod begun_anew;
#[path = "stores/client.rs"]
mod client;
#[path = "stores/closing.rs"]
mod closing;
#[path = "stores/conformance.rs"]
mod conformance;
#[path = "stores/custom.rs"]
mod custom;
#[path = "stores/custom_of_host.rs"]
mod custom_of_host;
#[path = "stores/damage.rs"]
mod damage;
#[path = "stores/early_follower.rs"]
mod early_follower;
#[path = "stores/files.rs"]
mod files;
#[path = "stores/full_disk.rs"]
mod full_disk;
#[path = "stores/gated.rs"]
mod gated;
#[path = "stores/growth.rs"]
mod growth;
#[path = "stores/kills.rs"]
mod kills;
#[path = "stores/live.rs"]
mod live;
#[path = "stores/place.rs"]
mod place;
#[cfg(feature = "postgres")]
#[path = "stores/postgres.rs"]
mod postgres;
#[cfg(feature = "postgres")]
#[path = "stores/postgres_faults.rs"]
mod postgres_faults;
#[path = "stores/processes.rs"]
mod processes;
#[path = "stores/renewals.rs"]
mod renewals;
#[path = "support.rs"]
mod support;
#[path = "stores/workers.rs"]
mod workers;
