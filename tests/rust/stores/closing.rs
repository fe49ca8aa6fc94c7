//! The end of a session in its process, and of its runtime: a future that was dropped before it had ended, and an opener that
//! comes meanwhile.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use agent_loop::session::hosting::OpenSessions;
use agent_loop::session::{Info, Store};
use agent_loop::{Error, ErrorKind, Runtime};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::gated::Gated;
use crate::place::{Kind, Place, opened, run, said};
use crate::support::{builder, says};

/// A store, and what it is made of.
fn gated() -> (Store, Gated) {
    let gated = Gated::default();
    (Store::custom(gated.clone()).open().unwrap(), gated)
}

/// Drops what a task does in the middle of a method, which then goes on.
async fn dropped<T>(task: JoinHandle<T>, gated: &Gated, method: &'static str) {
    gated.until_called(method).await;
    task.abort();
    assert!(task.await.is_err(), "it was dropped");
    gated.open(method);
}

#[test]
fn found_a_close_that_is_dropped_is_done_to_its_end() {
    for method in ["append", "release"] {
        run(async {
            let (store, gated) = gated();
            let (session, _) = opened(&store, "s").await;
            session.append(vec![said("a")]).await.unwrap();
            gated.shut(method);
            drop(session.append(vec![said("b")]));
            let closed = session.clone();
            dropped(tokio::spawn(async move { closed.close().await }), &gated, method).await;
            // A second call waits for it.
            session.close().await.unwrap();
            assert!(!gated.is_held());
            drop(opened(&store, "s").await.0.close());
            assert_eq!(opened(&store, "s").await.1, ["a", "b"]);
        });
    }
}

#[test]
fn found_a_delete_that_is_dropped_is_done_to_its_end() {
    for method in ["acquire", "delete"] {
        run(async {
            let (store, gated) = gated();
            let (session, _) = opened(&store, "s").await;
            session.append(vec![said("a")]).await.unwrap();
            session.close().await.unwrap();
            gated.shut(method);
            let session = store.session("s").unwrap();
            dropped(tokio::spawn(async move { session.delete().await }), &gated, method).await;
            let (_, texts) = opened(&store, "s").await;
            assert_eq!(texts.is_empty(), method == "delete", "who only asked for the lease gives it back");
        });
    }
}

#[test]
fn found_an_open_that_is_dropped_gives_its_lease_back() {
    for method in ["acquire", "append"] {
        run(async {
            let (store, gated) = gated();
            gated.shut(method);
            let session = store.session("s").unwrap();
            dropped(tokio::spawn(async move { session.open().await }), &gated, method).await;
            opened(&store, "s").await.0.close().await.unwrap();
        });
    }
}

/// The text of a session with two messages and a title.
async fn exported() -> String {
    let (store, _) = gated();
    let (session, _) = opened(&store, "s").await;
    session.append(vec![said("a"), said("b")]).await.unwrap();
    session.set_info(Info::default().title("S")).await.unwrap();
    session.close().await.unwrap();
    store.session("s").unwrap().export().await.unwrap()
}

#[test]
fn found_an_import_that_is_dropped_leaves_no_half_of_a_session() {
    for method in ["acquire", "append", "set_info", "release"] {
        run(async {
            let (store, gated) = gated();
            let text = exported().await;
            gated.shut(method);
            let importing = store.clone();
            dropped(tokio::spawn(async move { importing.import(&text, None).await.map(drop) }), &gated, method).await;
            assert_eq!(opened(&store, "s").await.1, ["a", "b"]);
            assert_eq!(gated.info().title.as_deref(), Some("S"));
        });
    }
}

#[test]
fn found_an_import_that_fails_can_be_tried_again() {
    run(async {
        let (store, gated) = gated();
        let text = exported().await;
        for method in ["append", "set_info"] {
            gated.fail(method);
            let error = store.import(&text, None).await.unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::Io, &*format!("{method} failed, as asked for")));
        }
        store.import(&text, None).await.unwrap();
        assert_eq!(opened(&store, "s").await.1, ["a", "b"]);
    });
}

