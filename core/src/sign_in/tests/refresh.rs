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
