//! A Postgres server that ends connections, refuses rights, has lost a table, or has records that were changed.

use std::task::Poll;
use std::time::Duration;

use agent_loop::session::{ListQuery, OpenSession, Store, SyncMode};
use agent_loop::{Error, ErrorKind};

use crate::damage::of_version_7;
use crate::place::{Kind, Numbers, Place, opened, run, said};

/// A connection beside those of the store, to the same tables.
pub(crate) async fn beside(place: &Place) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(&place.address(), tokio_postgres::NoTls).await.unwrap();
    drop(tokio::spawn(connection));
    client
}

fn is_io(error: &Error) {
    assert!(error.kind() == ErrorKind::Io && error.message().contains("the Postgres store"), "{error}");
}

#[test]
#[ignore = "make test-servers starts the server"]
fn connections_that_the_server_ends_cost_no_record_that_was_acknowledged() {
    const RECORDS: usize = 300;
    let place = Place::new(Kind::Postgres);
    let address = format!("{}&application_name=cut_{}", place.address(), std::process::id());
    run(async {
        // What ends may be what gives a lease back.
        let store = Store::builder(&*address).lease_ms(1_000).open().unwrap();
        let open = async || loop {
            match store.session("s").unwrap().open().await {
                Ok(session) => return session,
                // The lease of a session that has failed is given back in the background.
                Err(error) if error.kind() == ErrorKind::Busy => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => is_io(&error),
            }
        };
        let mut session: OpenSession = open().await;
        let follower = tokio::spawn({
            let store = store.clone();
            async move {
                let mut seen = Vec::new();
                let mut records = store.session("s").unwrap().follow(0);
                while seen.len() <= RECORDS / 2 {
                    match records.next().await {
                        Ok(entry) => seen.push(entry.seq),
                        Err(error) => {
                            is_io(&error);
                            records = store.session("s").unwrap().follow(seen.len() as u64);
                        }
                    }
                }
                seen
            }
        });
        let client = beside(&place).await;
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
        let name = format!("cut_{}", std::process::id());
        let cut = async || drop(client.query(end, &[&name]).await.unwrap());
        let (mut acknowledged, mut failed) = (Vec::new(), Vec::new());
        for n in 0..RECORDS {
            let appended = session.append(vec![said(n.to_string())]);
            // Before the server has it, while it writes, or behind it.
            let appended = match n % 10 {
                0 => tokio::join!(appended, cut()).0,
                _ => appended.await,
            };
            match appended {
                Ok(_) => acknowledged.push(n.to_string()),
                Err(error) => {
                    is_io(&error);
                    failed.push(n.to_string());
                    // Nothing is written behind a record of which nobody knows whether it is there.
                    assert!(session.append(vec![said("behind it")]).await.is_err());
                    drop(session);
                    session = open().await;
                }
            }
        }
        drop(session);
        drop(open().await);
        let texts = crate::place::texts(&open().await.rebuilt());
        assert!(texts.iter().all(|text| acknowledged.contains(text) || failed.contains(text)), "{texts:?}");
        let there: Vec<&String> = texts.iter().filter(|text| acknowledged.contains(text)).collect();
        assert!(there.into_iter().eq(&acknowledged), "{texts:?}");
        assert!(texts.is_sorted_by_key(|text| text.parse::<usize>().unwrap()), "{texts:?}");
        println!("{} appends were acknowledged, {} failed", acknowledged.len(), failed.len());
        assert!(!failed.is_empty() && !acknowledged.is_empty());
        assert!(follower.await.unwrap().into_iter().eq(1..=RECORDS as u64 / 2 + 1));
    });
}

