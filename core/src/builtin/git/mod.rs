//! `git`: reads the repository of the root, and commits. Runs the program git as commands are run, in their sandbox and without a
//! network, with its [settings](settings) such that a repository cannot have it start programs.

mod arguments;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

pub(super) use self::arguments::words;
use self::arguments::{Action, Asked};
pub(super) use self::settings::Settings;
use super::command::{self, Ended, Kept, Program, environment};
use super::path::ROOT;
use super::sandbox::{Confined, Sandbox};
use super::shared::{MadeTool, Shared};
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::tool::{ExecutionMode, FnTool};
use agent_loop_proto::gate::{Subject, SubjectKind};

/// How many bytes of its output a result has.
const MOST_BYTES: usize = 30_000;

const DESCRIPTION: &str = "Works with the git repository of the working folder. status: what has changed. diff: the changes not \
    yet staged; with staged, those that are; with revision, those since then. log: the commits, newest first. show: a commit, or \
    a file of one (HEAD:path). commit: commits these paths, or all changes. Hooks and filters of the repository are not run.";

const NO_GIT: &str = "there is no program git in the folders of PATH; those in the working folder, in the option writable and \
    for temporary files are not searched, as a command could have put it there";

pub(super) struct Git {
    shared: Arc<Shared>,
    root: PathBuf,
    sandbox: Sandbox,
    /// How long each call of the program may take.
    limit: Duration,
}

/// A call of the program.
struct Call {
    arguments: Vec<String>,
    /// Environment variables beside those that all programs have.
    own: Vec<(OsString, OsString)>,
    /// The home whose settings of git it may read.
    home: Option<PathBuf>,
    has_errors: bool,
}

impl Call {
    fn with(settings: &Settings) -> Call {
        Call { arguments: Vec::new(), own: settings.variables(None), home: None, has_errors: true }
    }
}

/// What is checked out.
pub(super) struct Head {
    /// `None`: HEAD is detached.
    pub(super) branch: Option<String>,
    pub(super) commit: String,
    pub(super) parents: Vec<String>,
}

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let parameters = json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": Action::NAMES },
            "revision": text("Of diff, log and show: a commit, a branch or a range such as main..HEAD."),
            "paths": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Only these files and folders, relative to the working folder; no patterns.",
            },
            "staged": { "type": "boolean", "description": "Of diff: the staged changes." },
            "max_count": { "type": "integer", "minimum": 1, "maximum": 200, "description": "Of log. Default: 20." },
            "message": text("Of commit: its message."),
            "all": { "type": "boolean", "description": "Of commit: all changes in the working folder, new files included." },
        },
        "required": ["action"],
    });
    let git = Arc::new(Git::new(shared)?);
    let tool = FnTool::new("git", DESCRIPTION, parameters, move |arguments, context| {
        let git = Arc::clone(&git);
        async move { git.call(&arguments, context.cancel_token()).await }
    })?;
    let tool = tool.with_subject(Subject::new("action", SubjectKind::Text))?;
    let reason = |arguments: &Map<String, Value>| {
        let is_commit = arguments.get("action").and_then(Value::as_str) == Some("commit");
        is_commit.then(|| "it makes a commit".to_owned())
    };
    Ok(Arc::new(tool.with_approval_if(reason).execution_mode(ExecutionMode::Sequential)))
}

impl Git {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Git, Error> {
        let (root, sandbox) = (shared.root.absolute(ROOT), Sandbox::new(&shared.options)?.without_network());
        let limit = Duration::from_millis(shared.options.command_timeout_ms);
        Ok(Git { shared: Arc::clone(shared), root, sandbox, limit })
    }

    /// The same, with calls of the program that take at most so long.
    pub(super) fn at_most(self, limit: Duration) -> Git {
        Git { limit: self.limit.min(limit), ..self }
    }

    async fn call(self: &Arc<Self>, arguments: &Value, cancel: &CancelToken) -> Result<Value, String> {
        let asked = Asked::read(arguments)?;
        let settings = self.settings(cancel).await?;
        match asked.action {
            Action::Commit => self.commit(&asked, settings, cancel).await,
            _ => {
                let output = self.succeed(asked.reading(), &settings, cancel).await?;
                let text = if output.total() == 0 { nothing(asked.action).to_owned() } else { shown(&output) };
                Ok(json!({ "content": [{ "type": "text", "text": text }], "details": { "action": asked.action.name() } }))
            }
        }
    }

