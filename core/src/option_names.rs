//! The names of a host's options. The options are declared in `agent_loop_proto::table::options`.

use agent_loop_proto::table::options;
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;

/// The canonical names of a host's options with their values and the spelling the host used.
///
/// # Errors
/// `invalid_argument` for a name that is not known; names the nearest right one. `own` are names the host handles itself.
pub(crate) fn canonical_names<'a>(
    given: &'a Map<String, Value>,
    spelling: Spelling,
    own: &[&'static str],
) -> Result<Vec<(&'static str, &'a str, &'a Value)>, Error> {
    let known = options::names().chain(own.iter().copied());
    let find = |(spelled, value): (&'a String, &'a Value)| {
        let canonical = options::names().find(|name| spelling.spell(name) == *spelled);
        canonical
            .map(|name| (name, spelled.as_str(), value))
            .ok_or_else(|| unknown_name("option", spelled, known.clone(), spelling))
    };
    given.iter().map(find).collect()
}