#[test]
#[ignore = "make test-servers starts the server"]
fn a_role_without_rights_reads_and_is_told_that_it_may_not_write() {
    let (place, empty) = (Place::new(Kind::Postgres), Place::new(Kind::Postgres));
    run(async {
        let (session, _) = opened(&place.store(), "s").await;
        session.append(vec![said("a")]).await.unwrap();
        session.close().await.unwrap();
        let client = beside(&place).await;
        let role = format!("reader_{}", std::process::id());
        let schema: String = client.query_one("SELECT current_schema()::text", &[]).await.unwrap().get(0);
        let grant = format!(
            "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role}; \
             GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}"
        );
        client.batch_execute(&grant).await.unwrap();
        let as_reader = place.address().replace("postgres://postgres@", &format!("postgres://{role}@"));
        // A standby, or a server that is being moved, takes no writes either.
        let standby = place.address().replace("options=", "options=-c%20default_transaction_read_only%3Don%20");
        for (address, why) in [(as_reader, "permission denied"), (standby, "read-only transaction")] {
            let store = Store::open(&address).unwrap();
            let session = store.session("s").unwrap();
            let error = session.open().await.unwrap_err();
            is_io(&error);
            assert!(error.message().contains(why), "{error}");
            assert_eq!(session.records(0, 10).await.unwrap().len(), 2);
            assert_eq!(session.salvage().await.unwrap().entries.len(), 2);
            assert_eq!(store.list(ListQuery::default()).await.unwrap().sessions.len(), 1);
        }
        // Nor does a role that may not make the tables.
        let address = empty.address().replace("postgres://postgres@", &format!("postgres://{role}@"));
        let error = Store::open(&address).unwrap().list(ListQuery::default()).await.unwrap_err();
        is_io(&error);
        assert!(error.message().contains("making the tables"), "{error}");
        client.batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
    });
}

