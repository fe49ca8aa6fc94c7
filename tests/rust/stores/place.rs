//! Where the stores of the tests are, and what they hold.

use std::path::PathBuf;
use std::sync::OnceLock;

use agent_loop::message::Message;
use agent_loop::session::{JournalRecord, OpenSession, Rebuilt, Store, StoreBuilder, SyncMode};
use tempfile::TempDir;

/// The kinds of stores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Memory,
    Sqlite,
    Jsonl,
    /// In the server at `$AGENT_POSTGRES`: `tests/postgres/with_server.py`.
    #[cfg(feature = "postgres")]
    Postgres,
}

/// A place for a store, which is removed at the end.
pub(crate) struct Place {
    kind: Kind,
    folder: TempDir,
    /// A store in memory is there as long as this is, with the options that were asked for first.
    memory: OnceLock<Store>,
    /// Of a Postgres store: that of its own tables.
    schema: Option<String>,
}

impl Place {
    pub(crate) fn new(kind: Kind) -> Place {
        Place { kind, folder: tempfile::tempdir().unwrap(), memory: OnceLock::new(), schema: schema(kind) }
    }

    pub(crate) fn address(&self) -> String {
        match self.kind {
            Kind::Memory => "memory:".to_owned(),
            Kind::Sqlite => self.path().display().to_string(),
            Kind::Jsonl => format!("jsonl:{}", self.path().display()),
            #[cfg(feature = "postgres")]
            Kind::Postgres => self.schema.clone().unwrap(),
        }
    }

    /// The file or folder.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(if self.kind == Kind::Jsonl { "sessions" } else { "agents.db" })
    }

    /// Opens it once more, as another process would.
    pub(crate) fn store(&self) -> Store {
        self.store_of("tests", 30_000)
    }

    pub(crate) fn store_of(&self, holder: &str, lease_ms: u64) -> Store {
        self.opened(Store::builder(self.address()).holder(holder).lease_ms(lease_ms))
    }

    pub(crate) fn synced(&self, sync: SyncMode) -> Store {
        self.opened(Store::builder(self.address()).sync(sync))
    }

    fn opened(&self, builder: StoreBuilder) -> Store {
        match self.kind {
            Kind::Memory => self.memory.get_or_init(|| builder.open().unwrap()).clone(),
            _ => builder.open().unwrap(),
        }
    }

    /// Whether it is in another process.
    pub(crate) fn is_server(&self) -> bool {
        self.schema.is_some()
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.kind != Kind::Memory
    }
}

/// An address of the server with tables that nobody else has.
fn schema(kind: Kind) -> Option<String> {
    match kind {
        #[cfg(feature = "postgres")]
        Kind::Postgres => {
            static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
            let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let name = format!("test_{}_{number}", std::process::id());
            let server = std::env::var("AGENT_POSTGRES").expect("run tests/postgres/with_server.py -- COMMAND");
            run(async {
                let (client, connection) = tokio_postgres::connect(&server, tokio_postgres::NoTls).await.unwrap();
                let connection = tokio::spawn(connection);
                client.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
                drop(client);
                connection.await.unwrap().unwrap();
            });
            Some(format!("{server}&options=-c%20search_path%3D{name}"))
        }
        _ => None,
    }
}

/// Runs a test in a runtime with two workers.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(test)
}

/// A user's message.
pub(crate) fn said(text: impl Into<String>) -> JournalRecord {
    JournalRecord::message(Message::user(text, 0))
}

pub(crate) fn texts(rebuilt: &Rebuilt) -> Vec<String> {
    rebuilt.messages.iter().map(|message| message.text()).collect()
}

/// Opens a session, and returns it with its texts.
pub(crate) async fn opened(store: &Store, id: &str) -> (OpenSession, Vec<String>) {
    let session = store.session(id).unwrap().open().await.unwrap();
    let texts = texts(&session.rebuilt());
    (session, texts)
}

/// Numbers that look random and are the same each time.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}
