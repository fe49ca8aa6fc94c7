//! What stands in for signatures in a build without the feature `bedrock`: there are none.

use super::access_key::AccessKey;
use super::request::Request;
use crate::error::{Error, ErrorKind};

/// # Errors
/// `authentication`, always.
pub(crate) fn sign(_request: &Request<'_>, key: &AccessKey, _now_ms: u64) -> Result<Vec<(String, String)>, Error> {
    let id = &key.id;
    let text = format!(
        "the request cannot be signed with the access key {id} of AWS: the feature bedrock of agent-loop is off; enable it, or \
         give a key of Bedrock as api_key or in AWS_BEARER_TOKEN_BEDROCK"
    );
    Err(Error::new(ErrorKind::Authentication, text))
}
