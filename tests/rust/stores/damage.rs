//! Stores that were damaged, cut, or written by a newer version.

use std::path::PathBuf;

use agent_loop::ErrorKind;
use agent_loop::session::{Info, ListQuery, Store, encode};

use crate::place::{Kind, Place, opened, run, said};

/// A session "s" with a first record and these texts.
pub(crate) async fn written(place: &Place, texts: &[&str]) {
    let (session, _) = opened(&place.store(), "s").await;
    session.append(texts.iter().map(|text| said(*text)).collect()).await.unwrap();
    session.close().await.unwrap();
}

pub(crate) fn journal(place: &Place) -> PathBuf {
    place.path().join("s.jsonl")
}

/// Does something to the line of a record: in the file, or in the table.
fn change(place: &Place, kind: Kind, seq: usize, change: impl FnOnce(&mut Vec<u8>)) {
    if kind == Kind::Jsonl {
        let text = std::fs::read(journal(place)).unwrap();
        let mut lines: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        change(&mut lines[seq - 1]);
        return std::fs::write(journal(place), lines.concat()).unwrap();
    }
    let database = rusqlite::Connection::open(place.path()).unwrap();
    let select = "SELECT place, line FROM records ORDER BY place LIMIT 1 OFFSET ?1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get_ref(1)?.as_bytes().unwrap().to_vec()));
    let (at, mut line) = database.query_row(select, [i64::try_from(seq).unwrap() - 1], row).unwrap();
    change(&mut line);
    database.execute("UPDATE records SET line = ?2 WHERE place = ?1", rusqlite::params![at, line]).unwrap();
}

#[test]
fn a_damaged_record_is_an_error_that_names_it_and_those_before_it_are_salvaged() {
    for kind in [Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        run(async {
            written(&place, &["a", "b", "c", "d"]).await;
            change(&place, kind, 4, |line| line[40] ^= 1);
            let store = place.store();
            let session = store.session("s").unwrap();
            for _ in 0..2 {
                let error = session.open().await.unwrap_err();
                let text = error.message();
                assert_eq!(error.kind(), ErrorKind::Damaged);
                assert!(text.contains("\"s\"") && text.contains("record 4") && text.contains("checksum"), "{text}");
                assert!(text.contains(place.path().to_str().unwrap()) && text.contains("salvage gives the 3 records"), "{text}");
            }
            assert_eq!(session.export().await.unwrap_err().kind(), ErrorKind::Damaged);
            assert_eq!(session.records(0, 10).await.unwrap_err().kind(), ErrorKind::Damaged);
            assert_eq!(session.records(0, 3).await.unwrap().len(), 3);

            let salvaged = session.salvage().await.unwrap();
            assert_eq!(salvaged.entries.len(), 3);
            assert!(salvaged.damage.unwrap().contains("record 4"));
            store.import(&salvaged.text, Some("saved")).await.unwrap();
            assert_eq!(opened(&store, "saved").await.1, ["a", "b"]);
        });
    }
}

#[test]
fn a_missing_record_is_damage() {
    let (sqlite, jsonl) = (Place::new(Kind::Sqlite), Place::new(Kind::Jsonl));
    run(async {
        written(&sqlite, &["a", "b", "c"]).await;
        let database = rusqlite::Connection::open(sqlite.path()).unwrap();
        database.execute("DELETE FROM records WHERE line LIKE '%\"seq\":3%'", []).unwrap();
        written(&jsonl, &["a", "b", "c"]).await;
        change(&jsonl, Kind::Jsonl, 3, Vec::clear);
        for place in [&sqlite, &jsonl] {
            let error = place.store().session("s").unwrap().open().await.unwrap_err();
            assert!(error.kind() == ErrorKind::Damaged && error.message().contains("record 3"), "{error}");
            assert_eq!(place.store().session("s").unwrap().salvage().await.unwrap().entries.len(), 2);
        }
    });
}

