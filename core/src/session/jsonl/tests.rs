use std::fs::File;

use tempfile::TempDir;

use super::*;
use crate::file_lock::FileLock;
use crate::session::jsonl::lease::read_unlocked;

/// A folder of sessions, and those that are opened in it.
fn store(ids: &[&str]) -> (TempDir, Jsonl, Vec<HeldLease>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Jsonl::open(folder.path(), SyncMode::Normal).unwrap();
    let leases = ids.iter().map(|id| acquired(&store, id)).collect();
    (folder, store, leases)
}

fn acquired(store: &Jsonl, id: &str) -> HeldLease {
    let request = Acquire { id: id.to_owned(), holder: "tests".to_owned(), lease_ms: 1_000 };
    HeldLease { id: id.to_owned(), token: store.0.acquire(&request).unwrap().token }
}

/// When the lease of a session ends.
fn ends(folder: &TempDir, id: &str) -> u64 {
    read_unlocked(&folder.path().join(format!("{id}.lease"))).unwrap().expires_ms
}

#[test]
fn found_a_close_leaves_the_files_of_who_has_opened_the_session_since() {
    let (_folder, store, leases) = store(&["s"]);
    let first = store.0.open_files(&leases[0]).unwrap();
    // As a close does it, in which another thread comes between the two steps.
    under_lease(&first, &leases[0], |files, before| files.write_lease(&before.given_back(0))).unwrap();
    let second = acquired(&store, "s");
    store.0.forget("s", &first);
    store.0.append(&second, 1, &["{}".to_owned()]).unwrap();
    store.0.release(&second).unwrap();
    assert!(store.0.open_sessions().is_empty());
}

#[test]
fn found_a_damaged_lease_is_no_other_session_s_end() {
    let (folder, store, leases) = store(&["a", "b"]);
    for lease in &leases {
        store.0.append(lease, 1, &["{}".to_owned()]).unwrap();
    }
    std::fs::write(folder.path().join("a.lease"), "damaged").unwrap();
    let before = ends(&folder, "b");
    assert_eq!(store.0.renew(leases, 600_000).unwrap_err().kind(), ErrorKind::Damaged);
    assert!(ends(&folder, "b") > before + 300_000);

    let listed = store.0.list(&ListQuery::default()).unwrap().sessions;
    let mut holders: Vec<_> = listed.iter().map(|session| (&*session.id, session.holder.as_deref())).collect();
    holders.sort_unstable();
    assert_eq!(holders, [("a", None), ("b", Some("tests"))]);
}

#[test]
fn found_a_locked_lease_does_not_hold_up_the_others() {
    let (folder, store, leases) = store(&["a", "b"]);
    let (before, file) = (ends(&folder, "b"), File::open(folder.path().join("a.lease")).unwrap());
    std::thread::scope(|scope| {
        let locked = FileLock::exclusive(&file, std::time::Duration::ZERO).unwrap();
        let renewed = scope.spawn(|| store.0.renew(leases, 600_000));
        while ends(&folder, "b") == before {
            assert!(!renewed.is_finished(), "it has renewed the others first");
            std::thread::yield_now();
        }
        drop(locked);
        assert_eq!(renewed.join().unwrap().unwrap(), [""; 0]);
    });
    assert!(ends(&folder, "a") > before + 300_000);
}
