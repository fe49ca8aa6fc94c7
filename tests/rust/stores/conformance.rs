//! What each store has to do.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use agent_loop::ErrorKind;
use agent_loop::session::{Entry, Info, JournalRecord, ListQuery, SyncMode};
use serde_json::json;

use crate::place::{Kind, Place, opened, run, said, texts};

/// Plays each function with each kind of store.
macro_rules! with_each_store {
    ($($test:ident)+) => {
        mod memory { $(#[test] fn $test() { super::$test(super::Place::new(super::Kind::Memory)); })+ }
        mod sqlite { $(#[test] fn $test() { super::$test(super::Place::new(super::Kind::Sqlite)); })+ }
        mod jsonl { $(#[test] fn $test() { super::$test(super::Place::new(super::Kind::Jsonl)); })+ }
        #[cfg(feature = "postgres")]
        mod postgres {
            $(
                #[test]
                #[ignore = "make test-servers starts the server"]
                fn $test() { super::$test(super::Place::new(super::Kind::Postgres)); }
            )+
        }
    };
}

with_each_store! {
    what_was_appended_is_there_when_it_is_opened_again
    each_sync_mode_keeps_all
    records_keep_the_order_of_the_calls
    records_keep_the_order_of_a_lock_under_which_they_are_appended
    a_session_is_written_from_many_threads
    an_append_ends_though_the_runtime_has
    a_session_has_one_writer
    a_lease_that_has_ended_can_be_taken_and_the_late_writer_is_refused
    a_lease_is_renewed_while_the_session_is_open
    a_session_that_is_opened_again_outlives_its_closed_handle
    a_session_that_is_dropped_is_closed
    many_sessions_are_written_at_the_same_time
    a_list_has_pages_times_and_metadata
    a_fork_has_its_own_future
    an_export_is_imported_elsewhere
    a_deleted_session_is_gone
    a_follower_sees_each_record_once
    a_wrong_id_is_refused
    odd_ids_are_kept_apart
}

fn what_was_appended_is_there_when_it_is_opened_again(place: Place) {
    run(async {
        let store = place.store();
        let (session, before) = opened(&store, "s").await;
        assert!(before.is_empty() && session.last() == 1);
        assert_eq!(session.append(vec![said("a"), said("b")]).await.unwrap(), 3);
        assert_eq!(session.append(vec![said("c\u{0}\n€")]).await.unwrap(), 4);
        assert_eq!(session.append(Vec::new()).await.unwrap(), 4);
        session.close().await.unwrap();
        session.close().await.unwrap();
        let error = session.append(vec![said("late")]).await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("closed"), "{error}");

        let (again, texts) = opened(&place.store(), "s").await;
        assert_eq!((texts, again.last()), (vec!["a".to_owned(), "b".to_owned(), "c\u{0}\n€".to_owned()], 4));
        let start = again.rebuilt().start.clone().unwrap();
        assert!(&*start.id == "s" && start.created_ms > 1_700_000_000_000);
        assert!(again.diagnostics().is_empty());
    });
}

fn each_sync_mode_keeps_all(place: Place) {
    run(async {
        for (at, sync) in [SyncMode::Full, SyncMode::Normal, SyncMode::Off].into_iter().enumerate() {
            let (session, before) = opened(&place.synced(sync), "s").await;
            assert_eq!(before.len(), at * 20);
            for n in 0..20 {
                session.append(vec![said(n.to_string())]).await.unwrap();
            }
            session.close().await.unwrap();
        }
    });
}

fn records_keep_the_order_of_the_calls(place: Place) {
    run(async {
        let store = place.synced(SyncMode::Full);
        let (session, _) = opened(&store, "s").await;
        // Nobody waits for them.
        for n in 0..200 {
            drop(session.append(vec![said(n.to_string())]));
        }
        session.flush().await.unwrap();
        let read = store.session("s").unwrap().records(1, 1_000).await.unwrap();
        assert_eq!(read.iter().map(|entry| entry.seq).collect::<Vec<_>>(), (2..202).collect::<Vec<_>>());
        let text = |entry: &Entry| match &entry.record {
            JournalRecord::Message(record) => record.message.text(),
            other => panic!("{other:?}"),
        };
        assert!(read.iter().map(text).eq((0..200).map(|n: i32| n.to_string())));
        let some = store.session("s").unwrap().records(100, 3).await.unwrap();
        assert_eq!(some.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [101, 102, 103]);
    });
}

fn records_keep_the_order_of_a_lock_under_which_they_are_appended(place: Place) {
    run(async {
        let (session, _) = opened(&place.store(), "s").await;
        let changes = Arc::new(Mutex::new(0));
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let (session, changes) = (session.clone(), Arc::clone(&changes));
                tokio::task::spawn_blocking(move || {
                    for _ in 0..50 {
                        let mut changes = changes.lock().unwrap();
                        // The future is awaited by nobody, or by somebody else, later.
                        drop(session.append(vec![said(changes.to_string())]));
                        *changes += 1;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        session.close().await.unwrap();
        assert!(opened(&place.store(), "s").await.1.into_iter().eq((0..400).map(|n| n.to_string())));
    });
}

fn a_session_is_written_from_many_threads(place: Place) {
    for sync in [SyncMode::Normal, SyncMode::Full] {
        run(async {
            let id = format!("{sync:?}");
            let (session, _) = opened(&place.synced(sync), &id).await;
            let write = |task: usize| {
                let session = session.clone();
                tokio::spawn(async move {
                    for n in 0..50 {
                        let written = session.append(vec![said(format!("{task}.{n}"))]);
                        // Some wait for it, and some do not.
                        if n % 3 == task % 3 {
                            written.await.unwrap();
                        }
                    }
                })
            };
            let tasks: Vec<_> = (0..8).map(write).collect();
            for task in tasks {
                task.await.unwrap();
            }
            session.close().await.unwrap();
            let (_, texts) = opened(&place.store(), &id).await;
            for task in 0..8 {
                let own = texts.iter().filter_map(|text| text.strip_prefix(&format!("{task}.")));
                assert!(own.eq((0..50).map(|n| n.to_string())), "those of a task are in its order");
            }
        });
    }
}

fn an_append_ends_though_the_runtime_has(place: Place) {
    for sync in [SyncMode::Normal, SyncMode::Full] {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let id = format!("{sync:?}");
        let (session, _) = runtime.block_on(opened(&place.synced(sync), &id));
        runtime.shutdown_background();
        // Whether it can still be written is the store's affair.
        let written = run(session.append(vec![said("a")]));
        let then = run(session.append(vec![said("b")]));
        assert!(written.is_ok() || then.is_err(), "nothing stands behind a gap");
    }
}

fn a_session_has_one_writer(place: Place) {
    run(async {
        let (one, other) = (place.store_of("worker 1", 30_000), place.store_of("worker 2", 30_000));
        let (session, _) = opened(&one, "s").await;
        let holder = one.session("s").unwrap().info().await.unwrap().unwrap().holder.unwrap();
        for store in [&one, &other] {
            let error = store.session("s").unwrap().open().await.unwrap_err();
            assert!(error.kind() == ErrorKind::Busy && error.message().contains(&holder), "{error}");
        }
        let error = other.session("s").unwrap().delete().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        // Another session is free.
        opened(&other, "t").await.0.close().await.unwrap();
        session.append(vec![said("a")]).await.unwrap();
        session.close().await.unwrap();
        assert_eq!(opened(&other, "s").await.1, ["a"]);
    });
}

fn a_lease_that_has_ended_can_be_taken_and_the_late_writer_is_refused(place: Place) {
    let (one, other) = (place.store_of("worker 1", 100), place.store_of("worker 2", 30_000));
    // A runtime that stands still renews no lease: as a process that was stopped.
    let stopped = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let late = stopped.block_on(async {
        let late = one.session("s").unwrap().open().await.unwrap();
        late.append(vec![said("a")]).await.unwrap();
        late
    });
    let holder = run(async {
        let session = loop {
            match other.session("s").unwrap().open().await {
                Ok(session) => break session,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        };
        assert_eq!(texts(&session.rebuilt()), ["a"]);
        session.append(vec![said("b")]).await.unwrap();
        let holder = other.session("s").unwrap().info().await.unwrap().unwrap().holder.unwrap();
        std::mem::forget(session);
        holder
    });
    stopped.block_on(async {
        for _ in 0..2 {
            let error = late.append(vec![said("too late")]).await.unwrap_err();
            assert!(error.kind() == ErrorKind::Busy && error.message().contains(&holder), "{error}");
        }
        // It has nothing to give back.
        let _ = late.close().await;
        if place.is_shared() {
            let error = other.session("s").unwrap().open().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy);
        }
        let records = other.session("s").unwrap().records(0, 10).await.unwrap();
        assert_eq!(records.len(), 3, "the late record is not there");
    });
}

fn a_lease_is_renewed_while_the_session_is_open(place: Place) {
    run(async {
        let store = place.store_of("worker 1", 200);
        let (session, _) = opened(&store, "s").await;
        let deadline = |info: Option<_>| {
            let info: agent_loop::session::SessionInfo = info.unwrap();
            info.holder
        };
        // Many times its length.
        for _ in 0..20 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let error = place.store().session("s").unwrap().open().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy);
        }
        assert!(deadline(store.session("s").unwrap().info().await.unwrap()).is_some());
        session.append(vec![said("a")]).await.unwrap();
        session.close().await.unwrap();
        assert!(deadline(store.session("s").unwrap().info().await.unwrap()).is_none());
    });
}

fn a_session_that_is_opened_again_outlives_its_closed_handle(place: Place) {
    run(async {
        let store = place.store_of("worker 1", 150);
        let (closed, _) = opened(&store, "s").await;
        closed.close().await.unwrap();
        let (session, _) = opened(&store, "s").await;
        // The leases are renewed some times.
        for _ in 0..10 {
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
            session.append(vec![said("a")]).await.unwrap();
        }
        let error = closed.append(vec![said("late")]).await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("closed"), "{error}");
    });
}

fn a_session_that_is_dropped_is_closed(place: Place) {
    run(async {
        let store = place.store();
        let (session, _) = opened(&store, "s").await;
        drop(session.append(vec![said("a")]));
        drop(session);
        // The store may close it on another thread.
        let again = loop {
            match store.session("s").unwrap().open().await {
                Ok(again) => break again,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Busy),
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(texts(&again.rebuilt()), ["a"]);
    });
}

fn many_sessions_are_written_at_the_same_time(place: Place) {
    run(async {
        let store = place.store();
        let write = |id: usize| {
            let store = store.clone();
            tokio::spawn(async move {
                let (session, _) = opened(&store, &format!("s{id}")).await;
                for n in 0..20 {
                    session.append(vec![said(format!("{id}.{n}"))]).await.unwrap();
                }
                session.close().await.unwrap();
            })
        };
        let tasks: Vec<_> = (0..50).map(write).collect();
        for task in tasks {
            task.await.unwrap();
        }
        for id in 0..50 {
            let (session, texts) = opened(&store, &format!("s{id}")).await;
            assert!(texts.into_iter().eq((0..20).map(|n| format!("{id}.{n}"))));
            session.close().await.unwrap();
        }
    });
}

fn a_list_has_pages_times_and_metadata(place: Place) {
    run(async {
        let store = place.store();
        for n in 0..7 {
            let (session, _) = opened(&store, &format!("s{n}")).await;
            let metadata = json!({ "user": n % 2, "tags": ["a"] });
            let info = Info::default().title(format!("Title {n}")).metadata(metadata.as_object().unwrap().clone());
            session.set_info(info).await.unwrap();
            session.close().await.unwrap();
        }
        let (mut found, mut query, mut pages) = (Vec::new(), ListQuery::default().limit(3), 0);
        loop {
            let page = store.list(query.clone()).await.unwrap();
            assert!(page.sessions.len() <= 3);
            found.extend(page.sessions);
            pages += 1;
            match page.next {
                Some(next) => query = query.after(next),
                None => break,
            }
        }
        assert_eq!((pages, found.len()), (3, 7));
        assert!(found.windows(2).all(|pair| pair[0].updated_ms >= pair[1].updated_ms));
        assert_eq!(found.iter().map(|info| &*info.id).collect::<BTreeSet<_>>().len(), 7);
        let one = found.iter().find(|info| info.id == "s3").unwrap();
        assert_eq!((one.title.as_deref(), one.metadata.as_ref().unwrap()["user"].clone()), (Some("Title 3"), json!(1)));
        assert!(one.created_ms <= one.updated_ms && one.holder.is_none());

        let of = async |query: ListQuery| {
            let sessions = store.list(query).await.unwrap().sessions;
            sessions.into_iter().map(|info| info.id).collect::<BTreeSet<_>>()
        };
        assert_eq!(of(ListQuery::default().with("user", 1)).await, ["s1", "s3", "s5"].map(str::to_owned).into());
        assert_eq!(of(ListQuery::default().with("user", 1).with("tags", json!(["b"]))).await, BTreeSet::new());
        let newest = found[0].updated_ms;
        assert_eq!(of(ListQuery::default().updated_from(newest + 1)).await, BTreeSet::new());
        assert_eq!(of(ListQuery::default().updated_before(newest + 1).limit(50)).await.len(), 7);
        let error = store.list(ListQuery::default().after("nonsense")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    });
}

fn a_fork_has_its_own_future(place: Place) {
    run(async {
        let store = place.store();
        let (session, _) = opened(&store, "s").await;
        session.append(vec![said("a"), said("b"), said("c")]).await.unwrap();
        session.set_info(Info::default().title("S")).await.unwrap();
        // Also while it is open.
        let fork = store.session("s").unwrap().fork(Some(3), "f").await.unwrap();
        let all = store.session("s").unwrap().fork(None, "g").await.unwrap();
        let (open, texts) = opened(&store, "f").await;
        assert_eq!(texts, ["a", "b"]);
        let from = open.rebuilt().start.clone().unwrap().forked_from.unwrap();
        assert_eq!((&*from.id, from.seq), ("s", 3));
        open.append(vec![said("z")]).await.unwrap();
        session.append(vec![said("d")]).await.unwrap();
        open.close().await.unwrap();
        let (open, texts) = opened(&store, "f").await;
        assert_eq!((texts, open.rebuilt().info.title.as_deref()), (vec!["a".into(), "b".into(), "z".to_owned()], Some("S")));
        assert_eq!(opened(&store, "g").await.1, ["a", "b", "c"]);
        assert_eq!(
            (fork.info().await.unwrap().unwrap().title, all.info().await.unwrap().unwrap().title),
            (Some("S".into()), Some("S".into()))
        );

        let session = store.session("s").unwrap();
        for (at, id) in [(Some(3), "g"), (Some(0), "h"), (Some(99), "h")] {
            assert_eq!(session.fork(at, id).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        assert!(store.session("h").unwrap().info().await.unwrap().is_none());
        assert_eq!(store.session("none").unwrap().fork(None, "h").await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

fn an_export_is_imported_elsewhere(place: Place) {
    run(async {
        let store = place.store();
        let (session, _) = opened(&store, "s").await;
        session.append((0..3_000).map(|n| said(n.to_string())).collect()).await.unwrap();
        session.set_info(Info::default().title("S")).await.unwrap();
        session.close().await.unwrap();
        let text = store.session("s").unwrap().export().await.unwrap();
        assert_eq!(text.lines().count(), 3_002);
        for kind in [Kind::Memory, Kind::Sqlite, Kind::Jsonl] {
            let elsewhere = Place::new(kind);
            let imported = elsewhere.store().import(&text, None).await.unwrap();
            assert_eq!((imported.id(), imported.info().await.unwrap().unwrap().title.as_deref()), ("s", Some("S")));
            let other = elsewhere.store().import(&text, Some("t")).await.unwrap();
            let again = other.export().await.unwrap();
            assert!(again.lines().skip(1).eq(text.lines().skip(1)));
            let error = elsewhere.store().import(&text, None).await.unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("already"), "{error}");
        }
        for (wrong, said) in
            [("", "empty"), (&text[..text.len() - 9], "half a record"), (&text.replacen("500", "501", 1), "line")]
        {
            let error = store.import(wrong, Some("new")).await.unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(said), "{error}");
        }
        assert!(store.session("new").unwrap().info().await.unwrap().is_none());
    });
}

fn a_deleted_session_is_gone(place: Place) {
    run(async {
        let store = place.store();
        let session = store.session("s").unwrap();
        assert_eq!(session.delete().await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(session.records(0, 1).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(session.info().await.unwrap().is_none());
        let (open, _) = opened(&store, "s").await;
        open.append(vec![said("a"), said("b")]).await.unwrap();
        open.close().await.unwrap();
        session.delete().await.unwrap();
        assert!(session.info().await.unwrap().is_none() && store.list(ListQuery::default()).await.unwrap().sessions.is_empty());
        // One of the same id begins anew.
        let (open, texts) = opened(&store, "s").await;
        assert!(texts.is_empty() && open.last() == 1);
        open.append(vec![said("c")]).await.unwrap();
        assert_eq!(session.records(0, 10).await.unwrap().len(), 2);
    });
}

fn a_follower_sees_each_record_once(place: Place) {
    run(async {
        let (store, elsewhere) = (place.store(), place.store());
        let (session, _) = opened(&store, "s").await;
        let followers: Vec<_> = [&store, &elsewhere]
            .into_iter()
            .map(|store| {
                let store = store.clone();
                tokio::spawn(async move {
                    let mut seen = Vec::new();
                    let mut records = store.session("s").unwrap().follow(0);
                    while seen.len() < 60 {
                        seen.push(records.next().await.unwrap().seq);
                    }
                    // It goes on after the last one that it has seen.
                    let mut records = store.session("s").unwrap().follow(60);
                    while seen.len() < 101 {
                        seen.push(records.next().await.unwrap().seq);
                    }
                    seen
                })
            })
            .collect();
        for n in 0..100 {
            session.append(vec![said(n.to_string())]).await.unwrap();
            tokio::task::yield_now().await;
        }
        for follower in followers {
            assert_eq!(follower.await.unwrap(), (1..=101).collect::<Vec<_>>());
        }
        let error = store.session("none").unwrap().follow(0).next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
}

fn a_wrong_id_is_refused(place: Place) {
    for wrong in ["", "a\nb", &"x".repeat(201)] {
        assert_eq!(place.store().session(wrong).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

fn odd_ids_are_kept_apart(place: Place) {
    run(async {
        let store = place.store();
        let ids = [".", "..", "../s", "a/b", "a%2fb", "ä", "a b", "%", "x.jsonl", "' OR 1=1 --"];
        for id in ids {
            let (session, texts) = opened(&store, id).await;
            assert!(texts.is_empty(), "{id}");
            session.append(vec![said(id)]).await.unwrap();
            session.close().await.unwrap();
        }
        for id in ids {
            assert_eq!(opened(&store, id).await.1, [id]);
        }
        assert_eq!(store.list(ListQuery::default()).await.unwrap().sessions.len(), ids.len());
    });
}