#[test]
fn an_sqlite_file_whose_pages_are_damaged_is_an_error_or_still_right() {
    // Each time the same pages: a page of zeros, one after the other.
    let place = Place::new(Kind::Sqlite);
    let long = "x".repeat(900);
    let texts: Vec<String> = (0..60).map(|n| format!("{n} {long}")).collect();
    run(async {
        written(&place, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let database = rusqlite::Connection::open(place.path()).unwrap();
        database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(database);
        let whole = std::fs::read(place.path()).unwrap();
        let (mut refused, mut salvaged_some) = (0, 0);
        for page in 0..whole.len() / 4096 {
            let damaged = Place::new(Kind::Sqlite);
            let mut bytes = whole.clone();
            bytes[page * 4096..(page + 1) * 4096].fill(0);
            std::fs::write(damaged.path(), bytes).unwrap();
            let Ok(store) = Store::open(&damaged.address()) else {
                refused += 1;
                continue;
            };
            let session = store.session("s").unwrap();
            match session.open().await {
                // A table that is empty now has no such session: a new one.
                Ok(open) => assert!(open.last() == 1 || open.rebuilt().messages.len() == texts.len(), "page {page}"),
                Err(error) => {
                    assert!(error.kind() == ErrorKind::Damaged, "{error}");
                    refused += 1;
                    if let Ok(salvaged) = session.salvage().await {
                        let messages = salvaged.entries.len().saturating_sub(1);
                        assert!(messages <= texts.len());
                        salvaged_some += usize::from(messages > 0);
                    }
                }
            }
        }
        assert!(refused > 5 && salvaged_some > 2, "{refused} refused, {salvaged_some} salvaged in part");
    });
}

#[test]
fn a_torn_end_is_removed_with_a_diagnostic() {
    let place = Place::new(Kind::Jsonl);
    run(async {
        written(&place, &["a", "b"]).await;
        let whole = std::fs::read(journal(&place)).unwrap();
        let half = encode(4, 0, &said("half of it")).unwrap();
        for length in [1, half.len() / 2, half.len() - 1] {
            let mut text = whole.clone();
            text.extend_from_slice(&half.as_bytes()[..length]);
            std::fs::write(journal(&place), text).unwrap();
            // Who reads without the right to write sees what is whole, and changes nothing.
            assert_eq!(place.store().session("s").unwrap().records(0, 10).await.unwrap().len(), 3);
            let (session, texts) = opened(&place.store(), "s").await;
            assert_eq!(texts, ["a", "b"]);
            let [diagnostic] = session.diagnostics() else { panic!("{:?}", session.diagnostics()) };
            assert_eq!((diagnostic.code, &diagnostic.data["bytes"]), ("journal_torn", &length.into()));
            assert!(diagnostic.message.contains(&format!("{length} bytes")), "{}", diagnostic.message);
            session.close().await.unwrap();
            assert_eq!(std::fs::read(journal(&place)).unwrap(), whole);
        }
        // A record that lacks only its line end is whole.
        std::fs::write(journal(&place), [&whole, half.as_bytes()].concat()).unwrap();
        let (session, texts) = opened(&place.store(), "s").await;
        assert_eq!((texts.len(), session.diagnostics().len()), (3, 0));
        session.append(vec![said("d")]).await.unwrap();
        session.close().await.unwrap();
        assert_eq!(opened(&place.store(), "s").await.1, ["a", "b", "half of it", "d"]);
    });
}

#[test]
fn records_that_are_missing_at_the_end_of_a_closed_session_are_damage() {
    for kind in [Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        run(async {
            written(&place, &["a", "b", "c"]).await;
            match kind {
                Kind::Jsonl => {
                    let text = std::fs::read_to_string(journal(&place)).unwrap();
                    let lines: Vec<&str> = text.split_inclusive('\n').collect();
                    std::fs::write(journal(&place), lines[..2].concat()).unwrap();
                }
                _ => {
                    let database = rusqlite::Connection::open(place.path()).unwrap();
                    database.execute("DELETE FROM records WHERE line LIKE '%\"seq\":3%' OR line LIKE '%\"seq\":4%'", []).unwrap();
                }
            }
            let store = place.store();
            let session = store.session("s").unwrap();
            for _ in 0..2 {
                let error = session.open().await.unwrap_err();
                let says = error.message().contains("its records from 3 on are missing, of 4 that it had");
                assert!(error.kind() == ErrorKind::Damaged && says, "{error}");
            }
            // Whoever reads gets the same, and not only what is there.
            for error in [
                session.records(0, 100).await.unwrap_err(),
                session.records(3, 100).await.unwrap_err(),
                session.export().await.unwrap_err(),
                session.fork(None, "f").await.unwrap_err(),
                session.set_info(Info::default()).await.unwrap_err(),
                session.follow(2).next().await.unwrap_err(),
            ] {
                let says = error.message().contains("are missing, of 4 that it had");
                assert!(error.kind() == ErrorKind::Damaged && says, "{error}");
            }
            assert_eq!(session.records(0, 2).await.unwrap().len(), 2);
            let salvaged = session.salvage().await.unwrap();
            assert_eq!(salvaged.entries.len(), 2);
            assert!(salvaged.damage.unwrap().contains("from 3 on are missing"));
            // What is there is a session under another id, or under the same one once this is deleted.
            let text = session.salvage().await.unwrap().text;
            store.import(&text, Some("t")).await.unwrap();
            session.delete().await.unwrap();
            store.import(&text, None).await.unwrap();
            for id in ["s", "t"] {
                assert_eq!(opened(&store, id).await.1, ["a"]);
            }
        });
    }
}

#[test]
fn damaged_title_and_metadata_are_those_of_the_journal() {
    let place = Place::new(Kind::Jsonl);
    run(async {
        let store = place.store();
        let (session, _) = opened(&store, "s").await;
        session.set_info(Info::default().title("A title")).await.unwrap();
        session.close().await.unwrap();
        std::fs::write(place.path().join("s.info"), "{\"title\":\"A ti").unwrap();
        assert_eq!(store.list(ListQuery::default()).await.unwrap().sessions[0].title.as_deref(), Some("A title"));
    });
}

#[test]
fn a_session_of_a_newer_version_is_refused_and_left_alone() {
    for kind in [Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        run(async {
            written(&place, &["a"]).await;
            change(&place, kind, 1, |line| *line = of_version_7(str::from_utf8(line).unwrap()).into_bytes());
            let store = place.store();
            let session = store.session("s").unwrap();
            let error = session.open().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NewerVersion);
            assert!(error.message().contains("version 7") && error.message().contains("update agent-loop"), "{error}");
            // A follower that begins later finds it out, too.
            assert_eq!(session.follow(1).next().await.unwrap_err().kind(), ErrorKind::NewerVersion);
            assert_eq!(session.salvage().await.unwrap().entries, []);
        });
    }
}

