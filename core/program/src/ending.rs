//! What the user is told of a run that has an end of its own: a limit, or an answer that was cut.

use agent_loop::{Agent, Event, EventData, Outcome, RunResult, StopReason};

use crate::exit;

/// What the events of a run say of its end.
#[derive(Default)]
pub(crate) struct Ending {
    /// Which part of the budget is used up.
    used_up: Option<String>,
}

impl Ending {
    pub(crate) fn event(&mut self, event: &Event) {
        match &event.data {
            EventData::AgentStart => self.used_up = None,
            EventData::Diagnostic { code, message, .. } if code == "budget" => {
                let limit = message.strip_prefix("the run ends here: ").unwrap_or(message);
                self.used_up = Some(limit.to_owned());
            }
            _ => {}
        }
    }

    /// How a run of this agent has ended, if that has to be said. Of an error, the error says it.
    pub(crate) fn said(&self, result: &RunResult, agent: &Agent) -> Option<String> {
        let limit = match result.outcome {
            Outcome::Completed if result.stop_reason == Some(StopReason::Length) => {
                return Some("the answer is cut: the model has reached the most tokens of an answer".to_owned());
            }
            Outcome::MaxTurns => format!("max_turns ({})", result.turns),
            Outcome::Budget => self.used_up.clone().map_or_else(|| "budget".to_owned(), |limit| format!("budget: {limit}")),
            Outcome::Stopped if exit::of(result, agent) == exit::LIMIT => "max_repeated_calls".to_owned(),
            _ => return None,
        };
        Some(format!("the run ended: {limit}"))
    }
}
