//! The access to a server: its tokens, and how to get them.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_loop_proto::hook::McpSignIn;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthClient, AuthorizationManager, AuthorizationRequest, AuthorizationSession, ClientCredentialsConfig, OAuthClientConfig,
    StoredCredentials,
};
use tokio::sync::OnceCell;

use super::super::failures::{self, Challenge};
use super::super::reach::Reach;
use super::http::Http;
use super::options::McpOAuth;
use super::tokens::Tokens;
use crate::error::{Error, ErrorKind};
use crate::redirect::Redirects;

/// How long a user may take to sign in.
const SIGN_IN_LIMIT: Duration = Duration::from_secs(15 * 60);

/// The access to a server. All connections to it have one.
pub(crate) struct Access {
    /// The server, for messages.
    name: String,
    /// Without a query, which may have a key.
    url: String,
    oauth: Option<McpOAuth>,
    tokens: Tokens,
    /// With what requests go out: that of the last run.
    reach: Arc<Mutex<Option<Reach>>>,
    /// The client of the authorization server. A sign-in replaces it, also for connections that are open.
    manager: OnceCell<SharedManager>,
}

type SharedManager = Arc<tokio::sync::Mutex<AuthorizationManager>>;

impl Access {
    pub(crate) fn new(name: String, url: &str, oauth: Option<McpOAuth>) -> Access {
        let file = oauth.as_ref().and_then(|oauth| oauth.tokens_file.clone());
        let url = url.split(['?', '#']).next().unwrap_or_default().to_owned();
        let (tokens, reach, manager) = (Tokens::new(url.clone(), file), Arc::default(), OnceCell::new());
        Access { name, url, oauth, tokens, reach, manager }
    }

    /// A client that sends the tokens that are there, and renews them.
    ///
    /// # Errors
    /// `io`: the file of the tokens; `authentication` and `connection`: an authorization server that cannot be reached.
    pub(crate) async fn client(&self, client: reqwest::Client, reach: &Reach) -> Result<AuthClient<reqwest::Client>, Error> {
        let manager = self.shared(reach).await?;
        let mut client = AuthClient::new(client, self.fresh().await?);
        client.auth_manager = manager;
        Ok(client)
    }

    async fn shared(&self, reach: &Reach) -> Result<SharedManager, Error> {
        *self.reach.lock().unwrap_or_else(PoisonError::into_inner) = Some(reach.clone());
        let made = async || {
            let mut manager = self.fresh().await?;
            if let Some(oauth) = self.oauth.as_ref().filter(|oauth| !oauth.uses_client_credentials)
                && let Some(stored) = self.tokens.read().await?
            {
                self.go_on(&mut manager, oauth, stored).await?;
            }
            Ok(Arc::new(tokio::sync::Mutex::new(manager)))
        };
        self.manager.get_or_try_init(made).await.cloned()
    }

    /// Uses the tokens of an earlier process, if the authorization server is still the same: no other one may get them.
    async fn go_on(&self, manager: &mut AuthorizationManager, oauth: &McpOAuth, stored: StoredCredentials) -> Result<(), Error> {
        let of = |error| failures::of_authorization(&error);
        let resolved = manager.resolve_metadata().await.map_err(of)?;
        if resolved.metadata.issuer != stored.issuer {
            return self.tokens.forget().await;
        }
        manager.set_metadata(resolved.metadata);
        if manager.initialize_from_store().await.map_err(of)?
            && let Some(secret) = oauth.client_secret.clone()
        {
            let config = OAuthClientConfig::new(stored.client_id, "http://127.0.0.1/callback").with_client_secret(secret);
            manager.configure_client(config).map_err(of)?;
        }
        Ok(())
    }

