//! The requests of OAuth 2.0, by the crate oauth2, through the client of the runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use agent_loop_proto::error::shortened;
use agent_loop_proto::provider_error::redacted;
use oauth2::basic::{BasicClient, BasicErrorResponseType, BasicTokenResponse};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, ClientId, DeviceAuthorizationUrl, DeviceCodeErrorResponseType,
    ErrorResponseType, HttpRequest, HttpResponse, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError,
    StandardDeviceAuthorizationResponse, StandardErrorResponse, TokenResponse, TokenUrl,
};
use reqwest::Url;

use super::credential::Tokens;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::transport::client::Client;
use crate::transport::loopback::keeps_secrets;
use crate::transport::network::Network;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(30);

/// How long lies between two questions about a code, at least.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The longest answer that is read.
const MOST_BYTES: usize = 256 << 10;

/// The client with what every endpoint is set to.
pub(crate) type Ready = BasicClient<
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointSet,
>;

/// What sends requests.
#[derive(Clone, Copy)]
pub(crate) struct Http<'a> {
    pub(crate) client: &'a Client,
    pub(crate) network: &'a Arc<Network>,
    pub(crate) connect_timeout_ms: u64,
}

impl Http<'_> {
    /// Posts, and reads the whole answer.
    pub(crate) async fn post(&self, request: HttpRequest) -> Result<HttpResponse, Error> {
        let (head, body) = request.into_parts();
        let url = safe_url("address", Some(&head.uri.to_string()))?;
        let sent = async {
            let mut response = self.client.post(&url, head.headers, body.into(), self.connect_timeout_ms, self.network).await?;
            let text = response.text(MOST_BYTES).await;
            let mut answer = HttpResponse::new(text.into_bytes());
            *answer.status_mut() = oauth2::http::StatusCode::from_u16(response.status()).unwrap_or_default();
            *answer.headers_mut() = response.headers().clone();
            Ok(answer)
        };
        let late = |_| {
            let text = format!("{} did not answer within {} s", host(&url), LIMIT.as_secs());
            Err(Error::new(ErrorKind::Timeout, text))
        };
        tokio::time::timeout(LIMIT, sent).await.unwrap_or_else(late)
    }
}

/// What the crate sends requests with. It keeps the status of the last answer, which the crate does not.
struct Noted<'a> {
    http: &'a Http<'a>,
    status: AtomicU16,
}

impl<'a> Noted<'a> {
    fn new(http: &'a Http<'a>) -> Noted<'a> {
        Noted { http, status: AtomicU16::new(0) }
    }

    fn status(&self) -> u16 {
        self.status.load(Ordering::Relaxed)
    }
}

impl<'c> AsyncHttpClient<'c> for Noted<'_> {
    type Error = Error;
    type Future = BoxFuture<'c, Result<HttpResponse, Error>>;

    /// # Errors
    /// Also for an answer of a server that cannot answer now, which may be a page of what stands before it.
    fn call(&'c self, request: HttpRequest) -> Self::Future {
        let host = request.uri().host().unwrap_or("the server").to_owned();
        Box::pin(async move {
            let answer = self.http.post(request).await?;
            let status = answer.status().as_u16();
            self.status.store(status, Ordering::Relaxed);
            match status {
                429 | 500..=599 => {
                    let text = format!("{host} does not sign in now (HTTP {status})");
                    Err(Error::new(ErrorKind::from_http_status(status), text).with_http_status(status))
                }
                _ => Ok(answer),
            }
        })
    }
}

pub(crate) fn host(url: &Url) -> String {
    url.host_str().unwrap_or("the server").to_owned()
}

/// The client for a token address.
pub(crate) fn client(client_id: &str, token_url: &Url) -> Ready {
    BasicClient::new(ClientId::new(client_id.to_owned()))
        .set_auth_type(AuthType::RequestBody)
        .set_token_uri(TokenUrl::from_url(token_url.clone()))
}

/// Exchanges what the browser has brought back.
pub(crate) async fn exchange(
    http: &Http<'_>,
    client: Ready,
    redirect_url: RedirectUrl,
    code: String,
    verifier: PkceCodeVerifier,
) -> Result<Tokens, Error> {
    let secrets = [code.clone(), verifier.secret().clone()];
    let client = client.set_redirect_uri(redirect_url);
    let http = Noted::new(http);
    let asked = client.exchange_code(AuthorizationCode::new(code)).set_pkce_verifier(verifier).request_async(&http).await;
    let granted = asked.map_err(|error| failed(client.token_uri().url(), http.status(), error, &secrets))?;
    Ok(tokens(&granted, client.client_id(), client.token_uri().url(), None))
}

/// Asks for a code that the user types in elsewhere.
pub(crate) async fn device_code(
    http: &Http<'_>,
    client: Ready,
    device_url: Url,
    scopes: &[String],
) -> Result<StandardDeviceAuthorizationResponse, Error> {
    let client = client.set_device_authorization_url(DeviceAuthorizationUrl::from_url(device_url.clone()));
    let scopes = scopes.iter().cloned().map(oauth2::Scope::new);
    let http = Noted::new(http);
    let asked = client.exchange_device_code().add_scopes(scopes).request_async(&http).await;
    asked.map_err(|error| failed(&device_url, http.status(), error, &[]))
}

