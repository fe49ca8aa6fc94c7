//! The records of a session: all of them, in their order, for who opens it and who follows it.

use std::sync::{Arc, Mutex};

use agent_loop::ErrorKind;
use agent_loop::session::{Entry, JournalRecord, SyncMode};

use crate::place::{Place, opened, run, said};

pub(super) fn what_was_appended_is_there_when_it_is_opened_again(place: Place) {
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

pub(super) fn each_sync_mode_keeps_all(place: Place) {
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

pub(super) fn records_keep_the_order_of_the_calls(place: Place) {
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

pub(super) fn records_keep_the_order_of_a_lock_under_which_they_are_appended(place: Place) {
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

pub(super) fn a_session_is_written_from_many_threads(place: Place) {
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

pub(super) fn an_append_ends_though_the_runtime_has(place: Place) {
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

pub(super) fn a_follower_sees_each_record_once(place: Place) {
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
        let error = store.session("none").unwrap().follow(5).next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
}
