//! The end of a run whose host cannot go on.

use super::action::EndCause;
use super::phase::Phase;
use super::run_loop::Loop;
use crate::error::{Error, ErrorKind, SHUT_DOWN};
use crate::event::{Event, EventData};
use crate::result::RunResult;
use crate::usage::Outcome;

impl Loop {
    /// Ends the run from outside, whatever it was doing: the events that a run has in any case and this one has not emitted,
    /// `agent_start` and `agent_end`, and the result. For hosts that cannot go on.
    pub fn force_end(&mut self, cause: EndCause) -> (Vec<Event>, RunResult) {
        if let Some(observer) = &mut self.observer {
            observer.forced(&cause);
        }
        if let Some(result) = self.result_after_end() {
            self.run.emitter.clear();
            self.phase = Phase::Over;
            self.run.close();
            return (Vec::new(), result);
        }
        let (outcome, error) = match cause {
            EndCause::Panic(text) => {
                let text = format!("the engine panicked: {text}; please report this");
                (Outcome::Error, Error::new(ErrorKind::Panic, text))
            }
            EndCause::ShutDown => (Outcome::Aborted, Error::new(ErrorKind::Aborted, SHUT_DOWN)),
            EndCause::Failure(error) => (Outcome::Error, error),
        };
        self.run.emitter.clear();
        self.run.turn.clear_suspended();
        self.phase = Phase::Over;
        let queued = self.run.inbox.queues().count();
        self.run.close();
        let result = self.result(outcome, Some(error));
        let start = self.run.emitter.is_new().then_some(EventData::AgentStart);
        let data = start.into_iter().chain([result.agent_end(queued)]);
        (data.map(|data| self.run.emitter.number(data, None)).collect(), result)
    }

    /// The result as `agent_end` has said it, between that event and the end.
    fn result_after_end(&self) -> Option<RunResult> {
        match &self.phase {
            Phase::AfterRun(outcome, error) if !self.run.emitter.has_end() => Some(self.result(*outcome, error.clone())),
            Phase::Over => self.run.emitter.result().cloned(),
            _ => None,
        }
    }
}
