//! A command and its supervisor, seen from this process (Linux).

// Signals are calls of C.
#![allow(unsafe_code)]

use std::collections::HashSet;
use std::future::Future;
use std::io::Error;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libc::{c_int, pid_t};
use tokio::io::AsyncReadExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::ended::Report;
use super::supervisor::{REPORT_BYTES, supervise};
use crate::builtin::sandbox::Jail;
use crate::threads::blocking;

/// A started command. It ends when this is dropped.
pub(super) struct Watch {
    supervisor: Child,
    control: UnixStream,
}

/// The same, in a runtime.
pub(super) struct Watching {
    supervisor: Child,
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
}

/// Ends the command when it is dropped: that shuts the socket down for the supervisor, whoever has copies of it.
pub(super) struct End(#[allow(dead_code)] OwnedWriteHalf);

/// Kills the supervisor, where it does not answer.
pub(super) struct Force {
    supervisor: pid_t,
    /// Whether it has answered: then its number may be another process's soon.
    has_answered: Arc<AtomicBool>,
}

/// How often its children are looked for, and how long after each time.
const ROUNDS: usize = 20;
const ROUND: Duration = Duration::from_millis(10);

impl Force {
    /// Kills its children with their groups, as often as there are new ones, and then itself. None of them is reaped while it
    /// stands still. Blocks for a moment.
    pub(super) fn kill(&self) {
        if self.has_answered.load(Ordering::Acquire) {
            return;
        }
        let kill = |pid: pid_t, signal: c_int| {
            // SAFETY: a system call.
            unsafe { libc::kill(pid, signal) };
        };
        kill(self.supervisor, libc::SIGSTOP);
        let list = format!("/proc/{0}/task/{0}/children", self.supervisor);
        let mut killed = HashSet::new();
        // Those of the killed ones are its children a little later.
        for _ in 0..ROUNDS {
            let children = std::fs::read_to_string(&list).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|child| child.parse().ok()).filter(|child: &pid_t| *child > 1) {
                if killed.insert(child) {
                    kill(-child, libc::SIGKILL);
                    kill(child, libc::SIGKILL);
                }
            }
            std::thread::sleep(ROUND);
        }
        kill(self.supervisor, libc::SIGKILL);
    }
}

/// Starts it. Blocks until it is the program, or that has failed.
pub(super) fn start(mut command: Command, jail: Option<Jail>) -> Result<Watch, Error> {
    let (ours, theirs) = UnixStream::pair()?;
    supervise(&mut command, theirs.as_raw_fd(), jail);
    let supervisor = command.spawn()?;
    ours.set_nonblocking(true)?;
    Ok(Watch { supervisor, control: ours })
}

impl Watch {
    pub(super) fn in_runtime(self) -> Result<Watching, Error> {
        let (read, write) = tokio::net::UnixStream::from_std(self.control)?.into_split();
        Ok(Watching { supervisor: self.supervisor, read, write })
    }
}

impl Watching {
    pub(super) fn split(self) -> (End, Force, impl Future<Output = Report>) {
        let Watching { mut supervisor, mut read, write } = self;
        let has_answered = Arc::<AtomicBool>::default();
        let force = Force { supervisor: supervisor.id().cast_signed(), has_answered: Arc::clone(&has_answered) };
        let report = async move {
            let mut bytes = [0; REPORT_BYTES];
            let read = read.read_exact(&mut bytes).await;
            has_answered.store(true, Ordering::Release);
            // It has ended, or will now. No status of it is left.
            let _ = blocking(move || Ok(supervisor.wait())).await;
            let [a, b, c, d, rest @ ..] = bytes;
            read.is_ok().then(|| (i32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes(rest)))
        };
        (End(write), force, report)
    }
}
