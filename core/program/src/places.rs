//! Where the program keeps things.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;

use agent_loop::session::Store;
use agent_loop::sign_in;

use crate::failure::Failure;

/// The folder of an agent's data: `AGENT_HOME`, or where the system has the data of programs.
pub(crate) fn data_folder(agent: &str) -> Result<PathBuf, Failure> {
    let base = sign_in::data_folder().ok_or_else(|| Failure::error("there is no folder for sessions; set AGENT_HOME to one"))?;
    Ok(base.join(agent))
}

/// The store of an agent's sessions.
pub(crate) fn store(agent: &str) -> Result<Store, Failure> {
    let folder = data_folder(agent)?;
    let mut maker = std::fs::DirBuilder::new();
    // It has conversations, and what tools have read: no other user may read them.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    let made = maker.recursive(true).create(&folder);
    made.map_err(|why| Failure::error(format!("the folder {} cannot be made: {why}", folder.display())))?;
    Ok(Store::open(&format!("sqlite:{}", folder.join("sessions.db").display()))?)
}

/// A session's id that no other one has. It begins with how the session was begun: `chat`, `acp`.
pub(crate) fn new_id(of: &str) -> String {
    // Seeded by the system, for each process.
    format!("{of}-{:016x}", RandomState::new().build_hasher().finish())
}
