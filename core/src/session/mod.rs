//! Sessions: conversations that outlive their process, in a store.
//!
//! - `store`: a [`Store`] is opened by its address, and has sessions by their ids. `store_options` has its options, and
//!   `shared` what all of its sessions share.
//! - `handle`: a [`Session`] is a cheap handle: it reads, forks, deletes, exports.
//! - `open`, `writer`, `held`, `renewal`, `closing`: an [`OpenSession`] is the one that may write, for as long as it has the
//!   lease.
//! - `follow`: what another task, process or machine is doing with a session; `follow_live` has the events of its run, too, if
//!   that is in this process. `feed` is where they meet the writer, `live` has the events. `reading` has what is common to all
//!   that read.
//! - `hosting`: what bindings of other languages need of all that.
//! - `backend`: what a store is made of: [`StoreBackend`], for your own database. `memory`, `jsonl`, `sqlite` and `postgres` are
//!   ours; `alive` knows whether a process that has a lease is still there. `ids`, `errors` and `clock` are common to all.
//!
//! ```
//! use agent_loop::message::Message;
//! use agent_loop::session::{JournalRecord, Store};
//!
//! # let folder = std::env::temp_dir().join(format!("agent-loop-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("agents.db").to_string_lossy().into_owned();
//! # let runtime = agent_loop::Runtime::new()?;
//! # runtime.block_on(async {
//! let store = Store::open(&path)?; // "agents.db", for example
//! let session = store.session("user-7")?.open().await?;
//! session.append(vec![JournalRecord::message(Message::user("Rain in Oslo?", 0))]).await?;
//! session.close().await?;
//!
//! let again = store.session("user-7")?.open().await?;
//! assert_eq!(again.rebuilt().messages[0].text(), "Rain in Oslo?");
//! # agent_loop::session::Result::Ok(())
//! # })?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An agent that is [built with a session](crate::AgentBuilder::session) keeps its conversation there by itself:
//!
//! ```
//! use agent_loop::Agent;
//! use agent_loop::session::Store;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
//! let store = Store::open("memory:")?;
//! // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
//! let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Yes."}, {"end": "stop"}]]}"#;
//! let agent = Agent::builder(model).session(store.session("user-8")?.open().await?).build()?;
//! if agent.interrupted().is_some() {
//!     agent.resume().await?;
//! }
//! println!("{}", agent.prompt("Rain in Oslo?").await?.text);
//! # Ok(()) }
//! ```
//!
//! # What is durable when
//!
//! A record is in the store when the future of [`OpenSession::append`] ends. What it survives then is the store's option
//! [`sync`](StoreBuilder::sync):
//!
//! | | the process is killed | the machine loses power |
//! | --- | --- | --- |
//! | `full` | nothing is lost | nothing is lost |
//! | `normal` (default) | nothing is lost | the last records may be |
//! | `off` | nothing is lost | the store may be damaged |
//!
//! In Postgres, `full` and `off` set `synchronous_commit` on and off, and `normal` leaves it as the server has it.
//!
//! # One writer
//!
//! Who opens a session has a lease on it, which is renewed meanwhile. Another one gets `busy` with the holder's name. When the
//! holder's process has ended, or its lease has not been renewed in time, the session can be opened elsewhere; whatever the
//! former holder still wants to write is refused.

mod alive;
mod backend;
mod clock;
mod closing;
mod errors;
mod feed;
mod follow;
mod follow_live;
mod handle;
mod held;
#[cfg(feature = "__bindings")]
#[doc(hidden)] // For hosts of other languages, without any promise.
pub mod hosting;
mod ids;
mod jsonl;
mod live;
mod memory;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod reading;
mod renewal;
mod shared;
mod sqlite;
mod store;
mod store_options;
mod writer;

pub use agent_loop_proto::conversation::journal::{InterruptedPhase, InterruptedRun};
pub use agent_loop_proto::session::*;
pub use backend::{Acquire, HeldLease, Lease, ListQuery, Page, SessionInfo, SessionPage, StoreBackend, StoredLine};
pub use follow::Follow;
pub use follow_live::{FollowLive, Followed, LiveEvent};
pub use handle::{SalvagedSession, Session};
pub use open::{Diagnostic, OpenSession};
pub use store::{Store, StoreBuilder};
pub use store_options::SyncMode;

/// What the functions of this module return.
pub type Result<T> = std::result::Result<T, crate::error::Error>;
