//! Stores whose disk becomes full: the error says what to do, what was acknowledged is there, and with room again the session
//! goes on, in the same store.
//!
//! The disk is a small file system: for files one of a child process, for Postgres one of the server. Where none may be mounted,
//! these tests are skipped; `processes` limits the size of files instead.

use agent_loop::ErrorKind;
use agent_loop::session::Store;

use crate::place::{Numbers, opened, run, said};

/// Text that no server makes shorter.
fn text(n: usize) -> String {
    let mut numbers = Numbers(n as u64);
    (0..20_000).map(|_| char::from(b'!' + u8::try_from(numbers.below(94)).unwrap())).collect()
}

/// Writes until the disk is full, then makes room. `named`: what the error says of the place.
async fn fill(store: &Store, named: &str, make_room: impl AsyncFnOnce()) {
    let (session, _) = opened(store, "s").await;
    let mut acknowledged = Vec::new();
    let error = loop {
        let text = text(acknowledged.len());
        match session.append(vec![said(&text)]).await {
            Ok(_) => acknowledged.push(text),
            Err(error) => break error,
        }
    };
    let words = error.message().to_owned();
    assert!(error.kind() == ErrorKind::Io && words.contains(named) && words.contains("make room"), "{words}");
    assert!(acknowledged.len() > 5, "{words}");
    assert_eq!(session.append(vec![said("behind it")]).await.unwrap_err().message(), words);
    // Who reads needs no room.
    let handle = store.session("s").unwrap();
    assert_eq!(handle.records(0, usize::MAX).await.unwrap().len(), acknowledged.len() + 1);
    assert_eq!(handle.salvage().await.unwrap().entries.len(), acknowledged.len() + 1);
    assert_eq!(session.close().await.unwrap_err().message(), words);
    // Whether it can be opened is a matter of a few bytes.
    match handle.open().await {
        Ok(open) => drop(open.close().await),
        Err(error) => assert!(error.kind() == ErrorKind::Io && error.message().contains("make room"), "{error}"),
    }

    make_room().await;
    // Not only when a lease has ended that could not be given back.
    let (session, texts) = opened(store, "s").await;
    assert!(texts == acknowledged, "{} of {} records", texts.len(), acknowledged.len());
    session.append(vec![said("and then")]).await.unwrap();
    session.close().await.unwrap();
    println!("\n{named}: {} records were acknowledged before the disk was full", acknowledged.len());
}

#[cfg(target_os = "linux")]
mod files {
    use std::ffi::OsStr;
    use std::path::Path;
    use std::process::Command;

    use agent_loop::session::Store;

    use super::{fill, run};

    const FOLDER: &str = "AGENT_LOOP_TEST_FULL_DISK";

    /// Run by [`full`] in another process, which has the small file system.
    #[test]
    fn child() {
        let Ok(folder) = std::env::var(FOLDER) else { return };
        for address in [format!("sqlite:{folder}/agents.db"), format!("jsonl:{folder}/sessions")] {
            // Each has the half of it.
            let ballast = Path::new(&folder).join("ballast");
            std::fs::write(&ballast, vec![1; 1 << 19]).unwrap();
            run(async {
                let store = Store::open(&address).unwrap();
                fill(&store, &folder, async || std::fs::remove_file(&ballast).unwrap()).await;
                store.session("s").unwrap().delete().await.unwrap();
            });
            std::fs::remove_file(Path::new(&folder).join("agents.db")).unwrap_or_default();
        }
    }

    #[test]
    fn a_full_disk_says_so_and_with_room_again_the_session_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let with_small_disk = |program: &OsStr| {
            let mut command = Command::new("unshare");
            let mount = "mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\"";
            command.args(["--map-root-user", "--mount", "sh", "-c", mount]).arg(folder.path()).arg(program);
            command
        };
        if !with_small_disk(OsStr::new("true")).output().is_ok_and(|mounted| mounted.status.success()) {
            return println!("skipped: no file system can be mounted here");
        }
        let mut child = with_small_disk(std::env::current_exe().unwrap().as_os_str());
        child.args(["--exact", "full_disk::files::child", "--nocapture", "--test-threads=1"]).env(FOLDER, folder.path());
        let output = child.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
        let counts: Vec<&str> = printed.lines().filter(|line| line.contains("acknowledged before")).collect();
        assert_eq!(counts.len(), 2, "{printed}");
        println!("{}", counts.join("\n"));
    }
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "make test-servers starts the server"]
fn a_full_disk_of_a_postgres_server_says_so_and_with_room_again_the_session_goes_on() {
    use crate::place::{Kind, Place};
    use crate::postgres_faults::beside;

    let Ok(small) = std::env::var("AGENT_POSTGRES_SMALL") else {
        return println!("skipped: no file system could be mounted for the server");
    };
    let place = Place::new(Kind::Postgres);
    run(async {
        let client = beside(&place).await;
        client.batch_execute(&format!("CREATE TABLESPACE small LOCATION '{small}'")).await.unwrap();
        let ballast = "CREATE TABLE ballast TABLESPACE small AS SELECT md5(n::text) FROM generate_series(1, 200000) AS n";
        client.batch_execute(ballast).await.unwrap();
        let address = place.address().replace("options=", "options=-c%20default_tablespace%3Dsmall%20");
        let store = Store::open(&address).unwrap();
        fill(&store, "the Postgres store", async || client.batch_execute("DROP TABLE ballast").await.unwrap()).await;
    });
}
