//! What a store is made of.

use std::time::Duration;

use agent_loop_proto::session::Info;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::clock::now_ms;
use crate::error::Error;
use crate::future::BoxFuture;

/// How often a store without notifications is read to find out whether something has changed.
pub(super) const CHECK_EVERY: Duration = Duration::from_millis(50);

/// What keeps sessions: a database of your own, for example.
///
/// A session is a list of lines, numbered 1, 2, 3 … without gaps, with a lease that says who may append. Lines are opaque: UTF-8
/// text without a line end. All errors are reported to who uses the session; say in their text what was wrong and where.
///
/// A future may be dropped before it has ended. What it then does is either done as a whole or not at all.
pub trait StoreBackend: Send + Sync + 'static {
    /// What the store is called in errors: `the SQLite store agents.db`.
    fn name(&self) -> String;

    /// Gives the right to append to a session, which it creates if there is none of this id. The lease's token is larger than
    /// all that the session had before.
    ///
    /// # Errors
    /// `busy` with the holder's name, while another has a lease that has not ended.
    fn acquire(&self, request: Acquire) -> BoxFuture<'_, Result<Lease, Error>>;

    /// Prolongs leases to this many milliseconds from now, and returns the ids of those that another holder has taken.
    fn renew(&self, leases: Vec<HeldLease>, lease_ms: u64) -> BoxFuture<'_, Result<Vec<String>, Error>>;

    /// Gives a lease back. One that was lost is left as it is.
    fn release(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>>;

    /// Appends lines, of which the first has the number `seq`; all of them or none. The future ends when they are as durable as
    /// the store is to make them.
    ///
    /// # Errors
    /// `busy` with the new holder's name, if the lease was taken by another holder; nothing is appended then.
    fn append(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> BoxFuture<'_, Result<(), Error>>;

    /// The lines behind the number `after`, in order, at most `limit`; none where there are no more.
    ///
    /// # Errors
    /// `not_found` if there is no such session.
    fn read(&self, id: String, after: u64, limit: usize) -> BoxFuture<'_, Result<Page, Error>>;

    /// What the store knows of a session.
    fn info(&self, id: String) -> BoxFuture<'_, Result<Option<SessionInfo>, Error>>;

    /// Sets title and metadata of a session, both: a part that is not given is taken away.
    ///
    /// # Errors
    /// As [`StoreBackend::append`].
    fn set_info(&self, lease: HeldLease, info: Info) -> BoxFuture<'_, Result<(), Error>>;

    /// Sessions, the one that was changed last first.
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, Error>>;

    /// Removes a session.
    ///
    /// # Errors
    /// As [`StoreBackend::append`].
    fn delete(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>>;

    /// Waits until there may be a line behind the number `after`. It may also end too early. Without an
    /// implementation of its own, a store is read every 50 ms.
    fn changed(&self, id: String, after: u64) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(changed_by_reading(self, id, after))
    }
}

/// Reads until there are lines behind a number.
pub(super) async fn changed_by_reading<B: StoreBackend + ?Sized>(backend: &B, id: String, after: u64) -> Result<(), Error> {
    while backend.read(id.clone(), after, 1).await?.lines.is_empty() {
        tokio::time::sleep(CHECK_EVERY).await;
    }
    Ok(())
}

/// Who asks for a lease.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Acquire {
    /// The session's id.
    pub id: String,
    /// Who asks: a name that errors show.
    pub holder: String,
    /// How long the lease lasts unless it is renewed, in milliseconds.
    pub lease_ms: u64,
}

/// The right to append to a session.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Lease {
    /// Larger than that of all leases before.
    pub token: u64,
    /// How many bytes of a torn end were removed from the session: the process that wrote them has ended in between.
    pub torn: u64,
    /// The number of the last line that the session is known to have had, when it was last closed for example; 0 where the store
    /// does not know. A session that has fewer lines is damaged.
    pub last: u64,
    /// Whether the session was created now: what it has need not be read.
    pub is_new: bool,
}

impl Lease {
    /// A lease with this token on a session without a torn end.
    pub fn new(token: u64) -> Lease {
        Lease { token, torn: 0, last: 0, is_new: false }
    }
}

/// A lease, with the session that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct HeldLease {
    /// The session's id.
    pub id: String,
    /// The lease's token.
    pub token: u64,
}

/// Lines of a session.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Page {
    /// In order.
    pub lines: Vec<StoredLine>,
    /// As [`Lease::last`]: the number of the last line that the session is known to have had; 0 where the store does not know.
    pub last: u64,
}

impl Page {
    /// These lines.
    pub fn new(lines: Vec<StoredLine>) -> Page {
        Page { lines, last: 0 }
    }
}

/// A line of a session, as the store has it.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct StoredLine {
    /// Its number.
    pub seq: u64,
    /// The text, even if it is damaged and no UTF-8 any more.
    pub text: Vec<u8>,
}

impl StoredLine {
    /// A line with this number.
    pub fn new(seq: u64, text: impl Into<Vec<u8>>) -> StoredLine {
        StoredLine { seq, text: text.into() }
    }
}

/// What a store knows of a session without reading it. Canonical JSON: `{id, title, metadata, created_ms, updated_ms, holder}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// What the application calls it.
    pub title: Option<String>,
    /// What the application keeps with it.
    pub metadata: Option<Map<String, Value>>,
    /// When it was created, in milliseconds since the epoch.
    pub created_ms: u64,
    /// When something was last appended, in milliseconds since the epoch; up to a second earlier, as it is not written each time.
    pub updated_ms: u64,
    /// Who has it open.
    pub holder: Option<String>,
}