    /// The settings for this repository.
    pub(super) async fn settings(self: &Arc<Self>, cancel: &CancelToken) -> Result<Settings, String> {
        let mut settings = Settings::new(&self.root);
        // The repository, or its files, may be elsewhere by its own settings.
        let places = ["rev-parse", "--show-toplevel", "--absolute-git-dir"].map(str::to_owned);
        let places = self.succeed(places.into(), &settings, cancel).await.map_err(|error| match error {
            // One around the working folder is not looked for, so that git's own words are not true.
            error if error.contains("not a git repository (or any") => {
                format!("git: the working folder, {}, is not the top of a git repository", self.root.display())
            }
            error => error,
        })?;
        let places = places.piece(0, MOST_BYTES).text;
        let is_inside = |place: &str| {
            let place = PathBuf::from(place);
            place.starts_with(&self.root) || self.sandbox.is_writable(&place)
        };
        if let Some(outside) = places.lines().find(|place| !is_inside(place)) {
            return Err(format!(
                "the repository has its files at {outside}, outside of the working folder; the user can add that folder to \
                 writable of the option builtin_tools"
            ));
        }
        let of_user = self.of_user(&settings, cancel).await?;
        let listing = Call { arguments: settings::of_repository(), own: settings.variables(None), home: None, has_errors: false };
        // What is not read could start programs.
        let of_repository = listed(self.run(listing, cancel).await?);
        settings.add(&of_user, &of_repository.ok_or("the settings of the repository cannot be read, or are too long")?);
        Ok(settings)
    }