/// Waits until the user has typed in the code. `sleep` is the time between the questions, which the server decides.
pub(crate) async fn poll<S: Future<Output = ()>>(
    http: &Http<'_>,
    client: Ready,
    code: &StandardDeviceAuthorizationResponse,
    sleep: impl Fn(Duration) -> S,
) -> Result<Tokens, Error> {
    let http = Noted::new(http);
    // A server may say 0, which is no reason to ask without a pause.
    let sleep = |time: Duration| sleep(time.max(SHORTEST_PAUSE));
    let asked = client.exchange_device_access_token(code).request_async(&http, sleep, None).await;
    let granted = asked.map_err(|error| {
        let refused = match &error {
            RequestTokenError::ServerResponse(answer) => match answer.error() {
                DeviceCodeErrorResponseType::AccessDenied => Some("the sign-in was refused"),
                DeviceCodeErrorResponseType::ExpiredToken => Some("nobody has typed in the code in time; begin again"),
                _ => None,
            },
            _ => None,
        };
        match refused {
            Some(text) => Error::new(ErrorKind::Authentication, text),
            None => failed(client.token_uri().url(), http.status(), error, &[code.device_code().secret().clone()]),
        }
    })?;
    Ok(tokens(&granted, client.client_id(), client.token_uri().url(), None))
}

/// Why tokens are not replaced.
pub(crate) struct NotRefreshed {
    pub(crate) error: Error,
    /// Whether the server does not take the refresh token any more.
    pub(crate) has_ended: bool,
}

/// Replaces tokens.
pub(crate) async fn refresh(http: &Http<'_>, old: &Tokens) -> Result<Tokens, NotRefreshed> {
    let not_refreshed = |error| NotRefreshed { error, has_ended: false };
    let url = safe_url("token address", Some(&old.token_url)).map_err(not_refreshed)?;
    let refresh_token = RefreshToken::new(old.refresh_token.clone().unwrap_or_default());
    let client = client(&old.client_id, &url);
    let http = Noted::new(http);
    let asked = client.exchange_refresh_token(&refresh_token).request_async(&http).await;
    let granted = asked.map_err(|error| {
        let has_ended = matches!(
            &error,
            RequestTokenError::ServerResponse(answer) if *answer.error() == BasicErrorResponseType::InvalidGrant
        );
        NotRefreshed { error: failed(&url, http.status(), error, &[refresh_token.secret().clone()]), has_ended }
    })?;
    Ok(tokens(&granted, client.client_id(), &url, Some(old)))
}

/// What was granted. A server need not repeat what stays as it was.
fn tokens(granted: &BasicTokenResponse, client_id: &ClientId, token_url: &Url, old: Option<&Tokens>) -> Tokens {
    let now_ms = Clock::real().now_ms();
    let lifetime_ms = |lifetime: Duration| u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
    let scopes = granted.scopes().map(|scopes| scopes.iter().map(|scope| scope.to_string()).collect());
    Tokens {
        access_token: granted.access_token().secret().clone(),
        refresh_token: granted.refresh_token().map(|token| token.secret().clone()).or_else(|| old?.refresh_token.clone()),
        expires_at_ms: granted.expires_in().map(|lifetime| now_ms.saturating_add(lifetime_ms(lifetime))),
        scopes: scopes.or_else(|| Some(old?.scopes.clone())).unwrap_or_default(),
        client_id: client_id.to_string(),
        token_url: token_url.to_string(),
    }
}

/// Why there are no tokens, without anything secret.
fn failed<T: ErrorResponseType + std::fmt::Display + 'static>(
    url: &Url,
    status: u16,
    error: RequestTokenError<Error, StandardErrorResponse<T>>,
    secrets: &[String],
) -> Error {
    let host = host(url);
    match error {
        RequestTokenError::Request(error) => error,
        RequestTokenError::ServerResponse(answer) => {
            let why = answer.error_description().map(|text| format!(" ({text})")).unwrap_or_default();
            let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let text = shortened(&redacted(&format!("{}{why}", answer.error()), &secrets), 300);
            Error::new(ErrorKind::Authentication, format!("{host} does not sign in: {text}"))
        }
        // Not what is wrong with it: that may quote a token.
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            let text = format!("the answer of {host} (HTTP {status}) is not one of OAuth; is its address right?");
            Error::new(ErrorKind::Protocol, text)
        }
    }
}

/// The address of the browser's first page, with the state that comes back.
pub(crate) fn browser_url(
    client: Ready,
    authorize_url: Url,
    redirect_url: RedirectUrl,
    scopes: &[String],
    challenge: oauth2::PkceCodeChallenge,
) -> (Url, String) {
    let client = client.set_auth_uri(AuthUrl::from_url(authorize_url)).set_redirect_uri(redirect_url);
    let scopes = scopes.iter().cloned().map(oauth2::Scope::new);
    let (url, state) = client.authorize_url(oauth2::CsrfToken::new_random).add_scopes(scopes).set_pkce_challenge(challenge).url();
    (url, state.into_secret())
}

/// Reads an address that secrets are sent to: encrypted, or to this machine.
///
/// # Errors
/// `invalid_argument`: it is none, or not safe.
pub(crate) fn safe_url(what: &str, address: Option<&str>) -> Result<Url, Error> {
    let address = address.ok_or_else(|| Error::invalid_argument(format!("the sign-in needs a {what}")))?;
    let url = Url::parse(address).map_err(|error| Error::invalid_argument(format!("{what} {address:?}: {error}")))?;
    if !keeps_secrets(&url) {
        let text = format!("{what} {address:?}: an address with https is needed, secrets are sent to it");
        return Err(Error::invalid_argument(text));
    }
    Ok(url)
}
