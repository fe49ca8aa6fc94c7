//! The course of a run, from turn to turn.
//!
//! ```text
//! Start -> BeginTurn -> (FirstPoll) -> Request -> Answer -> (Tools) -> EndTurn -> TurnEnded
//!              ^                                                                     |
//!              |                                    PrepareNextTurn -> ShouldStop <--+
//!              |                                                          |
//!              +------------ Poll(Steering) -> Poll(FollowUp) <-----------+
//!                                                  \-> Finish -> End -> Over
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ask::{Patience, Unanswered};
use super::batch::Reply;
use super::{Config, HookAnswer, HookKind, Loop, Out, Pending, Progress, Question};
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::hook::{RunTask, TurnChange, TurnSummary};
use crate::message::Message;
use crate::queues::Queue;
use crate::result::{RunResult, Undelivered};
use crate::usage::{Outcome, StopReason};

/// Where a run is.
#[derive(Debug, Serialize, Deserialize)]
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

/// What the turn leaves: how the run ends unless there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Tool results to answer.
    Work,
    /// Nothing; queued messages may still go on.
    Idle(Outcome),
    /// Nothing, and nothing goes on after it.
    Final(Outcome),
}

use Progress::{Blocked, Made};

impl Loop {
    /// Goes one step further. Called only when there is nothing left to do of the step before.
    pub(super) fn step(&mut self) -> Progress {
        if self.awaits_observer() {
            return Blocked;
        }
        if !self.out.is_empty() {
            return Made;
        }
        match &self.phase {
            Phase::Start => self.begin(),
            Phase::BeginTurn => self.begin_turn(),
            Phase::FirstPoll => self.first_poll(),
            Phase::Request => self.prepare_request(),
            Phase::Answer => self.step_answer(),
            Phase::Tools => self.step_batch(),
            Phase::EndTurn => self.end_turn(),
            Phase::TurnEnded => self.turn_ended(),
            Phase::PrepareNextTurn => self.prepare_next_turn(),
            Phase::ShouldStop => self.should_stop(),
            Phase::Poll(queue) => {
                let queue = *queue;
                self.poll_between_turns(queue)
            }
            Phase::Finish(outcome) => {
                let outcome = *outcome;
                self.finish(outcome)
            }
            Phase::Conclude(outcome) => {
                let outcome = *outcome;
                self.conclude(outcome)
            }
            Phase::End(outcome, error) => {
                let (outcome, error) = (*outcome, error.clone());
                self.end(outcome, error)
            }
            Phase::Over => Blocked,
        }
    }

    pub(super) fn go(&mut self, phase: Phase) -> Progress {
        self.phase = phase;
        self.is_timer_stale = true;
        Made
    }

    /// How the run ends if it was interrupted, or something failed that is not the model's message.
    fn broken(&self) -> Option<Outcome> {
        match (self.interruption, &self.failure) {
            (Some(interruption), _) => Some(interruption.outcome()),
            (None, Some(_)) => Some(Outcome::Error),
            (None, None) => None,
        }
    }

    /// Goes on to a phase between turns, unless the run is to end.
    fn go_unless_broken(&mut self, phase: Phase) -> Progress {
        let phase = self.broken().map_or(phase, Phase::Finish);
        self.go(phase)
    }

    fn begin(&mut self) -> Progress {
        if self.config.hooks.has(HookKind::BeforeRun) {
            if self.asked.is_none() {
                self.start_run_limit();
            }
            let prompts = self.start.as_ref().map(|start| start.prompts.clone()).unwrap_or_default();
            match self.ask(Patience::None, |_| Question::BeforeRun(RunTask { prompts })) {
                None => return Blocked,
                Some(Err(unanswered)) => self.before_call = unanswered.error(HookKind::BeforeRun),
                Some(Ok(_)) => {}
            }
        } else {
            self.start_run_limit();
        }
        self.emit(EventData::AgentStart);
        self.go(Phase::BeginTurn)
    }

