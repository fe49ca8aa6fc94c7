//! Settings of git for each call, which take precedence over the repository's: those that would start programs are off. The
//! user's own are not read, but for a name and an address.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What would start programs, sign, or reach a server, and how paths are written.
const OFF: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
    ("core.sshCommand", "false"),
    ("core.askPass", "true"),
    ("core.quotePath", "false"),
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("credential.helper", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    // Of a submodule, its own settings would count.
    ("diff.submodule", "short"),
    // It may ask for a signature to be checked.
    ("format.pretty", "medium"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    // A folder of files that looks like a repository is none.
    ("safe.bareRepository", "explicit"),
];

/// The settings of a call.
pub(super) struct Settings {
    /// Where git stops to look for a repository.
    above: PathBuf,
    all: Vec<(String, String)>,
}

impl Settings {
    pub(super) fn new(root: &Path) -> Settings {
        let all = OFF.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings { above: root.parent().unwrap_or(root).to_owned(), all }
    }

    /// Adds what the user and the repository have, as git lists it: a name and a line, and a NUL behind it.
    pub(super) fn add(&mut self, of_user: &str, of_repository: &str) {
        let names = |name: &&str| name.starts_with("user.");
        let own: Vec<&str> = listed(of_repository).map(|(name, _)| name).filter(names).collect();
        let of_user = listed(of_user).filter(|(name, _)| !own.contains(name));
        self.all.extend(of_user.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (name, _) in listed(of_repository).filter(|(name, _)| name.starts_with("filter.")) {
            let value = if name.ends_with(".required") { "false" } else { "" };
            self.all.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The environment variables; the user's settings for all repositories are read only if `has_user`.
    pub(super) fn variables(&self, has_user: bool) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = vec![
            ("GIT_CEILING_DIRECTORIES".into(), self.above.clone().into()),
            ("GIT_CONFIG_COUNT".into(), self.all.len().to_string().into()),
            ("GIT_ALLOW_PROTOCOL".into(), "none".into()),
            ("GIT_NO_LAZY_FETCH".into(), "1".into()),
            ("GIT_OPTIONAL_LOCKS".into(), "0".into()),
            ("LC_ALL".into(), "C.UTF-8".into()),
        ];
        for (at, (name, value)) in self.all.iter().enumerate() {
            all.push((format!("GIT_CONFIG_KEY_{at}").into(), name.into()));
            all.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
        }
        if !has_user {
            all.extend([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")].map(|(n, v)| (n.into(), v.into())));
        }
        all
    }
}

/// Lists who the user is, and which folders of others it trusts.
pub(super) fn of_user() -> Vec<String> {
    listing(&["config", "--global"], r"^(user\.(name|email)|safe\.directory)$")
}

/// Lists who the repository says the user is, and its filters: programs that files go through.
pub(super) fn of_repository() -> Vec<String> {
    listing(&["config"], r"^(user\.(name|email)|filter\..*)$")
}

fn listing(before: &[&str], pattern: &str) -> Vec<String> {
    before.iter().copied().chain(["--includes", "--null", "--get-regexp", pattern]).map(str::to_owned).collect()
}

/// Names and values. Of an error message, none.
fn listed(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_terminator('\0').filter_map(|setting| setting.split_once('\n'))
}
