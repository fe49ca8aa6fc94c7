//! Followers of a session that is deleted and begun anew under the same id: what they have read before is another one's.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use agent_loop::session::Store;
use agent_loop::{Error, ErrorKind};
use serde_json::json;

use crate::place::{Kind, Place, opened, run, said};
use crate::support::{builder, says};

const KINDS: [Kind; 3] = [Kind::Memory, Kind::Sqlite, Kind::Jsonl];

/// A session with three records.
async fn begin(store: &Store) {
    let (session, _) = opened(store, "s").await;
    session.append(vec![said("a"), said("b")]).await.unwrap();
    session.close().await.unwrap();
}

/// The same session once more, with one record. What identifies a session is its id and the millisecond of its creation.
async fn begin_anew(store: &Store) {
    let session = store.session("s").unwrap();
    session.delete().await.unwrap();
    tokio::time::sleep(Duration::from_millis(2)).await;
    session.open().await.unwrap().close().await.unwrap();
}

fn assert_is_another(error: Error) {
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("does not have the record 3"), "{error}");
}

#[test]
fn found_who_follows_it_here_gets_an_error() {
    for kind in KINDS {
        let place = Place::new(kind);
        run(async {
            let store = place.store();
            begin(&store).await;
            let mut records = store.session("s").unwrap().follow(0);
            for seq in 1..=3 {
                assert_eq!(records.next().await.unwrap().seq, seq);
            }
            // It waits for the next one.
            assert!(std::future::poll_fn(|cx| Poll::Ready(pin!(records.next()).poll(cx).is_pending())).await);
            begin_anew(&store).await;
            assert_is_another(records.next().await.unwrap_err());
        });
    }
}

#[test]
fn found_who_follows_it_elsewhere_gets_an_error() {
    [Kind::Sqlite, Kind::Jsonl].into_iter().for_each(followed_elsewhere);
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "make test-servers starts the server"]
fn found_who_follows_it_elsewhere_gets_an_error_with_postgres() {
    followed_elsewhere(Kind::Postgres);
}

fn followed_elsewhere(kind: Kind) {
    let place = Place::new(kind);
    run(async {
        let (store, elsewhere) = (place.store(), place.store());
        begin(&store).await;
        let mut records = elsewhere.session("s").unwrap().follow(2);
        assert_eq!(records.next().await.unwrap().seq, 3);
        begin_anew(&store).await;
        assert_is_another(records.next().await.unwrap_err());
    });
}

#[test]
fn found_who_connects_again_gets_an_error() {
    for kind in KINDS {
        let place = Place::new(kind);
        run(async {
            let store = place.store();
            begin(&store).await;
            begin_anew(&store).await;
            assert_is_another(store.session("s").unwrap().follow(3).next().await.unwrap_err());
            assert_is_another(store.session("s").unwrap().follow_live(3).next().await.unwrap_err());
        });
    }
}

#[test]
fn found_the_events_of_another_session_are_not_shown() {
    run(async {
        let store = Place::new(Kind::Memory).store();
        begin(&store).await;
        let mut live = store.session("s").unwrap().follow_live(2);
        live.next().await.unwrap();
        assert!(std::future::poll_fn(|cx| Poll::Ready(pin!(live.next()).poll(cx).is_pending())).await);
        begin_anew(&store).await;
        let session = store.session("s").unwrap().open().await.unwrap();
        let agent = builder(json!([says("Yes.")])).session(session).build().unwrap();
        agent.prompt("Rain?").await.unwrap();
        assert_is_another(live.next().await.unwrap_err());
    });
}
