//! Where a run is.
//!
//! ```text
//! Start -> BeginTurn -> (FirstPoll) -> Request -> Answer -> (Tools) -> EmitTurnEnd -> (CheckAnswer) -> AfterTurn
//!              ^                                                                                         |
//!              |                                                        PrepareNextTurn -> ShouldStop <--+
//!              |                                                                               |
//!              +------------------------------- Poll(Steering) -> Poll(FollowUp) <-------------+
//!                                                    \-> EndRun -> EmitAgentEnd -> AfterRun -> Over
//! ```
//!
//! A run that is one model call goes from `AfterTurn` to `EndRun`. With nothing left of the budget, `BeginTurn` and `Request` go
//! there, too.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::queues::Queue;
use crate::usage::Outcome;

/// Where a run is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Before `agent_start`.
    Start,
    BeginTurn,
    /// Steering is polled before the first model call.
    FirstPoll,
    /// A model call is prepared; before it a model may write summaries.
    Request,
    /// The model's answer is streamed.
    Answer,
    /// The tool calls of the answer.
    Tools,
    EmitTurnEnd,
    /// The text of the turn is checked, where the run has a typed final answer.
    CheckAnswer,
    /// What follows the turn is decided.
    AfterTurn,
    PrepareNextTurn,
    ShouldStop,
    Poll(Queue),
    /// The run ends so, unless it was interrupted or a hook failed. Such a failure is reported to `on_error`.
    EndRun(Outcome),
    EmitAgentEnd(Outcome),
    /// `agent_end` was emitted; `after_run` is asked.
    AfterRun(Outcome, Option<Error>),
    Over,
}
