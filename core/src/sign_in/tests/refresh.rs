//! Tokens that are replaced while something else happens.

use std::sync::Arc;

use super::*;

/// Waits until something is so.
fn until(is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(100), "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A server, and a store with tokens of it that have ended.
fn ended() -> (AuthorizationServer, TempDir, KeyStore) {
    let server = AuthorizationServer::start(Rules { lifetime_s: 0, ..Rules::default() });
    let (folder, store) = files();
    store.write("corp", &signed_in(&server, &Runtime::new().unwrap())).unwrap();
    server.set_lifetime(3600);
    (server, folder, store)
}

#[test]
fn an_abort_does_not_lose_what_the_server_has_replaced() {
    let (server, _folder, store) = ended();
    server.hold(true);
    let runtime = Runtime::builder().key_store(store.clone()).build().unwrap();
    let mock = Mock::start(says(1));
    let agent = Agent::builder("corp/m").api_key("keyring").base_url(&mock.url()).runtime(&runtime).build().unwrap();
    let aborted = std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.block_on(agent.prompt("Hi.").into_future()));
        until(|| server.refreshes() == 1);
        agent.abort();
        run.join().unwrap()
    });
    assert!(!matches!(&aborted, Ok(result) if result.text == "Yes."), "{aborted:?}");
    server.hold(false);
    let is_stored =
        || tokens(&store.read("corp").unwrap().unwrap().credential).refresh_token.as_deref() == Some("refresh-secret-2");
    until(is_stored);
    assert_eq!(asked(&mock, &store, "corp").unwrap(), "Yes.");
    assert_eq!((authorization(&mock), server.wrong()), (vec!["Bearer access-secret-2".to_owned()], Vec::new()));
}

#[test]
fn a_logout_during_a_refresh_is_one() {
    let (server, _folder, store) = ended();
    server.hold(true);
    let mock = Mock::start(says(1));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| asked(&mock, &store, "corp"));
        until(|| server.refreshes() == 1);
        let logout = scope.spawn(|| store.remove("corp"));
        // A chance to remove it at once, and to have it written again.
        std::thread::sleep(Duration::from_millis(50));
        server.hold(false);
        assert!(logout.join().unwrap().unwrap());
        assert_eq!(run.join().unwrap().unwrap(), "Yes.");
    });
    assert!(store.read("corp").unwrap().is_none());
}

#[test]
fn what_was_removed_by_hand_during_a_refresh_stays_removed() {
    let (server, folder, store) = ended();
    server.hold(true);
    let mock = Mock::start(says(1));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| asked(&mock, &store, "corp"));
        until(|| server.refreshes() == 1);
        std::fs::remove_file(folder.path().join("keys/corp.json")).unwrap();
        server.hold(false);
        // The call that has begun has its token.
        assert_eq!(run.join().unwrap().unwrap(), "Yes.");
    });
    assert!(store.read("corp").unwrap().is_none());
}

#[cfg(feature = "__bindings")]
#[test]
fn an_abort_and_limits_of_a_stepped_loop_hold_while_a_token_is_had() {
    use crate::CancelToken;
    use crate::host::{ExchangeOptions, HostLoop, Spelling};

    let (server, _folder, store) = ended();
    server.hold(true);
    let runtime = Runtime::builder().key_store(store).build().unwrap();
    let mock = Mock::start(says(1));
    let exchange = |request_timeout_ms: u64| {
        let model = serde_json::json!({ "provider": "corp", "id": "m", "base_url": mock.url() });
        let options = serde_json::json!({ "model": model, "prompt": "Hi.", "request_timeout_ms": request_timeout_ms });
        let mut run = HostLoop::new(options.as_object().cloned().unwrap(), Spelling::Snake).unwrap();
        while run.poll(Clock::real().now_ms()).is_some() {}
        let options = serde_json::json!({ "api_key": "keyring" });
        let options = ExchangeOptions::read(options.as_object().unwrap(), Spelling::Snake).unwrap();
        run.exchange(0, &runtime, options).unwrap()
    };
    let cancel = CancelToken::new();
    let aborted = std::thread::scope(|scope| {
        let sent = scope.spawn(|| runtime.block_on(exchange(0).send(cancel.clone())));
        until(|| server.refreshes() == 1);
        cancel.cancel();
        sent.join().unwrap()
    });
    // The other one waits for the lock, too.
    let late = runtime.block_on(exchange(50).send(CancelToken::new()));
    for done in [aborted, late] {
        assert_eq!((done.status, done.error.as_ref(), done.is_complete), (None, None, false), "{done:?}");
    }
    assert!(!mock.was_asked());
    server.hold(false);
}

#[test]
fn a_token_that_is_still_good_is_used_when_its_server_is_down() {
    let (server, _folder, store) = ended();
    let mut old = tokens(&store.read("corp").unwrap().unwrap().credential);
    old.expires_at_ms = Some(Clock::real().now_ms() + 40_000);
    store.write("corp", &Credential::Tokens(old)).unwrap();
    server.break_down(Some("503 Service Unavailable"));
    let (mock, asked) = (Mock::start(says(3)), server.asked());
    let runtime = Runtime::builder().key_store(store).build().unwrap();
    let agent = Agent::builder("corp/m").api_key("keyring").base_url(&mock.url()).runtime(&runtime).build().unwrap();
    for _ in 0..3 {
        assert_eq!(runtime.block_on(agent.prompt("Hi.").into_future()).unwrap().text, "Yes.");
    }
    assert_eq!(authorization(&mock), ["Bearer access-secret-1"; 3]);
    // Not at each call.
    assert_eq!(server.asked() - asked, 1);
}

#[test]
fn calls_that_waited_for_a_refresh_fail_with_it() {
    let (server, _folder, store) = ended();
    server.break_down(Some("503 Service Unavailable"));
    let asked = server.asked();
    let runtime = Runtime::new().unwrap();
    let (access, client, network) =
        (crate::credentials::Access::new(Some(store)), runtime.connections().client(), Arc::default());
    let get = || async { access.get("corp", client, &network, 1000).await.map(drop).unwrap_err() };
    // They begin one after the other, before the first one has an answer.
    let (first, second, third) = runtime.block_on(async { tokio::join!(get(), get(), get()) });
    for error in [&first, &second, &third] {
        assert_eq!(
            (error.kind(), error.http_status(), error.is_retryable()),
            (ErrorKind::Overloaded, Some(503), true),
            "{error}"
        );
        let text = "the sign-in to corp cannot be refreshed: 127.0.0.1 does not sign in now (HTTP 503)";
        assert_eq!(error.message(), text);
    }
    assert_eq!(server.asked() - asked, 1);
    // A later one tries it again.
    server.break_down(Some("404 Not Found"));
    let error = runtime.block_on(get());
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Protocol, false));
    assert!(
        error.message().ends_with("the answer of 127.0.0.1 (HTTP 404) is not one of OAuth; is its address right?"),
        "{error}"
    );
    assert_eq!(server.asked() - asked, 2);
}