    fn begin_turn(&mut self) -> Progress {
        let (prompts, queued) = match self.start.take() {
            Some(Pending { prompts, queued }) => (prompts, queued),
            None => {
                let queued = self.queues.fix();
                if queued.is_empty() && self.ending() != Ending::Work {
                    // What a poll had found was cleared.
                    let phase = match (self.found.take(), self.ending()) {
                        (Some(Queue::Steering), _) => Phase::Poll(Queue::FollowUp),
                        (_, Ending::Idle(outcome) | Ending::Final(outcome)) => Phase::Finish(outcome),
                        (_, Ending::Work) => Phase::Finish(Outcome::Completed),
                    };
                    return self.go_unless_broken(phase);
                }
                (Vec::new(), queued)
            }
        };
        self.config = self.config_of_turn();
        self.turn += 1;
        (self.found, self.is_steered) = (None, false);
        self.emit(EventData::TurnStart);
        prompts.into_iter().for_each(|prompt| self.emit_message(prompt));
        self.emit_queued(queued);
        if self.turn == 1 && self.polls_first { self.go(Phase::FirstPoll) } else { self.begin_request() }
    }

    /// The latest configuration, with what a hook has changed.
    fn config_of_turn(&self) -> Arc<Config> {
        let changes = &self.changes;
        if changes.system_prompt.is_none()
            && changes.tools.is_none()
            && changes.model.is_none()
            && changes.thinking_level.is_none()
        {
            return Arc::clone(&self.latest);
        }
        let mut config = Config::clone(&self.latest);
        if let Some(text) = &changes.system_prompt {
            config.settings.system_prompt.clone_from(text);
        }
        if let Some(names) = &changes.tools {
            config.tools = config.tools.only(names);
        }
        if let Some(model) = &changes.model {
            config.model = Ok(model.clone());
        }
        if let Some(level) = changes.thinking_level {
            config.settings.thinking_level = level;
        }
        Arc::new(config)
    }

    /// Each message leaves its queue when it joins the transcript.
    fn emit_queued(&mut self, queued: Vec<(u64, Arc<Message>)>) {
        for (number, message) in queued {
            let message = message.dated(self.now_ms);
            self.emit(EventData::MessageStart { message: Arc::clone(&message) });
            self.out.push_back(Out::Queued(number, message));
        }
    }

    fn first_poll(&mut self) -> Progress {
        let asks = self.asked.is_some();
        if asks || (self.before_call.is_none() && !self.is_interrupted()) {
            let Some(polled) = self.poll_queue(Queue::Steering) else {
                return Blocked;
            };
            match polled {
                // What an abort has overtaken stays in its queue.
                Ok(_) if self.is_interrupted() => {}
                Ok(_) => {
                    let queued = self.queues.fix();
                    self.emit_queued(queued);
                }
                Err(error) => self.before_call = error,
            }
        }
        self.begin_request()
    }

    /// The turn's answer is in the transcript.
    pub(super) fn answered_with(&mut self, message: Arc<Message>) -> Progress {
        self.summary = Some(TurnSummary { turn: self.turn, message, tool_results: Vec::new() });
        let assistant = self.summary.as_ref().and_then(|summary| summary.message.as_assistant());
        let stop_reason = assistant.and_then(|message| message.stop_reason).unwrap_or(StopReason::Stop);
        let has_calls = assistant.is_some_and(|message| message.tool_calls().next().is_some());
        match stop_reason {
            StopReason::Error | StopReason::Aborted | StopReason::Refusal => self.go(Phase::EndTurn),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse if !has_calls => self.go(Phase::EndTurn),
            // No call of a cut message is executed.
            StopReason::Length => self.begin_batch(false),
            StopReason::Stop | StopReason::ToolUse => self.begin_batch(true),
        }
    }

    /// What the turn leaves to be done.
    fn ending(&self) -> Ending {
        let Some(TurnSummary { message, tool_results, .. }) = &self.summary else {
            return Ending::Idle(Outcome::Completed);
        };
        match message.as_assistant().and_then(|message| message.stop_reason) {
            Some(StopReason::Error) => Ending::Final(Outcome::Error),
            Some(StopReason::Aborted) => Ending::Final(Outcome::Aborted),
            Some(StopReason::Refusal) => Ending::Final(Outcome::Completed),
            _ if tool_results.is_empty() => Ending::Idle(Outcome::Completed),
            _ if self.terminates => Ending::Idle(Outcome::Stopped),
            _ => Ending::Work,
        }
    }

