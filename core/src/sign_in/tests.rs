mod refresh;
mod store;

use std::sync::Mutex;
use std::time::Duration;

use agent_mock::authorization::{AuthorizationServer, CLIENT_ID, Rules, browse};
use agent_mock::{Answer, Mock, Script, Speech};
use reqwest::Url;
use tempfile::TempDir;

use super::*;
use crate::Agent;
use crate::clock::Clock;
use crate::credentials::oauth::safe_url;
use crate::error::{Error, ErrorKind};
use crate::runtime::Runtime;

fn files() -> (TempDir, KeyStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = KeyStore::new(folder.path().join("keys"), Keyring::File);
    (folder, store)
}

fn endpoints(server: &AuthorizationServer) -> Endpoints {
    Endpoints {
        authorize_url: Some(server.url("authorize")),
        token_url: Some(server.url("token")),
        device_url: Some(server.url("device")),
        scopes: vec!["models".to_owned()],
        ..Endpoints::default()
    }
}

/// Tokens as the browser gets them.
fn signed_in(server: &AuthorizationServer, runtime: &Runtime) -> Credential {
    let sign_in = SignIn::new(endpoints(server)).client_id(CLIENT_ID);
    let credential = runtime.block_on(sign_in.in_browser(runtime, |url| {
        let url = url.to_owned();
        std::thread::spawn(move || assert!(browse(&url).contains("You are signed in")));
    }));
    credential.unwrap()
}

fn tokens(credential: &Credential) -> Tokens {
    match credential {
        Credential::Tokens(tokens) => tokens.clone(),
        Credential::Key(_) => panic!("a key"),
    }
}

/// An agent whose model asks this server, in a runtime with this store.
fn asked(mock: &Mock, store: &KeyStore, provider: &str) -> Result<String, Error> {
    let runtime = Runtime::builder().key_store(store.clone()).build().unwrap();
    let agent = Agent::builder(&*format!("{provider}/m")).api_key("keyring").base_url(&mock.url()).runtime(&runtime);
    let agent = agent.max_retries(0).build().unwrap();
    let result = runtime.block_on(agent.prompt("Hi.").into_future());
    result.map(|result| result.text)
}

fn says(count: usize) -> Script {
    (0..count).fold(Script::new(), |script, _| script.answer(Answer::message(Speech::text("Yes."))))
}

fn authorization(mock: &Mock) -> Vec<String> {
    mock.requests().iter().map(|request| request.headers["authorization"].clone()).collect()
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_and_those_of_others_are_refused() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, store) = files();
    let keys = folder.path().join("keys");
    std::fs::create_dir(&keys).unwrap();
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o755)).unwrap();
    let place = store.write("openai", &Credential::key(" sk-1234567890\n")).unwrap();
    let path = keys.join("openai.json");
    assert_eq!(place, Place::File(path.clone()));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(&keys), mode(&path), mode(&keys.join("openai.lock"))], [0o700, 0o600, 0o600]);
    assert_eq!(store.read("openai").unwrap().unwrap().credential, Credential::Key("sk-1234567890".to_owned()));

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = store.read("openai").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().contains("is open to other users (mode 640) and is not used"), "{error}");
    // A new one takes its place.
    store.write("openai", &Credential::key("sk-new-1234567890")).unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_name_stays_in_the_folder() {
    let (_folder, store) = files();
    for name in ["", "../x", "a/b", ".hidden", "a b", &"x".repeat(65)] {
        assert_eq!(store.read(name).unwrap_err().kind(), ErrorKind::InvalidArgument, "{name}");
        assert_eq!(store.write(name, &Credential::key("k")).unwrap_err().kind(), ErrorKind::InvalidArgument, "{name}");
    }
}

#[test]
fn what_is_no_credential_is_not_quoted() {
    let (folder, store) = files();
    store.write("openai", &Credential::key("sk-1234567890")).unwrap();
    std::fs::write(folder.path().join("keys/openai.json"), "{\"key\": sk-secret").unwrap();
    let error = store.read("openai").unwrap_err();
    assert!(error.message().ends_with("openai.json has no key that can be read; sign in again"), "{error}");
}

