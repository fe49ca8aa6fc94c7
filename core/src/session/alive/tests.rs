use super::*;

#[test]
fn a_store_is_alive_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("agents.db-open-");
    let (one, other) = (Alive::new(prefix.clone()), Alive::new(prefix.clone()));
    let name = one.instance().unwrap().to_owned();
    assert!(!other.has_ended(&name) && !one.has_ended(&name) && !one.has_ended(""));
    drop(one);
    assert!(other.has_ended(&name));
    // What a killed process leaves: a file without a lock.
    let left = prefix.with_file_name("agents.db-open-0123456789abcdef");
    std::fs::write(&left, "").unwrap();
    assert!(other.has_ended("0123456789abcdef") && !left.exists());
    // A store that opens removes it, too, and leaves those that live.
    std::fs::write(&left, "").unwrap();
    let lives = other.path(other.instance().unwrap());
    let third = Alive::new(prefix);
    third.instance().unwrap();
    assert!(!left.exists() && lives.exists());
    drop((other, third));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
