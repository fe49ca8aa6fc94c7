//! Settings of git for each call, which take precedence over the repository's: those that would start programs are off. The
//! user's own are not read, but for a name and an address.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
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
    ("gpg.program", "/dev/null"),
    ("gpg.openpgp.program", "/dev/null"),
    ("gpg.x509.program", "/dev/null"),
    ("gpg.ssh.program", "/dev/null"),
    ("gpg.ssh.defaultKeyCommand", ""),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    // A diff of a submodule would have the settings of the submodule.
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    // It may ask for a signature to be checked.
    ("format.pretty", "medium"),
    // A folder of files that looks like a repository is none.
    ("safe.bareRepository", "explicit"),
];

/// The settings of a call.
pub(crate) struct Settings {
    /// Where git stops to look for a repository.
    above: PathBuf,
    all: Vec<(OsString, OsString)>,
}

impl Settings {
    pub(super) fn new(root: &Path) -> Settings {
        let all = OFF.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Settings { above: root.parent().unwrap_or(root).to_owned(), all }
    }

    /// Adds what the user and the repository have, as git lists it: a name, a line break and a value, and a NUL behind it. As
    /// bytes: a name that was made readable is another one, and would not be switched off.
    pub(super) fn add(&mut self, of_user: &[u8], of_repository: &[u8]) {
        let own: Vec<&[u8]> = listed(of_repository).map(|(name, _)| name).filter(|name| name.starts_with(b"user.")).collect();
        let of_user = listed(of_user).filter(|(name, _)| !own.contains(name));
        self.all.extend(of_user.map(|(name, value)| (text(name), text(value))));
        for (name, _) in listed(of_repository).filter(|(name, _)| name.starts_with(b"filter.")) {
            let value = if name.ends_with(b".required") { "false" } else { "" };
            self.all.push((text(name), value.into()));
        }
    }

    /// The environment variables; the user's settings for all repositories are read only with the home that has them.
    pub(super) fn variables(&self, home: Option<&Path>) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = vec![
            ("GIT_ALLOW_PROTOCOL".into(), "none".into()),
            ("GIT_CEILING_DIRECTORIES".into(), self.above.clone().into()),
            ("GIT_CONFIG_COUNT".into(), self.all.len().to_string().into()),
            ("GIT_NO_LAZY_FETCH".into(), "1".into()),
            ("GIT_OPTIONAL_LOCKS".into(), "0".into()),
            ("LC_ALL".into(), "C.UTF-8".into()),
        ];
        for (at, (name, value)) in self.all.iter().enumerate() {
            all.push((format!("GIT_CONFIG_KEY_{at}").into(), name.into()));
            all.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
        }
        all.push(("GIT_CONFIG_NOSYSTEM".into(), "1".into()));
        all.push(match home {
            Some(home) => ("HOME".into(), home.into()),
            None => ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
        });
        all
    }
}

/// The user's settings, for all repositories: a file and a folder in a home.
pub(super) fn files_of_user(home: &Path) -> [PathBuf; 2] {
    [".gitconfig", ".config/git"].map(|name| home.join(name))
}

/// Lists who the user is, and which folders of others it trusts; with the files that these settings include, or without.
pub(super) fn of_user(includes: bool) -> Vec<String> {
    let includes = if includes { "--includes" } else { "--no-includes" };
    let names = r"^(user\.(name|email)|safe\.directory)$";
    ["config", "--global", includes, "--null", "--get-regexp", names].map(str::to_owned).into()
}

/// Lists all that the repository has: names that are no text match no pattern of git's.
pub(super) fn of_repository() -> Vec<String> {
    ["config", "--includes", "--null", "--list"].map(str::to_owned).into()
}

/// Names and values. A setting without a value has an empty one here.
fn listed(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    bytes.split(|byte| *byte == 0).filter(|setting| !setting.is_empty()).map(|setting| {
        let end = setting.iter().position(|byte| *byte == b'\n').unwrap_or(setting.len());
        (setting.get(..end).unwrap_or_default(), setting.get(end + 1..).unwrap_or_default())
    })
}

fn text(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}
