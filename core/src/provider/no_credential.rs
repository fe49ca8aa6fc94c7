//! What stands in for [`credential`](super) in a build without the feature `google`: there are no access tokens.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::log::Log;
use crate::transport::client::Client;
use crate::transport::network::{Environment, Network};

/// What authenticates a call to Google; none is ever made.
#[allow(dead_code)]
pub(crate) struct GoogleToken {
    pub(crate) token: Arc<str>,
    pub(crate) quota_project: Option<String>,
}

/// The project that the environment names.
pub(crate) fn google_project(environment: Environment<'_>) -> Option<String> {
    ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"].iter().find_map(|name| environment(name).filter(|value| !value.is_empty()))
}

/// No tokens.
#[derive(Debug, Default)]
pub(crate) struct Tokens;

impl Tokens {
    pub(crate) fn new(_: Log) -> Tokens {
        Tokens
    }

    /// # Errors
    /// `authentication`, always.
    pub(crate) async fn google(&self, _: &Client, _: &Arc<Network>, _: u64) -> Result<GoogleToken, Error> {
        let text = "Google's credentials cannot be read: the feature google of agent-loop is off; enable it, or give api_key (an \
                    API key or an access token)";
        Err(Error::new(ErrorKind::Authentication, text))
    }

    /// There is none to forget.
    pub(crate) fn forget(&self, _: &str) {}
}
