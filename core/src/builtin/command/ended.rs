//! How a command has ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What a process has reported at its end: the status as the system has it, if it has, and the number of those it left.
pub(super) type Report = Option<(i32, u32)>;

/// How it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Exited(i32),
    BySignal(i32),
    /// The limit passed.
    TimedOut,
    /// It was cancelled.
    Aborted,
    /// Its supervisor was killed.
    Lost,
}

impl Ended {
    pub(super) fn of_status(status: i32) -> Ended {
        let status = ExitStatus::from_raw(status);
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exited(code),
            (None, signal) => Ended::BySignal(signal.unwrap_or_default()),
        }
    }
}
