//! Followers of a session that does not exist yet: a page may be there before the first prompt.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use agent_loop::ErrorKind;

use crate::place::{Kind, Place, opened, run};

#[test]
fn a_follower_may_come_before_the_session() {
    for kind in [Kind::Memory, Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        run(async {
            let (store, elsewhere) = (place.store(), place.store());
            for writer in [&store, &elsewhere] {
                let id = if std::ptr::eq(writer, &store) { "here" } else { "elsewhere" };
                let session = store.session(id).unwrap();
                let (mut follow, mut live) = (session.follow(0), session.follow_live(0));
                let is_ready = std::future::poll_fn(|cx| {
                    Poll::Ready(pin!(follow.next()).poll(cx).is_ready() || pin!(live.next()).poll(cx).is_ready())
                });
                assert!(!is_ready.await);
                let (_open, _) = opened(writer, id).await;
                assert_eq!(follow.next().await.unwrap().seq, 1);
                live.next().await.unwrap();
            }
            // Behind a record there was a session.
            let error = store.session("none").unwrap().follow(5).next().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
        });
    }
}

#[test]
fn no_records_are_not_asked_for() {
    let place = Place::new(Kind::Memory);
    run(async {
        let store = place.store();
        let (_open, _) = opened(&store, "s").await;
        let error = store.session("s").unwrap().records(0, 0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.message(), "records: limit: expected a whole number of at least 1, got 0");
    });
}

#[test]
fn found_a_follower_waits_also_if_a_session_without_records_is_deleted() {
    let place = Place::new(Kind::Jsonl);
    run(async {
        let store = place.store();
        // A process that was killed before its first record leaves this.
        let file = place.path().join("s.jsonl");
        std::fs::write(&file, "").unwrap();
        let mut records = store.session("s").unwrap().follow(0);
        assert!(std::future::poll_fn(|cx| Poll::Ready(pin!(records.next()).poll(cx).is_pending())).await);
        std::fs::remove_file(&file).unwrap();
        // It finds no session, by itself.
        assert!(tokio::time::timeout(Duration::from_millis(200), records.next()).await.is_err());
        let (_open, _) = opened(&place.store(), "s").await;
        assert_eq!(records.next().await.unwrap().seq, 1);
    });
}
