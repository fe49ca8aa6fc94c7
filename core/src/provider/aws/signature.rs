//! Signatures, by AWS's own crate.

use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{self, SignableBody, SignableRequest, SigningSettings};
use aws_sigv4::sign::v4::SigningParams;

use super::access_key::AccessKey;
use super::request::Request;
use crate::error::Error;

/// The headers that sign a POST, made at this time.
///
/// # Errors
/// `invalid_argument` for a request that cannot be signed.
pub(crate) fn sign(request: &Request<'_>, key: &AccessKey, now_ms: u64) -> Result<Vec<(String, String)>, Error> {
    signed("POST", request, key, now_ms)
}

/// The same of another method.
pub(super) fn signed(method: &str, request: &Request<'_>, key: &AccessKey, now_ms: u64) -> Result<Vec<(String, String)>, Error> {
    let Request { url, headers, body, region, service } = *request;
    // The text of the crate's errors may have parts of the request, and of no secret.
    let wrong = |why: &dyn std::fmt::Display| Error::invalid_argument(format!("the request cannot be signed for AWS: {why}"));
    let AccessKey { id, secret, session_token } = key.clone();
    let identity = Credentials::new(id, secret, session_token, None, "agent-loop").into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(UNIX_EPOCH + Duration::from_millis(now_ms))
        .settings(SigningSettings::default())
        .build()
        .map_err(|why| wrong(&why))?
        .into();
    let signable = SignableRequest::new(method, url, headers.iter().copied(), SignableBody::Bytes(body));
    let (instructions, _) =
        signable.and_then(|signable| http_request::sign(signable, &params)).map_err(|why| wrong(&why))?.into_parts();
    Ok(instructions.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}
