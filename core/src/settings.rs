//! An agent's settings, and the names of a host's options. The options are declared in `agent_loop_proto::table::options`.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use agent_loop_proto::table::options;
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::transport::network::Network;

/// An agent's settings: those of its loop, and those of the driver. A change during a run takes effect at its next
/// turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) engine: agent_loop_proto::settings::Settings,
    /// Headers for each request; they win over the model's and the protocol's own.
    pub(crate) headers: Map<String, Value>,
    pub(crate) network: Arc<Network>,
}

impl Deref for Settings {
    type Target = agent_loop_proto::settings::Settings;

    fn deref(&self) -> &Self::Target {
        &self.engine
    }
}

impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.engine
    }
}

/// The canonical names of a host's options with their values and the spelling the host used.
///
/// # Errors
/// `invalid_argument` for a name that is not known; names the nearest right one. `own` are names the host handles itself.
pub(crate) fn named<'a>(
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
