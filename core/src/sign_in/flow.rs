//! Signing in: in the browser, or with a code that is typed in on another device.

use std::sync::Arc;
use std::time::Duration;

use oauth2::{CsrfToken, PkceCodeChallenge, RedirectUrl};
use reqwest::Url;
use serde_json::{Value, json};

use super::endpoints::Endpoints;
use crate::credentials::oauth::{self, Http, safe_url};
use crate::credentials::{Credential, Tokens};
use crate::error::{Error, ErrorKind};
use crate::redirect::Redirects;
use crate::runtime::Runtime;
use crate::transport::network::Network;

/// How long a user may take in the browser.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// How long a connection may take.
const CONNECT_MS: u64 = 10_000;

/// A sign-in to a provider, with OAuth 2.0: in the browser, with PKCE and a redirect to this machine, or with a code.
///
/// ```no_run
/// use agent_loop::Runtime;
/// use agent_loop::sign_in::{Endpoints, KeyStore, SignIn};
///
/// # fn main() -> Result<(), agent_loop::Error> {
/// let runtime = Runtime::new()?;
/// let endpoints = Endpoints::of("huggingface").unwrap();
/// let sign_in = SignIn::new(endpoints).client_id("…");
/// let credential = runtime.block_on(sign_in.in_browser(&runtime, |url| println!("Open {url}")))?;
/// KeyStore::from_environment()?.write("huggingface", &credential)?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct SignIn {
    endpoints: Endpoints,
    client_id: Option<String>,
    redirect_url: Option<String>,
    network: Arc<Network>,
}

/// What a user types in on another device.
#[derive(Clone)]
#[non_exhaustive]
pub struct DeviceCode {
    /// The code.
    pub user_code: String,
    /// The page where it is typed in.
    pub url: String,
    /// The same page with the code in it, if the server has one.
    pub complete_url: Option<String>,
    /// How long the code is good, in seconds.
    pub expires_in_s: u64,
}

impl std::fmt::Debug for DeviceCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceCode").field("url", &self.url).finish_non_exhaustive()
    }
}

impl SignIn {
    /// A sign-in there.
    pub fn new(endpoints: Endpoints) -> SignIn {
        SignIn { endpoints, client_id: None, redirect_url: None, network: Arc::default() }
    }

    /// The id by which the authorization server knows the program. It is no secret.
    #[must_use]
    pub fn client_id(mut self, id: &str) -> SignIn {
        self.client_id = Some(id.to_owned());
        self
    }

    /// The loopback address that the browser is sent back to, where the server knows only one. By default
    /// `http://127.0.0.1/callback` with a port that is free.
    #[must_use]
    pub fn redirect_url(mut self, url: &str) -> SignIn {
        self.redirect_url = Some(url.to_owned());
        self
    }

    /// The proxies and certificates of the requests.
    #[must_use]
    pub fn network(mut self, network: Network) -> SignIn {
        self.network = Arc::new(network);
        self
    }

    /// Signs in with the browser that `show` opens at the address. Waits until it is sent back, for 15 minutes at most.
    ///
    /// # Errors
    /// `invalid_argument`: an address or the client id is missing; `authentication`: the user or the server refuses; `timeout`;
    /// `io`: nothing can listen at the redirect address; `connection`, `tls` and `protocol` as of model calls.
    pub async fn in_browser(&self, runtime: &Runtime, show: impl FnOnce(&str)) -> Result<Credential, Error> {
        let http = self.http(runtime);
        let authorize_url = safe_url("address where the user signs in", self.endpoints.authorize_url.as_deref())?;
        let token_url = safe_url("token address", self.endpoints.token_url.as_deref())?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        if self.endpoints.gives_key {
            let mut own = self.redirect_address("http://localhost:0/callback")?;
            // There is no state: the end of the path is what nobody else knows.
            if let Ok(mut path) = own.path_segments_mut() {
                path.pop_if_empty().push(CsrfToken::new_random().secret());
            }
            let redirects = redirects(&own).await?;
            let mut url = authorize_url;
            url.query_pairs_mut()
                .append_pair("callback_url", redirects.uri())
                .append_pair("code_challenge", challenge.as_str())
                .append_pair("code_challenge_method", "S256");
            let code = self.code(&redirects, None, || show(url.as_str())).await?;
            let body = json!({ "code": code, "code_verifier": verifier.secret(), "code_challenge_method": "S256" });
            return exchanged_key(&http, &token_url, &body).await;
        }
        let client = oauth::client(self.needed_client_id()?, &token_url);
        let redirects = redirects(&self.redirect_address("http://127.0.0.1:0/callback")?).await?;
        let redirect_url = RedirectUrl::new(redirects.uri().to_owned());
        let redirect_url = redirect_url.map_err(|error| Error::invalid_argument(format!("redirect address: {error}")))?;
        let scopes = &self.endpoints.scopes;
        let (url, state) = oauth::browser_url(client.clone(), authorize_url, redirect_url.clone(), scopes, challenge);
        let code = self.code(&redirects, Some(&state), || show(url.as_str())).await?;
        let tokens = oauth::exchange(&http, client, redirect_url, code, verifier).await?;
        Ok(Credential::Tokens(self.with_scopes(tokens)))
    }

    /// Signs in with a code that `show` shows to the user. Waits until it was typed in, as long as it is good.
    ///
    /// # Errors
    /// As [`SignIn::in_browser`]; `authentication` also for a code that nobody has typed in.
    pub async fn with_code(&self, runtime: &Runtime, show: impl FnOnce(&DeviceCode)) -> Result<Credential, Error> {
        self.with_code_in(&self.http(runtime), show, tokio::time::sleep).await
    }

