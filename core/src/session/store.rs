//! A store by its address.

use std::path::Path;
use std::sync::Arc;

use agent_loop_proto::session::{Info, JournalRecord, Unreadable, read_text};

use super::backend::{ListQuery, SessionPage, StoreBackend};
use super::handle::Session;
use super::jsonl::Jsonl;
use super::memory::Memory;
#[cfg(feature = "postgres")]
use super::postgres::Postgres;
use super::shared::SharedStore;
use super::sqlite::Sqlite;
use super::store_options::{StoreOptions, SyncMode};
use crate::error::{Error, ErrorKind};

/// Less would end between two renewals on a machine that is busy.
const LEAST_LEASE_MS: u64 = 100;

/// Where sessions are kept. Cheap to clone: clones share connections, and keep the store open.
///
/// ```
/// use agent_loop::session::{ListQuery, Store};
///
/// # let runtime = agent_loop::Runtime::new()?;
/// # runtime.block_on(async {
/// let store = Store::open("memory:")?; // or "agents.db", "jsonl:sessions"
/// store.session("user-7")?.open().await?.close().await?;
/// let page = store.list(ListQuery::default().limit(10)).await?;
/// assert_eq!(page.sessions[0].id, "user-7");
/// # agent_loop::session::Result::Ok(())
/// # })?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Store(Arc<SharedStore>);

impl Store {
    /// Opens a store:
    ///
    /// | address | what |
    /// | --- | --- |
    /// | `agents.db`, `sqlite:PATH` | an SQLite file, which is made if there is none |
    /// | `jsonl:FOLDER` | a folder, which is made if there is none, with a readable file for each session |
    /// | `postgres://USER:PASSWORD@HOST:PORT/DATABASE` | a Postgres database (feature `postgres`), in which tables are made |
    /// | `memory:` | the memory of this process, for tests |
    ///
    /// A Postgres server's certificate is checked whenever the connection is secure: with `sslmode=require`, and with `prefer`,
    /// which is the default, if the server offers it. `sslmode=disable` is for a server on the same machine.
    ///
    /// # Errors
    /// `invalid_argument` for an address that is not known; `io` for what the system refuses; `damaged` for a file that is no
    /// store; `newer_version` for a store of a newer version.
    pub fn open(address: &str) -> Result<Store, Error> {
        Store::builder(address).open()
    }

    /// A store with options.
    pub fn builder(address: impl Into<String>) -> StoreBuilder {
        StoreBuilder { place: Place::Address(address.into()), options: StoreOptions::default() }
    }

    /// A store of your own: in a database that you have already, for example.
    pub fn custom(backend: impl StoreBackend) -> StoreBuilder {
        StoreBuilder { place: Place::Custom(Arc::new(backend)), options: StoreOptions::default() }
    }

    /// What it is called in errors.
    pub fn name(&self) -> String {
        self.0.backend.name()
    }

    /// The session of this id, which need not exist.
    ///
    /// # Errors
    /// `invalid_argument` for an id that is empty, longer than 200 bytes, or has control characters.
    pub fn session(&self, id: &str) -> Result<Session, Error> {
        Session::new(&self.0, id)
    }

    /// Sessions, the one that was changed last first.
    ///
    /// # Errors
    /// `invalid_argument` for a cursor that comes from no page; `io` for what the store's disk or server refuses.
    pub async fn list(&self, query: ListQuery) -> Result<SessionPage, Error> {
        self.0.backend.list(query).await
    }

    /// Makes a session of JSON lines, as [`Session::export`] and [`Session::salvage`] give them: with its own id, or with
    /// another one.
    ///
    /// # Errors
    /// `invalid_argument` for a text that is no whole session, with the line, and if there is a session of that id;
    /// `newer_version` for a text of a newer version; else as [`Session::open`].
    pub async fn import(&self, text: &str, id: Option<&str>) -> Result<Session, Error> {
        let read = read_text(text.as_bytes());
        let wrong = |what: String| Err(Error::invalid_argument(format!("import: {what}")));
        let expected = "expected JSON lines as export gives them, from the first one on";
        match read.damage {
            Some((line, Unreadable::Damaged(what))) if read.entries.is_empty() => {
                return wrong(format!("line {line}: {what}; {expected}"));
            }
            Some((line, Unreadable::Damaged(what))) => return wrong(format!("line {line}: {what}")),
            Some((line, newer)) => {
                return Err(Error::new(
                    ErrorKind::NewerVersion,
                    format!("import: the text cannot be read: line {line}: {newer}"),
                ));
            }
            None if read.torn > 0 && read.entries.is_empty() => {
                return wrong(format!("line 1: it is no record of a session; {expected}"));
            }
            None if read.torn > 0 => {
                let (line, torn) = (read.entries.len().saturating_add(1), read.torn);
                return wrong(format!("line {line}: the last {torn} bytes are half a record; give the whole text"));
            }
            None => {}
        }
        let Some(JournalRecord::Session(start)) = read.entries.first().map(|entry| &entry.record) else {
            return wrong(format!("the text is empty; {expected}"));
        };
        let mut info = Info::default();
        for entry in &read.entries {
            if let JournalRecord::Info(changed) = &entry.record {
                info.merge(changed.clone());
            }
        }
        let lines = text.lines().filter(|line| !line.is_empty()).skip(1).map(|line| line.as_bytes().to_vec()).collect();
        Session::create(&self.0, id.unwrap_or(&start.id), start.forked_from.clone(), lines, info).await
    }
}

