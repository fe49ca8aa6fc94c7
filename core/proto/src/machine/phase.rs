//! Where a run is.
//!
//! ```text
//! Start -> BeginTurn -> (FirstPoll) -> Request -> Answer -> (Tools) -> EndTurn -> TurnEnded
//!              ^                                                                     |
//!              |                                    PrepareNextTurn -> ShouldStop <--+
//!              |                                                          |
//!              +------------ Poll(Steering) -> Poll(FollowUp) <-----------+
//!                                                  \-> Finish -> Conclude -> End -> Over
//! ```

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
    /// A model call is prepared.
    Request,
    /// The model's answer is streamed.
    Answer,
    /// The tool calls of the answer.
    Tools,
    EndTurn,
    /// `turn_end` is emitted.
    TurnEnded,
    PrepareNextTurn,
    ShouldStop,
    Poll(Queue),
    Finish(Outcome),
    /// `agent_end` follows.
    Conclude(Outcome),
    /// `agent_end` is emitted.
    End(Outcome, Option<Error>),
    Over,
}
