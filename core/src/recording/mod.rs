//! Recorded runs: an agent's runs written to a file, a recorded run played again, and an agent whose model answers from a file.
//!
//! - [`Record`]: the option `record`; `file`: the file it appends to
//! - [`Replay`]: the option `replay`, and what the function [`replay`](crate::replay) plays; `replayed`: a run whose model
//!   answers from a recording, `answer`: one such answer
//!
//! What a recording has, and how it is played, is decided in [`agent_loop_proto::recording`].
//!
//! ```
//! use agent_loop::{Agent, replay};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let file = folder.path().join("runs.jsonl");
//! // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
//! let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;
//! let recorded = Agent::builder(model).record(&*file).build()?.prompt("Say hello.").await?;
//!
//! // Without a network, a key or a tool, and at once: the same run.
//! assert_eq!(replay(&*file).await?.text, recorded.text);
//! // An agent's own tools and hooks, and the recorded answers of its model: for tests.
//! let agent = Agent::builder(model).replay(&*file).build()?;
//! assert_eq!(agent.prompt("Say hello.").await?.text, "Hello.");
//! # Ok(()) }
//! ```

mod answer;
mod file;
mod record;
mod replay;
mod replayed;

pub(crate) use answer::answering;
pub use record::Record;
pub(crate) use record::RunRecording;
pub use replay::Replay;
pub(crate) use replayed::ReplayedRun;
