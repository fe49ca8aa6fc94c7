//! `run_command`: runs a command of the shell in the root, and reads on in the output of one before.
//!
//! Whatever the command starts ends with it, by the process that [`supervisor`] is; what it reaches is up to the
//! [sandbox](super::sandbox).

mod ended;
mod environment;
mod output;
mod process;
#[cfg(not(target_os = "linux"))]
mod process_group;
mod search;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod watch;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use self::output::{Piece, SHOWN_HEAD, SHOWN_TAIL};
use self::process::shell;
use super::sandbox::{Confined, Sandbox};
use super::shared::{MadeTool, Shared};
use crate::tool::{ExecutionMode, FnTool, ToolContext};
use agent_loop_proto::gate::{Subject, SubjectKind};
use agent_loop_proto::message::Message;

pub(super) use self::ended::Ended;
pub(super) use self::environment::environment;
pub(super) use self::output::Kept;
pub(super) use self::process::{Finished, Program};
pub(super) use self::search::{keep_trusted, program};

/// The longest that a call may ask for, unless the option `command_timeout_ms` is longer.
const LONGEST_MS: u64 = 600_000;

/// How many outputs are kept to be read on.
const MOST_OUTPUTS: usize = 8;

/// The least number of an output: all have ten digits.
const LEAST_NUMBER: u64 = 1_000_000_000;

/// How many bytes of the output progress shows.
const PROGRESS_BYTES: usize = 2000;

const DESCRIPTION: &str = "Runs a shell command (bash, or sh where there is none) in the working folder, and gives its exit \
    status and output, standard error included. Standard input is empty: nothing can be asked. All processes end with the \
    command, so a server that it starts in the background is gone afterwards; use one command for what needs it. Of a long \
    output, the middle is left out; read on in it with output_of and offset instead of command.";

/// Runs commands, and keeps their output.
struct Commands {
    shared: Arc<Shared>,
    root: PathBuf,
    sandbox: Sandbox,
    /// With their numbers, the oldest first. All conversations of the agent have them: who does not know a number has no output.
    outputs: Mutex<VecDeque<(u64, Kept)>>,
}

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let default = shared.options.command_timeout_ms;
    let parameters = json!({
        "type": "object",
        "properties": {
            "command": { "type": "string", "description": "The command. Leave it out to read on in an output." },
            "cwd": { "type": "string", "description": "The folder, relative to the working folder. Default: that folder." },
            "timeout_ms": {
                "type": "integer",
                "minimum": 1,
                "description": format!("When it is ended, in milliseconds. Default: {default}; at most {}.", longest(default)),
            },
            "output_of": { "type": "integer", "description": "The number of an output, as its result gave it." },
            "offset": { "type": "integer", "minimum": 0, "description": "Where to read on in that output, in bytes." },
        },
    });
    let root = shared.folder()?;
    let sandbox = Sandbox::new(&shared.options)?;
    let commands = Arc::new(Commands { shared: Arc::clone(shared), root, sandbox, outputs: Mutex::default() });
    let tool = FnTool::new("run_command", DESCRIPTION, parameters, move |arguments, context| {
        let commands = Arc::clone(&commands);
        async move { commands.call(&arguments, &context).await }
    })?;
    let tool = tool.with_subject(Subject::new("command", SubjectKind::Command))?;
    // To read on changes nothing.
    let reason = |arguments: &Map<String, Value>| arguments.contains_key("command").then(|| "it runs a command".to_owned());
    Ok(Arc::new(tool.with_approval_if(reason).execution_mode(ExecutionMode::Sequential)))
}

/// The longest time limit of a call, where this is the default.
fn longest(default_ms: u64) -> u64 {
    default_ms.max(LONGEST_MS)
}

impl Commands {
    async fn call(self: &Arc<Self>, arguments: &Value, context: &ToolContext) -> Result<Value, String> {
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        match (arguments.get("command").and_then(Value::as_str), number("output_of")) {
            (Some(command), None) => self.run(command, arguments, context).await,
            (None, Some(output)) => self.read_on(output, number("offset").unwrap_or_default()),
            _ => Err("give either command, to run one, or output_of, to read on in the output of one before".to_owned()),
        }
    }

    async fn run(self: &Arc<Self>, command: &str, arguments: &Value, context: &ToolContext) -> Result<Value, String> {
        let options = &self.shared.options;
        let folder = arguments.get("cwd").and_then(Value::as_str).unwrap_or(".").to_owned();
        let limit_ms = match arguments.get("timeout_ms").and_then(Value::as_u64) {
            Some(ms) if ms > longest(options.command_timeout_ms) => {
                return Err(format!("timeout_ms: a command may take at most {} ms", longest(options.command_timeout_ms)));
            }
            given => given.unwrap_or(options.command_timeout_ms),
        };
        let (commands, command) = (Arc::clone(self), command.to_owned());
        let prepare = move || commands.prepare(command, &folder, limit_ms);
        let progress = |kept: &Kept| context.update(json!(kept.last(PROGRESS_BYTES).text));
        let finished = Program::run(prepare, context.cancel_token(), progress).await?;
        let is_known = has_reported(context, &finished.confined.missing);
        Ok(self.result(finished, limit_ms, is_known))
    }

    fn prepare(&self, command: String, folder: &str, limit_ms: u64) -> Result<(Program, Confined), String> {
        self.shared.root.check_place()?;
        let folder = within(&self.root, folder)?;
        let confined = self.sandbox.confine(&self.root, &folder)?;
        let has_programs = |folder: &Path| self.sandbox.has_programs(&self.root, folder);
        let program = Program {
            path: shell().to_owned(),
            arguments: vec!["-c".into(), command.into()],
            environment: environment(&self.shared.options.env, confined.temporary(), has_programs),
            folder,
            limit: Duration::from_millis(limit_ms),
            has_errors: true,
        };
        Ok((program, confined))
    }