    /// A manager that has only the tokens.
    async fn fresh(&self) -> Result<AuthorizationManager, Error> {
        let http = Arc::new(Http(Arc::clone(&self.reach)));
        let manager = AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), http).await;
        let mut manager = manager.map_err(|error| failures::of_authorization(&error))?;
        manager.set_credential_store(self.tokens.clone());
        Ok(manager)
    }

    /// Whether a sign-in gives access to more than there is: not to what was granted already.
    pub(crate) async fn lacks(&self, challenge: &Challenge) -> bool {
        let Some(scope) = &challenge.scope else { return true };
        let stored = self.tokens.read().await.ok().flatten();
        let granted = stored.map(|stored| stored.granted_scopes).unwrap_or_default();
        scope.split_whitespace().any(|scope| !granted.iter().any(|known| known == scope))
    }

    /// Whether a server that refuses us can be signed in to.
    pub(crate) fn can_sign_in(&self) -> bool {
        self.oauth.is_some()
    }

    /// Gets tokens, as the server demands it.
    ///
    /// # Errors
    /// `authentication`: there is no hook, or the user or the authorization server refused; `callback`: the hook failed;
    /// `timeout`; `io`: the file of the tokens, or the port of the `redirect_uri` is taken; `connection`.
    pub(crate) async fn sign_in(&self, reach: &Reach, challenge: &Challenge) -> Result<(), Error> {
        let Some(oauth) = &self.oauth else { return Err(failures::no_access()) };
        let shared = self.shared(reach).await?;
        let mut manager = self.fresh().await?;
        let header = Some(challenge.header.as_str()).filter(|header| !header.is_empty());
        let of = |error| failures::of_authorization(&error);
        let resolved = manager.resolve_metadata_from_challenge(header).await.map_err(of)?;
        let is_discovered = resolved.source.is_discovered();
        let undiscovered = || {
            let text = "oauth: it names no authorization server; if it takes a key, give it in headers";
            Error::new(ErrorKind::Authentication, text)
        };
        // A secret goes to the server that it is for.
        if !is_discovered && oauth.client_secret.is_some() {
            return Err(undiscovered());
        }
        manager.set_metadata(resolved.metadata);
        if oauth.uses_client_credentials {
            self.exchange_client_credentials(oauth, &mut manager, challenge).await?;
            *shared.lock().await = manager;
            return Ok(());
        }
        self.tokens.check().await?;
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
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| if is_discovered { of(error) } else { undiscovered() })?;
        let url = session.get_authorization_url().to_owned();
        let state = parameter(&url, "state").unwrap_or_default();
        let input = McpSignIn::of(self.name.clone(), url, redirect_uri);
        let waits = async {
            let received = async {
                match &redirects {
                    Some(redirects) => Ok(redirects.next(Some(&state)).await),
                    None => std::future::pending().await,
                }
            };
            let (asked, mut received) = (hook.ask(input, &reach.log), pin!(received));
            tokio::select! {
                answer = asked => match (answer?, &redirects) {
                    (Some(redirected), _) => Ok(redirected),
                    (None, Some(_)) => received.await,
                    (None, None) => Err(Error::callback(
                        "the hook on_mcp_sign_in has to return the whole address that the browser was sent to: the engine does \
                         not listen at the redirect_uri, which is no loopback address",
                    )),
                },
                // The hook may be one that waits until the user is back.
                redirected = &mut received => redirected,
            }
        };
        let late = |_| {
            let text = format!("the user did not sign in within {} minutes", SIGN_IN_LIMIT.as_secs() / 60);
            Err(Error::new(ErrorKind::Timeout, text))
        };
        let redirected = tokio::time::timeout(SIGN_IN_LIMIT, waits).await.unwrap_or_else(late)?;
        if parameter(&redirected, "state").as_deref() != Some(&state) {
            return Err(Error::callback(
                "the hook on_mcp_sign_in has returned something else than the whole address that the browser was sent to after \
                 this sign-in, with its parameters code and state",
            ));
        }
        if let Some(refused) = parameter(&redirected, "error") {
            let why = parameter(&redirected, "error_description").map(|text| format!(" ({text})")).unwrap_or_default();
            let text = failures::shortened(&format!("{refused}{why}"));
            return Err(Error::new(ErrorKind::Authentication, format!("the sign-in failed: {text}")));
        }
        session.handle_callback_url(&redirected).await.map_err(of)?;
        *shared.lock().await = session.auth_manager;
        Ok(())
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

    async fn exchange_client_credentials(
        &self,
        oauth: &McpOAuth,
        manager: &mut AuthorizationManager,
        challenge: &Challenge,
    ) -> Result<(), Error> {
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
            resource: Some(self.url.clone()),
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
