//! The line for the user about a run that a limit has ended, or whose answer was cut.

use agent_loop::{Agent, Event, EventData, Outcome, RunResult, StopReason};
use serde_json::Value;

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
            EventData::Diagnostic { code, data, .. } if code == "budget" => {
                let of = |name: &str| data.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                let [option, limit, used] = ["option", "limit", "used"].map(|name| of(name).unwrap_or_default());
                self.used_up = Some(match data.get("used") {
                    None | Some(Value::Null) => format!("{option} is {limit}, and what the model costs is not known"),
                    Some(_) => format!("{option} is at {used} of {limit}"),
                });
            }
            _ => {}
        }
    }

    /// How a run of this agent has ended, if that has to be reported. An error reports itself.
    pub(crate) fn report(&self, result: &RunResult, agent: &Agent) -> Option<String> {
        let limit = match result.outcome {
            Outcome::Completed if result.stop_reason == Some(StopReason::Length) => {
                return Some("the answer is cut: the model has reached the most tokens of an answer".to_owned());
            }
            Outcome::Completed if result.stop_reason == Some(StopReason::Refusal) => {
                return Some("the model refused, or its provider's filter did".to_owned());
            }
            Outcome::MaxTurns => format!("max_turns ({})", result.turns),
            Outcome::Budget => self.used_up.clone().map_or_else(|| "budget".to_owned(), |limit| format!("budget: {limit}")),
            Outcome::Stopped if exit::of(result, agent) == exit::LIMIT => "max_repeated_calls".to_owned(),
            _ => return None,
        };
        Some(format!("the run ended: {limit}"))
    }
}
