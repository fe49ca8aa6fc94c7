//! Stores for hosts of other languages: arguments from JSON, work that holds up no event loop, and stores that are objects of the
//! host.

mod given;
mod host_store;
mod work;

use serde_json::{Value, json};

use super::handle::SalvagedSession;

pub use given::{info_of, open_store, query_of, records_of};
pub use host_store::{HostStore, STORE_METHODS};
pub use work::{Follower, OpenSessions, on_runtime, open_for};

/// What was salvaged: `{records, text, damage}`.
pub fn salvaged_json(salvaged: &SalvagedSession) -> Value {
    json!({ "records": salvaged.entries, "text": salvaged.text, "damage": salvaged.damage })
}
