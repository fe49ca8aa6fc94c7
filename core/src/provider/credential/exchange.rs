//! An access token for a credential: one request to Google's token endpoint or to the machine's metadata server.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::google::{ADVICE, Kind, Source};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::transport::client::{Client, Response};
use crate::transport::network::{Network, Proxy};
use agent_loop_proto::provider_error::{page, redacted};

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const FLAVOR: &str = "metadata-flavor";
/// How long it may take to find out that there is no metadata server.
const METADATA_CONNECT_MS: u64 = 1000;
/// The longest that Google lets an assertion live, in seconds.
const ASSERTION_LIFETIME: u64 = 3600;
/// The most of an answer that is read, in bytes.
const MAX_BODY: usize = 64 << 10;

/// A token as it was given out.
pub(super) struct Granted {
    pub(super) token: String,
    pub(super) lifetime_ms: u64,
}

/// Asks for a token.
pub(super) async fn fetch(
    source: &Source,
    client: &Client,
    network: &Arc<Network>,
    connect_timeout_ms: u64,
) -> Result<Granted, Error> {
    let post = async |uri: &str, form: &[(&str, &str)]| {
        let url = Url::parse(uri).map_err(|_| unusable(source, &format!("its token_uri {uri:?} is not an address")))?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        let sent = client.post(&url, headers, encoded(form).into(), connect_timeout_ms, network).await;
        granted(source, sent.map_err(|error| not_asked(source, &error))?).await
    };
    let (asked, secrets) = match &source.kind {
        Kind::ServiceAccount { email, key_id, private_key, token_uri } => {
            let now = Clock::real().now_ms() / 1000;
            let assertion =
                assertion(email, key_id.as_deref(), private_key, token_uri, now).map_err(|why| unusable(source, why))?;
            (post(token_uri, &[("grant_type", JWT_BEARER), ("assertion", &assertion)]).await, vec![assertion])
        }
        Kind::User { client_id, client_secret, refresh_token, token_uri } => {
            let form = [
                ("grant_type", "refresh_token"),
                ("client_id", client_id),
                ("client_secret", client_secret),
                ("refresh_token", refresh_token),
            ];
            (post(token_uri, &form).await, vec![client_secret.clone(), refresh_token.clone()])
        }
        Kind::Metadata { host, looked } => (ask_metadata(source, host, looked.as_deref(), client, network).await, Vec::new()),
    };
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    asked.map_err(|error| error.clone().with_message(&redacted(error.message(), &secrets)))
}

/// <https://cloud.google.com/compute/docs/access/authenticate-workloads#applications>
async fn ask_metadata(
    source: &Source,
    host: &str,
    looked: Option<&str>,
    client: &Client,
    network: &Arc<Network>,
) -> Result<Granted, Error> {
    let address =
        format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token?{}", encoded(&[("scopes", SCOPE)]));
    let url = Url::parse(&address).map_err(|_| unusable(source, "this is not the name of a host"))?;
    let mut headers = HeaderMap::new();
    headers.insert(FLAVOR, HeaderValue::from_static("Google"));
    // It is on this machine, as it were: no proxy has it.
    let direct = Arc::new(Network { proxy: Proxy::Direct, ..Network::clone(network) });
    let sent = client.get(&url, headers, METADATA_CONNECT_MS, &direct).await;
    let response = match (sent, looked) {
        // At the same address others have servers of another kind.
        (Ok(response), _) if response.headers().get(FLAVOR).is_some_and(|flavor| flavor == "Google") => response,
        (_, Some(looked)) => {
            let text = format!("no Google credentials: {looked}, and no metadata server answers at {host}; {ADVICE}");
            return Err(Error::new(ErrorKind::Authentication, text));
        }
        (Ok(_), None) => return Err(refused(source, "it is not one of Google's")),
        (Err(error), None) => return Err(not_asked(source, &error)),
    };
    granted(source, response).await
}

/// Reads the answer of RFC 6749, section 5.
async fn granted(source: &Source, mut response: Response) -> Result<Granted, Error> {
    let (status, answer) = (response.status(), response.text(MAX_BODY).await);
    let body: Value = answer.parse().unwrap_or_default();
    let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (status, text("access_token")) {
        (200, Some(token)) => {
            // Without a time it is asked for again each time.
            let seconds = body.get("expires_in").and_then(Value::as_u64).unwrap_or_default();
            Ok(Granted { token: token.to_owned(), lifetime_ms: seconds.saturating_mul(1000) })
        }
        (200, None) => Err(refused(source, "the answer has no access_token")),
        _ => {
            let said: Vec<&str> = [text("error"), text("error_description")].into_iter().flatten().collect();
            let said = if said.is_empty() { page(&answer) } else { said.join(": ") };
            let why = format!("answered {status}: {said}");
            let error = match ErrorKind::from_http_status(status) {
                // A fault of theirs that may pass: other credentials would not help.
                kind @ (ErrorKind::Server | ErrorKind::RateLimited | ErrorKind::Overloaded | ErrorKind::Timeout) => {
                    Error::new(kind, format!("{}: {why}", no_token(source)))
                }
                _ => refused(source, &why),
            };
            Err(error.with_http_status(status))
        }
    }
}

/// The beginning of an error: for what there is no token, and who was asked.
fn no_token(source: &Source) -> String {
    let place = match &source.kind {
        Kind::ServiceAccount { token_uri, .. } | Kind::User { token_uri, .. } => format!(" at {token_uri}"),
        Kind::Metadata { .. } => String::new(),
    };
    format!("no Google access token for {}{place}", source.origin)
}

fn refused(source: &Source, why: &str) -> Error {
    Error::new(ErrorKind::Authentication, format!("{}: {why}", no_token(source))).and(ADVICE)
}

/// The error of credentials that name no server to ask.
fn unusable(source: &Source, why: &str) -> Error {
    Error::new(ErrorKind::Authentication, format!("Google credentials: {}: {why}; {ADVICE}", source.origin))
}

/// The error of a server that took this long.
pub(super) fn late(source: &Source, ms: u64) -> Error {
    let text = format!(
        "{}: it did not come within {ms} ms, and the model was not asked; can that server be reached from here, or is a proxy \
         needed (option network)?",
        no_token(source)
    );
    Error::new(ErrorKind::Timeout, text)
}

/// The error of a request that got no answer, with what it was for.
fn not_asked(source: &Source, error: &Error) -> Error {
    error.clone().reworded(|why| format!("no Google access token for {}: {why}", source.origin))
}

/// What a service account says of itself, signed: <https://developers.google.com/identity/protocols/oauth2/service-account>.
fn assertion(email: &str, key_id: Option<&str>, private_key: &str, token_uri: &str, now: u64) -> Result<String, &'static str> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(private_key.as_bytes()).map_err(|_| "its private_key is not a PEM key")?;
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).map_err(|_| "its private_key is not an RSA key that can be used")?;
    let mut header = json!({ "alg": "RS256", "typ": "JWT" });
    if let (Some(id), Some(header)) = (key_id, header.as_object_mut()) {
        header.insert("kid".to_owned(), id.into());
    }
    let claims = json!({ "iss": email, "scope": SCOPE, "aud": token_uri, "iat": now, "exp": now + ASSERTION_LIFETIME });
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .map_err(|_| "its private_key cannot sign")?;
    Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

/// Names and values as a form or a query has them.
fn encoded(pairs: &[(&str, &str)]) -> String {
    // An address of no meaning: the crate that encodes is inside this one.
    Url::parse_with_params("http://form", pairs).ok().and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}
