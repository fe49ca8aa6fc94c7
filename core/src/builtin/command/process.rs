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
use crate::threads::blocking;

/// What is to run.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) limit: Duration,
}

/// What came of it.
pub(crate) struct Finished {
    pub(crate) ended: Ended,
    /// How many processes it had left, which were killed.
    pub(crate) left: u32,
    pub(crate) output: Kept,
}

/// How long the rest of the output is waited for after the end of all processes. Usually it is there.
const REST_LIMIT: Duration = Duration::from_secs(1);

/// How often progress is reported.
const PROGRESS: Duration = Duration::from_secs(1);

const PIECE_BYTES: usize = 64 << 10;

impl Program {
    /// Runs it in the sandbox. `progress` gets the output so far, now and then.
    ///
    /// # Errors
    /// A text for the model: it cannot be started.
    pub(crate) async fn run(
        self,
        confined: &mut Confined,
        cancel: &CancelToken,
        mut progress: impl FnMut(&Kept),
    ) -> Result<Finished, String> {
        let (limit, path) = (self.limit, self.path.clone());
        let jail = confined.take_jail();
        let not_started = |why: &dyn std::fmt::Display| format!("{} could not be started: {why}", path.display());
        let started = blocking(move || Ok(self.start(jail))).await.map_err(|error| not_started(&error.message()))?;
        let in_runtime = |(watch, output): (Watch, std::io::PipeReader)| {
            Ok((watch.in_runtime()?, pipe::Receiver::from_owned_fd(output.into())?))
        };
        let (watch, mut output) = started.and_then(in_runtime).map_err(|error| not_started(&error))?;
        let (end, report) = watch.split();
        let (mut end, mut report, mut deadline) = (Some(end), pin!(report), pin!(sleep_until(Instant::now() + limit)));
        let (mut kept, mut piece, mut ended_by, mut reported) = (Kept::default(), vec![0; PIECE_BYTES], None, None);
        let (mut tick, mut seen) = (tokio::time::interval(PROGRESS), 0);
        let mut is_open = true;
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
                () = &mut deadline, if reported.is_some() || ended_by.is_none() => match reported {
                    Some(_) => is_open = false,
                    None => {
                        ended_by = Some(Ended::TimedOut);
                        drop(end.take());
                    }
                },
                () = cancel.wait(), if ended_by.is_none() && reported.is_none() => {
                    ended_by = Some(Ended::Aborted);
                    drop(end.take());
                }
                _ = tick.tick() => if kept.total() > seen {
                    seen = kept.total();
                    progress(&kept);
                },
            }
        }
        let (status, left) = reported.flatten().map_or((None, 0), |(status, left)| (Some(status), left));
        Ok(Finished { ended: ended_by.unwrap_or_else(|| status.map_or(Ended::Lost, Ended::of_status)), left, output: kept })
    }

    fn start(self, jail: Option<Jail>) -> Result<(Watch, std::io::PipeReader), Error> {
        let (reader, writer) = std::io::pipe()?;
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).current_dir(&self.folder).env_clear().envs(self.environment);
        // One pipe for both: the order in which they were written is the order in which they are read.
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        Ok((start(command, jail)?, reader))
    }
}

/// The shell that commands are for: bash where it is, else sh.
pub(super) fn shell() -> &'static Path {
    let bash = ["/bin/bash", "/usr/bin/bash"].map(Path::new);
    bash.into_iter().find(|path| path.exists()).unwrap_or(Path::new("/bin/sh"))
}
