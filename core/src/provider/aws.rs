//! What authenticates a request to AWS where no key does: a signature, made with an access key
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html>).

mod access_key;
mod request;
#[cfg(feature = "bedrock")]
mod signature;
#[cfg(not(feature = "bedrock"))]
#[path = "aws/no_signature.rs"]
mod signature;
#[cfg(test)]
mod tests;

pub(crate) use self::access_key::{AccessKey, find};
pub(crate) use self::request::Request;
pub(crate) use self::signature::sign;

/// The name of the service in signatures.
pub(crate) const BEDROCK: &str = "bedrock";

/// What whoever has no credentials can do, beside giving a key.
pub(crate) const ADVICE: &str = "or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
