//! How users sign in to vendors: the addresses of those that let the programs of others ask for it, and where keys are made.

/// What a sign-in comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// Tokens of OAuth 2.0, which end and are replaced.
    Tokens,
    /// A key that does not end. The browser goes through the same steps, but no client is registered, and the answer is JSON of
    /// the vendor's own.
    Key,
}

/// How a user of a vendor signs in from a program.
#[derive(Debug)]
pub struct SignInRow {
    /// What is had in the end.
    pub grant: Grant,
    /// Where the user's browser is sent.
    pub authorize_url: &'static str,
    /// Where what the browser brings back is exchanged.
    pub token_url: &'static str,
    /// Where a code is had that the user types in on another device.
    pub device_url: Option<&'static str>,
    /// What is asked for.
    pub scopes: &'static [&'static str],
    /// Where a client id is made, if one is needed: each program has its own.
    pub client_page: Option<&'static str>,
}

/// Scopes: `inference-api` is for requests to models on behalf of the user. A public app has no secret.
/// <https://huggingface.co/docs/hub/oauth>, <https://huggingface.co/.well-known/openid-configuration>
pub(super) const HUGGINGFACE: SignInRow = SignInRow {
    grant: Grant::Tokens,
    authorize_url: "https://huggingface.co/oauth/authorize",
    token_url: "https://huggingface.co/oauth/token",
    device_url: Some("https://huggingface.co/oauth/device"),
    scopes: &["openid", "inference-api"],
    client_page: Some("https://huggingface.co/settings/applications/new"),
};

/// <https://openrouter.ai/docs/guides/overview/auth/oauth>: a redirect to localhost may go to any port.
pub(super) const OPENROUTER: SignInRow = SignInRow {
    grant: Grant::Key,
    authorize_url: "https://openrouter.ai/auth",
    token_url: "https://openrouter.ai/api/v1/auth/keys",
    device_url: None,
    scopes: &[],
    client_page: None,
};
