//! Sessions in Postgres.
//!
//! Two tables as in SQLite, which are made when there are none. An append is one statement, and so one transaction and one round
//! trip: it locks the session's row against whoever wants to take the session, checks the lease, and adds the lines. Sessions
//! are written on several connections, so that the server waits for its disk once for all of them.
//!
//! Leases end by the server's clock. Whoever follows a session says so in its row, and is then notified.

mod connect;
mod listen;
mod sql;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agent_loop_proto::session::Info;
use deadpool_postgres::{Client, Pool};
use tokio::task::JoinSet;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::connect::{Server, failed};
use self::listen::Listener;
use super::backend::{Acquire, HeldLease, Lease, ListQuery, Page, SessionInfo, SessionPage, StoreBackend, StoredLine};
use super::errors::{forked, held, lost, missing};
use super::store_options::SyncMode;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::transport::network::Network;

/// The version of the tables.
const TABLES_VERSION: i32 = 1;
/// How long a notification may take before a follower reads without one: one may be lost with its connection.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// A store in a Postgres database.
pub(super) struct Postgres(Arc<Shared>);

struct Shared {
    name: String,
    pool: Pool,
    /// Whether the tables are known to be there.
    is_ready: tokio::sync::OnceCell<()>,
    listener: Listener,
    pid: u32,
}

type Parameter = Box<dyn ToSql + Send + Sync>;

/// The parameters of a statement.
macro_rules! given {
    ($($value:expr),*) => { vec![$(Box::new($value) as Parameter),*] };
}

impl Postgres {
    /// A store at an address `postgres://…`, to which it connects when it is first used.
    pub(super) fn new(address: &str, sync: SyncMode, network: &Network) -> Result<Postgres, Error> {
        let server = Server::of(address, sync, network)?;
        let pool = server.pool()?;
        Ok(Postgres(Arc::new(Shared {
            name: server.name.clone(),
            pool,
            is_ready: tokio::sync::OnceCell::new(),
            listener: Listener::new(server),
            pid: std::process::id(),
        })))
    }

    /// Does what has a connection, or what others wait for, in a task: a future need not be polled. It ends with the future.
    async fn in_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.check_process()?;
        let mut task = JoinSet::new();
        task.spawn(work);
        match task.join_next().await {
            Some(Ok(done)) => done,
            _ => Err(Error::new(ErrorKind::InvalidState, format!("{}: it was given up, as the runtime ends", self.0.name))),
        }
    }

    async fn rows(&self, doing: &'static str, text: &'static str, parameters: Vec<Parameter>) -> Result<Vec<Row>, Error> {
        let shared = Arc::clone(&self.0);
        self.in_task(async move { shared.rows(doing, text, &parameters).await }).await
    }

    /// The error of who has lost its lease.
    async fn now_held(&self, id: &str) -> Error {
        match self.info(id.to_owned()).await {
            Ok(info) => lost(id, info.and_then(|info| info.holder).as_deref()),
            Err(error) => error,
        }
    }

    async fn append_lines(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> Result<(), Error> {
        let (token, first) = (signed(lease.token), signed(seq));
        let rows = self.rows("writing", sql::APPEND, given![lease.id.clone(), token, first, lines]).await?;
        let Some(row) = rows.first() else { return Err(self.now_held(&lease.id).await) };
        if row.get::<_, bool>(1) {
            // A notification in the transaction itself would make all that write wait for each other.
            let pool = self.0.pool.clone();
            let number: i64 = row.get(0);
            drop(tokio::spawn(async move {
                if let Ok(client) = pool.get().await {
                    drop(client.execute(sql::NOTIFY, &[&number.to_string()]).await);
                }
            }));
        }
        Ok(())
    }

    async fn listed(&self, query: ListQuery) -> Result<SessionPage, Error> {
        let place = query.place()?.map(|(ms, id)| (signed(ms), id.to_owned()));
        let (mut ms, mut id) = place.unwrap_or((i64::MAX, String::new()));
        let (from, before) = (signed(query.updated_from_ms.unwrap_or(0)), signed(query.updated_before_ms.unwrap_or(u64::MAX)));
        let fields = searchable(&query.metadata);
        let limit = signed(query.most() as u64).saturating_add(1);
        let mut found: Vec<SessionInfo> = Vec::new();
        loop {
            let given = given![ms, id.clone(), from, before, fields.clone(), limit];
            let rows = self.rows("reading it", sql::LIST, given).await?;
            let is_last = (rows.len() as u64) < limit.unsigned_abs();
            for row in &rows {
                let session = info(row);
                (ms, id) = (signed(session.updated_ms), session.id.clone());
                // The server finds those that contain the metadata: a part of a list, too.
                if query.fits(session.metadata.as_ref()) {
                    if found.len() == query.most() {
                        return Ok(SessionPage::of(found, true));
                    }
                    found.push(session);
                }
            }
            if is_last {
                return Ok(SessionPage::of(found, false));
            }
        }
    }

    async fn when_changed(&self, id: String, after: u64) -> Result<(), Error> {
        let shared = Arc::clone(&self.0);
        let listening = self.in_task(async move { shared.listener.listen().await }).await?;
        let rows = self.rows("following", sql::FOLLOW, given![id.clone()]).await?;
        let Some(row) = rows.first() else { return Err(missing(&id, &self.0.name)) };
        let number: i64 = row.get(0);
        let changed = listening.of(number);
        // What was written before that has notified no follower.
        if self.read(id, after, 1).await?.lines.is_empty() {
            let _ = tokio::time::timeout(CHECK_EVERY, changed).await;
        }
        Ok(())
    }
}