#[test]
fn secrets_are_in_no_debug_output() {
    let server = AuthorizationServer::start(Rules::default());
    let runtime = Runtime::new().unwrap();
    let credential = signed_in(&server, &runtime);
    let (_folder, store) = files();
    store.write("corp", &credential).unwrap();
    let text = format!("{credential:?} {:?} {:?}", tokens(&credential), store.read("corp").unwrap());
    assert!(text.contains("token_url") && !text.contains("secret"), "{text}");
}

#[test]
fn secrets_are_sent_to_safe_addresses() {
    for url in ["https://a.example/token", "http://127.0.0.1:1/t", "http://localhost/t", "http://[::1]/t"] {
        assert!(safe_url("token address", Some(url)).is_ok(), "{url}");
    }
    for url in [None, Some("http://a.example/token"), Some("ftp://a.example"), Some("none")] {
        assert_eq!(safe_url("token address", url).unwrap_err().kind(), ErrorKind::InvalidArgument, "{url:?}");
    }
}

#[test]
fn the_browser_brings_a_code_that_becomes_tokens() {
    let server = AuthorizationServer::start(Rules::default());
    let runtime = Runtime::new().unwrap();
    let tokens = tokens(&signed_in(&server, &runtime));
    assert_eq!((tokens.access_token.as_str(), tokens.client_id.as_str()), ("access-secret-1", CLIENT_ID));
    assert_eq!((tokens.refresh_token.as_deref(), tokens.scopes), (Some("refresh-secret-1"), vec!["models".to_owned()]));
    assert!(server.wrong().is_empty(), "{:?}", server.wrong());
}

#[test]
fn a_user_may_refuse() {
    let server = AuthorizationServer::start(Rules { refuses: true, ..Rules::default() });
    let runtime = Runtime::new().unwrap();
    let sign_in = SignIn::new(endpoints(&server)).client_id(CLIENT_ID);
    let refused = runtime.block_on(sign_in.in_browser(&runtime, |url| {
        let url = url.to_owned();
        std::thread::spawn(move || assert!(browse(&url).contains("You are not signed in")));
    }));
    let error = refused.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Authentication, "the sign-in was refused: access_denied"));
}

#[test]
fn a_client_id_is_needed() {
    let runtime = Runtime::new().unwrap();
    let sign_in = SignIn::new(Endpoints::of("huggingface").unwrap());
    let error = runtime.block_on(sign_in.in_browser(&runtime, |_| panic!("not shown"))).unwrap_err();
    let text = "the sign-in needs a client id of your own, which is made at \
                https://huggingface.co/settings/applications/new: give --client-id ID, or set AGENT_CLIENT_ID";
    assert_eq!(error.message(), text);
}

#[test]
fn a_vendor_s_own_exchange_gives_a_key() {
    // There is no state that comes back: others must not guess the address.
    for redirect_url in [None, Some("http://localhost:0/own/"), Some("http://localhost:0")] {
        let server = AuthorizationServer::start(Rules::default());
        let runtime = Runtime::new().unwrap();
        let mut endpoints = Endpoints::of("openrouter").unwrap();
        (endpoints.authorize_url, endpoints.token_url) = (Some(server.url("auth")), Some(server.url("keys")));
        let mut sign_in = SignIn::new(endpoints);
        if let Some(url) = redirect_url {
            sign_in = sign_in.redirect_url(url);
        }
        let credential = runtime.block_on(sign_in.in_browser(&runtime, |url| {
            let url = Url::parse(url).unwrap();
            let (_, callback) = url.query_pairs().find(|(name, _)| name == "callback_url").unwrap();
            let secret = Url::parse(&callback).unwrap().path_segments().unwrap().next_back().unwrap().to_owned();
            assert!(secret.len() >= 16, "{callback}");
            std::thread::spawn(move || browse(url.as_str()));
        }));
        assert_eq!(credential.unwrap(), Credential::key("sk-or-secret-1234567890"));
        assert!(server.wrong().is_empty(), "{:?}", server.wrong());
    }
}

