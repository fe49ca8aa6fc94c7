//! A store of an application's own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agent_loop::model::BoxFuture;
use agent_loop::session::{
    Acquire, HeldLease, Info, Lease, ListQuery, Page, SessionInfo, SessionPage, Store, StoreBackend, StoredLine,
};
use agent_loop::{Error, ErrorKind};

use crate::place::{opened, run, said};

/// One session, in a list. It does what the text of a line asks for.
#[derive(Clone, Default)]
pub(crate) struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    token: Arc<AtomicU64>,
}

impl StoreBackend for Lines {
    fn name(&self) -> String {
        "the application's list".to_owned()
    }

    fn acquire(&self, request: Acquire) -> BoxFuture<'_, Result<Lease, Error>> {
        assert!(request.id == "s" && !request.holder.is_empty() && request.lease_ms == 30_000);
        Box::pin(async move { Ok(Lease::new(self.token.fetch_add(1, Ordering::Relaxed) + 1)) })
    }

    fn renew(&self, _leases: Vec<HeldLease>, _lease_ms: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn release(&self, _lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn append(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            // As a database at the other end of a connection.
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            assert!(!lines.iter().any(|line| line.contains("panic")), "as asked for");
            if lines.iter().any(|line| line.contains("hang")) {
                std::future::pending::<()>().await;
            }
            if lines.iter().any(|line| line.contains("fail")) {
                return Err(Error::new(ErrorKind::Io, "the list is full"));
            }
            let mut all = self.lines.lock().unwrap();
            assert_eq!((seq, lease.token), (all.len() as u64 + 1, self.token.load(Ordering::Relaxed)));
            all.extend(lines);
            Ok(())
        })
    }

    fn read(&self, _id: String, after: u64, limit: usize) -> BoxFuture<'_, Result<Page, Error>> {
        let lines = self.lines.lock().unwrap();
        let behind = (1..).zip(lines.iter()).filter(|(seq, _)| *seq > after).take(limit);
        let page = Page::new(behind.map(|(seq, line)| StoredLine::new(seq, line.as_bytes())).collect());
        Box::pin(async { Ok(page) })
    }

    fn info(&self, id: String) -> BoxFuture<'_, Result<Option<SessionInfo>, Error>> {
        Box::pin(async { Ok(Some(SessionInfo::new(id, 0))) })
    }

    fn set_info(&self, _lease: HeldLease, _info: Info) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn list(&self, _query: ListQuery) -> BoxFuture<'_, Result<SessionPage, Error>> {
        Box::pin(async { Ok(SessionPage::of(vec![SessionInfo::new("s", 0)], false)) })
    }

    fn delete(&self, _lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        self.lines.lock().unwrap().clear();
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn a_store_of_the_application_is_one_like_ours() {
    run(async {
        let store = Store::custom(Lines::default()).open().unwrap();
        let follower = tokio::spawn({
            let store = store.clone();
            async move {
                let mut records = store.session("s").unwrap().follow(0);
                let mut seen = Vec::new();
                while seen.len() < 101 {
                    seen.push(records.next().await.unwrap().seq);
                }
                seen
            }
        });
        let (session, _) = opened(&store, "s").await;
        for n in 0..100 {
            drop(session.append(vec![said(n.to_string())]));
        }
        session.close().await.unwrap();
        assert!(opened(&store, "s").await.1.into_iter().eq((0..100).map(|n| n.to_string())));
        assert_eq!(follower.await.unwrap(), (1..=101).collect::<Vec<_>>());
        assert_eq!(store.name(), "the application's list");
    });
}

#[test]
fn a_store_that_fails_or_panics_ends_the_session_and_not_the_process() {
    for (asked, said_by) in [("fail", "the list is full"), ("panic", "the application's list panicked: as asked for")] {
        run(async {
            let lines = Lines::default();
            let store = Store::custom(lines.clone()).open().unwrap();
            let (session, _) = opened(&store, "s").await;
            session.append(vec![said("a")]).await.unwrap();
            let (failed, behind) = (session.append(vec![said(asked)]), session.append(vec![said("b")]));
            for error in [failed.await.unwrap_err(), behind.await.unwrap_err(), session.flush().await.unwrap_err()] {
                assert!(error.kind() == ErrorKind::Io && error.message() == said_by, "{error}");
            }
            // What stood behind it was not written.
            assert_eq!(session.append(vec![said("c")]).await.unwrap_err().message(), said_by);
            assert_eq!(lines.lines.lock().unwrap().len(), 2);
            let _ = session.close().await;
        });
    }
}

#[test]
fn options_out_of_bounds_are_refused() {
    let long = "x".repeat(201);
    let builders = [
        Store::custom(Lines::default()).lease_ms(99),
        Store::custom(Lines::default()).holder(""),
        Store::custom(Lines::default()).holder(long),
    ];
    for builder in builders {
        assert_eq!(builder.open().unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