impl Shared {
    fn check_process(&self) -> Result<(), Error> {
        if self.pid == std::process::id() { Ok(()) } else { Err(forked(&self.name)) }
    }

    /// A connection to a database that has the tables.
    async fn client(&self) -> Result<Client, Error> {
        let connect = async || self.pool.get().await.map_err(|error| failed(&self.name, "connecting", &error));
        let client = connect().await?;
        let prepare = async || {
            let one = async |text| client.query_one(text, &[]).await.map_err(|error| failed(&self.name, "reading it", &error));
            if !one(sql::HAS_TABLES).await?.get::<_, bool>(0) {
                client.batch_execute(sql::TABLES).await.map_err(|error| failed(&self.name, "making the tables", &error))?;
            }
            let version: i32 = one(sql::VERSION).await?.get(0);
            if version > TABLES_VERSION {
                let text = format!(
                    "{} was made by a newer version of agent-loop (its tables have version {version}, this one knows \
                     {TABLES_VERSION}): update agent-loop",
                    self.name
                );
                return Err(Error::new(ErrorKind::NewerVersion, text));
            }
            Ok(())
        };
        self.is_ready.get_or_try_init(prepare).await?;
        Ok(client)
    }

    async fn rows(&self, doing: &str, text: &str, parameters: &[Parameter]) -> Result<Vec<Row>, Error> {
        let client = self.client().await?;
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|given| &**given as &(dyn ToSql + Sync)).collect();
        let rows = async {
            let statement = client.prepare_cached(text).await?;
            client.query(&statement, &parameters).await
        };
        rows.await.map_err(|error| failed(&self.name, doing, &error))
    }
}

