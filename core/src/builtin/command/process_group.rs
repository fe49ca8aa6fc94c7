//! A command and its process group, on systems without a supervisor: what leaves the group is not found.

// Signals to a group are a call of C.
#![allow(unsafe_code)]

use std::future::Future;
use std::io::Error;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::sync::Arc;

use super::ended::Report;
use crate::builtin::sandbox::Jail;
use crate::threads::{blocking, unblock_in};

/// A started command. It ends when this is dropped.
pub(super) struct Watch {
    first: Child,
    end: End,
}

/// Ends the command when it is dropped.
pub(super) struct End(Arc<Group>);

/// Nothing stands between: who is killed has ended.
pub(super) struct Force;

impl Force {
    pub(super) fn kill(&self) {}
}

struct Group(i32);

pub(super) fn start(mut command: Command, _: Option<Jail>) -> Result<Watch, Error> {
    unblock_in(&mut command);
    let first = command.process_group(0).spawn()?;
    let end = End(Arc::new(Group(first.id().cast_signed())));
    Ok(Watch { first, end })
}

impl Watch {
    pub(super) fn in_runtime(self) -> Result<Watch, Error> {
        Ok(self)
    }

    pub(super) fn split(self) -> (End, Force, impl Future<Output = Report>) {
        let Watch { mut first, end } = self;
        let of_report = Arc::clone(&end.0);
        let report = async move {
            let status = blocking(move || {
                let status = first.wait();
                // What is left of the group keeps its number.
                of_report.kill();
                Ok(status)
            });
            Some((status.await.ok()?.ok()?.into_raw(), 0))
        };
        (end, Force, report)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.0.kill();
    }
}

impl Group {
    fn kill(&self) {
        // SAFETY: a system call.
        unsafe { libc::kill(-self.0, libc::SIGKILL) };
    }
}
