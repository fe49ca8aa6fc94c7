//! Where a provider is signed in to.

use agent_loop_proto::provider::known;
use agent_loop_proto::provider::sign_in::Grant;

/// The addresses of an authorization server, and what it is asked for. Those of a [provider](Endpoints::of), which may have steps
/// of its own in place of OAuth's, or of a company's own server, which begins with none and speaks OAuth:
///
/// ```
/// use agent_loop::sign_in::Endpoints;
///
/// let mut endpoints = Endpoints::default();
/// endpoints.authorize_url = Some("https://login.company.example/authorize".to_owned());
/// endpoints.token_url = Some("https://login.company.example/token".to_owned());
/// endpoints.scopes = vec!["models".to_owned(), "offline_access".to_owned()];
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Endpoints {
    /// Where the user's browser is sent.
    pub authorize_url: Option<String>,
    /// Where tokens are had and replaced.
    pub token_url: Option<String>,
    /// Where a code is had that the user types in on another device.
    pub device_url: Option<String>,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// Where a client id is made; empty where none is known to be needed.
    pub client_page: &'static str,
    /// Whether a key comes of it, by OpenRouter's steps, which are not those of OAuth.
    pub(super) gives_key: bool,
}

impl Endpoints {
    /// Those of a known provider. `None`: it lets no program of others ask for a sign-in, so that a key is needed.
    ///
    /// ```
    /// use agent_loop::sign_in::Endpoints;
    ///
    /// assert!(Endpoints::of("huggingface").unwrap().device_url.is_some());
    /// assert!(Endpoints::of("anthropic").is_none());
    /// ```
    pub fn of(provider: &str) -> Option<Endpoints> {
        let row = known::provider(provider)?.sign_in?;
        Some(Endpoints {
            authorize_url: Some(row.authorize_url.to_owned()),
            token_url: Some(row.token_url.to_owned()),
            device_url: row.device_url.map(str::to_owned),
            scopes: row.scopes.iter().map(|&scope| scope.to_owned()).collect(),
            client_page: row.client_page.unwrap_or_default(),
            gives_key: row.grant == Grant::Key,
        })
    }

    /// Whether the user's browser can be sent there.
    pub fn has_browser(&self) -> bool {
        self.authorize_url.is_some() && self.token_url.is_some()
    }

    /// Whether a client id is needed: each program has its own.
    pub fn needs_client_id(&self) -> bool {
        !self.gives_key
    }
}
