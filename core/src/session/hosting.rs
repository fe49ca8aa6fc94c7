//! Stores for hosts of other languages: arguments from JSON, work that holds up no event loop, and stores that are objects of the
//! host.

mod follower;
mod given;
mod host_store;
mod open_sessions;
mod opening;
mod work;

use serde_json::{Value, json};

use super::handle::SalvagedSession;
use super::open::OpenSession;

pub use follower::Follower;
pub use given::{info_of, open_store, query_of, records_of};
pub use host_store::{HostStore, STORE_METHODS};
pub use open_sessions::OpenSessions;
pub use opening::{Given, open_for};
pub use work::on_runtime;

/// While this is kept, who opens the session waits: for handles that are dropped later, on another thread.
pub fn ending(session: &OpenSession) -> impl Send + Sized + use<> {
    session.ending()
}

/// What was salvaged: `{records, text, damage}`.
pub fn salvaged_json(salvaged: &SalvagedSession) -> Value {
    json!({ "records": salvaged.entries, "text": salvaged.text, "damage": salvaged.damage })
}
