use std::sync::mpsc;

use super::*;

fn run(n: usize) -> Vec<u8> {
    format!("{{\"agent_loop_recording\": {n}}}\n{{\"end\":{{\"lines\":1}}}}\n").into_bytes()
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
            append(&file, &path, &run(2))
        }
    });
    began.recv().unwrap();
    (&other).write_all(b"1}\n{\"end\":{\"lines\":1}}\n").unwrap();
    drop(locked);
    appended.join().unwrap().unwrap();
    assert_eq!(read(&path).unwrap(), [run(1), run(2)].concat());
}

#[test]
fn nothing_follows_a_run_that_a_killed_process_has_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.jsonl");
    let file = open(&path).unwrap();
    let (line, poll) = ("{\"agent_loop_recording\": ", "{\"agent_loop_recording\": 1}\n{\"poll\":{\"at\":1,\"times\":1}}\n");
    // A line may be longer than what is read of the end.
    let long = format!("{poll}{{\"event\":{{\"text\":\"{}\"}}}}\n", "x".repeat(500));
    for (left, within) in [(line, "a line"), (poll, "a run"), (&long, "a run")] {
        std::fs::write(&path, left).unwrap();
        for error in [open(&path).unwrap_err(), append(&file, &path, &run(2)).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Damaged);
            assert!(error.message().contains(&format!("runs.jsonl ends within {within}, and no run")), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), left);
    }
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