    /// All calls have their results.
    pub(super) fn batch_ended(&mut self, results: Vec<Arc<Message>>, terminates: bool) -> Progress {
        self.terminates = terminates;
        if let Some(summary) = &mut self.summary {
            summary.tool_results = results;
        }
        self.found = self.is_steered.then_some(Queue::Steering);
        self.go(Phase::EndTurn)
    }

    fn end_turn(&mut self) -> Progress {
        while let Some((call, reply)) = self.replies.pop_front() {
            self.late_reply(call, &reply);
        }
        if let Some(TurnSummary { message, tool_results, .. }) = self.summary.clone() {
            self.emit(EventData::TurnEnd { message, tool_results });
        }
        self.go(Phase::TurnEnded)
    }

    fn turn_ended(&mut self) -> Progress {
        let max_turns = self.latest.settings.max_turns;
        self.is_last_turn = max_turns != 0 && self.turn >= max_turns;
        let phase = match self.ending() {
            Ending::Final(outcome) => Phase::Finish(outcome),
            Ending::Work | Ending::Idle(_) if self.is_last_turn => Phase::ShouldStop,
            Ending::Work | Ending::Idle(_) => Phase::PrepareNextTurn,
        };
        self.go_unless_broken(phase)
    }

    /// Whether a hook between turns is asked. One that is asked already may have removed itself.
    fn asks_latest(&self, kind: HookKind) -> bool {
        self.asked.is_some() || self.latest.hooks.has(kind)
    }

    /// A hook's answer, or its failure as the run's.
    fn note_failure(&mut self, kind: HookKind, answer: Result<HookAnswer, Unanswered>) -> HookAnswer {
        answer.unwrap_or_else(|unanswered| {
            self.failure = unanswered.error(kind).or(self.failure.take());
            HookAnswer::Nothing
        })
    }

    fn prepare_next_turn(&mut self) -> Progress {
        if let Some(summary) = self.summary.clone().filter(|_| self.asks_latest(HookKind::PrepareNextTurn)) {
            let Some(answer) = self.ask(Patience::None, |_| Question::PrepareNextTurn(summary)) else {
                return Blocked;
            };
            if let HookAnswer::Change { change, model } = self.note_failure(HookKind::PrepareNextTurn, answer)
                && let Err(why) = self.change(*change, model.map(|model| *model))
            {
                let text = format!("the hook {} failed: {why}", HookKind::PrepareNextTurn);
                self.failure = Some(Error::new(ErrorKind::Callback, text));
            }
        }
        self.go_unless_broken(Phase::ShouldStop)
    }

    fn change(&mut self, change: TurnChange, model: Option<super::ModelEntry>) -> Result<(), String> {
        let TurnChange { system_prompt, messages, tools, model: _, thinking_level } = change;
        let known = &self.latest.tools;
        if let Some(name) = tools.iter().flatten().find(|name| known.get(name).is_none()) {
            return Err(format!("context: tools: there is no tool named {name:?}; the tools are: {}", known.names()));
        }
        let changes = &mut self.changes;
        changes.model = model.or(changes.model.take());
        changes.system_prompt = system_prompt.or(changes.system_prompt.take());
        changes.messages = messages.or(changes.messages.take());
        changes.tools = tools.or(changes.tools.take());
        changes.thinking_level = thinking_level.or(changes.thinking_level);
        Ok(())
    }

    fn should_stop(&mut self) -> Progress {
        let mut stop = false;
        if let Some(summary) = self.summary.clone().filter(|_| self.asks_latest(HookKind::ShouldStopAfterTurn)) {
            let Some(answer) = self.ask(Patience::None, |_| Question::ShouldStopAfterTurn(summary)) else {
                return Blocked;
            };
            stop = matches!(self.note_failure(HookKind::ShouldStopAfterTurn, answer), HookAnswer::Stop(true));
        }
        let phase = match self.ending() {
            _ if stop => Phase::Finish(Outcome::Stopped),
            Ending::Idle(outcome) if self.is_last_turn && self.queues.is_empty() => Phase::Finish(outcome),
            _ if self.is_last_turn => Phase::Finish(Outcome::MaxTurns),
            _ if self.found.is_some() => Phase::BeginTurn,
            _ => Phase::Poll(Queue::Steering),
        };
        self.go_unless_broken(phase)
    }