    /// The result for the model, whose output is kept if it is not all of it.
    fn result(&self, Finished { ended, left, is_forced, output, confined }: Finished, limit_ms: u64, is_known: bool) -> Value {
        let mut lines = vec![how(ended, limit_ms)];
        if left > 0 {
            let are = if left == 1 { "process it had left running was" } else { "processes it had left running were" };
            lines.push(format!("{left} {are} ended."));
        }
        if is_forced {
            let text = "The process that watches over it did not answer, and was killed: what it has started may still run.";
            lines.push(text.to_owned());
        }
        if !is_known {
            lines.extend(confined.missing.iter().map(|text| (*text).to_owned()));
        }
        let mut details = Map::from_iter([
            ("processes_ended".to_owned(), left.into()),
            ("output_bytes".to_owned(), output.total().into()),
            ("sandbox".to_owned(), json!({ "is_on": confined.is_on(), "missing": confined.missing })),
        ]);
        details.extend(match ended {
            Ended::Exited(code) => Some(("exit_status".to_owned(), code.into())),
            Ended::BySignal(signal) => Some(("signal".to_owned(), signal.into())),
            Ended::TimedOut => Some(("timed_out".to_owned(), true.into())),
            Ended::Aborted => Some(("aborted".to_owned(), true.into())),
            Ended::Lost => None,
        });
        let total = output.total();
        if total == 0 {
            lines.push("No output.".to_owned());
        } else if total <= (SHOWN_HEAD + SHOWN_TAIL) as u64 {
            lines.push(format!("\n{}", output.piece(0, SHOWN_HEAD + SHOWN_TAIL).text));
        } else {
            let (head, tail) = (output.piece(0, SHOWN_HEAD), output.last(SHOWN_TAIL));
            let number = self.keep(output);
            details.insert("output".to_owned(), number.into());
            lines.push(format!(
                "Output {number}: {total} bytes, of which bytes {} to {} are left out here; read on with output_of: {number}, \
                 offset: {}.\n\n{}\n[…]\n{}",
                head.to, tail.from, head.to, head.text, tail.text
            ));
        }
        let is_error = !matches!(ended, Ended::Exited(_));
        json!({ "content": [{ "type": "text", "text": lines.join("\n") }], "details": details, "is_error": is_error })
    }

    fn keep(&self, output: Kept) -> u64 {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        // Not to be guessed by who has not seen it.
        let number = LEAST_NUMBER + RandomState::new().hash_one(0) % (9 * LEAST_NUMBER);
        outputs.push_back((number, output));
        if outputs.len() > MOST_OUTPUTS {
            outputs.pop_front();
        }
        number
    }

    fn read_on(&self, number: u64, offset: u64) -> Result<Value, String> {
        let outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, output)) = outputs.iter().find(|(kept, _)| *kept == number) else {
            return Err(format!("output_of: there is no output {number} any more; run the command again"));
        };
        let Piece { text, from, to } = output.piece(offset, SHOWN_HEAD + SHOWN_TAIL);
        let total = output.total();
        if offset >= total {
            return Err(format!("offset: output {number} has {total} bytes"));
        }
        let gap = if from > offset + 3 { format!("Bytes {offset} to {from} were not kept. ") } else { String::new() };
        let more = if to < total { format!("; read on with offset: {to}") } else { String::new() };
        let text = format!("{gap}Output {number}, bytes {from} to {to} of {total}{more}.\n\n{text}");
        Ok(json!({ "content": [{ "type": "text", "text": text }], "details": { "output": number, "from": from, "to": to } }))
    }
}

/// Whether a result of the conversation so far has reported what the sandbox lacks.
fn has_reported(context: &ToolContext, missing: &[&str]) -> bool {
    let Some(run) = context.run().filter(|_| !missing.is_empty()) else { return missing.is_empty() };
    let machine = run.machine();
    machine.transcript().iter().any(|message| match &**message {
        Message::ToolResult(result) if result.tool_name == *context.name() => {
            result.details.get("sandbox").and_then(|sandbox| sandbox.get("missing")) == Some(&json!(missing))
        }
        _ => false,
    })
}

/// How a command has ended, in a sentence.
fn how(ended: Ended, limit_ms: u64) -> String {
    match ended {
        Ended::Exited(code) => format!("Exit status {code}."),
        Ended::BySignal(signal) => format!("Ended by signal {signal}."),
        Ended::TimedOut => format!("Ended after its time limit of {limit_ms} ms; timeout_ms can be more."),
        Ended::Aborted => "Ended: the call was aborted, or the agent's time limit for tools has passed.".to_owned(),
        Ended::Lost => "Ended: the process that watches over it was killed.".to_owned(),
    }
}

/// A folder of the root, which is absolute and without links.
///
/// # Errors
/// A text for the model: there is none, or it is outside.
pub(super) fn within(root: &Path, folder: &str) -> Result<PathBuf, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("cwd: {folder:?}: {why}");
    let found = root.join(folder).canonicalize().map_err(|error| wrong(&error))?;
    match (found.starts_with(root), found.is_dir()) {
        (false, _) => Err(wrong(&"it is outside of the working folder; give a path in it, relative to it")),
        (true, false) => Err(wrong(&"not a folder")),
        (true, true) => Ok(found),
    }
}
