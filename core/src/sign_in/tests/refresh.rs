//! Tokens that are replaced while something else happens.

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
