//! Where credentials are, and what is left of them.

use super::*;

/// The names of the files in a folder, in order.
fn names(folder: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_store_says_what_it_has_and_removes_all_of_it() {
    let (folder, store) = files();
    assert!(store.providers().unwrap().is_empty() && !store.remove("openai").unwrap());
    for provider in ["openai", "anthropic"] {
        store.write(provider, &Credential::key("sk-1234567890")).unwrap();
    }
    // As a process leaves it that was killed while it wrote.
    std::fs::write(folder.path().join("keys/openai.json.123.0.456"), "sk-1234567890").unwrap();
    assert_eq!(store.providers().unwrap(), ["anthropic", "openai"]);
    assert!(store.remove("openai").unwrap() && store.remove("anthropic").unwrap());
    // Another process may hold or want the locks.
    assert!(names(&folder.path().join("keys")).iter().all(|name| name.ends_with(".lock")));
    assert!(store.providers().unwrap().is_empty());
}

/// A store whose keyring does not answer: without a bus for the service. `None` where there may be one.
fn without_keyring(keyring: Keyring) -> Option<(TempDir, KeyStore)> {
    let may_answer = std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some() || !cfg!(target_os = "linux");
    let folder = tempfile::tempdir().unwrap();
    let store = KeyStore::new(folder.path(), keyring);
    (!may_answer || !cfg!(feature = "keyring")).then_some((folder, store))
}

#[test]
fn a_login_that_fails_leaves_nothing_that_counts_as_stored() {
    let Some((folder, store)) = without_keyring(Keyring::System) else { return };
    let error = store.write("openai", &Credential::key("sk-1234567890")).unwrap_err();
    assert!(error.message().starts_with("the system's keyring: "), "{error}");
    for keyring in [Keyring::System, Keyring::Auto, Keyring::File] {
        assert!(KeyStore::new(folder.path(), keyring).providers().unwrap().is_empty(), "{keyring:?}");
    }
    let auto = KeyStore::new(folder.path(), Keyring::Auto);
    assert!(auto.read("openai").unwrap().is_none() && !auto.remove("openai").unwrap());
}

#[test]
fn what_is_in_a_keyring_that_is_gone_is_not_taken_for_nothing() {
    let Some((folder, store)) = without_keyring(Keyring::Auto) else { return };
    assert!(store.read("openai").unwrap().is_none());
    // As a login with a keyring leaves it.
    std::fs::write(folder.path().join("openai.keyring"), "").unwrap();
    assert_eq!(store.providers().unwrap(), ["openai"]);
    let error = store.read("openai").unwrap_err();
    assert!(error.message().contains("openai is in the system's keyring, which this program cannot read: "), "{error}");
    assert!(error.message().contains("AGENT_KEYRING=file agent auth login openai"), "{error}");

    // A new one is in a file.
    assert!(matches!(store.write("openai", &Credential::key("k")).unwrap(), Place::File(_)));
    assert!(store.read("openai").unwrap().is_some());
    // It goes, and the older one has to be named.
    let error = store.remove("openai").unwrap_err();
    assert!(error.message().contains("openai in the system's keyring is still there, this program cannot reach it: "), "{error}");
    assert_eq!(names(folder.path()), ["openai.keyring", "openai.lock"]);
}

#[test]
fn without_the_keyring_its_entries_are_left_alone() {
    let (folder, store) = files();
    let keys = folder.path().join("keys");
    store.write("openai", &Credential::key("sk-1234567890")).unwrap();
    std::fs::write(keys.join("openai.keyring"), "").unwrap();
    std::fs::write(keys.join("groq.keyring"), "").unwrap();
    assert_eq!(store.providers().unwrap(), ["openai"]);
    assert!(store.remove("openai").unwrap() && !store.remove("groq").unwrap());
    // Where the secrets are is still known.
    assert_eq!(KeyStore::new(&keys, Keyring::System).providers().unwrap(), ["groq", "openai"]);
}
