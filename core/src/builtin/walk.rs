//! Walks through the folders beneath an open one. Links are not followed.

use std::io::Read;

use cap_std::fs::{Dir, FileType};
use globset::{GlobBuilder, GlobMatcher};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::file_tool::FileCall;
use super::path::{self, ROOT};
use super::root::{because, open_file};

/// How deep folders may lie: each has a handle open while it is walked through.
const MAX_DEPTH: usize = 100;

/// How much of an ignore file is read.
const MAX_IGNORE_FILE: u64 = 1 << 20;

/// Files that name what to leave out. Of two in one folder, the later one decides.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Never walked through.
const OF_GIT: &str = ".git";

/// Which entries a walk passes over.
pub(super) struct Walk<'a> {
    call: &'a FileCall<'a>,
    shows_hidden: bool,
    shows_ignored: bool,
    /// The rules of the folders around, from the outermost.
    rules: Vec<Gitignore>,
    /// Folders that could not be walked through.
    pub(super) unread: usize,
}

/// A file that a walk has found.
pub(super) struct Found<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: &'a str,
    /// Its path in the root.
    pub(super) path: &'a str,
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Go {
    On,
    Stop,
}

impl<'a> Walk<'a> {
    /// As the arguments `hidden` and `ignored` of the call say.
    pub(super) fn new(call: &'a FileCall<'a>) -> Walk<'a> {
        let (shows_hidden, shows_ignored) = (call.flag("hidden"), call.flag("ignored"));
        Walk { call, shows_hidden, shows_ignored, rules: Vec::new(), unread: 0 }
    }

    /// Hands over all plain files beneath a folder, in the order of their names.
    ///
    /// # Errors
    /// A text for the model: the folder cannot be opened, or the call is no longer wanted.
    pub(super) fn files(&mut self, start: &str, each: &mut dyn FnMut(Found<'_>) -> Result<Go, String>) -> Result<(), String> {
        let failed = |error| because(start, &error);
        let mut folder = self.call.root.folder(ROOT).map_err(failed)?;
        // What the folders around it leave out.
        let mut so_far = ROOT.to_owned();
        for name in path::names(start) {
            self.add_rules(&folder, &so_far);
            folder = self.call.root.inner(&folder, name).map_err(failed)?;
            so_far = path::join(&so_far, name);
        }
        self.folder(&folder, start, 0, each).map(drop)
    }

    fn folder(
        &mut self,
        folder: &Dir,
        at: &str,
        depth: usize,
        each: &mut dyn FnMut(Found<'_>) -> Result<Go, String>,
    ) -> Result<Go, String> {
        self.call.check_wanted()?;
        let Some(entries) = entries(folder).filter(|_| depth < MAX_DEPTH) else {
            self.unread += 1;
            return Ok(Go::On);
        };
        let rules = self.rules.len();
        self.add_rules(folder, at);
        let mut go = Go::On;
        for (name, kind) in entries {
            let path = path::join(at, &name);
            if go == Go::Stop || self.leaves_out(&name, &path, kind.is_dir()) {
                continue;
            }
            if kind.is_file() {
                self.call.check_wanted()?;
                go = each(Found { folder, name: &name, path: &path })?;
            } else if kind.is_dir() {
                match self.call.root.inner(folder, &name) {
                    Ok(inner) => go = self.folder(&inner, &path, depth + 1, each)?,
                    Err(_) => self.unread += 1,
                }
            }
        }
        self.rules.truncate(rules);
        Ok(go)
    }

    fn leaves_out(&self, name: &str, path: &str, is_folder: bool) -> bool {
        if name == OF_GIT || self.call.root.is_closed(path) || (!self.shows_hidden && name.starts_with('.')) {
            return true;
        }
        // The innermost rule that says something decides.
        let decided = self.rules.iter().rev().map(|rules| rules.matched(path, is_folder)).find(|found| !found.is_none());
        matches!(decided, Some(Match::Ignore(_)))
    }

    fn add_rules(&mut self, folder: &Dir, at: &str) {
        if self.shows_ignored {
            return;
        }
        for name in IGNORE_FILES {
            let mut text = Vec::new();
            let read = open_file(folder, name).and_then(|(file, _)| file.take(MAX_IGNORE_FILE).read_to_end(&mut text));
            if read.is_err() || text.is_empty() {
                continue;
            }
            let mut builder = GitignoreBuilder::new(if at == ROOT { "" } else { at });
            for line in String::from_utf8_lossy(&text).lines() {
                // A line that is no glob says nothing, as in git.
                let _ = builder.add_line(None, line);
            }
            self.rules.extend(builder.build());
        }
    }
}

/// What a folder has, in the order of the names; `None` if it cannot be read. Names that are not UTF-8 are left out: no tool
/// could be given them.
fn entries(folder: &Dir) -> Option<Vec<(String, FileType)>> {
    let entries = folder.entries().ok()?.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?))
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Some(entries)
}

/// What a glob of a model matches: paths relative to where it looks. Without a slash, it is about names in any folder.
///
/// # Errors
/// A text for the model.
pub(super) fn glob(pattern: &str, argument: &str) -> Result<GlobMatcher, String> {
    let wrong = |why: &str| format!("{argument} {pattern:?}: {why}");
    let relative = pattern.trim_start_matches("./");
    if relative.starts_with('/') || relative.split('/').any(|name| name == "..") {
        return Err(wrong("it is matched with paths relative to `path`, so it begins with no / and has no `..`"));
    }
    let everywhere = if relative.contains('/') { relative.to_owned() } else { format!("**/{relative}") };
    let glob = GlobBuilder::new(&everywhere).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| wrong(&error.kind().to_string()))
}

/// The part of a path that is beneath a folder.
pub(super) fn beneath<'p>(path: &'p str, folder: &str) -> &'p str {
    path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}