    fn poll_between_turns(&mut self, queue: Queue) -> Progress {
        let Some(polled) = self.poll_queue(queue) else {
            return Blocked;
        };
        let found = polled.unwrap_or_else(|error| {
            self.failure = error.or(self.failure.take());
            false
        });
        let phase = match (queue, self.ending()) {
            _ if found => {
                self.found = Some(queue);
                Phase::BeginTurn
            }
            (_, Ending::Work) => Phase::BeginTurn,
            (Queue::Steering, _) => Phase::Poll(Queue::FollowUp),
            (Queue::FollowUp, Ending::Idle(outcome) | Ending::Final(outcome)) => Phase::Finish(outcome),
        };
        self.go_unless_broken(phase)
    }

    fn finish(&mut self, outcome: Outcome) -> Progress {
        if let (Outcome::Error, Some(error)) = (outcome, self.failure.clone()) {
            self.inform_of_error(&error, 0, false);
        }
        self.go(Phase::Conclude(outcome))
    }

    /// The outcome with its error. An abort may have come while a hook was informed of a failure.
    fn conclude(&mut self, outcome: Outcome) -> Progress {
        let (outcome, error) = match (self.interruption, outcome) {
            (Some(interruption), _) => (interruption.outcome(), Some(interruption.error())),
            (None, Outcome::Completed | Outcome::Stopped | Outcome::MaxTurns) => (outcome, None),
            (None, Outcome::Aborted | Outcome::Error) => {
                let of_message = || self.summary.as_ref()?.message.as_assistant()?.error.clone();
                (outcome, self.failure.clone().or_else(of_message))
            }
        };
        self.run_limit = None;
        let result = RunResult::new(outcome, self.added(), self.turn, error.clone());
        self.emit(agent_end(&result));
        self.go(Phase::End(outcome, error))
    }

    fn end(&mut self, outcome: Outcome, error: Option<Error>) -> Progress {
        if let Some(undelivered) = self.close() {
            self.undelivered = Some(undelivered);
        }
        let mut result = RunResult::new(outcome, self.added(), self.turn, error);
        result.undelivered.clone_from(&self.undelivered);
        if self.asks_latest(HookKind::AfterRun) {
            let input = result.clone();
            if self.ask(Patience::Unlimited, |_| Question::AfterRun(input)).is_none() {
                return Blocked;
            }
        }
        self.out.push_back(Out::Done(Box::new(result)));
        self.go(Phase::Over)
    }

    /// A run without an agent gives its queues back; no message can be queued any more.
    pub(super) fn close(&mut self) -> Option<Undelivered> {
        if !self.config.is_stateless || self.is_closed {
            return None;
        }
        self.is_closed = true;
        let queues = std::mem::take(&mut self.queues);
        Some(Undelivered { steering: queues.messages(Queue::Steering), follow_up: queues.messages(Queue::FollowUp) })
    }

    /// What a tool reports after its end is dropped, with a diagnostic.
    pub(super) fn late_reply(&mut self, call: u32, reply: &Reply) {
        if let Reply::Update(_) = reply {
            let (id, name) = self.launched.get(call as usize).cloned().unwrap_or_default();
            let message = format!("the tool {name} sent an update after the end of its call {id}; it was dropped");
            self.diagnostic("late_update", message, json!({ "tool_call_id": &*id, "tool_name": &*name }));
        }
    }
}

pub(super) fn agent_end(result: &RunResult) -> EventData {
    EventData::AgentEnd {
        messages: result.messages.clone(),
        outcome: result.outcome,
        error: result.error.clone(),
        turns: result.turns,
        usage: Box::new(result.usage.clone()),
    }
}
