//! Decisions: what comes next in a run, and how it ends. No IO, no clock, no async; the driver does what it is told and
//! tells what came of it.
//!
//! ```text
//! BeginTurn -> (PollFirst) -> CallModel -> (CallTools) -> EndTurn
//!     ^                                                      |
//!     |                                  PrepareNextTurn -> AskStop
//!     |                                                      |
//!     +------- PollSteering -> PollFollowUp <----------------+
//!                                   \-> Finish
//! ```
//!
//! The rules stand as a table in the tests.

#[cfg(test)]
mod tests;

use crate::usage::{Outcome, StopReason};

/// What the driver is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Start a turn and show its input, if it has any or has tool results to answer.
    BeginTurn,
    /// Look for steering before the first model call, and show it.
    PollFirst,
    /// Ask the model.
    CallModel,
    /// Answer the message's tool calls; run them, or only say that they were cut.
    CallTools {
        /// False after `length`: nothing of a cut message is executed.
        execute: bool,
    },
    /// End the turn.
    EndTurn,
    /// Ask what is to be different in the next turn.
    PrepareNextTurn,
    /// Ask whether the run shall end here.
    AskStop,
    /// Look for steering.
    PollSteering,
    /// Look for follow-up.
    PollFollowUp,
    /// Look whether a message waits, without taking it up.
    LookAtQueues,
    /// End the run.
    Finish(Outcome),
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The turn's input is shown.
    TurnBegun,
    /// The turn did not begin: its input was taken back, and there is nothing else to answer.
    NothingToBegin,
    /// A poll found messages for the next turn, or none.
    Polled { found: bool },
    /// The model's message is complete, for better or worse, with this many tool calls.
    Answered { stop_reason: StopReason, calls: usize },
    /// All calls have their results; all of them ask for the end, or not; a poll in between found steering, or not.
    ToolsAnswered { terminate: bool, steered: bool },
    /// The turn is over. `max_turns` as it stands now (0: no limit).
    TurnEnded { max_turns: u32 },
    /// The next turn is prepared.
    Prepared,
    /// A hook wants the run to end, or not.
    Asked { stop: bool },
    /// Messages wait, or not.
    Looked { waiting: bool },
    /// The run was aborted, or something failed that is not the model's message; told at a turn's end or after it.
    Broken(Outcome),
}

/// One run's course.
#[derive(Debug)]
pub(crate) struct Machine {
    turns: u32,
    next: Step,
    /// What the turn has come to so far: how the run ends unless there is more to do.
    ending: Ending,
    /// Whether steering is polled before the first model call.
    poll_first: bool,
    /// Whether this is the last turn allowed.
    last: bool,
    /// Whether the next turn's input is found.
    found: Option<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// There are tool results to answer.
    Work,
    /// Nothing is left to do; queued messages may still go on.
    Idle(Outcome),
    /// Nothing goes on after this.
    Final(Outcome),
}

impl Machine {
    /// A run at its start. `poll_first`: whether steering is looked for before the first model call; not when the run begins
    /// with queued messages.
    pub(crate) fn new(poll_first: bool) -> Machine {
        let ending = Ending::Idle(Outcome::Completed);
        Machine { turns: 0, next: Step::BeginTurn, ending, poll_first, last: false, found: None }
    }

    /// What is to be done now.
    pub(crate) fn next(&self) -> Step {
        self.next
    }

    /// How many turns began.
    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    /// Whether the last turn left tool results to answer: then the next one begins without input, too.
    pub(crate) fn has_work(&self) -> bool {
        self.ending == Ending::Work
    }

    /// Takes in what came of it.
    pub(crate) fn tell(&mut self, fact: Fact) {
        self.next = match fact {
            Fact::Broken(outcome) => Step::Finish(outcome),
            Fact::TurnBegun => {
                self.turns += 1;
                self.found = None;
                if self.turns == 1 && self.poll_first { Step::PollFirst } else { Step::CallModel }
            }
            Fact::NothingToBegin => match (self.found.take(), self.ending) {
                (Some(Step::PollSteering), _) => Step::PollFollowUp,
                (_, Ending::Idle(outcome) | Ending::Final(outcome)) => Step::Finish(outcome),
                (_, Ending::Work) => Step::Finish(Outcome::Completed),
            },
            Fact::Answered { stop_reason, calls } => {
                let (next, ending) = match stop_reason {
                    StopReason::Error => (Step::EndTurn, Ending::Final(Outcome::Error)),
                    StopReason::Aborted => (Step::EndTurn, Ending::Final(Outcome::Aborted)),
                    StopReason::Refusal => (Step::EndTurn, Ending::Final(Outcome::Completed)),
                    StopReason::Stop | StopReason::Length | StopReason::ToolUse if calls == 0 => {
                        (Step::EndTurn, Ending::Idle(Outcome::Completed))
                    }
                    StopReason::Length => (Step::CallTools { execute: false }, Ending::Work),
                    StopReason::Stop | StopReason::ToolUse => (Step::CallTools { execute: true }, Ending::Work),
                };
                self.ending = ending;
                next
            }
            Fact::ToolsAnswered { terminate, steered } => {
                if terminate {
                    self.ending = Ending::Idle(Outcome::Stopped);
                }
                self.found = steered.then_some(Step::PollSteering);
                Step::EndTurn
            }
            Fact::TurnEnded { max_turns } => {
                self.last = max_turns != 0 && self.turns >= max_turns;
                match self.ending {
                    Ending::Final(outcome) => Step::Finish(outcome),
                    Ending::Work | Ending::Idle(_) if self.last => Step::AskStop,
                    Ending::Work | Ending::Idle(_) => Step::PrepareNextTurn,
                }
            }
            Fact::Prepared => Step::AskStop,
            Fact::Asked { stop: true } => Step::Finish(Outcome::Stopped),
            Fact::Asked { stop: false } if self.last => Step::LookAtQueues,
            Fact::Asked { stop: false } if self.found.is_some() => Step::BeginTurn,
            Fact::Asked { stop: false } => Step::PollSteering,
            Fact::Looked { waiting } => match self.ending {
                Ending::Idle(outcome) | Ending::Final(outcome) if !waiting => Step::Finish(outcome),
                _ => Step::Finish(Outcome::MaxTurns),
            },
            Fact::Polled { found } => match (self.next, self.ending) {
                (Step::PollFirst, _) => Step::CallModel,
                (poll, _) if found => {
                    self.found = Some(poll);
                    Step::BeginTurn
                }
                (_, Ending::Work) => Step::BeginTurn,
                (Step::PollSteering, _) => Step::PollFollowUp,
                (_, Ending::Idle(outcome) | Ending::Final(outcome)) => Step::Finish(outcome),
            },
        };
    }
}
