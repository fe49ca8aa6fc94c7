//! A store whose methods wait where the test wants it, as a database at the other end of a connection does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agent_loop::model::BoxFuture;
use agent_loop::session::{Acquire, HeldLease, Info, Lease, ListQuery, Page, SessionInfo, SessionPage, StoreBackend, StoredLine};
use agent_loop::{Error, ErrorKind};
use tokio::sync::{Notify, Semaphore};

#[derive(Clone, Default)]
pub(crate) struct Gated(Arc<Inner>);

#[derive(Default)]
struct Inner {
    sessions: Mutex<HashMap<String, Stored>>,
    token: AtomicU64,
    /// The methods that wait, until they have a permit.
    gates: Mutex<HashMap<&'static str, Arc<Semaphore>>>,
    /// The methods whose next call fails.
    failing: Mutex<Vec<&'static str>>,
    /// The methods that were called, with the tokens of their leases.
    calls: Mutex<Vec<(&'static str, Vec<u64>)>>,
    called: Notify,
}

#[derive(Default)]
struct Stored {
    lines: Vec<String>,
    info: Info,
    token: u64,
    is_held: bool,
}

impl Gated {
    /// The calls of this method wait from now on; those before are forgotten.
    pub(crate) fn shut(&self, method: &'static str) {
        self.0.calls.lock().unwrap().retain(|(called, _)| *called != method);
        self.0.gates.lock().unwrap().insert(method, Arc::new(Semaphore::new(0)));
    }

    /// They go on.
    pub(crate) fn open(&self, method: &'static str) {
        self.0.gates.lock().unwrap().remove(method).unwrap().close();
    }

    /// The next call of this method fails.
    pub(crate) fn fail(&self, method: &'static str) {
        self.0.failing.lock().unwrap().push(method);
    }

    /// The lease ends, and nobody has another one yet.
    pub(crate) fn end_lease(&self, id: &str) {
        self.0.sessions.lock().unwrap().get_mut(id).unwrap().is_held = false;
    }

    /// Another one takes the session.
    pub(crate) fn take(&self, id: &str) {
        self.0.sessions.lock().unwrap().get_mut(id).unwrap().token = self.next_token();
    }

    fn next_token(&self) -> u64 {
        self.0.token.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether the session "s" has a lease.
    pub(crate) fn is_held(&self) -> bool {
        self.0.sessions.lock().unwrap()["s"].is_held
    }

    /// What the store knows of the session "s".
    pub(crate) fn info(&self) -> Info {
        self.0.sessions.lock().unwrap()["s"].info.clone()
    }

    /// Waits for a call like this, and forgets all up to it.
    pub(crate) async fn until(&self, is_so: impl Fn(&str, &[u64]) -> bool) {
        loop {
            let mut called = std::pin::pin!(self.0.called.notified());
            called.as_mut().enable();
            {
                let mut calls = self.0.calls.lock().unwrap();
                if let Some(at) = calls.iter().position(|(method, tokens)| is_so(method, tokens)) {
                    calls.drain(..=at);
                    return;
                }
            }
            called.await;
        }
    }

    pub(crate) async fn until_called(&self, method: &str) {
        self.until(|called, _| called == method).await;
    }

    /// A method was called, and may have to wait.
    async fn pass(&self, method: &'static str, leases: &[HeldLease]) -> Result<(), Error> {
        self.0.calls.lock().unwrap().push((method, leases.iter().map(|lease| lease.token).collect()));
        self.0.called.notify_waiters();
        let gate = self.0.gates.lock().unwrap().get(method).cloned();
        if let Some(gate) = gate {
            // It is closed when it is opened.
            assert!(gate.acquire().await.is_err());
        }
        tokio::task::yield_now().await;
        let mut failing = self.0.failing.lock().unwrap();
        match failing.iter().position(|failing| *failing == method) {
            Some(at) => Err(Error::new(ErrorKind::Io, format!("{} failed, as asked for", failing.swap_remove(at)))),
            None => Ok(()),
        }
    }

    /// Does something with the session, if the lease is the last one.
    fn with<T>(&self, lease: &HeldLease, work: impl FnOnce(&mut Stored) -> T) -> Result<T, Error> {
        match self.0.sessions.lock().unwrap().get_mut(&lease.id) {
            Some(session) if session.token == lease.token => Ok(work(session)),
            _ => Err(Error::new(ErrorKind::Busy, "another one has it")),
        }
    }
}

impl StoreBackend for Gated {
    fn name(&self) -> String {
        "the store with gates".to_owned()
    }

    fn acquire(&self, request: Acquire) -> BoxFuture<'_, Result<Lease, Error>> {
        Box::pin(async {
            let lease = {
                let mut sessions = self.0.sessions.lock().unwrap();
                let session = sessions.entry(request.id).or_default();
                if session.is_held {
                    return Err(Error::new(ErrorKind::Busy, "another one has it"));
                }
                (session.is_held, session.token) = (true, self.next_token());
                Lease::new(session.token)
            };
            // The answer is on its way.
            self.pass("acquire", &[]).await?;
            Ok(lease)
        })
    }

    fn renew(&self, leases: Vec<HeldLease>, _lease_ms: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        Box::pin(async move {
            self.pass("renew", &leases).await?;
            let is_taken = |lease: &HeldLease| self.with(lease, |_| ()).is_err();
            Ok(leases.into_iter().filter(is_taken).map(|lease| lease.id).collect())
        })
    }

    fn release(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.pass("release", std::slice::from_ref(&lease)).await?;
            let _ = self.with(&lease, |session| session.is_held = false);
            Ok(())
        })
    }

    fn append(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.pass("append", std::slice::from_ref(&lease)).await?;
            self.with(&lease, |session| {
                assert_eq!(seq, session.lines.len() as u64 + 1);
                session.lines.extend(lines);
            })
        })
    }

    fn read(&self, id: String, after: u64, limit: usize) -> BoxFuture<'_, Result<Page, Error>> {
        let sessions = self.0.sessions.lock().unwrap();
        let page = sessions.get(&id).map(|session| {
            let behind = (1..).zip(session.lines.iter()).filter(|(seq, _)| *seq > after).take(limit);
            Page::new(behind.map(|(seq, line)| StoredLine::new(seq, line.as_bytes())).collect())
        });
        Box::pin(async { page.ok_or_else(|| Error::new(ErrorKind::NotFound, "there is no such session")) })
    }

    fn info(&self, id: String) -> BoxFuture<'_, Result<Option<SessionInfo>, Error>> {
        Box::pin(async move {
            let known = {
                let sessions = self.0.sessions.lock().unwrap();
                sessions.get(&id).map(|session| {
                    let mut info = SessionInfo::new(id, 0);
                    (info.title, info.metadata) = (session.info.title.clone(), session.info.metadata.clone());
                    info
                })
            };
            self.pass("info", &[]).await?;
            Ok(known)
        })
    }

    fn set_info(&self, lease: HeldLease, info: Info) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.pass("set_info", std::slice::from_ref(&lease)).await?;
            self.with(&lease, |session| session.info = info)
        })
    }

    fn list(&self, _query: ListQuery) -> BoxFuture<'_, Result<SessionPage, Error>> {
        Box::pin(async { Ok(SessionPage::default()) })
    }

    fn delete(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.pass("delete", std::slice::from_ref(&lease)).await?;
            self.with(&lease, |_| ())?;
            self.0.sessions.lock().unwrap().remove(&lease.id);
            Ok(())
        })
    }
}
