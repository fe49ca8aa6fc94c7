//! The access to a server: its tokens, and how they are had.

use std::sync::Arc;
use std::time::Duration;

use agent_loop_proto::hook::McpSignIn;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthClient, AuthorizationManager, AuthorizationRequest, AuthorizationSession, ClientCredentialsConfig, OAuthClientConfig,
};

use super::super::failures::{self, Challenge};
use super::super::start::Reach;
use super::http::Http;
use super::options::McpOAuth;
use super::redirect::Redirects;
use super::tokens::Tokens;
use crate::error::{Error, ErrorKind};

/// How long a user may take to sign in.
const SIGN_IN_LIMIT: Duration = Duration::from_secs(15 * 60);

/// The access to a server. Clones share it.
#[derive(Clone)]
pub(in super::super) struct Access {
    /// The server, for messages.
    name: String,
    url: String,
    oauth: Option<McpOAuth>,
    tokens: Tokens,
}

impl Access {
    pub(in super::super) fn new(name: String, url: &str, oauth: Option<McpOAuth>) -> Access {
        let file = oauth.as_ref().and_then(|oauth| oauth.tokens_file.clone());
        // A query may have a key.
        let server = url.split(['?', '#']).next().unwrap_or_default().to_owned();
        Access { name, url: url.to_owned(), oauth, tokens: Tokens::new(server, file) }
    }

    /// A client that sends the tokens that are there, and renews them.
    ///
    /// # Errors
    /// `io`: the file of the tokens; `authentication` and `connection`: those of an authorization server that cannot be reached.
    pub(in super::super) async fn client(
        &self,
        client: reqwest::Client,
        reach: &Reach,
    ) -> Result<AuthClient<reqwest::Client>, Error> {
        let mut manager = self.manager(reach).await?;
        if let Some(oauth) = &self.oauth
            && let Some(stored) = self.tokens.read().await?
            && !oauth.is_machine
        {
            manager.initialize_from_store().await.map_err(|error| failures::of_authorization(&error))?;
            if let Some(secret) = oauth.client_secret.clone() {
                let config = OAuthClientConfig::new(stored.client_id, "http://127.0.0.1/callback");
                manager
                    .configure_client(config.with_client_secret(secret))
                    .map_err(|error| failures::of_authorization(&error))?;
            }
        }
        Ok(AuthClient::new(client, manager))
    }

