//! A command and its supervisor, seen from this process (Linux).

use std::future::Future;
use std::io::Error;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

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
    pub(super) fn split(self) -> (End, impl Future<Output = Report>) {
        let Watching { mut supervisor, mut read, write } = self;
        let report = async move {
            let mut bytes = [0; REPORT_BYTES];
            let read = read.read_exact(&mut bytes).await;
            // It has ended, or will now. No status of it is left.
            let _ = blocking(move || Ok(supervisor.wait())).await;
            let [a, b, c, d, rest @ ..] = bytes;
            read.is_ok().then(|| (i32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes(rest)))
        };
        (End(write), report)
    }
}
