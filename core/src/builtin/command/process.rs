//! A program that runs under supervision: with its output, a time limit, and nothing left behind.

use std::ffi::OsString;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

use super::ended::Ended;
use super::output::Kept;
#[cfg(not(target_os = "linux"))]
use super::process_group::{Watch, start};
#[cfg(target_os = "linux")]
use super::watch::{Watch, start};
use crate::builtin::sandbox::{Confined, Jail};
use crate::cancel::CancelToken;
use crate::threads::{Blocking, blocking, spawn_blocking};

/// What is to run.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) limit: Duration,
    /// Whether its output has what it writes to standard error.
    pub(crate) has_errors: bool,
}

/// What came of it.
pub(crate) struct Finished {
    pub(crate) ended: Ended,
    /// How many processes it had left, which were killed.
    pub(crate) left: u32,
    /// Whether its supervisor did not answer, and was killed: then some may be left.
    pub(crate) is_forced: bool,
    pub(crate) output: Kept,
    pub(crate) confined: Confined,
}

/// A program that runs.
struct Started {
    watch: Watch,
    output: std::io::PipeReader,
    limit: Duration,
    confined: Confined,
}

/// How long the rest of the output is waited for after the end of all processes. Usually it is there.
const REST_LIMIT: Duration = Duration::from_secs(1);

/// How long the supervisor has to end all, which takes it half a second and a moment for each process.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How often progress is reported.
const PROGRESS: Duration = Duration::from_secs(1);

const PIECE_BYTES: usize = 64 << 10;

impl Program {
    /// Runs it in its sandbox. What prepares both asks the file system, so it has a thread for it. `progress` gets the output so
    /// far, now and then.
    ///
    /// # Errors
    /// A text for the model: that of `prepare`, or it cannot be started.
    pub(crate) async fn run(
        prepare: impl FnOnce() -> Result<(Program, Confined), String> + Send + 'static,
        cancel: &CancelToken,
        mut progress: impl FnMut(&Kept),
    ) -> Result<Finished, String> {
        let not_started = |why: &dyn std::fmt::Display| format!("the program could not be started: {why}");
        let start = move || Ok(prepare().and_then(|(program, confined)| program.start(confined)));
        let started = blocking(start).await.map_err(|error| not_started(&error.message()))??;
        let Started { watch, output, limit, confined } = started;
        let watch = watch.in_runtime().map_err(|error| not_started(&error))?;
        let mut output = pipe::Receiver::from_owned_fd(output.into()).map_err(|error| not_started(&error))?;
        let (end, force, report) = watch.split();
        let (mut end, mut report, mut deadline) = (Some(end), pin!(report), pin!(sleep_until(Instant::now() + limit)));
        let (mut kept, mut piece, mut ended_by, mut reported) = (Kept::default(), vec![0; PIECE_BYTES], None, None);
        let (mut tick, mut seen) = (tokio::time::interval(PROGRESS), 0);
        let (mut is_open, mut force, mut is_forced) = (true, Some(force), false);
        while is_open || reported.is_none() {
            tokio::select! {
                read = output.read(&mut piece), if is_open => match read {
                    Ok(bytes) if bytes > 0 => kept.push(piece.get(..bytes).unwrap_or_default()),
                    _ => is_open = false,
                },
                done = &mut report, if reported.is_none() => {
                    reported = Some(done);
                    deadline.set(sleep_until(Instant::now() + REST_LIMIT));
                }
                () = &mut deadline => match (reported.is_some(), ended_by) {
                    (true, _) => is_open = false,
                    (false, None) => {
                        ended_by = Some(Ended::TimedOut);
                        drop(end.take());
                        deadline.set(sleep_until(Instant::now() + END_LIMIT));
                    }
                    // The command has stopped its supervisor.
                    (false, Some(_)) if !is_forced => {
                        is_forced = true;
                        if let Some(force) = force.take() {
                            let _ = spawn_blocking(Blocking::Other, move || force.kill());
                        }
                        deadline.set(sleep_until(Instant::now() + END_LIMIT));
                    }
                    (false, Some(_)) => break,
                },
                () = cancel.wait(), if ended_by.is_none() && reported.is_none() => {
                    ended_by = Some(Ended::Aborted);
                    drop(end.take());
                    deadline.set(sleep_until(Instant::now() + END_LIMIT));
                }
                _ = tick.tick() => if kept.total() > seen {
                    seen = kept.total();
                    progress(&kept);
                },
            }
        }
        let (status, left) = reported.flatten().map_or((None, 0), |(status, left)| (Some(status), left));
        let ended = ended_by.unwrap_or_else(|| status.map_or(Ended::Lost, Ended::of_status));
        Ok(Finished { ended, left, is_forced, output: kept, confined })
    }

    fn start(self, mut confined: Confined) -> Result<Started, String> {
        let (path, limit, jail) = (self.path.clone(), self.limit, confined.take_jail());
        match self.spawn(jail) {
            Ok((watch, output)) => Ok(Started { watch, output, limit, confined }),
            Err(error) => Err(format!("{} could not be started: {error}", path.display())),
        }
    }

    fn spawn(self, jail: Option<Jail>) -> Result<(Watch, std::io::PipeReader), Error> {
        let (reader, writer) = std::io::pipe()?;
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).current_dir(&self.folder).env_clear().envs(self.environment);
        // One pipe for both: the order in which they were written is the order in which they are read.
        command.stdin(Stdio::null()).stdout(writer.try_clone()?);
        command.stderr(if self.has_errors { writer.into() } else { Stdio::null() });
        Ok((start(command, jail)?, reader))
    }
}

/// The shell that commands are for: bash where it is, else sh.
pub(super) fn shell() -> &'static Path {
    let bash = ["/bin/bash", "/usr/bin/bash"].map(Path::new);
    bash.into_iter().find(|path| path.exists()).unwrap_or(Path::new("/bin/sh"))
}
