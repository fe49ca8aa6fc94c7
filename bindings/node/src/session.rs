//! Sessions of a store, and those that are open. What a session holds is in the JSON of the journal, in every language.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_loop::host::Spelling;
use agent_loop::session::hosting::{Follower, Given, OpenSessions, info_of, open_for, records_of, salvaged_json};
use agent_loop::session::{OpenSession as CoreOpenSession, Session as CoreSession};
use agent_loop::{CancelToken, Runtime};
use napi_derive::napi;
use serde::Serialize;

use crate::agent::Agent;
use crate::bridge::Link;
use crate::error::{Result, thrown, verbatim};
use crate::store::{fitting, settle};
use crate::{camel_case, message, pieces, runtime};

/// How long the end of the process waits for sessions that are still open.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// What is settled where there is nothing to report.
pub(crate) const NOTHING: &str = "null";

/// A session of a store.
#[napi]
pub struct Session {
    session: CoreSession,
    link: Arc<Link>,
    /// Sessions that were opened and not taken by JavaScript yet, by ticket.
    opened: Arc<Mutex<HashMap<u32, CoreOpenSession>>>,
}

impl Session {
    pub(crate) fn new(session: CoreSession, link: &Arc<Link>) -> Session {
        Session { session, link: Arc::clone(link), opened: Arc::default() }
    }
}

/// Our own data in the JSON of the journal.
fn canonical(data: &impl Serialize) -> String {
    // It can always be written as JSON.
    serde_json::to_string(data).unwrap_or_default()
}

/// A number of JavaScript, which `lib/` has checked.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn whole(number: f64) -> u64 {
    number as u64
}

#[napi]
impl Session {
    /// Its id.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> &str {
        self.session.id()
    }

    /// Settles the ticket with what the store knows of it, or with null.
    #[napi(catch_unwind)]
    pub fn info(&self, ticket: u32) -> Result<()> {
        let session = self.session.clone();
        settle(&self.link, ticket, async move { Ok(camel_case::to_json(&session.info().await?)) })
    }

    /// Settles the ticket with records.
    #[napi(catch_unwind)]
    pub fn records(&self, after: f64, limit: f64, ticket: u32) -> Result<()> {
        let (session, limit) = (self.session.clone(), usize::try_from(whole(limit)).unwrap_or(usize::MAX));
        settle(&self.link, ticket, async move { Ok(canonical(&session.records(whole(after), limit).await?)) })
    }

    /// Follows it from this number on.
    #[napi(catch_unwind)]
    pub fn follow(&self, after: f64, live: bool) -> Follow {
        let follower = Follower::new(&self.session, whole(after), live);
        Follow { follower, link: Arc::clone(&self.link), closed: CancelToken::new() }
    }

    /// Sets title, metadata or both, in JSON.
    #[napi(catch_unwind)]
    pub fn set_info(&self, info: String, ticket: u32) -> Result<()> {
        let info = info_of(message::object("set_info", &info)?, Spelling::Camel).map_err(|e| thrown(&e))?;
        let session = self.session.clone();
        settle(&self.link, ticket, async move { session.set_info(info).await.map(|()| NOTHING.to_owned()) })
    }

    /// Makes another session of the records up to a number.
    #[napi(catch_unwind)]
    pub fn fork(&self, at: Option<f64>, id: String, ticket: u32) -> Result<()> {
        let session = self.session.clone();
        settle(&self.link, ticket, async move { session.fork(at.map(whole), &id).await.map(|_| NOTHING.to_owned()) })
    }

    /// Deletes it.
    #[napi(catch_unwind)]
    pub fn delete(&self, ticket: u32) -> Result<()> {
        let session = self.session.clone();
        settle(&self.link, ticket, async move { session.delete().await.map(|()| NOTHING.to_owned()) })
    }

    /// Settles the ticket with its JSON lines.
    #[napi(catch_unwind)]
    pub fn export(&self, ticket: u32) -> Result<()> {
        let session = self.session.clone();
        settle(&self.link, ticket, async move { Ok(canonical(&session.export().await?)) })
    }

    /// Settles the ticket with `{records, text, damage}`.
    #[napi(catch_unwind)]
    pub fn salvage(&self, ticket: u32) -> Result<()> {
        let session = self.session.clone();
        settle(&self.link, ticket, async move { Ok(salvaged_json(&session.salvage().await?).to_string()) })
    }

    /// Opens it for an agent, while this thread waits. On an error it is not left open.
    #[napi(catch_unwind)]
    pub fn open_for(&self, agent: &Agent) -> Result<OpenSession> {
        let runtime = runtime::runtime().map_err(|e| thrown(&e))?;
        let given = Given { is_in_event_loop: true, assigned: "session: " };
        let session = open_for(&agent.agent, &runtime, &self.session, given).map_err(|e| thrown(&e))?;
        Ok(OpenSession { session: OPEN.add(session), link: Arc::clone(&self.link) })
    }

    /// Opens it. When the ticket is settled, `takeOpened` has the open session.
    #[napi(catch_unwind)]
    pub fn open(&self, ticket: u32) -> Result<()> {
        let (session, opened) = (self.session.clone(), Arc::clone(&self.opened));
        settle(&self.link, ticket, async move {
            let open = session.open().await?;
            opened.lock().unwrap_or_else(PoisonError::into_inner).insert(ticket, open);
            Ok(NOTHING.to_owned())
        })
    }

    /// The session that was opened with this ticket.
    #[napi(catch_unwind)]
    pub fn take_opened(&self, ticket: u32) -> Option<OpenSession> {
        let session = self.opened.lock().unwrap_or_else(PoisonError::into_inner).remove(&ticket)?;
        Some(OpenSession { session: OPEN.add(session), link: Arc::clone(&self.link) })
    }
}