#[test]
fn a_redirect_address_has_to_be_free_and_of_this_machine() {
    let server = AuthorizationServer::start(Rules::default());
    let runtime = Runtime::new().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("http://{}/back", taken.local_addr().unwrap());
    let why = |url: &str| {
        let sign_in = SignIn::new(endpoints(&server)).client_id(CLIENT_ID).redirect_url(url);
        runtime.block_on(sign_in.in_browser(&runtime, |_| panic!("not shown"))).unwrap_err()
    };
    let error = why(&taken);
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().starts_with(&format!("nothing can listen at the redirect address {taken}: ")), "{error}");
    assert!(error.message().ends_with(". Take another port with --redirect-url"), "{error}");
    for (url, text) in [
        ("127.0.0.1", "redirect address \"127.0.0.1\" (--redirect-url): relative URL without a base"),
        ("https://127.0.0.1/a", "the redirect address https://127.0.0.1/a has https, which a program has no certificate for: "),
        ("http://a.example/a", "the redirect address http://a.example/a is not on this machine: http://127.0.0.1 or "),
    ] {
        let error = why(url);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with(text), "{error}");
    }
}

#[test]
fn a_server_without_codes_says_so() {
    let server = AuthorizationServer::start(Rules::default());
    let runtime = Runtime::new().unwrap();
    let sign_in = SignIn::new(Endpoints { device_url: None, ..endpoints(&server) }).client_id(CLIENT_ID);
    let error = runtime.block_on(sign_in.with_code(&runtime, |_| panic!("not shown"))).unwrap_err();
    let text = "the authorization server has no address for codes (--device-url): sign in with the browser";
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, text));
}

/// Signs in with a code; what it came to, and how many seconds lay between the questions.
fn with_code(polls: &[&'static str], interval_s: u64) -> (Result<Credential, Error>, Vec<u64>) {
    let server = AuthorizationServer::start(Rules { polls: polls.to_vec(), interval_s, ..Rules::default() });
    let runtime = Runtime::new().unwrap();
    let sign_in = SignIn::new(endpoints(&server)).client_id(CLIENT_ID);
    let (slept, shown) = (Mutex::new(Vec::new()), Mutex::new(String::new()));
    let http = sign_in.http(&runtime);
    let sleep = |time: Duration| {
        slept.lock().unwrap().push(time.as_secs());
        std::future::ready(())
    };
    let show = |code: &DeviceCode| shown.lock().unwrap().clone_from(&code.user_code);
    let credential = runtime.block_on(sign_in.with_code_in(&http, show, sleep));
    assert_eq!(*shown.lock().unwrap(), "WDJB-MJHT");
    assert!(server.wrong().is_empty(), "{:?}", server.wrong());
    (credential, slept.into_inner().unwrap())
}

#[test]
fn a_device_code_is_asked_about_as_often_as_the_server_wants() {
    let (credential, slept) = with_code(&["authorization_pending", "slow_down", "authorization_pending"], 3);
    assert_eq!(tokens(&credential.unwrap()).access_token, "access-secret-1");
    assert_eq!(slept, [3, 8, 8]);
    // But not without a pause.
    assert_eq!(with_code(&["authorization_pending", "authorization_pending"], 0).1, [1, 1]);
}

#[test]
fn a_device_code_may_be_refused_or_end() {
    let message = |polls: &[&'static str]| {
        let error = with_code(polls, 3).0.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication);
        error.message().to_owned()
    };
    assert_eq!(message(&["access_denied"]), "the sign-in was refused");
    assert_eq!(message(&["authorization_pending", "expired_token"]), "nobody has typed in the code in time; begin again");
}

#[test]
fn a_stored_key_is_sent_as_the_provider_wants_it() {
    let (_folder, store) = files();
    let mock = Mock::start(says(1));
    store.write("anthropic", &Credential::key("sk-ant-1234567890")).unwrap();
    let runtime = Runtime::builder().key_store(store).build().unwrap();
    let agent = Agent::builder("anthropic/claude-sonnet-4-5").api_key("keyring").base_url(&mock.url()).runtime(&runtime);
    let agent = agent.build().unwrap();
    assert_eq!(runtime.block_on(agent.prompt("Hi.").into_future()).unwrap().text, "Yes.");
    assert_eq!(mock.requests()[0].headers["x-api-key"], "sk-ant-1234567890");
}

