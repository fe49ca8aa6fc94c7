//! Where programs that are built on agent-loop have their data.

use std::path::{Path, PathBuf};

/// Where the files of the user's own store of keys are. Built-in tools have to know it also where nothing stores any.
pub(crate) fn keys_folder() -> Option<PathBuf> {
    Some(data_folder()?.join(".credentials"))
}

/// The folder for data of programs that are built on agent-loop: `AGENT_HOME`, or where the system has the data of programs.
/// `None` if the environment does not even name the user's home.
#[cfg_attr(not(feature = "sign-in"), allow(unreachable_pub))]
pub fn data_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || variable("HOME").or_else(|| variable("USERPROFILE"));
    let in_home = |path: &str| home().map(|home| home.join(Path::new(path)));
    variable("AGENT_HOME").or_else(|| {
        if cfg!(target_os = "macos") {
            return in_home("Library/Application Support/agent-loop");
        }
        if cfg!(windows) {
            return Some(variable("LOCALAPPDATA")?.join("agent-loop"));
        }
        Some(variable("XDG_DATA_HOME").or_else(|| in_home(".local/share"))?.join("agent-loop"))
    })
}