/// The records of a session, those to come included, and the events of its run.
#[napi]
pub struct Follow {
    follower: Follower,
    link: Arc<Link>,
    closed: CancelToken,
}

#[napi]
impl Follow {
    /// Settles the ticket with the next record or event, or with null when it is closed.
    #[napi(catch_unwind)]
    pub fn next(&self, ticket: u32) -> Result<()> {
        let next = self.follower.next(&runtime::runtime().map_err(|e| thrown(&e))?);
        let closed = self.closed.clone();
        settle(&self.link, ticket, async move {
            tokio::select! {
                biased;
                () = closed.cancelled() => Ok(NOTHING.to_owned()),
                next = next => Ok(canonical(&next?)),
            }
        })
    }

    /// Ends it: who waits for a record gets null.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.closed.cancel();
    }
}

/// A session with the right to append to it.
#[napi]
pub struct OpenSession {
    pub(crate) session: Arc<CoreOpenSession>,
    link: Arc<Link>,
}

/// For the end of the process.
static OPEN: OpenSessions = OpenSessions::new();

/// Closes all sessions that are open: when the last environment ends.
pub(crate) fn close_open(runtime: &Runtime) {
    OPEN.close(runtime, EXIT_TIMEOUT);
}

#[napi]
impl OpenSession {
    /// The number of the last record that was appended.
    #[napi(getter, catch_unwind)]
    pub fn last(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let last = self.session.last() as f64;
        last
    }

    /// The messages from this index on, as a JSON array: all, or so many that their text is not too long.
    #[napi(catch_unwind)]
    pub fn messages(&self, from: u32) -> String {
        pieces::messages(self.session.rebuilt().messages.get(from as usize..).unwrap_or_default())
    }

    /// How many messages there are.
    #[napi(getter, catch_unwind)]
    pub fn message_count(&self) -> u32 {
        u32::try_from(self.session.rebuilt().messages.len()).unwrap_or(u32::MAX)
    }

    /// All that it was when it was opened, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn rebuilt(&self) -> Result<String> {
        fitting(canonical(&*self.session.rebuilt())).map_err(|e| thrown(&e))
    }

    /// What was unusual when it was opened, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn diagnostics(&self) -> String {
        camel_case::to_json(self.session.diagnostics())
    }

    /// Appends records in JSON, which have their places when this returns. Settles the ticket with the number of the last one.
    #[napi(catch_unwind)]
    pub fn append(&self, records: String, ticket: u32) -> Result<()> {
        let records = message::read("records", &records).and_then(records_of).map_err(|e| verbatim(&e))?;
        let runtime = runtime::runtime().map_err(|e| thrown(&e))?;
        let appended = runtime.run_here(|| self.session.append(records));
        settle(&self.link, ticket, async move { appended.await.map(|last| last.to_string()) })
    }

    /// Sets title, metadata or both, in JSON.
    #[napi(catch_unwind)]
    pub fn set_info(&self, info: String, ticket: u32) -> Result<()> {
        let info = info_of(message::object("set_info", &info)?, Spelling::Camel).map_err(|e| thrown(&e))?;
        let session = CoreOpenSession::clone(&self.session);
        settle(&self.link, ticket, async move { session.set_info(info).await.map(|()| NOTHING.to_owned()) })
    }

    /// Settles the ticket when the store has all records.
    #[napi(catch_unwind)]
    pub fn flush(&self, ticket: u32) -> Result<()> {
        let session = CoreOpenSession::clone(&self.session);
        settle(&self.link, ticket, async move { session.flush().await.map(|()| NOTHING.to_owned()) })
    }

    /// Closes it.
    #[napi(catch_unwind)]
    pub fn close(&self, ticket: u32) -> Result<()> {
        let closed = self.session.close();
        settle(&self.link, ticket, async move { closed.await.map(|()| NOTHING.to_owned()) })
    }
}
