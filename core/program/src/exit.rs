//! What the program exits with.

use agent_loop::{Agent, Outcome, RunResult, StopReason};

/// The run completed.
pub(crate) const COMPLETED: u8 = 0;
/// Something failed.
pub(crate) const ERROR: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
/// A limit or a budget ended the run.
pub(crate) const LIMIT: u8 = 3;
/// Calls wait for approval.
pub(crate) const SUSPENDED: u8 = 4;
/// The model refused.
pub(crate) const REFUSED: u8 = 5;
/// Aborted, as by Ctrl-C.
pub(crate) const ABORTED: u8 = 130;
/// Ended by SIGHUP, as when a terminal is closed: what a shell gives such a program.
#[cfg(unix)]
pub(crate) const HUNG_UP: u8 = 129;
/// Ended by SIGTERM.
#[cfg(unix)]
pub(crate) const TERMINATED: u8 = 143;
/// Whoever read the output has gone: what a shell gives a program that SIGPIPE ended.
pub(crate) const BROKEN_PIPE: u8 = 141;

/// What a run of this agent comes to.
pub(crate) fn of(result: &RunResult, agent: &Agent) -> u8 {
    match result.outcome {
        Outcome::Completed if result.stop_reason == Some(StopReason::Refusal) => REFUSED,
        Outcome::Completed => COMPLETED,
        // A limit, or else a hook or a tool of the agent: an end as good as any.
        Outcome::Stopped if agent.max_repeated_calls() > 0 => LIMIT,
        Outcome::Stopped => COMPLETED,
        Outcome::MaxTurns | Outcome::Budget => LIMIT,
        Outcome::Suspended => SUSPENDED,
        Outcome::Aborted => ABORTED,
        _ => ERROR,
    }
}
