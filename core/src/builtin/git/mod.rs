//! `git`: reads the repository of the root, and commits. Runs the program git as commands are run, in their sandbox and without a
//! network, with its [settings](settings) such that a repository cannot have it start programs.

mod arguments;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use self::arguments::{Action, Asked};
use self::settings::Settings;
use super::command::{Ended, Kept, Program, environment};
use super::sandbox::{Confined, Sandbox};
use super::shared::{MadeTool, Shared};
use crate::cancel::CancelToken;
use crate::tool::{ExecutionMode, FnTool};
use agent_loop_proto::gate::{Subject, SubjectKind};

/// How many bytes of its output a result has.
const MOST_BYTES: usize = 30_000;

const DESCRIPTION: &str = "Works with the git repository of the working folder. status: what has changed. diff: the changes not \
    yet staged; with staged, those that are; with revision, those since then. log: the commits, newest first. show: a commit, or \
    a file of one (HEAD:path). commit: commits these paths, or all changes. Hooks and filters of the repository are not run.";

struct Git {
    shared: Arc<Shared>,
    root: PathBuf,
    sandbox: Sandbox,
    /// None where there is none that can be trusted.
    program: Option<PathBuf>,
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
    let (root, sandbox) = (shared.folder()?, Sandbox::new(&shared.options)?.without_network());
    let git = Git { shared: Arc::clone(shared), program: program(&root, &sandbox), root, sandbox };
    let git = Arc::new(git);
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
    async fn call(&self, arguments: &Value, cancel: &CancelToken) -> Result<Value, String> {
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
    async fn settings(&self, cancel: &CancelToken) -> Result<Settings, String> {
        let mut settings = Settings::new(&self.root);
        // The repository, or its files, may be elsewhere by its own settings.
        let places = ["rev-parse", "--show-toplevel", "--absolute-git-dir"].map(str::to_owned);
        let places = self.succeed(places.into(), &settings, cancel).await?.piece(0, MOST_BYTES).text;
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
        // What the user has set for all repositories is read outside of the sandbox: that runs no program.
        let outside = &mut Confined::default();
        let of_user = self.run(settings::of_user(), settings.variables(true), outside, cancel).await?;
        let confined = &mut self.sandbox.confine(&self.root, &self.root)?;
        let of_repository = self.run(settings::of_repository(), settings.variables(false), confined, cancel).await?;
        match (of_user.1.whole(), of_repository.1.whole()) {
            (Some(of_user), Some(of_repository)) => settings.add(of_user, of_repository),
            // What is not read could start programs.
            _ => return Err("the settings of git are too long, or no text; the user has to look at them".to_owned()),
        }
        Ok(settings)
    }

    async fn commit(&self, asked: &Asked, settings: Settings, cancel: &CancelToken) -> Result<Value, String> {
        let filtered = self.succeed(asked.filtered(), &settings, cancel).await?;
        if filtered.total() > 0 {
            return Err(format!(
                "nothing was committed: these files go through a filter (an attribute of the repository, as with Git LFS), which \
                 is not run here; commit them with another tool:\n{}",
                shown(&filtered)
            ));
        }
        let head = || ["rev-parse", "--verify", "--quiet", "HEAD"].map(str::to_owned).into();
        let parent = self.succeed(head(), &settings, cancel).await.ok().map(|output| first_line(&output));
        self.succeed(asked.adding(), &settings, cancel).await?;
        self.succeed(asked.committing(), &settings, cancel).await?;
        let commit = first_line(&self.succeed(head(), &settings, cancel).await?);
        let about = self.succeed(arguments::about(&commit), &settings, cancel).await?;
        let details = json!({ "action": "commit", "commit": commit, "parent": parent });
        Ok(json!({ "content": [{ "type": "text", "text": shown(&about) }], "details": details }))
    }

    /// The output of a call of git that has to succeed.
    async fn succeed(&self, arguments: Vec<String>, settings: &Settings, cancel: &CancelToken) -> Result<Kept, String> {
        let confined = &mut self.sandbox.confine(&self.root, &self.root)?;
        match self.run(arguments, settings.variables(false), confined, cancel).await? {
            (Ended::Exited(0), output) => Ok(output),
            (Ended::Exited(_), output) => Err(format!("git: {}", shown(&output).trim_end())),
            (Ended::TimedOut, _) => Err("git took longer than command_timeout_ms allows, and was ended".to_owned()),
            (Ended::Aborted, _) => Err("git was ended: the call was aborted".to_owned()),
            (Ended::BySignal(_) | Ended::Lost, output) => Err(format!("git was ended by a signal: {}", shown(&output))),
        }
    }

    async fn run(
        &self,
        arguments: Vec<String>,
        own: Vec<(OsString, OsString)>,
        confined: &mut Confined,
        cancel: &CancelToken,
    ) -> Result<(Ended, Kept), String> {
        let options = &self.shared.options;
        let has_programs = |folder: &Path| self.sandbox.has_programs(&self.root, folder);
        let mut variables = environment(&options.env, confined.temporary(), has_programs);
        variables.extend(own);
        let program = Program {
            path: self.program.clone().ok_or("there is no program git outside of the working folder")?,
            arguments: arguments.into_iter().map(Into::into).collect(),
            folder: self.root.clone(),
            environment: variables,
            limit: Duration::from_millis(options.command_timeout_ms),
        };
        let finished = program.run(confined, cancel, |_| {}).await?;
        Ok((finished.ended, finished.output))
    }
}

/// The program: the first one on the path that no command could have put there, as it also runs outside of the sandbox.
fn program(root: &Path, sandbox: &Sandbox) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let temporary = std::env::temp_dir().canonicalize().ok();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join("git"));
    let programs = folders.chain(["/usr/local/bin/git", "/usr/bin/git"].map(PathBuf::from)).filter(|program| program.is_file());
    let mut found = programs.filter_map(|program| program.canonicalize().ok());
    found.find(|place| {
        let is_temporary = temporary.as_ref().is_some_and(|temporary| place.starts_with(temporary));
        !place.starts_with(root) && !sandbox.is_writable(place) && !is_temporary
    })
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