impl SessionInfo {
    /// A session that was created then.
    pub fn new(id: impl Into<String>, created_ms: u64) -> SessionInfo {
        let (id, title, metadata, holder) = (id.into(), None, None, None);
        SessionInfo { id, title, metadata, created_ms, updated_ms: created_ms, holder }
    }
}

/// Which sessions are listed. All that is set has to hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ListQuery {
    /// Those whose `updated_ms` is at least this.
    pub updated_from_ms: Option<u64>,
    /// Those whose `updated_ms` is less than this.
    pub updated_before_ms: Option<u64>,
    /// Those whose metadata have these fields with these values.
    pub metadata: Map<String, Value>,
    /// At most so many; 0 for 100.
    pub limit: usize,
    /// Those behind a page: its [`SessionPage::next`].
    pub cursor: Option<String>,
}

impl ListQuery {
    /// Those that were changed at or after this time, in milliseconds since the epoch.
    #[must_use]
    pub fn updated_from(mut self, ms: u64) -> ListQuery {
        self.updated_from_ms = Some(ms);
        self
    }

    /// Those that were changed before this time, in milliseconds since the epoch.
    #[must_use]
    pub fn updated_before(mut self, ms: u64) -> ListQuery {
        self.updated_before_ms = Some(ms);
        self
    }

    /// Those whose metadata have this field with this value.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Value>) -> ListQuery {
        self.metadata.insert(field.into(), value.into());
        self
    }

    /// At most so many; 100 unless set.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> ListQuery {
        self.limit = limit;
        self
    }

    /// Those behind a page.
    #[must_use]
    pub fn after(mut self, cursor: impl Into<String>) -> ListQuery {
        self.cursor = Some(cursor.into());
        self
    }

    /// How many at most.
    pub(super) fn most(&self) -> usize {
        if self.limit == 0 { 100 } else { self.limit }
    }

    /// Whether the metadata are as asked for.
    pub(super) fn fits(&self, metadata: Option<&Map<String, Value>>) -> bool {
        self.metadata.iter().all(|(field, value)| metadata.and_then(|metadata| metadata.get(field)) == Some(value))
    }

    /// The last session of the page before: when it was changed, and its id.
    ///
    /// # Errors
    /// `invalid_argument` for a cursor that comes from no page.
    pub(super) fn place(&self) -> Result<Option<(u64, &str)>, Error> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let place = cursor.split_once(' ').and_then(|(ms, id)| Some((ms.parse().ok()?, id)));
        let wrong = || Error::invalid_argument(format!("list: cursor: {cursor:?} is not the `next` of a page"));
        place.map(Some).ok_or_else(wrong)
    }

    /// The page of a store that has all sessions at hand.
    pub(super) fn page_of(&self, mut all: Vec<SessionInfo>) -> Result<SessionPage, Error> {
        let place = self.place()?;
        all.retain(|session| {
            let is_behind =
                place.is_none_or(|(ms, id)| session.updated_ms < ms || (session.updated_ms == ms && session.id.as_str() > id));
            is_behind
                && self.updated_from_ms.is_none_or(|ms| session.updated_ms >= ms)
                && self.updated_before_ms.is_none_or(|ms| session.updated_ms < ms)
                && self.fits(session.metadata.as_ref())
        });
        all.sort_by(|a, b| b.updated_ms.cmp(&a.updated_ms).then_with(|| a.id.cmp(&b.id)));
        let has_more = all.len() > self.most();
        all.truncate(self.most());
        Ok(SessionPage::of(all, has_more))
    }
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct SessionPage {
    /// The one that was changed last comes first.
    pub sessions: Vec<SessionInfo>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

impl SessionPage {
    /// These sessions, and whether there are more.
    pub fn of(sessions: Vec<SessionInfo>, has_more: bool) -> SessionPage {
        let last = sessions.last().filter(|_| has_more);
        let next = last.map(|last| format!("{} {}", last.updated_ms, last.id));
        SessionPage { sessions, next }
    }
}

/// A lease as our own stores keep it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Holding {
    /// That of the last lease, also if it has ended.
    pub(super) token: u64,
    /// Empty if it was given back.
    pub(super) holder: String,
    /// See `alive`.
    pub(super) instance: String,
    /// When it ends, in milliseconds since the epoch.
    pub(super) expires_ms: u64,
    /// See [`Lease::last`].
    pub(super) last: u64,
}

impl Holding {
    /// How long it is still held, in milliseconds, as far as time says; 0 for not at all.
    pub(super) fn left_ms(&self) -> u64 {
        if self.holder.is_empty() { 0 } else { self.expires_ms.saturating_sub(now_ms()) }
    }

    /// The next lease.
    pub(super) fn next(&self, request: &Acquire, instance: &str) -> Holding {
        Holding {
            token: self.token.saturating_add(1),
            holder: request.holder.clone(),
            instance: instance.to_owned(),
            expires_ms: now_ms().saturating_add(request.lease_ms),
            last: self.last,
        }
    }

    /// The same after it was given back, by who has written up to this line.
    pub(super) fn given_back(&self, last: u64) -> Holding {
        Holding { token: self.token, last: self.last.max(last), ..Holding::default() }
    }

    /// Who has it, if it is held.
    pub(super) fn holder(&self) -> Option<&str> {
        Some(self.holder.as_str()).filter(|holder| !holder.is_empty())
    }
}
