//! Arguments of a host's functions, as JSON.

use agent_loop_proto::json_error::{Unread, read_value, shown};
use agent_loop_proto::session::{Info, JournalRecord};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::{Error, ErrorKind};
#[cfg(feature = "postgres")]
use crate::network::Network;
use crate::session::backend::ListQuery;
use crate::session::store::{Store, StoreBuilder};
use crate::session::store_options::SyncMode;

const OPTIONS: &[&str] = &[
    "sync",
    "lease_ms",
    "holder",
    #[cfg(feature = "postgres")]
    "network",
];
const QUERY: &[&str] = &["updated_from", "updated_before", "metadata", "limit", "cursor"];
const INFO: &[&str] = &["title", "metadata"];

/// Opens a store with the options `sync`, `lease_ms`, `holder` and `network`; null is the default.
///
/// # Errors
/// As [`StoreBuilder::open`]; `invalid_argument` for an unknown or wrong option.
pub fn open_store(builder: StoreBuilder, options: Map<String, Value>, spelling: Spelling) -> Result<Store, Error> {
    /// Those that are plain values.
    #[derive(Deserialize)]
    struct Options {
        sync: Option<SyncMode>,
        lease_ms: Option<u64>,
        holder: Option<String>,
    }
    let read = || {
        #[cfg_attr(not(feature = "postgres"), allow(unused_mut))]
        let mut options = canonical_names("store option", options, OPTIONS, spelling)?;
        let mut builder = builder;
        #[cfg(feature = "postgres")]
        if let Some(network) = options.remove("network") {
            builder = builder.network(Network::from_json_spelled(network, spelling)?);
        }
        let options: Options = read_value(&Value::Object(options)).map_err(|unread| unread.at("store").invalid_argument())?;
        builder = builder.sync(options.sync.unwrap_or_default());
        if let Some(ms) = options.lease_ms {
            builder = builder.lease_ms(ms);
        }
        if let Some(holder) = options.holder {
            builder = builder.holder(holder);
        }
        builder.open()
    };
    read().map_err(|error| respelled(error, spelling, OPTIONS))
}

/// What [`Store::list`] takes: `updated_from` and `updated_before` in milliseconds since the epoch, `metadata`, `limit`, and
/// `cursor`. Null is the default.
///
/// # Errors
/// `invalid_argument` for an unknown or wrong field.
pub fn query_of(given: Map<String, Value>, spelling: Spelling) -> Result<ListQuery, Error> {
    #[derive(Deserialize)]
    struct Query {
        updated_from: Option<u64>,
        updated_before: Option<u64>,
        metadata: Option<Map<String, Value>>,
        limit: Option<usize>,
        cursor: Option<String>,
    }
    let given = canonical_names("list option", given, QUERY, spelling)?;
    let wrong = |unread: Unread| respelled(unread.at("list").invalid_argument(), spelling, QUERY);
    let query: Query = read_value(&Value::Object(given)).map_err(wrong)?;
    if query.limit == Some(0) {
        return Err(Error::invalid_argument("list: limit: expected a whole number of at least 1, got 0"));
    }
    Ok(ListQuery {
        updated_from_ms: query.updated_from,
        updated_before_ms: query.updated_before,
        metadata: query.metadata.unwrap_or_default(),
        limit: query.limit.unwrap_or_default(),
        cursor: query.cursor,
    })
}

/// What `set_info` takes: `title` and `metadata`; null changes nothing.
///
/// # Errors
/// `invalid_argument` for an unknown or wrong field.
pub fn info_of(given: Map<String, Value>, spelling: Spelling) -> Result<Info, Error> {
    let given = canonical_names("set_info option", given, INFO, spelling);
    let given = given.map_err(|error| respelled(error, spelling, &["set_info"]))?;
    let wrong = |unread: Unread| respelled(unread.at("set_info").invalid_argument(), spelling, &["set_info"]);
    read_value(&Value::Object(given)).map_err(wrong)
}

/// Records to be appended: a list of them in the JSON of the journal.
///
/// # Errors
/// `invalid_argument` for what is no such list; names the record and the field.
pub fn records_of(given: Value) -> Result<Vec<JournalRecord>, Error> {
    let Value::Array(list) = given else {
        return Err(Error::invalid_argument(format!("records: expected an array of records, got {}", shown(&given))));
    };
    let read = |(i, value)| JournalRecord::given(value).map_err(|unread| unread.at(format!("records[{i}]")).invalid_argument());
    list.into_iter().enumerate().map(read).collect()
}

/// An error with the names in the host's spelling, if it is about what the host has given.
fn respelled(error: Error, spelling: Spelling, names: &[&str]) -> Error {
    if error.kind() != ErrorKind::InvalidArgument {
        return error;
    }
    Error::invalid_argument(spelling.respell(error.message(), names)).with_source_of(&error)
}
