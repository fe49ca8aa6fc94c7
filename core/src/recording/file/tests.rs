use std::sync::mpsc;

use super::*;

fn line(n: usize) -> Vec<u8> {
    format!("{{\"agent_loop_recording\": {n}}}\n").into_bytes()
}

#[test]
fn a_run_starts_while_another_one_is_appended_and_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.jsonl");
    let other = open(&path).unwrap();
    let locked = FileLock::exclusive(&other, LOCKED).unwrap();
    (&other).write_all(b"{\"agent_loop_recording\": ").unwrap();

    let file = open(&path).unwrap();
    let (begins, began) = mpsc::channel();
    let appended = std::thread::spawn({
        let path = path.clone();
        move || {
            begins.send(()).unwrap();
            append(&file, &path, &line(2))
        }
    });
    began.recv().unwrap();
    (&other).write_all(b"1}\n").unwrap();
    drop(locked);
    appended.join().unwrap().unwrap();
    assert_eq!(read(&path).unwrap(), [line(1), line(2)].concat());
}

#[test]
fn nothing_follows_a_line_that_a_killed_process_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.jsonl");
    let file = open(&path).unwrap();
    std::fs::write(&path, b"{\"agent_loop_recording\": ").unwrap();
    for error in [open(&path).unwrap_err(), append(&file, &path, &line(2)).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.message().contains("runs.jsonl ends within a line"), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"{\"agent_loop_recording\": ");
}

#[test]
fn a_lock_that_is_never_given_back_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.jsonl");
    let (one, other) = (open(&path).unwrap(), open(&path).unwrap());
    let _locked = FileLock::exclusive(&one, LOCKED).unwrap();
    let error = lock(&other, FileLock::exclusive, Duration::ZERO).err();
    assert_eq!(error.map(|error| error.kind()), Some(IoErrorKind::TimedOut));
}

#[test]
fn found_runs_of_a_process_wait_for_each_other_where_the_file_system_has_no_locks() {
    let folder = tempfile::tempdir().unwrap();
    let file = open(&folder.path().join("runs.jsonl")).unwrap();
    let without_locks = |_, _| Err(IoErrorKind::Unsupported.into());
    let first = lock(&file, without_locks, Duration::ZERO).unwrap();
    assert!(first.is_some());
    assert_eq!(lock(&file, without_locks, Duration::ZERO).err().map(|error| error.kind()), Some(IoErrorKind::TimedOut));
    drop(first);
    assert!(lock(&file, without_locks, Duration::ZERO).unwrap().is_some());
}
