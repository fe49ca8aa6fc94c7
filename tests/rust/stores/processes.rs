//! Other processes that use a store: killed, without rights, without room.
//!
//! A child is this test program, with one test to run: [`child`], which does what its environment says.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use agent_loop::ErrorKind;
use agent_loop::session::{JournalRecord, OpenSession, Store};

use crate::place::{Kind, Place, opened, run, said, texts};

const WHAT: &str = "AGENT_LOOP_TEST_CHILD";
const ADDRESS: &str = "AGENT_LOOP_TEST_STORE";
/// How long a killed process keeps a session, where nobody sees that it has ended.
const LEASE_MS: u64 = 300;

/// Text that makes a record of some pages, of one, or of a part of one.
fn text(n: u64) -> String {
    format!("{n} {}", "x".repeat(usize::try_from(n * 7919 % 6_000).unwrap()))
}

/// Run by [`Place::child`] in another process.
#[test]
fn child() {
    let Ok(what) = std::env::var(WHAT) else { return };
    let address = std::env::var(ADDRESS).unwrap();
    run(async {
        let store = match Store::builder(address).lease_ms(LEASE_MS).open() {
            Ok(store) => store,
            Err(error) => return println!("\nrefused {} {error}", error.kind().as_str()),
        };
        let session = store.session("s").unwrap();
        if what == "read" {
            return match session.records(0, 10).await {
                Ok(records) => println!("\nread {}", records.len()),
                Err(error) => println!("\nrefused {} {error}", error.kind().as_str()),
            };
        }
        let session = match session.open().await {
            Ok(session) => session,
            Err(error) => return println!("\nrefused {} {error}", error.kind().as_str()),
        };
        // The test runner has begun a line.
        println!("\nlast {}", session.last());
        if what == "hold" {
            std::future::pending::<()>().await;
        }
        loop {
            let n = session.last();
            // One, two or three at once.
            let records: Vec<JournalRecord> = (n..n + 1 + n % 3).map(|n| said(text(n))).collect();
            match session.append(records).await {
                Ok(last) => println!("written {last}"),
                Err(error) => return println!("failed {} {error}", error.kind().as_str()),
            }
        }
    });
}

impl Place {
    fn command(&self, what: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        self.prepare(&mut command, what);
        command
    }

    fn prepare(&self, command: &mut Command, what: &str) {
        command.args(["--exact", "processes::child", "--nocapture", "--test-threads=1"]);
        command.env(WHAT, what).env(ADDRESS, self.address()).stdout(Stdio::piped()).stderr(Stdio::null());
    }
}

/// The child's lines that are for us: a word, and the rest.
fn lines(child: &mut Child) -> impl Iterator<Item = (String, String)> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.filter_map(|line| {
        let (word, rest) = line.split_once(' ')?;
        ["last", "written", "failed", "refused", "read"].contains(&word).then(|| (word.to_owned(), rest.to_owned()))
    })
}

#[test]
fn an_append_does_not_wait_for_another_process_where_it_is_made() {
    let place = Place::new(Kind::Sqlite);
    run(async {
        let (session, _) = opened(&place.store(), "s").await;
        let other = rusqlite::Connection::open(place.path()).unwrap();
        for n in 0..3 {
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            let (first, second) = (session.append(vec![said(format!("{n}.1"))]), session.append(vec![said(format!("{n}.2"))]));
            // If the append waited here, it would wait for this.
            other.execute_batch("COMMIT").unwrap();
            assert_eq!((first.await.unwrap(), second.await.unwrap()), (n * 2 + 2, n * 2 + 3));
        }
        session.close().await.unwrap();
        assert_eq!(opened(&place.store(), "s").await.1, ["0.1", "0.2", "1.1", "1.2", "2.1", "2.2"]);
    });
}

/// The session has all that was acknowledged, each record as it was written, and can be written to at once.
async fn check(place: &Place, acknowledged: u64) -> u64 {
    let session = opened_at_last(place).await;
    let (last, texts) = (session.last(), texts(&session.rebuilt()));
    assert!(last >= acknowledged, "{last} of {acknowledged} records are there");
    assert_eq!(texts.len() as u64, last - 1);
    for (n, found) in (1..).zip(&texts) {
        assert!(*found == text(n), "record {}", n + 1);
    }
    session.close().await.unwrap();
    last
}