    /// The same in a time of the tests'.
    pub(super) async fn with_code_in<S: Future<Output = ()>>(
        &self,
        http: &Http<'_>,
        show: impl FnOnce(&DeviceCode),
        sleep: impl Fn(Duration) -> S,
    ) -> Result<Credential, Error> {
        let Some(device_url) = &self.endpoints.device_url else {
            return Err(Error::invalid_argument(
                "the authorization server has no address for codes (--device-url): sign in with the browser",
            ));
        };
        let device_url = safe_url("address for codes", Some(device_url))?;
        let token_url = safe_url("token address", self.endpoints.token_url.as_deref())?;
        let client = oauth::client(self.needed_client_id()?, &token_url);
        let code = oauth::device_code(http, client.clone(), device_url, &self.endpoints.scopes).await?;
        show(&DeviceCode {
            user_code: code.user_code().secret().clone(),
            url: code.verification_uri().to_string(),
            complete_url: code.verification_uri_complete().map(|url| url.secret().clone()),
            expires_in_s: code.expires_in().as_secs(),
        });
        Ok(Credential::Tokens(self.with_scopes(oauth::poll(http, client, &code, sleep).await?)))
    }

    pub(super) fn http<'a>(&'a self, runtime: &'a Runtime) -> Http<'a> {
        let client = runtime.connections().client();
        Http { client, network: &self.network, connect_timeout_ms: CONNECT_MS }
    }

    fn needed_client_id(&self) -> Result<&str, Error> {
        let missing = || {
            let page = self.endpoints.client_page;
            let at = if page.is_empty() { String::new() } else { format!(", which is made at {page}") };
            Error::invalid_argument(format!(
                "the sign-in needs a client id of your own{at}: give --client-id ID, or set AGENT_CLIENT_ID"
            ))
        };
        self.client_id.as_deref().filter(|id| !id.is_empty()).ok_or_else(missing)
    }

    /// Where the browser is sent back to.
    fn redirect_address(&self, own: &str) -> Result<Url, Error> {
        let address = self.redirect_url.as_deref().unwrap_or(own);
        let wrong = |error| Error::invalid_argument(format!("redirect address {address:?} (--redirect-url): {error}"));
        Url::parse(address).map_err(wrong)
    }

    /// What the browser brings back.
    async fn code(&self, redirects: &Redirects, state: Option<&str>, show: impl FnOnce()) -> Result<String, Error> {
        show();
        let late = |_| {
            let text = format!("nobody has signed in within {} minutes", LIMIT.as_secs() / 60);
            Error::new(ErrorKind::Timeout, text)
        };
        let redirected = tokio::time::timeout(LIMIT, redirects.next(state)).await.map_err(late)?;
        let parameter = |name: &str| {
            let url = Url::parse(&redirected).ok()?;
            url.query_pairs().find(|(other, _)| other == name).map(|(_, value)| value.into_owned())
        };
        if let Some(refused) = parameter("error") {
            let why = parameter("error_description").map(|text| format!(" ({text})")).unwrap_or_default();
            let text = agent_loop_proto::error::shortened(&format!("{refused}{why}"), 300);
            return Err(Error::new(ErrorKind::Authentication, format!("the sign-in was refused: {text}")));
        }
        parameter("code").ok_or_else(|| Error::new(ErrorKind::Protocol, "the browser came back without a code"))
    }

    /// A server that does not say what it has granted, has granted what it was asked for.
    fn with_scopes(&self, mut tokens: Tokens) -> Tokens {
        if tokens.scopes.is_empty() {
            tokens.scopes.clone_from(&self.endpoints.scopes);
        }
        tokens
    }
}

/// Listens where the browser is sent back to.
async fn redirects(url: &Url) -> Result<Redirects, Error> {
    let taken = |error: Error| {
        let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        let text = format!("nothing can listen at the redirect address {url}: {why}. Take another port with --redirect-url");
        Error::new(ErrorKind::Io, text).with_source_of(&error)
    };
    if let Some(redirects) = Redirects::at(Some(url.as_str())).await.map_err(taken)? {
        return Ok(redirects);
    }
    let text = match url.scheme() {
        "https" => format!("the redirect address {url} has https, which a program has no certificate for: http is needed"),
        _ => format!("the redirect address {url} is not on this machine: http://127.0.0.1 or http://localhost is"),
    };
    Err(Error::invalid_argument(text))
}

/// Exchanges a code for a key, as OpenRouter does.
async fn exchanged_key(http: &Http<'_>, url: &Url, body: &Value) -> Result<Credential, Error> {
    let request = oauth2::http::Request::post(url.as_str()).header("content-type", "application/json");
    let request = request.body(body.to_string().into_bytes());
    let request = request.map_err(|_| Error::invalid_argument(format!("token address {url:?}: it is none")))?;
    let answer = http.post(request).await?;
    let key = serde_json::from_slice::<Value>(answer.body()).ok();
    match key.as_ref().and_then(|answer| answer.get("key")?.as_str()) {
        Some(key) if answer.status().is_success() => Ok(Credential::key(key)),
        // Not what it says: that may quote the code.
        _ => {
            let text = format!("{} gives no key (HTTP {}); begin again", oauth::host(url), answer.status().as_u16());
            Err(Error::new(ErrorKind::Authentication, text))
        }
    }
}