    /// What the user has set for all repositories.
    async fn of_user(self: &Arc<Self>, settings: &Settings, cancel: &CancelToken) -> Result<Vec<u8>, String> {
        let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return Ok(Vec::new()) };
        // What is included may be elsewhere, where it cannot be read.
        for includes in [true, false] {
            let (arguments, own) = (settings::of_user(includes), settings.variables(Some(&home)));
            let call = Call { arguments, own, home: Some(home.clone()), has_errors: false };
            if let Some(of_user) = listed(self.run(call, cancel).await?) {
                return Ok(of_user);
            }
        }
        Ok(Vec::new())
    }

    async fn commit(self: &Arc<Self>, asked: &Asked, settings: Settings, cancel: &CancelToken) -> Result<Value, String> {
        let filtered = self.succeed(asked.filtered(), &settings, cancel).await?;
        if filtered.total() > 0 {
            return Err(format!(
                "nothing was committed: these files go through a filter (an attribute of the repository, as with Git LFS), which \
                 is not run here; commit them with another tool:\n{}",
                shown(&filtered)
            ));
        }
        self.check_keys(&settings, cancel).await?;
        self.succeed(asked.adding(), &settings, cancel).await?;
        self.succeed(asked.committing(), &settings, cancel).await?;
        // The commit is there: who aborts now still learns of it.
        let cancel = &CancelToken::new();
        let Head { branch, commit, parents } = self.head(&settings, cancel).await?;
        let about = self.succeed(arguments::about(&commit), &settings, cancel).await;
        let about = about.map_or_else(|_| format!("committed as {commit}"), |about| shown(&about));
        let (parent, root) = (parents.first(), self.shared.root.shown());
        let details = json!({ "action": "commit", "commit": commit, "parent": parent, "branch": branch, "root": root });
        Ok(json!({ "content": [{ "type": "text", "text": about }], "details": details }))
    }

    /// Refuses a commit while the keys that a user has stored could become a part of it: from then on, they could be read.
    async fn check_keys(self: &Arc<Self>, settings: &Settings, cancel: &CancelToken) -> Result<(), String> {
        let Some(keys) = self.shared.root.keys() else { return Ok(()) };
        let listing = ["ls-files", "--cached", "--others", "--exclude-standard", "--"].map(str::to_owned);
        let listing = listing.into_iter().chain([format!(":(literal){keys}")]).collect();
        if self.succeed(listing, settings, cancel).await?.total() > 0 {
            return Err(format!(
                "nothing was committed: {keys} has the user's keys; the user has to add it to .gitignore first, and if the \
                 repository has it already, to remove it there: git rm -r --cached {keys}"
            ));
        }
        Ok(())
    }

    /// What is checked out.
    pub(super) async fn head(self: &Arc<Self>, settings: &Settings, cancel: &CancelToken) -> Result<Head, String> {
        let line = self.succeed(words(&["rev-list", "--parents", "--max-count=1", "HEAD", "--"]), settings, cancel).await?;
        let line = first_line(&line);
        let mut ids = line.split_whitespace().map(str::to_owned);
        let commit = ids.next().ok_or("git has named no commit")?;
        let parents = ids.collect();
        let call = Call { arguments: words(&["symbolic-ref", "--quiet", "HEAD"]), ..Call::with(settings) };
        let branch = match self.run(call, cancel).await? {
            (Ended::Exited(0), output) => Some(first_line(&output)),
            (Ended::Exited(1), _) => None,
            _ => return Err("git has not named the branch".to_owned()),
        };
        Ok(Head { branch, commit, parents })
    }

    /// The output of a call of git that has to succeed.
    pub(super) async fn succeed(
        self: &Arc<Self>,
        arguments: Vec<String>,
        settings: &Settings,
        cancel: &CancelToken,
    ) -> Result<Kept, String> {
        let call = Call { arguments, ..Call::with(settings) };
        match self.run(call, cancel).await? {
            (Ended::Exited(0), output) => Ok(output),
            (Ended::Exited(_), output) => Err(format!("git: {}", shown(&output).trim_end())),
            (Ended::TimedOut, _) => Err("git took longer than command_timeout_ms allows, and was ended".to_owned()),
            (Ended::Aborted, _) => Err("git was ended: the call was aborted".to_owned()),
            (Ended::BySignal(_) | Ended::Lost, output) => Err(format!("git was ended by a signal: {}", shown(&output))),
        }
    }

    async fn run(self: &Arc<Self>, call: Call, cancel: &CancelToken) -> Result<(Ended, Kept), String> {
        let git = Arc::clone(self);
        let finished = Program::run(move || git.prepare(call), cancel, |_| {}).await?;
        Ok((finished.ended, finished.output))
    }

    fn prepare(&self, call: Call) -> Result<(Program, Confined), String> {
        let options = &self.shared.options;
        self.shared.root.check_place()?;
        // Of the home, only that is there to be read.
        let files = call.home.as_deref().map(settings::files_of_user);
        let confined = self.sandbox.reading(files.into_iter().flatten()).confine(&self.root, &self.root)?;
        let has_programs = |folder: &Path| self.sandbox.has_programs(&self.root, folder);
        let mut variables = environment(&options.env, confined.temporary(), has_programs);
        // A command may have left a program of that name.
        let untrusted: Vec<&Path> = [&*self.root].into_iter().chain(self.sandbox.writable()).collect();
        command::keep_trusted(&mut variables, &untrusted);
        let path = command::program("git", &variables, &untrusted).ok_or(NO_GIT)?;
        variables.extend(call.own);
        let program = Program {
            path,
            arguments: call.arguments.into_iter().map(Into::into).collect(),
            folder: self.root.clone(),
            environment: variables,
            limit: self.limit,
            has_errors: call.has_errors,
        };
        Ok((program, confined))
    }
}

/// What git has listed, whole; an empty list has the exit status 1.
fn listed((ended, output): (Ended, Kept)) -> Option<Vec<u8>> {
    if matches!(ended, Ended::Exited(0 | 1)) { output.whole() } else { None }
}

fn first_line(output: &Kept) -> String {
    output.piece(0, MOST_BYTES).text.lines().next().unwrap_or_default().to_owned()
}

fn shown(output: &Kept) -> String {
    let piece = output.piece(0, MOST_BYTES);
    match output.total() - piece.to {
        0 => piece.text,
        left => format!("{}\n[{left} more bytes are left out; ask for fewer paths or commits]", piece.text),
    }
}

fn nothing(action: Action) -> &'static str {
    match action {
        Action::Log => "No commits.",
        _ => "No changes.",
    }
}
