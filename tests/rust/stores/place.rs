//! Where the stores of the tests are, and what they hold.

use std::path::PathBuf;
use std::sync::OnceLock;

use agent_loop::message::Message;
use agent_loop::session::{Durability, OpenSession, Rebuilt, Record, Store, StoreBuilder};
use tempfile::TempDir;

/// The kinds of stores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Memory,
    Sqlite,
    Jsonl,
}

/// A place for a store, which is removed at the end.
pub(crate) struct Place {
    kind: Kind,
    folder: TempDir,
    /// A store in memory is there as long as this is, with the options that were asked for first.
    memory: OnceLock<Store>,
}

impl Place {
    pub(crate) fn new(kind: Kind) -> Place {
        Place { kind, folder: tempfile::tempdir().unwrap(), memory: OnceLock::new() }
    }

    pub(crate) fn address(&self) -> String {
        match self.kind {
            Kind::Memory => "memory:".to_owned(),
            Kind::Sqlite => self.path().display().to_string(),
            Kind::Jsonl => format!("jsonl:{}", self.path().display()),
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

    pub(crate) fn durable(&self, durability: Durability) -> Store {
        self.opened(Store::builder(self.address()).durability(durability))
    }

    fn opened(&self, builder: StoreBuilder) -> Store {
        match self.kind {
            Kind::Memory => self.memory.get_or_init(|| builder.open().unwrap()).clone(),
            _ => builder.open().unwrap(),
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.kind != Kind::Memory
    }
}

/// Runs a test in a runtime with two workers.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(test)
}

/// A user's message.
pub(crate) fn said(text: impl Into<String>) -> Record {
    Record::message(Message::user(text, 0))
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
