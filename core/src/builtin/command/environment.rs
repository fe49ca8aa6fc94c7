//! The environment of commands: the user's language and paths, and none of the keys of this program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variables of this process that a command gets. Others may be keys.
const KEPT: &[&str] = &["PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR"];

/// What keeps programs from asking, paging and colouring.
const SET: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
];

const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// The environment of a command: with these variables of the option, and in a sandbox with its folder for temporary files, which
/// is the home of programs, too.
pub(crate) fn environment(
    own: &BTreeMap<String, String>,
    temporary: Option<&Path>,
    has_programs: impl Fn(&Path) -> bool,
) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &OsStr| name.to_str().is_some_and(|name| KEPT.contains(&name) || name.starts_with("LC_"));
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os().filter(|(name, _)| is_kept(name)).collect();
    all.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
    all.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    if let Some(temporary) = temporary {
        all.extend(["TMPDIR", "HOME"].map(|name| (name.into(), temporary.into())));
        // Git ends when it cannot read a file that is there.
        all.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
        // A shell takes the first program of a name, also where it cannot run it.
        if let Some(path) = all.get_mut(OsStr::new("PATH")) {
            let folders: Vec<_> = std::env::split_paths(path).filter(|folder| has_programs(folder)).collect();
            *path = std::env::join_paths(folders).unwrap_or_else(|_| DEFAULT_PATH.into());
        }
    }
    all.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
    all.into_iter().collect()
}
