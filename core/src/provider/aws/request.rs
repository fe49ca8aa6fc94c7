//! What is signed.

/// A request that is signed, and for which region and service.
#[cfg_attr(not(feature = "bedrock"), allow(dead_code))] // Nothing is signed then.
pub(crate) struct Request<'a> {
    pub(crate) url: &'a str,
    /// Those that the signature covers, beside the host's and its own.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
    pub(crate) region: &'a str,
    pub(crate) service: &'a str,
}