/// Opens a [`Store`] with options.
///
/// ```
/// use agent_loop::session::{SyncMode, Store};
///
/// let store = Store::builder("memory:").sync(SyncMode::Full).holder("worker-1").open()?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[must_use = "open opens it"]
pub struct StoreBuilder {
    place: Place,
    options: StoreOptions,
}

enum Place {
    Address(String),
    Custom(Arc<dyn StoreBackend>),
}

impl StoreBuilder {
    /// For what an append waits, and so what a record survives once it is written; [`SyncMode::Normal`] unless set. A store of
    /// your own decides by itself.
    pub fn sync(mut self, sync: SyncMode) -> StoreBuilder {
        self.options.sync = sync;
        self
    }

    /// How long a lease lasts unless it is renewed, in milliseconds; 30,000 unless set, at least 100. A session whose holder
    /// does not answer any more can be opened elsewhere after this time.
    pub fn lease_ms(mut self, ms: u64) -> StoreBuilder {
        self.options.lease_ms = ms;
        self
    }

    /// What others read who want to open a session that is open here; the process and its machine unless set. At most 200 bytes.
    pub fn holder(mut self, name: impl Into<String>) -> StoreBuilder {
        self.options.holder = name.into();
        self
    }

    /// Which authorities a Postgres server's certificate is checked with, and the client's own certificate: as of requests to
    /// models. Proxies are not used.
    #[cfg(feature = "postgres")]
    #[cfg_attr(docsrs, doc(cfg(feature = "postgres")))]
    pub fn network(mut self, network: crate::network::Network) -> StoreBuilder {
        self.options.network = network;
        self
    }

    /// Opens the store.
    ///
    /// # Errors
    /// As [`Store::open`]; `invalid_argument` for a value that is out of bounds.
    pub fn open(self) -> Result<Store, Error> {
        let StoreBuilder { place, options } = self;
        let wrong = match () {
            () if options.lease_ms < LEAST_LEASE_MS => {
                format!("store: lease_ms: at least {LEAST_LEASE_MS} ms, got {}", options.lease_ms)
            }
            () if options.holder.is_empty() || options.holder.len() > 200 => {
                format!("store: holder: expected 1 to 200 bytes, got {:?}", options.holder)
            }
            () => {
                let (backend, is_embedded) = open_backend(place, &options)?;
                return Ok(Store(SharedStore::new(backend, is_embedded, options)));
            }
        };
        Err(Error::invalid_argument(wrong))
    }
}

/// The store, and whether it is [embedded](SharedStore::is_embedded).
fn open_backend(place: Place, options: &StoreOptions) -> Result<(Arc<dyn StoreBackend>, bool), Error> {
    let address = match place {
        Place::Custom(backend) => return Ok((backend, false)),
        Place::Address(address) => address,
    };
    let given = |path: &str| match path.is_empty() {
        true => Err(Error::invalid_argument(format!("store: {address:?} names no path; give one, as in \"sqlite:agents.db\""))),
        false => Ok(()),
    };
    let (scheme, path) = match address.split_once(':') {
        // Not a drive of Windows.
        Some((scheme, path)) if scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => (scheme, path),
        _ => ("sqlite", address.as_str()),
    };
    match scheme {
        "sqlite" => {
            given(path)?;
            Ok((Arc::new(Sqlite::open(Path::new(path), options.sync)?), true))
        }
        "jsonl" => {
            given(path)?;
            Ok((Arc::new(Jsonl::open(Path::new(path), options.sync)?), true))
        }
        "memory" => Ok((Arc::new(Memory::default()), true)),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok((Arc::new(Postgres::new(&address, options.sync, &options.network)?), false)),
        #[cfg(not(feature = "postgres"))]
        "postgres" | "postgresql" => {
            Err(Error::invalid_argument("store: this build has no Postgres; build agent-loop with the feature \"postgres\""))
        }
        _ => Err(Error::invalid_argument(format!(
            "store: the address {address:?} is not known; give a path, or sqlite:PATH, jsonl:FOLDER, memory: or postgres://…"
        ))),
    }
}

impl std::fmt::Debug for StoreBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}
