//! Keys in a real Secret Service: `tests/keyring/with_server.py` runs one, on a bus of its own.

use agent_mock::{Answer, Mock, Script, Speech};

use super::*;

const KEY: &str = "sk-test-1234567890";

/// The program with the bus of the tests.
fn call(place: &Place, keyring: &str, arguments: &[&str], input: &str) -> Called {
    let mut command = place.command(arguments);
    for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"] {
        command.env(name, std::env::var_os(name).unwrap_or_else(|| panic!("{name}: run tests/keyring/with_server.py")));
    }
    command.env("AGENT_KEYRING", keyring).stdin(Stdio::piped());
    let called = called(command, input);
    assert!(!format!("{called:?}").contains(KEY), "{called:?}");
    called
}

/// Everything in the folder of keys.
fn files(place: &Place) -> String {
    let Ok(entries) = std::fs::read_dir(place.path("home/.credentials")) else { return String::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names.join(" ")
}

#[test]
#[ignore = "needs a Secret Service"]
fn a_key_is_in_the_keyring_and_used() {
    for keyring in ["auto", "system"] {
        let place = Place::new();
        let login = call(&place, keyring, &["auth", "login", "groq"], KEY);
        assert_eq!((login.code, login.err.as_str()), (0, "groq: stored in the system's keyring\n"), "{login:?}");
        assert_eq!(files(&place), "groq.keyring groq.lock");
        let status = call(&place, keyring, &["auth", "status"], "");
        assert!(status.out.contains("key in the system's keyring\nkeys are stored in the system's keyring\n"), "{status:?}");
        let status = call(&place, keyring, &["auth", "status", "--json"], "");
        assert_eq!(lines(&status.out)[0], json!({ "provider": "groq", "stored_in": "keyring", "kind": "key" }));

        let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
        let ran = call(&place, keyring, &["-m", "groq/m", "--base-url", &mock.url(), "--verbose", "Hi"], "");
        assert_eq!((ran.code, ran.out.as_str()), (0, "Yes.\n"), "{ran:?}");
        assert_eq!(mock.requests()[0].headers["authorization"], format!("Bearer {KEY}"));

        assert!(call(&place, keyring, &["auth", "logout", "groq"], "").err.contains("is removed"));
        assert_eq!(files(&place), "groq.lock");
        let status = call(&place, keyring, &["auth", "status", "groq"], "");
        assert_eq!(status.code, 1, "{status:?}");
    }
}

#[test]
#[ignore = "needs a Secret Service"]
fn a_key_moves_from_its_file_into_the_keyring() {
    let place = Place::new();
    call(&place, "file", &["auth", "login", "cerebras"], KEY);
    assert_eq!(files(&place), "cerebras.json cerebras.lock");
    assert!(call(&place, "auto", &["auth", "status"], "").out.contains("cerebras.json"));
    call(&place, "auto", &["auth", "login", "cerebras"], "sk-other-1234567890");
    assert_eq!(files(&place), "cerebras.keyring cerebras.lock");
    assert!(call(&place, "auto", &["auth", "status"], "").out.contains("key in the system's keyring"));
    call(&place, "auto", &["auth", "logout", "cerebras"], "");
}

#[test]
#[ignore = "needs a Secret Service"]
fn files_alone_leave_the_keyring_as_it_is() {
    let place = Place::new();
    call(&place, "auto", &["auth", "login", "deepseek"], KEY);
    call(&place, "file", &["auth", "logout", "deepseek"], "");
    assert!(call(&place, "auto", &["auth", "status"], "").out.contains("key in the system's keyring"));
    call(&place, "auto", &["auth", "logout", "deepseek"], "");
    assert_eq!(files(&place), "deepseek.lock");
}

#[test]
#[ignore = "needs a Secret Service"]
fn a_newer_key_in_a_file_is_used() {
    let place = Place::new();
    call(&place, "auto", &["auth", "login", "fireworks"], "sk-older-1234567890");
    call(&place, "file", &["auth", "login", "fireworks"], KEY);
    assert!(call(&place, "auto", &["auth", "status"], "").out.contains("fireworks.json"));
    let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
    let ran = call(&place, "auto", &["-m", "fireworks/m", "--base-url", &mock.url(), "Hi"], "");
    assert_eq!((ran.code, mock.requests()[0].headers["authorization"].as_str()), (0, "Bearer sk-test-1234567890"), "{ran:?}");
    // Both go.
    call(&place, "auto", &["auth", "logout", "fireworks"], "");
    assert_eq!(files(&place), "fireworks.lock");
}
