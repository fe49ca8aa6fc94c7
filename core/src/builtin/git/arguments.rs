//! The arguments of the tool `git`, and those of the program for them. What a model gives never becomes an option of the program.

use serde_json::Value;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Status,
    Diff,
    Log,
    Show,
    Commit,
}

impl Action {
    pub(super) const NAMES: [&'static str; 5] = ["status", "diff", "log", "show", "commit"];
    const ALL: [Action; 5] = [Action::Status, Action::Diff, Action::Log, Action::Show, Action::Commit];

    pub(super) fn name(self) -> &'static str {
        let names = Action::ALL.iter().zip(Action::NAMES);
        names.into_iter().find(|(action, _)| **action == self).map_or("", |(_, name)| name)
    }
}

/// A call, checked.
pub(super) struct Asked {
    pub(super) action: Action,
    revision: Option<String>,
    paths: Vec<String>,
    is_staged: bool,
    most: u64,
    message: String,
}

impl Asked {
    /// # Errors
    /// A text for the model: which argument is wrong, and why.
    pub(super) fn read(given: &Value) -> Result<Asked, String> {
        let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
        let flag = |name: &str| given.get(name).and_then(Value::as_bool).unwrap_or_default();
        let name = text("action").unwrap_or_default();
        let action = Action::ALL.into_iter().find(|action| action.name() == name);
        let paths = given.get("paths").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mut asked = Asked {
            action: action.ok_or_else(|| format!("action: expected one of {}", Action::NAMES.join(", ")))?,
            revision: text("revision"),
            paths: paths.map(str::to_owned).collect(),
            is_staged: flag("staged"),
            most: given.get("max_count").and_then(Value::as_u64).unwrap_or(20),
            message: text("message").unwrap_or_default(),
        };
        asked.revision.as_deref().map_or(Ok(()), check_revision)?;
        asked.paths.iter().try_for_each(|path| check_path(path))?;
        if asked.action == Action::Commit {
            match (asked.paths.is_empty(), flag("all")) {
                (true, false) => return Err("commit: give paths, or all: true".to_owned()),
                (false, true) => return Err("commit: give either paths or all, not both".to_owned()),
                (true, true) => asked.paths.push(".".to_owned()),
                (false, false) => {}
            }
            if asked.message.trim().is_empty() {
                return Err("commit: give a message".to_owned());
            }
        }
        Ok(asked)
    }

    /// The arguments of an action that reads.
    pub(super) fn reading(&self) -> Vec<String> {
        const PLAIN: &[&str] =
            &["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--submodule=short"];
        let mut all = match self.action {
            Action::Status => words(&["status", "--short", "--branch", "--ignore-submodules=dirty"]),
            Action::Diff => words(&["diff"]),
            Action::Log => words(&["log", "--no-show-signature", "--date=iso-strict", "--format=%h %ad %an%d: %s"]),
            Action::Show | Action::Commit => words(&["show", "--no-show-signature", "--date=iso-strict", "--format=medium"]),
        };
        match self.action {
            Action::Status => {}
            Action::Log => all.extend(["--no-color".to_owned(), format!("--max-count={}", self.most)]),
            _ => all.extend(words(PLAIN)),
        }
        if self.action == Action::Diff && self.is_staged {
            all.push("--cached".to_owned());
        }
        if self.action != Action::Status {
            all.extend(self.revision.clone());
        }
        self.with_paths(all)
    }

    /// Which of the paths to be committed go through a filter.
    pub(super) fn filtered(&self) -> Vec<String> {
        let mut all = words(&["ls-files", "--modified", "--others", "--exclude-standard", "--"]);
        // Here, a path may say what it is.
        all.extend(self.paths.iter().map(|path| format!(":(literal){path}")));
        all.push(":(exclude,attr:!filter)".to_owned());
        all
    }

    pub(super) fn adding(&self) -> Vec<String> {
        self.with_paths(words(&["add", "--all"]))
    }

    pub(super) fn committing(&self) -> Vec<String> {
        let message = format!("--message={}", self.message);
        let mut all = words(&["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status"]);
        all.push(message);
        self.with_paths(all)
    }

    fn with_paths(&self, mut all: Vec<String>) -> Vec<String> {
        all.insert(0, "--literal-pathspecs".to_owned());
        all.push("--".to_owned());
        all.extend(self.paths.iter().cloned());
        all
    }
}

/// What a commit is about.
pub(super) fn about(commit: &str) -> Vec<String> {
    words(&[
        "show",
        "--no-show-signature",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--stat",
        "--format=%h %s",
        commit,
        "--",
    ])
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn check_revision(revision: &str) -> Result<(), String> {
    if revision.trim().is_empty() || revision.starts_with('-') || revision.contains(char::is_control) {
        return Err(format!("revision: {revision:?} is none; give a commit, a branch or a range such as main..HEAD"));
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), String> {
    use std::path::{Component, Path};
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if path.is_empty() || path.starts_with('-') || path.contains('\0') || !is_inside {
        return Err(format!("paths: {path:?}: give a path in the working folder, relative to it, without \"..\" (./-x for -x)"));
    }
    Ok(())
}
