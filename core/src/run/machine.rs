//! Decisions: what comes next in a run, and how it ends. No IO, no clock, no async; the driver does what it is told and
//! tells what came of it.
//!
//! ```text
//! BeginTurn -> CallModel -> CallTools -> EndTurn -> BeginTurn …
//!                        \-------------^         \-> Finish
//! ```
//!
//! The rules stand as a table in the tests.

#[cfg(test)]
mod tests;

use crate::usage::{Outcome, StopReason};

/// What the driver is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Start a turn and show its input.
    BeginTurn,
    /// Ask the model.
    CallModel,
    /// Answer the message's tool calls; run them, or only say that they were cut.
    CallTools {
        /// False after `length`: nothing of a cut message is executed.
        execute: bool,
    },
    /// End the turn.
    EndTurn,
    /// End the run.
    Finish(Outcome),
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The turn's input is shown.
    TurnBegun,
    /// The model's message is complete, for better or worse, with this many tool calls.
    Answered { stop_reason: StopReason, calls: usize },
    /// All calls have their results; all of them ask for the end, or not.
    ToolsAnswered { terminate: bool },
    /// The turn is over; the run was aborted by then, or not. `max_turns` as it stands now (0: no limit).
    TurnEnded { aborted: bool, max_turns: u32 },
}

/// One run's course.
#[derive(Debug)]
pub(crate) struct Machine {
    turns: u32,
    next: Step,
    /// What the turn has come to so far: how the run ends unless there is more to do.
    ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// There are tool results to answer.
    Work,
    Final(Outcome),
}

impl Machine {
    /// A run at its start.
    pub(crate) fn new() -> Machine {
        Machine { turns: 0, next: Step::BeginTurn, ending: Ending::Final(Outcome::Completed) }
    }

    /// What is to be done now.
    pub(crate) fn next(&self) -> Step {
        self.next
    }

    /// How many turns began.
    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    /// Takes in what came of it.
    pub(crate) fn tell(&mut self, fact: Fact) {
        self.next = match fact {
            Fact::TurnBegun => {
                self.turns += 1;
                Step::CallModel
            }
            Fact::Answered { stop_reason, calls } => {
                let (next, ending) = match stop_reason {
                    StopReason::Error => (Step::EndTurn, Ending::Final(Outcome::Error)),
                    StopReason::Aborted => (Step::EndTurn, Ending::Final(Outcome::Aborted)),
                    StopReason::Refusal => (Step::EndTurn, Ending::Final(Outcome::Completed)),
                    StopReason::Stop | StopReason::Length | StopReason::ToolUse if calls == 0 => {
                        (Step::EndTurn, Ending::Final(Outcome::Completed))
                    }
                    StopReason::Length => (Step::CallTools { execute: false }, Ending::Work),
                    StopReason::Stop | StopReason::ToolUse => (Step::CallTools { execute: true }, Ending::Work),
                };
                self.ending = ending;
                next
            }
            Fact::ToolsAnswered { terminate } => {
                if terminate {
                    self.ending = Ending::Final(Outcome::Stopped);
                }
                Step::EndTurn
            }
            Fact::TurnEnded { aborted: true, .. } => Step::Finish(Outcome::Aborted),
            Fact::TurnEnded { aborted: false, max_turns } => match self.ending {
                Ending::Final(outcome) => Step::Finish(outcome),
                Ending::Work if max_turns != 0 && self.turns >= max_turns => Step::Finish(Outcome::MaxTurns),
                Ending::Work => Step::BeginTurn,
            },
        };
    }
}
