//! Who may write a session, and for how long.

use agent_loop::ErrorKind;

use crate::place::{Place, opened, run, said, texts};

pub(super) fn a_session_has_one_writer(place: Place) {
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

pub(super) fn a_lease_that_has_ended_can_be_taken_and_the_late_writer_is_refused(place: Place) {
    // Of one record and of two: SQLite checks the lease of those in different ways.
    for count in [1, 2] {
        late_writer_is_refused(&place, count);
    }
}

fn late_writer_is_refused(place: &Place, count: usize) {
    let id = format!("s{count}");
    let records = |text: &str| (0..count).map(|_| said(text)).collect::<Vec<_>>();
    let (one, other) = (place.store_of("worker 1", 100), place.store_of("worker 2", 30_000));
    // A runtime that stands still renews no lease: as a process that was stopped.
    let stopped = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let late = stopped.block_on(async {
        let late = one.session(&id).unwrap().open().await.unwrap();
        late.append(records("a")).await.unwrap();
        late
    });
    let holder = run(async {
        let session = loop {
            match other.session(&id).unwrap().open().await {
                Ok(session) => break session,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        };
        assert_eq!(texts(&session.rebuilt()), vec!["a"; count]);
        session.append(records("b")).await.unwrap();
        let holder = other.session(&id).unwrap().info().await.unwrap().unwrap().holder.unwrap();
        std::mem::forget(session);
        holder
    });
    stopped.block_on(async {
        for _ in 0..2 {
            let error = late.append(records("too late")).await.unwrap_err();
            assert!(error.kind() == ErrorKind::Busy && error.message().contains(&holder), "{error}");
        }
        // It has nothing to give back.
        let _ = late.close().await;
        if place.is_shared() {
            let error = other.session(&id).unwrap().open().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy);
        }
        let read = other.session(&id).unwrap().records(0, 10).await.unwrap();
        assert_eq!(read.len(), 1 + 2 * count, "the late records are not there");
    });
}

pub(super) fn a_lease_is_renewed_while_the_session_is_open(place: Place) {
    run(async {
        // Renewed after a third of it: a machine may be slow for the rest.
        let store = place.store_of("worker 1", 6_000);
        let (session, _) = opened(&store, "s").await;
        let holder = async || store.session("s").unwrap().info().await.unwrap().unwrap().holder;
        // Another one that wants it gets the time that is left.
        let left_ms = async || -> u64 {
            let error = place.store().session("s").unwrap().open().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
            let digits: String = error.message().split(" in ").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
            digits.parse().unwrap()
        };
        let (mut before, mut renewals) = (left_ms().await, 0);
        while renewals < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            let now = left_ms().await;
            renewals += usize::from(now > before);
            before = now;
        }
        assert!(holder().await.is_some());
        session.append(vec![said("a")]).await.unwrap();
        session.close().await.unwrap();
        assert!(holder().await.is_none());
    });
}

pub(super) fn a_session_that_is_opened_again_outlives_its_closed_handle(place: Place) {
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

pub(super) fn a_session_that_is_dropped_is_closed(place: Place) {
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
