use std::cell::Cell;
use std::path::PathBuf;

use agent_mock::{Answer, Mock, Request, Script};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Url;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::google::Kind;
use super::*;
use crate::error::ErrorKind;

/// Made for these tests with `openssl genpkey`: `ring` does not make RSA keys.
const KEY: &str = include_str!("test-key.pem");

/// A file of this content; `test` names it.
fn file(test: &str, content: &Value) -> PathBuf {
    let path = std::env::temp_dir().join(format!("agent-loop-credential-{test}-{}.json", std::process::id()));
    std::fs::write(&path, content.to_string()).unwrap();
    path
}

fn service_account(token_uri: &str) -> Value {
    json!({
        "type": "service_account", "project_id": "from-file", "private_key_id": "key-7", "private_key": KEY,
        "client_email": "robot@example.iam.gserviceaccount.com", "token_uri": token_uri,
    })
}

fn user(token_uri: &str) -> Value {
    json!({
        "type": "authorized_user", "client_id": "id&1", "client_secret": "sesame+7", "refresh_token": "refresh-9",
        "quota_project_id": "pays", "token_uri": token_uri,
    })
}

/// What is found where these variables are set.
fn find(variables: &[(&str, &str)]) -> Result<Source, Error> {
    google::find(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
}

fn find_file(test: &str, content: &Value) -> Result<Source, Error> {
    let path = file(test, content);
    let found = find(&[("GOOGLE_APPLICATION_CREDENTIALS", path.to_str().unwrap())]);
    std::fs::remove_file(path).unwrap();
    found
}

async fn fetch(source: &Source) -> Result<Granted, Error> {
    exchange::fetch(source, &Client::default(), &Arc::default(), 1000).await
}

/// The answer of a token endpoint.
fn grant(token: &str) -> Answer {
    Answer::json(json!({ "access_token": token, "expires_in": 3599, "token_type": "Bearer" }))
}

/// The fields of a request's form.
fn form(request: &Request) -> Vec<(String, String)> {
    assert_eq!(request.headers["content-type"], "application/x-www-form-urlencoded");
    let url = Url::parse(&format!("http://form?{}", request.body.as_str().unwrap())).unwrap();
    url.query_pairs().into_owned().collect()
}

#[tokio::test]
async fn a_service_account_signs_what_it_asks_for() {
    let mock = Mock::start(Script::new().answer(grant("ya29.one")));
    let token_uri = format!("{}/token", mock.url());
    let source = find_file("service", &service_account(&token_uri)).unwrap();
    let before = Clock::real().now_ms() / 1000;
    let granted = fetch(&source).await.unwrap();
    assert_eq!((granted.token.as_str(), granted.lifetime_ms), ("ya29.one", 3_599_000));

    let request = mock.requests().pop().unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/token"));
    let form = form(&request);
    assert_eq!(form[0], ("grant_type".to_owned(), "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()));
    let (signed, signature) = form[1].1.rsplit_once('.').unwrap();
    let key = RsaKeyPair::from_pkcs8(PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).unwrap().secret_pkcs8_der()).unwrap();
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public().as_ref()).verify(signed.as_bytes(), &signature).unwrap();

    let part = |text: &str| serde_json::from_slice::<Value>(&BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    assert_eq!(part(header), json!({ "alg": "RS256", "typ": "JWT", "kid": "key-7" }));
    let claims = part(claims);
    let issued = claims["iat"].as_u64().unwrap();
    assert!((before..before + 60).contains(&issued));
    assert_eq!(claims["exp"], issued + 3600);
    assert_eq!(claims["iss"], "robot@example.iam.gserviceaccount.com");
    assert_eq!(claims["aud"], token_uri);
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
}

#[tokio::test]
async fn a_user_s_refresh_token_is_exchanged_and_the_billed_project_is_sent() {
    let mock = Mock::start(Script::new().answer(grant("ya29.two")));
    let source = find_file("user", &user(&mock.url())).unwrap();
    let (client, network) = (Client::default(), Arc::default());
    let fetch = exchange::fetch(&source, &client, &network, 1000);
    let token = Tokens::default().get(&(source.clone(), network.clone()), &Clock::real(), fetch).await.unwrap();
    assert_eq!((&*token.token, token.quota_project.as_deref()), ("ya29.two", Some("pays")));
    let pairs =
        [("grant_type", "refresh_token"), ("client_id", "id&1"), ("client_secret", "sesame+7"), ("refresh_token", "refresh-9")];
    assert_eq!(form(&mock.requests()[0]), pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn the_metadata_server_is_asked_directly_and_must_be_google_s() {
    let mock = Mock::start(Script::new().answer(grant("ya29.three").header("Metadata-Flavor", "Google")).answer(grant("other")));
    let host = mock.url().replace("http://", "");
    let source = find(&[("GCE_METADATA_HOST", &host), ("GOOGLE_CLOUD_QUOTA_PROJECT", "pays")]).unwrap();
    assert_eq!(source.quota_project.as_deref(), Some("pays"));
    let network = Arc::new(Network::from_json(json!({ "proxy": "http://127.0.0.1:1" })).unwrap());
    let granted = exchange::fetch(&source, &Client::default(), &network, 1000).await.unwrap();
    assert_eq!(granted.token, "ya29.three");
    let request = &mock.requests()[0];
    assert_eq!(request.headers["metadata-flavor"], "Google");
    let path = "/computeMetadata/v1/instance/service-accounts/default/token\
                ?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform";
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", path));
    let error = fetch(&source).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(error.message().starts_with(&format!(
        "no Google access token for the metadata server {host} (of GCE_METADATA_HOST): it is not one of Google's; "
    )));
}

#[tokio::test]
async fn the_token_is_asked_for_through_the_network_s_settings() {
    let mock = Mock::start(Script::new().answer(grant("ya29.four")));
    let source = find_file("network", &user("http://tokens.test/token")).unwrap();
    let address = mock.url().replace("http://", "");
    let network = Arc::new(Network::from_json(json!({ "proxy": false, "resolve": { "tokens.test": address } })).unwrap());
    let granted = exchange::fetch(&source, &Client::default(), &network, 1000).await.unwrap();
    assert_eq!(granted.token, "ya29.four");
}

#[test]
fn credentials_are_looked_for_in_google_s_order() {
    let folder = std::env::temp_dir().join(format!("agent-loop-gcloud-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let gcloud = folder.join("application_default_credentials.json");
    std::fs::write(&gcloud, user("http://tokens.test").to_string()).unwrap();
    let named = file("named", &service_account("http://tokens.test"));
    let all = [
        ("GOOGLE_APPLICATION_CREDENTIALS", named.to_str().unwrap()),
        ("CLOUDSDK_CONFIG", folder.to_str().unwrap()),
        ("GCE_METADATA_HOST", "metadata.test"),
        ("GOOGLE_CLOUD_QUOTA_PROJECT", "other"),
    ];
    let kind = |variables: &[(&str, &str)]| find(variables).unwrap().kind;
    assert!(matches!(kind(&all), Kind::ServiceAccount { .. }));
    assert!(matches!(kind(&all[1..]), Kind::User { .. }));
    assert_eq!(find(&all[1..]).unwrap().quota_project.as_deref(), Some("other"), "the variable wins over the file");
    assert!(matches!(kind(&all[2..]), Kind::Metadata { host, looked: None } if host == "metadata.test"));
    assert!(matches!(kind(&[]), Kind::Metadata { host, looked: Some(_) } if host == "169.254.169.254"));

    let project = |variables: &[(&str, &str)]| {
        google::project(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    };
    assert_eq!(project(&all).as_deref(), Some("from-file"));
    assert_eq!(project(&all[1..]).as_deref(), Some("pays"));
    assert_eq!(project(&all[2..]), None);
    assert_eq!(project(&[all[0], ("GOOGLE_CLOUD_PROJECT", ""), ("GCLOUD_PROJECT", "set")]).as_deref(), Some("set"));
    std::fs::remove_file(named).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn without_credentials_the_error_says_where_was_looked_and_what_to_do() {
    // Bound, but not listening.
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let closed = taken.local_addr().unwrap();
    let mut source = find(&[("CLOUDSDK_CONFIG", "/nowhere")]).unwrap();
    // The machine that tests run on may have a metadata server.
    let Kind::Metadata { host, .. } = &mut source.kind else { unreachable!() };
    *host = closed.to_string();
    let error = fetch(&source).await.err().unwrap();
    let text = format!(
        "authentication: no Google credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, there is no \
         /nowhere/application_default_credentials.json, and no metadata server answers at {closed}; run `gcloud auth \
         application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a service-account key file, or give api_key"
    );
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn a_file_that_cannot_be_used_says_why() {
    let error = find(&[("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")]).err().unwrap();
    let start = "Google credentials: GOOGLE_APPLICATION_CREDENTIALS \"/nowhere/key.json\" cannot be read: ";
    assert!(error.message().starts_with(start), "{error}");
    let mut no_secret = user("http://tokens.test");
    no_secret["client_secret"] = Value::Null;
    for (content, why) in [
        (json!({ "type": 5 }), " is not a credentials file: wrong at line 1, column 9; run `gcloud"),
        (json!({}), " is not a credentials file: it has no \"type\"; "),
        (no_secret, " has no client_secret; "),
        (json!({ "type": "external_account" }), " is of the type \"external_account\", which is not supported (only "),
    ] {
        let error = find_file("unusable", &content).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Authentication);
        assert!(error.message().contains(why), "{error}");
    }
    let mut wrong_key = service_account("http://tokens.test");
    wrong_key["private_key"] = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----".into();
    let error = fetch(&find_file("key", &wrong_key).unwrap()).await.err().unwrap();
    assert!(error.message().contains(": its private_key is not an RSA key that can be used; "), "{error}");
    assert!(error.message().starts_with("Google credentials: GOOGLE_APPLICATION_CREDENTIALS \""), "{error}");
    assert!(!error.message().contains("AAAA"), "{error}");
    let error = fetch(&find_file("address", &user("tokens.test")).unwrap()).await.err().unwrap();
    assert!(error.message().contains(": its token_uri \"tokens.test\" is not an address; run `gcloud"), "{error}");
    let late = exchange::late(&find_file("late", &user("http://tokens.test/token")).unwrap(), 10);
    assert!(late.message().contains(" at http://tokens.test/token: it did not come within 10 ms, "), "{late}");
}

#[tokio::test]
async fn refusals_keep_google_s_words_and_no_secret() {
    let refusal = json!({ "error": "invalid_grant", "error_description": "Token refresh-9 has been expired or revoked." });
    let mock = Mock::start(
        Script::new()
            .answer(Answer::json(refusal).status(400))
            .answer(Answer::text("<html><title>Maintenance</title>").status(503))
            .answer(Answer::text("no such path").status(404))
            .answer(Answer::json(json!({ "id_token": "sesame" }))),
    );
    let source = find_file("refused", &user(&mock.url())).unwrap();
    let error = fetch(&source).await.err().unwrap();
    assert_eq!((error.kind(), error.http_status(), error.is_retryable()), (ErrorKind::Authentication, Some(400), false));
    assert!(
        error.message().contains(": answered 400: invalid_grant: Token [key] has been expired or revoked. Run `gcloud"),
        "{error}"
    );
    let error = fetch(&source).await.err().unwrap();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Overloaded, true));
    assert!(error.message().ends_with(&format!(" at {}: answered 503: a page titled \"Maintenance\"", mock.url())), "{error}");
    let error = fetch(&source).await.err().unwrap();
    assert!(error.message().contains(": answered 404: no such path; run `gcloud"), "{error}");
    let error = fetch(&source).await.err().unwrap();
    assert!(error.message().contains(": the answer has no access_token; "), "{error}");
    drop(mock);
    let error = fetch(&source).await.err().unwrap();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, true));
    assert!(error.message().starts_with("no Google access token for GOOGLE_APPLICATION_CREDENTIALS "), "{error}");
}

/// A credential that is not asked, and the store for its tokens.
fn kept() -> (Key, Tokens) {
    ((find(&[("GCE_METADATA_HOST", "metadata.test")]).unwrap(), Arc::default()), Tokens::default())
}

fn granted(token: &str, seconds: u64) -> Result<Granted, Error> {
    Ok(Granted { token: token.to_owned(), lifetime_ms: seconds * 1000 })
}

#[tokio::test]
async fn a_token_is_kept_and_replaced_ahead_of_its_end() {
    let ((key, tokens), clock, fetches) = (kept(), Clock::simulated(), Cell::new(0));
    let get = async || {
        let fetch = async {
            fetches.set(fetches.get() + 1);
            granted(&format!("token {}", fetches.get()), 3600)
        };
        tokens.get(&key, &clock, fetch).await.unwrap().token.to_string()
    };
    assert_eq!(get().await, "token 1");
    clock.sleep(3_374_000).await;
    assert_eq!(get().await, "token 1");
    clock.sleep(1000).await;
    assert_eq!(get().await, "token 2", "225 seconds before its end");
    assert_eq!(get().await, "token 2");
    clock.sleep(10_000_000).await;
    assert_eq!(get().await, "token 3");
}

#[tokio::test]
async fn a_short_life_is_used_for_three_quarters() {
    let ((key, tokens), clock) = (kept(), Clock::simulated());
    let get = async |next: &str| tokens.get(&key, &clock, async { granted(next, 100) }).await.unwrap().token.to_string();
    assert_eq!(get("one").await, "one");
    clock.sleep(74_999).await;
    assert_eq!(get("two").await, "one");
    clock.sleep(1).await;
    assert_eq!(get("two").await, "two");
}

#[tokio::test]
async fn while_one_caller_replaces_it_the_others_use_the_old_one() {
    let ((key, tokens), clock) = (kept(), Clock::simulated());
    tokens.get(&key, &clock, async { granted("old", 3600) }).await.unwrap();
    clock.sleep(3_400_000).await;
    let second = async { panic!("a second fetch") };
    let first = async {
        let other = tokens.get(&key, &clock, second).await.unwrap();
        assert_eq!(&*other.token, "old");
        granted("new", 3600)
    };
    assert_eq!(&*tokens.get(&key, &clock, first).await.unwrap().token, "new");
}

#[tokio::test]
async fn an_old_token_serves_when_no_new_one_can_be_had_until_it_ends() {
    let ((key, tokens), clock) = (kept(), Clock::simulated());
    let failing = || async { Err(Error::new(ErrorKind::Connection, "down")) };
    tokens.get(&key, &clock, async { granted("old", 3600) }).await.unwrap();
    clock.sleep(3_400_000).await;
    assert_eq!(&*tokens.get(&key, &clock, failing()).await.unwrap().token, "old");
    clock.sleep(190_000).await;
    assert_eq!(tokens.get(&key, &clock, failing()).await.unwrap_err().message(), "down", "it would end on its way");
    assert_eq!(&*tokens.get(&key, &clock, async { granted("new", 3600) }).await.unwrap().token, "new");
}

#[tokio::test]
async fn all_who_wait_share_one_fetch_and_its_error() {
    let ((key, tokens), clock, fetches) = (kept(), Clock::simulated(), Cell::new(0));
    let get = |result: Result<Granted, Error>| {
        let fetch = async {
            fetches.set(fetches.get() + 1);
            tokio::task::yield_now().await;
            result
        };
        tokens.get(&key, &clock, fetch)
    };
    let down = || Err(Error::new(ErrorKind::Connection, "down"));
    let (one, two, three) = tokio::join!(get(down()), get(down()), get(granted("x", 3600)));
    assert_eq!([one, two, three].map(|got| got.unwrap_err().message().to_owned()), ["down"; 3]);
    assert_eq!(fetches.get(), 1);
    let (one, two) = tokio::join!(get(granted("a", 3600)), get(granted("b", 3600)));
    assert_eq!((&*one.unwrap().token, &*two.unwrap().token), ("a", "a"));
    assert_eq!(fetches.get(), 2);
}

#[tokio::test]
async fn a_token_that_was_refused_is_forgotten_unless_it_was_replaced_already() {
    let ((key, tokens), clock) = (kept(), Clock::simulated());
    let get = async |next: &str| tokens.get(&key, &clock, async { granted(next, 3600) }).await.unwrap().token.to_string();
    assert_eq!(get("one").await, "one");
    tokens.forget("one");
    assert_eq!(get("two").await, "two");
    tokens.forget("one");
    assert_eq!(get("three").await, "two");
}

#[tokio::test]
async fn another_network_neither_waits_for_a_token_nor_takes_it() {
    let ((key, tokens), clock) = (kept(), Clock::simulated());
    let other = Network::from_json(json!({ "proxy": "http://elsewhere:1" })).unwrap();
    let other = (key.0.clone(), Arc::new(other));
    let fetch = async {
        // While the first is fetching.
        let error = tokens.get(&other, &clock, async { Err(Error::new(ErrorKind::Connection, "down")) }).await.unwrap_err();
        assert_eq!(error.message(), "down");
        granted("one", 3600)
    };
    assert_eq!(&*tokens.get(&key, &clock, fetch).await.unwrap().token, "one");
    assert_eq!(&*tokens.get(&other, &clock, async { granted("two", 3600) }).await.unwrap().token, "two");
}

#[test]
fn nothing_secret_is_printed() {
    let token = GoogleToken { token: "ya29.secret".into(), quota_project: None };
    assert!(!format!("{token:?}").contains("secret"));
    assert!(!format!("{:?}", Tokens::default()).contains("Slot"));
}