/// Opens the session: at once, but for a Postgres server, which does not see which of its clients has ended.
async fn opened_at_last(place: &Place) -> OpenSession {
    let store = place.store();
    loop {
        match store.session("s").unwrap().open().await {
            Ok(session) => return session,
            Err(error) => assert!(place.is_server() && error.kind() == ErrorKind::Busy, "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[test]
fn what_was_acknowledged_outlives_a_kill() {
    [Kind::Sqlite, Kind::Jsonl].into_iter().for_each(kill);
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "make test-servers starts the server"]
fn what_was_acknowledged_outlives_a_kill_with_postgres() {
    kill(Kind::Postgres);
}

fn kill(kind: Kind) {
    let place = Place::new(kind);
    let (mut last, mut torn) = (1, 0);
    for round in 0..25_u64 {
        let mut child = place.command("write").spawn().unwrap();
        let mut lines = lines(&mut child);
        assert_eq!(lines.next().unwrap(), ("last".to_owned(), last.to_string()), "{kind:?}");
        // At another moment each time: after so many writes, and a bit later.
        let written: Vec<_> = lines.by_ref().take(usize::try_from(round * 5 % 40).unwrap()).collect();
        for _ in 0..round * 7_919 % 40_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it has said meanwhile counts, too.
        let said = written.into_iter().chain(lines).filter(|(word, _)| word == "written");
        let acknowledged = said.filter_map(|(_, seq)| seq.parse().ok()).max().unwrap_or(last);
        if kind == Kind::Jsonl {
            torn += u64::from(!std::fs::read(place.path().join("s.jsonl")).unwrap().ends_with(b"\n"));
        }
        // At once: the killed process holds nothing.
        last = run(check(&place, acknowledged));
    }
    println!("{kind:?}: 25 kills, {last} records, {torn} torn ends");
    assert!(last > 100);
}

#[test]
fn another_process_is_the_one_writer_until_it_ends() {
    for kind in [Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        let mut child = place.command("hold").spawn().unwrap();
        assert_eq!(lines(&mut child).next().unwrap().0, "last");
        run(async {
            let store = place.store();
            let error = store.session("s").unwrap().open().await.unwrap_err();
            let holder = format!("process {}", child.id());
            assert!(error.kind() == ErrorKind::Busy && error.message().contains(&holder), "{error}");
            child.kill().unwrap();
            child.wait().unwrap();
            // Without waiting for the end of its lease.
            opened(&store, "s").await.0.close().await.unwrap();
        });
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_says_so() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    for kind in [Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        run(async { opened(&place.store(), "s").await.0.close().await.unwrap() });
        let folder = place.path().parent().unwrap().to_owned();
        let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        // Root may write everywhere: the child is nobody, and runs from a copy that nobody may read.
        let program = tempfile::tempdir().unwrap();
        mode(program.path(), 0o755);
        let copy = program.path().join("child");
        std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        mode(&folder, 0o555);
        if kind == Kind::Jsonl {
            mode(&place.path(), 0o555);
        }
        let said = |what| {
            let mut command = Command::new(&copy);
            place.prepare(&mut command, what);
            if is_root() {
                command.uid(65_534).gid(65_534).current_dir("/");
            }
            let mut child = command.spawn().unwrap();
            let line = lines(&mut child).next().unwrap();
            child.wait().unwrap();
            line
        };
        let (written, read) = (said("write"), said("read"));
        mode(&folder, 0o755);
        let is_refused = |(word, why): &(String, String)| {
            assert_eq!(word, "refused", "{why}");
            assert!(why.starts_with("io ") && why.contains(folder.to_str().unwrap()), "{why}");
            assert!(why.contains("permission") || why.contains("can be written"), "{why}");
        };
        is_refused(&written);
        match kind {
            Kind::Jsonl => assert_eq!(read, ("read".to_owned(), "1".to_owned())),
            // It shares what is read in a file beside its own.
            _ => is_refused(&read),
        }
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_what_was_acknowledged_stays() {
    for kind in [Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        // No file may be longer; the signal for it would end the process.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
        place.prepare(&mut command, "write");
        let mut child = command.spawn().unwrap();
        let lines: Vec<_> = lines(&mut child).collect();
        child.wait().unwrap();
        let (word, why) = lines.last().unwrap();
        assert_eq!(word, "failed", "{why}");
        assert!(why.starts_with("io ") && why.contains(place.path().to_str().unwrap()), "{why}");
        assert!(lines.len() > 20, "{lines:?}");
        let written = lines.iter().filter(|(word, _)| word == "written").filter_map(|(_, seq)| seq.parse().ok());
        run(check(&place, written.max().unwrap()));
    }
}