#[test]
fn tables_of_a_newer_version_are_refused() {
    let place = Place::new(Kind::Sqlite);
    drop(place.store());
    rusqlite::Connection::open(place.path()).unwrap().pragma_update(None, "user_version", 9).unwrap();
    let error = Store::open(&place.address()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerVersion);
    assert!(error.message().contains("version 9") && error.message().contains("update agent-loop"), "{error}");
}

#[test]
fn what_is_no_store_is_refused() {
    let place = Place::new(Kind::Sqlite);
    std::fs::write(place.path(), "This is a letter and no database. ".repeat(200)).unwrap();
    let error = Store::open(&place.address()).unwrap_err();
    assert!(error.kind() == ErrorKind::Damaged && error.message().contains("no store of sessions"), "{error}");
    // Another program's tables are left as they are, whatever their version.
    for version in [0, 1, 7] {
        let place = Place::new(Kind::Sqlite);
        let other = rusqlite::Connection::open(place.path()).unwrap();
        other.execute_batch(&format!("CREATE TABLE visits (page TEXT); PRAGMA user_version = {version}")).unwrap();
        drop(other);
        let before = std::fs::read(place.path()).unwrap();
        let error = Store::open(&place.address()).unwrap_err();
        assert!(error.kind() == ErrorKind::Damaged && error.message().contains("no store of sessions"), "{error}");
        assert_eq!(std::fs::read(place.path()).unwrap(), before);
    }
    let error = Store::open(&format!("jsonl:{}", place.path().display())).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.message().contains("cannot be made"), "{error}");
    let nowhere = place.path().join("there/agents.db");
    let error = Store::open(nowhere.to_str().unwrap()).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.message().contains("folder"), "{error}");
    for wrong in ["", "sqlite:", "jsonl:", "mysql://localhost/db"] {
        assert_eq!(Store::open(wrong).unwrap_err().kind(), ErrorKind::InvalidArgument, "{wrong}");
    }
}

#[test]
fn a_lease_file_that_cannot_be_read_says_what_to_do() {
    let place = Place::new(Kind::Jsonl);
    run(async {
        written(&place, &["a"]).await;
        let lease = place.path().join("s.lease");
        let whole = std::fs::read(&lease).unwrap();
        for at in [0, 12, 300, 505] {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&lease, changed).unwrap();
            let error = place.store().session("s").unwrap().open().await.unwrap_err();
            assert!(error.kind() == ErrorKind::Damaged && error.message().contains("delete it"), "{error}");
        }
        // A machine that loses power may leave a file whose text was never written.
        for lost in [vec![0; 512], Vec::new()] {
            std::fs::write(&lease, lost).unwrap();
            let (session, texts) = opened(&place.store(), "s").await;
            assert_eq!(texts, ["a"]);
            session.close().await.unwrap();
        }
        std::fs::remove_file(lease).unwrap();
        assert_eq!(opened(&place.store(), "s").await.1, ["a"]);
    });
}

/// The first line of a journal, as a newer version would have written it.
pub(crate) fn of_version_7(line: &str) -> String {
    let end = if line.ends_with('\n') { "\n" } else { "" };
    let body = line.split(",\"crc\"").next().unwrap().replace("\"version\":1", "\"version\":7");
    format!("{body},\"crc\":\"{:08x}\"}}{end}", crc32(body.as_bytes()))
}

/// The checksum by its definition.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