#[test]
fn nothing_stored_says_how_to_sign_in() {
    let (_folder, store) = files();
    let mock = Mock::start(says(1));
    let error = asked(&mock, &store, "openai").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(error.message().contains("nothing is stored for openai: sign in with `agent auth login openai`"), "{error}");
    assert!(!mock.was_asked());
}

#[test]
fn tokens_are_refreshed_before_they_end_by_one_of_two() {
    let server = AuthorizationServer::start(Rules { lifetime_s: 5, ..Rules::default() });
    let runtime = Runtime::new().unwrap();
    let (_folder, store) = files();
    store.write("corp", &signed_in(&server, &runtime)).unwrap();
    server.set_lifetime(3600);
    let mock = Mock::start(says(2));
    // Each has a runtime of its own, as two processes have.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(asked(&mock, &store, "corp").unwrap(), "Yes."));
        }
    });
    assert_eq!((server.refreshes(), server.wrong()), (1, Vec::new()));
    assert_eq!(authorization(&mock), ["Bearer access-secret-2", "Bearer access-secret-2"]);
    let stored = tokens(&store.read("corp").unwrap().unwrap().credential);
    assert_eq!(stored.refresh_token.as_deref(), Some("refresh-secret-2"));
    assert!(stored.expires_at_ms.unwrap() > Clock::real().now_ms() + 3_000_000);
}

#[test]
fn tokens_are_refreshed_once_after_they_were_refused() {
    let server = AuthorizationServer::start(Rules::default());
    let runtime = Runtime::new().unwrap();
    let (_folder, store) = files();
    store.write("corp", &signed_in(&server, &runtime)).unwrap();
    let refusal = || Answer::text("no").status(401);
    let mock = Mock::start(Script::new().answer(refusal()).answer(Answer::message(Speech::text("Yes."))));
    assert_eq!(asked(&mock, &store, "corp").unwrap(), "Yes.");
    assert_eq!(authorization(&mock), ["Bearer access-secret-1", "Bearer access-secret-2"]);

    let mock = Mock::start(Script::new().answer(refusal()).answer(refusal()));
    let error = asked(&mock, &store, "corp").unwrap_err();
    assert_eq!((error.kind(), mock.requests().len(), server.refreshes()), (ErrorKind::Authentication, 2, 2));
}

#[test]
fn a_sign_in_that_was_taken_back_says_so() {
    let server = AuthorizationServer::start(Rules { lifetime_s: 0, ..Rules::default() });
    let runtime = Runtime::new().unwrap();
    let (_folder, store) = files();
    store.write("corp", &signed_in(&server, &runtime)).unwrap();
    server.revoke();
    let mock = Mock::start(says(1));
    let error = asked(&mock, &store, "corp").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    let text = "the sign-in to corp has ended (127.0.0.1 does not sign in: invalid_grant (as scripted)): sign in again with \
                `agent auth login corp`";
    assert_eq!(error.message(), text);
}

#[test]
fn a_fallback_of_another_provider_uses_what_is_stored_for_it() {
    let (_folder, store) = files();
    store.write("first", &Credential::key("sk-first-1234567890")).unwrap();
    store.write("second", &Credential::key("sk-second-1234567890")).unwrap();
    let broken = Mock::start(Script::new().answer(Answer::text("down").status(500)));
    let mock = Mock::start(says(1));
    let runtime = Runtime::builder().key_store(store).build().unwrap();
    let fallback = serde_json::json!({ "provider": "second", "id": "m", "base_url": mock.url() });
    let fallback = crate::ModelSpec::from_json(fallback).unwrap();
    let agent = Agent::builder("first/m").api_key("keyring").base_url(&broken.url()).fallbacks([fallback]).runtime(&runtime);
    let agent = agent.max_retries(0).build().unwrap();
    assert_eq!(runtime.block_on(agent.prompt("Hi.").into_future()).unwrap().text, "Yes.");
    assert_eq!(authorization(&broken), ["Bearer sk-first-1234567890"]);
    assert_eq!(authorization(&mock), ["Bearer sk-second-1234567890"]);
}