#[test]
fn found_who_opens_a_session_that_is_being_closed_waits_for_it() {
    run(async {
        let (store, gated) = gated();
        let (session, _) = opened(&store, "s").await;
        gated.shut("release");
        drop(session);
        let id = store.session("s").unwrap();
        let mut open = Box::pin(id.open());
        assert!(matches!(open.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
        gated.open("release");
        let session = open.await.unwrap();
        // It does not wait for who has it.
        assert_eq!(id.open().await.unwrap_err().kind(), ErrorKind::Busy);
        session.close().await.unwrap();
    });
}

#[test]
fn found_a_dropped_agent_s_session_can_be_opened_at_once() {
    for kind in [Kind::Memory, Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        let runtime = Runtime::new().unwrap();
        run(async {
            let store = place.store();
            for n in 0..20 {
                let session = store.session("s").unwrap().open().await.unwrap();
                let agent = builder(json!([says("Yes.")])).session(session).runtime(&runtime).build().unwrap();
                assert_eq!(agent.messages().len(), n * 2);
                agent.prompt("Rain?").await.unwrap();
            }
        });
    }
}

#[test]
fn found_a_session_of_a_runtime_that_has_ended_is_given_back_on_another_one() {
    let (store, gated) = gated();
    let ended = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let session = ended.block_on(opened(&store, "s")).0;
    drop(ended);
    run(async {
        drop(session);
        let (session, texts) = opened(&store, "s").await;
        assert!(texts.is_empty() && gated.is_held());
        session.close().await.unwrap();
    });
}

#[test]
fn found_a_follower_of_a_runtime_that_has_ended_goes_on_in_another_one() {
    for kind in [Kind::Memory, Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        let store = place.store();
        let ended = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut records = ended.block_on(async {
            opened(&store, "s").await.0.close().await.unwrap();
            let mut records = store.session("s").unwrap().follow(0);
            assert_eq!(records.next().await.unwrap().seq, 1);
            // It waits for a record.
            assert!(tokio::time::timeout(Duration::from_millis(100), records.next()).await.is_err());
            records
        });
        drop(ended);
        run(async {
            let (session, _) = opened(&store, "s").await;
            session.append(vec![said("a")]).await.unwrap();
            assert_eq!(records.next().await.unwrap().seq, 2);
        });
    }
}

#[test]
fn found_changes_of_title_and_metadata_at_the_same_time_are_all_kept() {
    run(async {
        let (store, gated) = gated();
        let (session, _) = opened(&store, "s").await;
        let metadata = json!({ "user": 7 }).as_object().unwrap().clone();
        let (title, with_metadata) = (Info::default().title("S"), Info::default().metadata(metadata.clone()));
        let (one, other) = tokio::join!(session.set_info(title), session.set_info(with_metadata));
        one.and(other).unwrap();
        assert_eq!((gated.info().title.as_deref(), gated.info().metadata), (Some("S"), Some(metadata)));
        // One that is dropped is done all the same: journal and list do not differ.
        gated.shut("set_info");
        let changed = session.clone();
        let change = tokio::spawn(async move { changed.set_info(Info::default().title("T")).await });
        dropped(change, &gated, "set_info").await;
        session.close().await.unwrap();
        assert_eq!(opened(&store, "s").await.0.rebuilt().info.title.as_deref(), Some("T"));
        assert_eq!(gated.info().title.as_deref(), Some("T"));
    });
}

#[test]
fn found_the_end_of_a_program_closes_sessions_concurrently() {
    let runtime = Runtime::new().unwrap();
    let (open, stores) = (OpenSessions::new(), [gated(), gated(), gated()]);
    let [first, second, third] = stores.each_ref().map(|(store, _)| open.add(runtime.block_on(opened(store, "s")).0));
    let [(_, hangs), (_, answers), (_, is_late)] = &stores;
    hangs.shut("release");
    is_late.shut("release");
    // One that is closed already, in a task.
    drop(third);
    let (hangs, answers, is_late) = (hangs.clone(), answers.clone(), is_late.clone());
    let (held_up, other, late) = (hangs.clone(), answers.clone(), is_late.clone());
    runtime.spawn(async move {
        // When the others are being closed.
        late.until_called("release").await;
        held_up.until_called("release").await;
        late.open("release");
        // The first one is closed only when the others are: one after the other, they would not end in this time.
        while other.is_held() || late.is_held() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        held_up.open("release");
    });
    open.close(&runtime, Duration::from_secs(60));
    assert!(!hangs.is_held() && !answers.is_held() && !is_late.is_held());
    drop((first, second));
}

#[test]
fn found_the_end_of_a_program_leaves_a_session_that_cannot_be_closed() {
    let runtime = Runtime::new().unwrap();
    let (open, (store, hangs)) = (OpenSessions::new(), gated());
    let session = open.add(runtime.block_on(opened(&store, "s")).0);
    hangs.shut("release");
    open.close(&runtime, Duration::from_millis(50));
    assert!(hangs.is_held());
    hangs.open("release");
    runtime.block_on(session.close()).unwrap();
    assert!(!hangs.is_held());
}

#[test]
fn found_a_future_that_is_not_polled_holds_up_no_other() {
    for kind in [Kind::Memory, Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        run(async {
            let store = place.store();
            // With so many, who writes first waits for others that join in.
            let mut open = Vec::new();
            for n in 0..10 {
                open.push(opened(&store, &n.to_string()).await.0);
            }
            let begin = |mut future: Pin<Box<dyn Future<Output = Result<(), Error>>>>| {
                let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                polled.is_pending().then_some(future)
            };
            let (id, text) = (store.session("a").unwrap(), store.session("1").unwrap().export().await.unwrap());
            let importing = store.clone();
            let unpolled = [
                begin(Box::pin(async move { id.open().await.map(drop) })),
                begin(Box::pin(open.remove(0).close())),
                begin(Box::pin(async move { importing.import(&text, Some("b")).await.map(drop) })),
            ];
            opened(&store, "c").await.0.close().await.unwrap();
            open[0].append(vec![said("a")]).await.unwrap();
            for future in unpolled.into_iter().flatten() {
                future.await.unwrap();
            }
        });
    }
}