    async fn manager(&self, reach: &Reach) -> Result<AuthorizationManager, Error> {
        let manager = AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), Arc::new(Http(reach.clone()))).await;
        let mut manager = manager.map_err(|error| failures::of_authorization(&error))?;
        manager.set_credential_store(self.tokens.clone());
        Ok(manager)
    }

    /// Whether a server that refuses us can be signed in to.
    pub(in super::super) fn can_sign_in(&self) -> bool {
        self.oauth.is_some()
    }

    /// Gets tokens, as the server demands it.
    ///
    /// # Errors
    /// `authentication`: there is no hook, or nobody has signed in; `callback`: the hook failed; `timeout`; `io`: the file of the
    /// tokens, or nothing can listen at the `redirect_uri`; `connection`.
    pub(in super::super) async fn sign_in(&self, reach: &Reach, challenge: &Challenge) -> Result<(), Error> {
        let Some(oauth) = &self.oauth else { return Err(failures::no_access()) };
        let mut manager = self.manager(reach).await?;
        let header = Some(challenge.header.as_str()).filter(|header| !header.is_empty());
        let of = |error| failures::of_authorization(&error);
        let resolved = manager.resolve_metadata_from_challenge(header).await.map_err(of)?;
        manager.set_metadata(resolved.metadata);
        if oauth.is_machine {
            return self.as_machine(oauth, manager, challenge).await;
        }
        let Some(hook) = &reach.sign_in else {
            let text = "it wants a sign-in: the agent's hook on_mcp_sign_in shows the user where, and there is none";
            return Err(Error::new(ErrorKind::Authentication, text));
        };
        let redirects = Redirects::at(oauth.redirect_uri.as_deref()).await?;
        let redirect_uri = match (&redirects, &oauth.redirect_uri) {
            (Some(redirects), _) => redirects.uri().to_owned(),
            (None, uri) => uri.clone().unwrap_or_default(),
        };
        let request = self.request(oauth, &redirect_uri, challenge).await?;
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| of(error))?;
        let url = session.get_authorization_url().to_owned();
        let state = parameter(&url, "state").unwrap_or_default();
        let input = McpSignIn { server: self.name.clone(), url, redirect_uri };
        let waits = async {
            match (hook.ask(input).await?, &redirects) {
                (Some(redirected), _) => Ok(redirected),
                (None, Some(redirects)) => redirects.next(&state).await,
                (None, None) => Err(Error::callback(
                    "the hook on_mcp_sign_in has to answer with the address that the browser was sent to: \
                     the redirect_uri is not of this computer",
                )),
            }
        };
        let late = |_| {
            let text = format!("nobody has signed in within {} minutes", SIGN_IN_LIMIT.as_secs() / 60);
            Err(Error::new(ErrorKind::Timeout, text))
        };
        let redirected = tokio::time::timeout(SIGN_IN_LIMIT, waits).await.unwrap_or_else(late)?;
        if let Some(refused) = parameter(&redirected, "error") {
            let why = parameter(&redirected, "error_description").map(|text| format!(" ({text})")).unwrap_or_default();
            let text = format!("the sign-in has failed: {refused}{why}").escape_debug().to_string();
            return Err(Error::new(ErrorKind::Authentication, text));
        }
        session.handle_callback_url(&redirected).await.map(drop).map_err(of)
    }

    /// What the user is asked for. Access to more is had together with that to what there is already.
    async fn request(&self, oauth: &McpOAuth, redirect_uri: &str, challenge: &Challenge) -> Result<AuthorizationRequest, Error> {
        let mut scopes = oauth.scopes.clone();
        if let Some(more) = &challenge.scope {
            let stored = self.tokens.read().await?;
            scopes.extend(stored.into_iter().flat_map(|stored| stored.granted_scopes));
            scopes.extend(more.split_whitespace().map(str::to_owned));
        }
        let mut known = std::collections::BTreeSet::new();
        scopes.retain(|scope| known.insert(scope.clone()));
        let mut request = AuthorizationRequest::new(redirect_uri)
            .with_client_name(oauth.client_name.as_deref().unwrap_or("agent-loop"))
            .with_initial_scope_selection()
            .with_scopes(scopes);
        (request.client_id, request.client_secret) = (oauth.client_id.clone(), oauth.client_secret.clone());
        request.client_metadata_url.clone_from(&oauth.client_metadata_url);
        Ok(request)
    }

    async fn as_machine(&self, oauth: &McpOAuth, manager: AuthorizationManager, challenge: &Challenge) -> Result<(), Error> {
        let mut manager = manager;
        let scopes = match oauth.scopes.is_empty() {
            false => oauth.scopes.clone(),
            true => match &challenge.scope {
                Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
                None => manager.select_initial_scopes(&[]).await,
            },
        };
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: oauth.client_id.clone().unwrap_or_default(),
            client_secret: oauth.client_secret.clone().unwrap_or_default(),
            scopes,
            resource: Some(self.url.split(['?', '#']).next().unwrap_or_default().to_owned()),
        };
        let of = |error| failures::of_authorization(&error);
        manager.validate_client_credentials_metadata(&config).map_err(of)?;
        manager.configure_client_credentials(&config).map_err(of)?;
        manager.exchange_client_credentials(&config).await.map(drop).map_err(of)
    }
}

fn parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    url.query_pairs().find(|(other, _)| other == name).map(|(_, value)| value.into_owned())
}