#[test]
#[ignore = "make test-servers starts the server"]
fn a_table_that_was_dropped_is_an_error_and_no_empty_session() {
    let place = Place::new(Kind::Postgres);
    run(async {
        // Its lease cannot be given back, as that looks for the last record.
        let store = place.store_of("tests", 500);
        let (session, _) = opened(&store, "s").await;
        session.append(vec![said("a"), said("b")]).await.unwrap();
        session.close().await.unwrap();
        let (open, _) = opened(&store, "s").await;
        beside(&place).await.batch_execute("DROP TABLE agent_loop_records").await.unwrap();
        let error = open.append(vec![said("c")]).await.unwrap_err();
        is_io(&error);
        assert!(error.message().contains("agent_loop_records"), "{error}");
        is_io(&store.session("s").unwrap().records(0, 10).await.unwrap_err());
        drop(open);
        // Whoever opens the store anew makes the table, and finds out that something was there.
        let again = place.store();
        let error = loop {
            let error = again.session("s").unwrap().open().await.unwrap_err();
            if error.kind() != ErrorKind::Busy {
                break error;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert!(
            error.kind() == ErrorKind::Damaged && error.message().contains("its records from 1 on are missing, of 3"),
            "{error}"
        );
    });
}

#[test]
#[ignore = "make test-servers starts the server"]
fn tables_of_a_newer_version_are_refused() {
    let place = Place::new(Kind::Postgres);
    run(async {
        opened(&place.store(), "s").await.0.close().await.unwrap();
        beside(&place).await.batch_execute("UPDATE agent_loop_version SET version = 9").await.unwrap();
        let error = place.store().session("s").unwrap().open().await.unwrap_err();
        assert!(error.kind() == ErrorKind::NewerVersion && error.message().contains("version 9"), "{error}");
    });
}

#[test]
#[ignore = "make test-servers starts the server"]
fn a_changed_or_missing_record_is_damage_and_those_before_it_are_salvaged() {
    let change = "UPDATE agent_loop_records SET line = replace(line, '\"b\"', '\"z\"') WHERE seq = 3";
    for change in [change, "DELETE FROM agent_loop_records WHERE seq = 3", "DELETE FROM agent_loop_records WHERE seq > 2"] {
        let place = Place::new(Kind::Postgres);
        run(async {
            let store = place.store();
            let (session, _) = opened(&store, "s").await;
            session.append(vec![said("a"), said("b"), said("c")]).await.unwrap();
            session.close().await.unwrap();
            beside(&place).await.batch_execute(change).await.unwrap();
            let session = store.session("s").unwrap();
            let error = session.open().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
            store.import(&session.salvage().await.unwrap().text, Some("t")).await.unwrap();
            assert_eq!(opened(&store, "t").await.1, ["a"]);
        });
    }
}

#[test]
#[ignore = "make test-servers starts the server"]
fn a_session_of_a_newer_version_is_refused_and_left_alone_in_postgres() {
    let place = Place::new(Kind::Postgres);
    run(async {
        let (session, _) = opened(&place.store(), "s").await;
        session.append(vec![said("a")]).await.unwrap();
        session.close().await.unwrap();
        let client = beside(&place).await;
        let first = client.query_one("SELECT line FROM agent_loop_records WHERE seq = 1", &[]).await.unwrap();
        let newer = of_version_7(first.get(0));
        client.execute("UPDATE agent_loop_records SET line = $1 WHERE seq = 1", &[&newer]).await.unwrap();
        let store = place.store();
        let error = store.session("s").unwrap().open().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NewerVersion);
        assert!(error.message().contains("version 7") && error.message().contains("update agent-loop"), "{error}");
        let lines = client.query("SELECT line FROM agent_loop_records ORDER BY seq", &[]).await.unwrap();
        assert_eq!((lines.len(), lines[0].get::<_, String>(0)), (2, newer));
        let holder = client.query_one("SELECT holder FROM agent_loop_sessions", &[]).await.unwrap();
        assert_eq!(holder.get::<_, &str>(0), "", "whoever has the newer version can open it");
    });
}

/// What happens to a table: a backup that is older in part, a bit that flips, a line that is cut.
#[test]
#[ignore = "make test-servers starts the server"]
fn a_thousand_damages_in_postgres_are_errors_and_what_stands_before_them_is_read() {
    const DAMAGES: usize = 1_000;
    let place = Place::new(Kind::Postgres);
    run(async {
        let store = place.synced(SyncMode::Off);
        let (session, _) = opened(&store, "s").await;
        session.append((0..8).map(|n| said(format!("{n} ä€😀 {}", "x".repeat(n * 40)))).collect()).await.unwrap();
        session.close().await.unwrap();
        let session = store.session("s").unwrap();
        let entries = session.records(0, 100).await.unwrap();
        let client = beside(&place).await;
        client.batch_execute("CREATE TABLE whole AS SELECT * FROM agent_loop_records").await.unwrap();
        let mut numbers = Numbers(3);
        let (mut cut, mut flipped) = (0, 0);
        for _ in 0..DAMAGES {
            let at = numbers.below(entries.len());
            let seq = i64::try_from(at + 1).unwrap();
            let line: String = client.query_one("SELECT line FROM whole WHERE seq = $1", &[&seq]).await.unwrap().get(0);
            let mut bytes = line.clone().into_bytes();
            let place = numbers.below(bytes.len());
            match numbers.below(4) {
                0 => {
                    client.execute("DELETE FROM agent_loop_records WHERE seq >= $1", &[&seq]).await.unwrap();
                    cut += 1;
                }
                1 => {
                    bytes.truncate(place);
                    cut += 1;
                }
                _ => {
                    bytes[place] ^= 1 << numbers.below(8);
                    flipped += 1;
                }
            }
            // The server keeps no text that is no UTF-8, or has a zero.
            let changed = String::from_utf8_lossy(&bytes).replace('\0', "?");
            client.execute("UPDATE agent_loop_records SET line = $2 WHERE seq = $1", &[&seq, &changed]).await.unwrap();
            let is_missing = changed == line;

            let what = format!("record {seq}: {changed}");
            let error = session.open().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "{what}: {error}");
            let named = if is_missing {
                format!("its records from {seq} on are missing, of 9")
            } else {
                format!("damaged at record {seq}:")
            };
            assert!(error.message().contains(&named), "{what}: {error}");
            let salvaged = session.salvage().await.unwrap();
            assert_eq!(salvaged.entries, entries[..at], "{what}");
            assert_eq!(session.records(0, at.max(1)).await.is_ok(), at > 0, "{what}");
            let restore = "DELETE FROM agent_loop_records; INSERT INTO agent_loop_records SELECT * FROM whole";
            client.batch_execute(restore).await.unwrap();
        }
        assert_eq!(session.records(0, 100).await.unwrap(), entries);
        println!("{DAMAGES} damages: {cut} were cut, {flipped} had a bit flipped");
    });
}

#[test]
#[ignore = "make test-servers starts the server"]
fn found_futures_that_are_not_polled_keep_no_connections_with_postgres() {
    let place = Place::new(Kind::Postgres);
    run(async {
        let store = place.store();
        opened(&store, "s").await.0.close().await.unwrap();
        let session = store.session("s").unwrap();
        // More than a store has connections.
        let mut unpolled: Vec<_> = (0..20).map(|_| Box::pin(session.records(0, 1))).collect();
        std::future::poll_fn(|cx| {
            assert!(unpolled.iter_mut().all(|reading| reading.as_mut().poll(cx).is_pending()));
            Poll::Ready(())
        })
        .await;
        opened(&store, "t").await.0.close().await.unwrap();
        for reading in unpolled {
            assert_eq!(reading.await.unwrap().len(), 1);
        }
    });
}