impl StoreBackend for Postgres {
    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn acquire(&self, request: Acquire) -> BoxFuture<'_, Result<Lease, Error>> {
        Box::pin(async move {
            let Acquire { id, holder, lease_ms } = request;
            // Once more if it was given back, or deleted, between two statements.
            loop {
                self.rows("opening a session", sql::CREATE, given![id.clone()]).await?;
                let request = given![id.clone(), holder.clone(), signed(lease_ms)];
                let taken = self.rows("opening a session", sql::ACQUIRE, request).await?;
                if let Some(row) = taken.first() {
                    return Ok(Lease { last: unsigned(row.get(1)), ..Lease::new(unsigned(row.get(0))) });
                }
                let rows = self.rows("opening a session", sql::HELD, given![id.clone()]).await?;
                if let Some(row) = rows.first() {
                    return Err(held(&id, row.get(0), unsigned(row.get(1))));
                }
            }
        })
    }

    fn renew(&self, leases: Vec<HeldLease>, lease_ms: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        Box::pin(async move {
            let ids: Vec<String> = leases.iter().map(|lease| lease.id.clone()).collect();
            let tokens: Vec<i64> = leases.iter().map(|lease| signed(lease.token)).collect();
            let rows = self.rows("renewing leases", sql::RENEW, given![ids, tokens, signed(lease_ms)]).await?;
            let kept: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            Ok(leases.into_iter().map(|lease| lease.id).filter(|id| !kept.contains(id)).collect())
        })
    }

    fn release(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.rows("closing a session", sql::RELEASE, given![lease.id, signed(lease.token)]).await?;
            Ok(())
        })
    }

    fn append(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.append_lines(lease, seq, lines))
    }

    fn read(&self, id: String, after: u64, limit: usize) -> BoxFuture<'_, Result<Page, Error>> {
        Box::pin(async move {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = self.rows("reading it", sql::READ, given![id.clone(), signed(after), limit]).await?;
            let Some(first) = rows.first() else { return Err(missing(&id, &self.0.name)) };
            let line = |row: &Row| Some(StoredLine::new(unsigned(row.get::<_, Option<i64>>(1)?), row.get::<_, &str>(2)));
            Ok(Page { last: unsigned(first.get(0)), ..Page::new(rows.iter().filter_map(line).collect()) })
        })
    }

    fn info(&self, id: String) -> BoxFuture<'_, Result<Option<SessionInfo>, Error>> {
        Box::pin(async move { Ok(self.rows("reading it", sql::INFO, given![id]).await?.first().map(info)) })
    }

    fn set_info(&self, lease: HeldLease, changed: Info) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let metadata = changed.metadata.map(serde_json::Value::Object);
            let fields = searchable(metadata.as_ref().and_then(|metadata| metadata.as_object()).unwrap_or(&Default::default()));
            let (token, text) = (signed(lease.token), metadata.map(|metadata| metadata.to_string()));
            let title = changed.title;
            let given = given![lease.id.clone(), token, title, text, fields];
            let rows = self.rows("writing", sql::SET_INFO, given).await?;
            if rows.is_empty() { Err(self.now_held(&lease.id).await) } else { Ok(()) }
        })
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, Error>> {
        Box::pin(self.listed(query))
    }

    fn delete(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let rows = self.rows("deleting a session", sql::DELETE, given![lease.id.clone(), signed(lease.token)]).await?;
            if rows.is_empty() { Err(self.now_held(&lease.id).await) } else { Ok(()) }
        })
    }

    fn changed(&self, id: String, after: u64) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.when_changed(id, after))
    }
}

/// A session of a row with the columns of [`sql::INFO`].
fn info(row: &Row) -> SessionInfo {
    let metadata: Option<&str> = row.get(2);
    SessionInfo {
        id: row.get(0),
        title: row.get(1),
        metadata: metadata.and_then(|text| serde_json::from_str(text).ok()),
        created_ms: unsigned(row.get(3)),
        updated_ms: unsigned(row.get(4)),
        holder: row.get(5),
    }
}

/// Metadata as the server's own JSON can have them, which knows no character 0.
fn searchable(metadata: &serde_json::Map<String, serde_json::Value>) -> String {
    serde_json::to_string(metadata).unwrap_or_default().replace("\\u0000", "\\ufffd")
}

/// A number as Postgres has it.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
