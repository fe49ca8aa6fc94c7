//! What is stored for a provider.

use serde::{Deserialize, Serialize};

/// What authenticates at a provider. Neither its `Debug` output nor any error has the secret.
///
/// ```
/// use agent_loop::sign_in::Credential;
///
/// let credential = Credential::key("sk-1234567890");
/// assert_eq!(format!("{credential:?}"), "Key(..)");
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Credential {
    /// A key, sent as the provider wants it.
    Key(String),
    /// Tokens of OAuth 2.0, sent as `authorization: Bearer …`.
    Tokens(Tokens),
}

/// Tokens of OAuth 2.0, and what is needed to replace them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tokens {
    /// What is sent with requests.
    pub access_token: String,
    /// What it is replaced with, if it can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When it ends, in milliseconds since 1970, if the server reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// What was granted.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// To whom.
    pub client_id: String,
    /// Where it is replaced.
    pub token_url: String,
}

impl Credential {
    /// A key, without white space around it.
    pub fn key(key: &str) -> Credential {
        Credential::Key(key.trim().to_owned())
    }

    /// What is sent.
    pub(super) fn secret(&self) -> &str {
        match self {
            Credential::Key(key) => key,
            Credential::Tokens(tokens) => &tokens.access_token,
        }
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Credential::Key(_) => f.write_str("Key(..)"),
            Credential::Tokens(tokens) => f.debug_tuple("Tokens").field(tokens).finish(),
        }
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tokens { expires_at_ms, scopes, token_url, .. } = self;
        let mut fields = f.debug_struct("Tokens");
        fields.field("expires_at_ms", expires_at_ms).field("scopes", scopes).field("token_url", token_url).finish_non_exhaustive()
    }
}
