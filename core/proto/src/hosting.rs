//! How a provider arranges its addresses and what authenticates a request there.

/// Where a provider's models are hosted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosting {
    /// At the addresses of the wire format, with the format's key header.
    Plain,
    /// Azure: deployments and `api-version` in the address; a key in `api-key`, or a token.
    Azure,
    /// Vertex AI: project, location and model in the address; Google's tokens.
    Vertex,
    /// Amazon Bedrock: the region in the address; a key, or AWS's signature.
    Bedrock,
}
