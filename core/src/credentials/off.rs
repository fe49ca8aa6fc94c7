//! The value `keyring` of the option `api_key` in a build without the feature `sign-in`.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::transport::client::Client;
use crate::transport::network::Network;

/// The value of the option `api_key` for what was stored.
pub(crate) const STORED: &str = "keyring";

/// What models get: nothing.
#[derive(Debug, Default)]
pub(crate) struct Access {}

/// What authenticates a call: there is none.
pub(crate) struct Found {
    pub(crate) secret: String,
    pub(crate) is_bearer: bool,
}

impl Access {
    #[allow(clippy::unused_async)] // As with the feature.
    pub(crate) async fn get(&self, _: &str, _: &Arc<Client>, _: &Arc<Network>, _: u64) -> Result<Option<Found>, Error> {
        let text = "api_key \"keyring\": agent-loop was built without its feature sign-in, give the key itself";
        Err(Error::new(ErrorKind::Authentication, text))
    }

    pub(crate) fn refused(&self, _: &str, _: &str) {}
}
