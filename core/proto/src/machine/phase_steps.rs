//! The steps of a run, from turn to turn: what each phase does, and which one follows.

use std::sync::Arc;

use super::batch::{Batch, Results};
use super::decided::DecidedCalls;
use super::emitter::Out;
use super::model_calls::CallOutcome;
use super::phase::Phase;
use super::questions::{AbortWait, HookReply};
use super::run_loop::{FirstInput, Loop};
use super::run_state::Progress;
use super::turn::{Remaining, ToolCallPlan};
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::hook::{HookAnswer, HookKind, Question, RunTask, TurnSummary};
use crate::message::{AssistantMessage, Message};
use crate::queues::Queue;
use crate::result::RunResult;
use crate::usage::Outcome;

use Progress::{Blocked, Ended, Made};

impl Loop {
    /// Goes one step further. Called only when there is nothing left to do of the step before.
    pub(super) fn step(&mut self) -> Progress {
        if self.run.awaits_observer() {
            return Blocked;
        }
        if !self.run.emitter.is_empty() {
            return Made;
        }
        match &self.phase {
            Phase::Start => self.begin(),
            Phase::BeginTurn => self.begin_turn(),
            Phase::FirstPoll => self.first_poll(),
            Phase::Request => self.prepare_request(),
            Phase::Answer => self.step_answer(),
            Phase::Tools => self.step_batch(),
            Phase::EmitTurnEnd => self.emit_turn_end(),
            Phase::CheckAnswer => self.check_answer(),
            Phase::AfterTurn => self.after_turn(),
            Phase::PrepareNextTurn => self.prepare_next_turn(),
            Phase::ShouldStop => self.should_stop(),
            Phase::Poll(queue) => {
                let queue = *queue;
                self.poll_between_turns(queue)
            }
            Phase::EndRun(outcome) => {
                let outcome = *outcome;
                self.end_run(outcome)
            }
            Phase::EmitAgentEnd(outcome) => {
                let outcome = *outcome;
                self.emit_agent_end(outcome)
            }
            Phase::AfterRun(outcome, error) => {
                let (outcome, error) = (*outcome, error.clone());
                self.after_run(outcome, error)
            }
            Phase::Over => Blocked,
        }
    }

    fn enter(&mut self, phase: Phase) -> Progress {
        self.phase = phase;
        self.run.clock.mark_timer_stale();
        Made
    }

    /// Enters a phase between turns, unless the run was interrupted or a hook failed.
    fn enter_unless_ended(&mut self, phase: Phase) -> Progress {
        let is_ended = self.run.is_interrupted() || self.run.turn.failure().is_some();
        self.enter(if is_ended { Phase::EndRun(Outcome::Completed) } else { phase })
    }

    fn begin(&mut self) -> Progress {
        let run = &mut self.run;
        if let Some(input) = &mut self.first_input {
            let (prompts, now_ms) = (std::mem::take(&mut input.prompts), run.clock.now_ms());
            input.prompts = prompts.into_iter().map(|prompt| prompt.dated(now_ms)).collect();
        }
        let limit_ms = run.settings().limits.run_timeout_ms;
        if run.hooks().has(HookKind::BeforeRun) {
            if !run.questions.is_asking() {
                run.clock.start(limit_ms);
            }
            let prompts = || self.first_input.as_ref().map(|input| input.prompts.clone()).unwrap_or_default();
            match run.ask(|| Question::BeforeRun(RunTask { prompts: prompts() })) {
                None => return Blocked,
                Some(Err(unanswered)) => run.hook_failed(HookKind::BeforeRun, unanswered),
                Some(Ok(_)) => {}
            }
        } else {
            run.clock.start(limit_ms);
        }
        run.record_start(self.first_input.as_ref());
        run.emitter.emit(EventData::AgentStart);
        self.enter(Phase::BeginTurn)
    }

    /// How the run ends if nothing is left of the budget between two turns: what a poll has found stays in its queue.
    fn ends_before_turn(&mut self) -> Option<Outcome> {
        let run = &mut self.run;
        run.used_up(&run.setup.latest().settings)?;
        run.turn.set_last(Some(Outcome::Budget));
        run.turn.outcome(false, !run.inbox.queues().is_empty())
    }

    fn begin_turn(&mut self) -> Progress {
        if self.first_input.is_none()
            && let Some(outcome) = self.ends_before_turn()
        {
            return self.enter_unless_ended(Phase::EndRun(outcome));
        }
        // What a poll has found stays in its queue.
        if self.first_input.is_none() && self.run.is_stopping && self.run.turn.summary().is_some() {
            return self.enter_unless_ended(Phase::EndRun(Outcome::Stopped));
        }
        let run = &mut self.run;
        let (prompts, queued, polls) = match self.first_input.take() {
            Some(FirstInput { prompts, queued, decided: Some(decided) }) => {
                // Prompts begin the next turn: they stand behind the results.
                self.first_input = (!prompts.is_empty()).then_some(FirstInput { prompts, queued, decided: None });
                return self.begin_decided(decided);
            }
            // What a resume begins with was found by a poll.
            Some(FirstInput { prompts, queued, decided: None }) => {
                let polls = queued.is_empty() && !self.one_call;
                (prompts, queued, polls)
            }
            None => {
                let queued = run.inbox.commit_marked();
                if queued.is_empty()
                    && let Remaining::Nothing(outcome) | Remaining::Final(outcome) = run.turn.remaining()
                {
                    // What a poll had found was cleared.
                    let phase = match run.turn.take_next_input() {
                        Some(Queue::Steering) => Phase::Poll(Queue::FollowUp),
                        Some(Queue::FollowUp) | None => Phase::EndRun(outcome),
                    };
                    return self.enter_unless_ended(phase);
                }
                (Vec::new(), queued, false)
            }
        };
        run.begin_turn();
        prompts.into_iter().for_each(|prompt| run.emitter.emit_message(prompt));
        run.emit_queued(queued);
        if polls { self.enter(Phase::FirstPoll) } else { self.begin_request() }
    }

    /// The turn of calls that an earlier run has left.
    fn begin_decided(&mut self, DecidedCalls { message_index, calls, .. }: DecidedCalls) -> Progress {
        let run = &mut self.run;
        run.begin_turn();
        let Some(message) = run.transcript.all().get(message_index).map(Arc::clone) else {
            return self.begin_request();
        };
        run.turn.set_decided(run.emitter.turn(), Arc::clone(&message));
        let of_message = message.as_assistant().into_iter().flat_map(AssistantMessage::tool_calls).enumerate();
        let decided = of_message.filter_map(|(place, call)| Some((call, calls.get(&place)?.clone())));
        let decided: Vec<_> = decided.collect();
        // What is demanded of the answer to a prompt, an earlier answer has not given.
        if self.first_input.is_none() {
            run.tool_demand.calls_begin(decided.iter().map(|(call, _)| *call));
        }
        self.batch = Some(Batch::resumed(run, &message, message_index, decided));
        self.enter(Phase::Tools)
    }

    fn first_poll(&mut self) -> Progress {
        let run = &mut self.run;
        if run.questions.is_asking() || !(run.turn.has_failed_before_call() || run.is_interrupted()) {
            if run.poll_queue(Queue::Steering).is_none() {
                return Blocked;
            }
            // What an abort has overtaken stays in its queue.
            if !run.is_interrupted() {
                let queued = run.inbox.commit_marked();
                run.emit_queued(queued);
            }
        }
        self.begin_request()
    }

    /// The turn's first model call.
    fn begin_request(&mut self) -> Progress {
        if !self.may_call_model() {
            return self.end_without_call();
        }
        self.model_calls.begin_turn();
        self.preparation.begin_turn();
        self.enter(Phase::Request)
    }

    /// Whether something is left of the budget. Else the turn has its input alone, unless something worse has happened.
    fn may_call_model(&self) -> bool {
        let run = &self.run;
        run.is_interrupted() || run.turn.has_failed_before_call() || run.used_up(run.settings()).is_none()
    }

    fn end_without_call(&mut self) -> Progress {
        self.tool_reports.drop_late(&mut self.run.emitter);
        self.run.emitter.emit(EventData::TurnEnd { message: None, tool_results: Vec::new() });
        self.enter_unless_ended(Phase::EndRun(Outcome::Budget))
    }

    fn prepare_request(&mut self) -> Progress {
        match self.preparation.step(&mut self.run, &mut self.model_calls) {
            Made => Made,
            Blocked => Blocked,
            // Hooks take their time, and summaries cost.
            Ended(Ok(_)) if !self.may_call_model() => self.end_without_call(),
            Ended(prepared) => {
                self.model_calls.begin(&mut self.run, prepared);
                self.enter(Phase::Answer)
            }
        }
    }

    fn step_answer(&mut self) -> Progress {
        match self.model_calls.step(&mut self.run) {
            Made => Made,
            Blocked => Blocked,
            Ended(CallOutcome::Fallback) => {
                self.preparation.begin_for_other_model();
                self.enter(Phase::Request)
            }
            Ended(CallOutcome::TooLarge) => {
                self.preparation.begin_smaller(&mut self.run.turn);
                self.enter(Phase::Request)
            }
            Ended(CallOutcome::Message(message)) => self.begin_tool_calls(message),
        }
    }

    /// The turn's message is in the transcript; its tool calls follow.
    fn begin_tool_calls(&mut self, message: Arc<Message>) -> Progress {
        let run = &mut self.run;
        let plan = run.turn.set_message(run.emitter.turn(), Arc::clone(&message));
        match (plan, message.as_assistant()) {
            (ToolCallPlan::NoCalls, _) | (_, None) => {
                run.repetition.end();
                self.enter(Phase::EmitTurnEnd)
            }
            // Whoever asked for the call decides what becomes of its tool calls.
            _ if self.one_call => self.enter(Phase::EmitTurnEnd),
            (ToolCallPlan::Truncated | ToolCallPlan::Execute, Some(message)) => {
                run.tool_demand.calls_begin(message.tool_calls());
                self.batch = Some(Batch::new(run, message, plan == ToolCallPlan::Truncated));
                self.enter(Phase::Tools)
            }
        }
    }

    fn step_batch(&mut self) -> Progress {
        let Some(batch) = &mut self.batch else {
            return self.enter(Phase::EmitTurnEnd);
        };
        match batch.step(&mut self.run, &mut self.tool_reports) {
            Made => Made,
            Blocked => Blocked,
            Ended(Results { messages, terminates, suspended }) => {
                self.batch = None;
                self.run.turn.set_results(messages, terminates, suspended);
                self.enter(Phase::EmitTurnEnd)
            }
        }
    }

    fn emit_turn_end(&mut self) -> Progress {
        self.tool_reports.drop_late(&mut self.run.emitter);
        if let Some(TurnSummary { message, tool_results, .. }) = self.run.turn.summary().cloned() {
            let message = (!self.run.turn.is_decided()).then_some(message);
            self.run.emitter.emit(EventData::TurnEnd { message, tool_results });
        }
        // The prompts come whatever that turn has led to, an abort, too.
        self.enter(match self.first_input {
            Some(_) => Phase::BeginTurn,
            None if self.run.settings().output.is_some() => Phase::CheckAnswer,
            None => Phase::AfterTurn,
        })
    }

    fn check_answer(&mut self) -> Progress {
        if self.run.check_text().is_none() {
            return Blocked;
        }
        self.enter_unless_ended(Phase::AfterTurn)
    }

    fn after_turn(&mut self) -> Progress {
        let run = &mut self.run;
        run.turn.set_last(run.limit_of_turns());
        let phase = match run.turn.remaining() {
            Remaining::Final(outcome) => Phase::EndRun(outcome),
            Remaining::Nothing(outcome) if self.one_call => Phase::EndRun(outcome),
            Remaining::ModelCall | Remaining::Nothing(_) if run.turn.is_last() => Phase::ShouldStop,
            Remaining::ModelCall | Remaining::Nothing(_) => Phase::PrepareNextTurn,
        };
        self.enter_unless_ended(phase)
    }

    /// Asks a hook about the turn, if it is set. Its failure is the run's.
    fn ask_about_turn(&mut self, kind: HookKind, question: fn(TurnSummary) -> Question) -> Option<HookAnswer> {
        let run = &mut self.run;
        // One that is asked already may have removed itself.
        let asks = run.questions.is_asking() || run.setup.latest().hooks.has(kind);
        let Some(summary) = run.turn.summary().filter(|_| asks).cloned() else {
            return Some(HookAnswer::Nothing);
        };
        let answer: HookReply = run.ask_of_next_turn(AbortWait::None, || question(summary))?;
        Some(match answer {
            Ok(answer) => {
                run.record_decision(kind, None, &answer);
                answer
            }
            Err(unanswered) => {
                run.hook_failed(kind, unanswered);
                HookAnswer::Nothing
            }
        })
    }

    fn prepare_next_turn(&mut self) -> Progress {
        let Some(answer) = self.ask_about_turn(HookKind::PrepareNextTurn, Question::PrepareNextTurn) else {
            return Blocked;
        };
        let change = match answer {
            HookAnswer::PrepareNextTurn(change) => Some((change, None)),
            HookAnswer::ChangeModel { change, model } => Some((change, Some(*model))),
            _ => None,
        };
        if let Some((mut change, model)) = change {
            let run = &mut self.run;
            let messages = change.messages.take();
            match (run.setup.change(change, model), messages) {
                (Ok(()), Some(messages)) => run.transcript.replace(messages),
                (Ok(()), None) => {}
                (Err(why), _) => {
                    let text = format!("the hook {} failed: {why}", HookKind::PrepareNextTurn);
                    run.turn.fail(Error::new(ErrorKind::Callback, text));
                }
            }
        }
        self.enter_unless_ended(Phase::ShouldStop)
    }

    fn should_stop(&mut self) -> Progress {
        let Some(answer) = self.ask_about_turn(HookKind::ShouldStopAfterTurn, Question::ShouldStopAfterTurn) else {
            return Blocked;
        };
        let is_stopped = self.run.is_stopping || matches!(answer, HookAnswer::ShouldStopAfterTurn(true));
        let turn = &self.run.turn;
        let phase = match turn.outcome(is_stopped, !self.run.inbox.queues().is_empty()) {
            Some(outcome) => Phase::EndRun(outcome),
            None if turn.has_next_input() => Phase::BeginTurn,
            None => Phase::Poll(Queue::Steering),
        };
        self.enter_unless_ended(phase)
    }

    fn poll_between_turns(&mut self, queue: Queue) -> Progress {
        let run = &mut self.run;
        let Some(found) = run.poll_queue(queue) else {
            return Blocked;
        };
        let phase = match (queue, run.turn.remaining()) {
            _ if found => {
                run.turn.set_next_input(queue);
                Phase::BeginTurn
            }
            (_, Remaining::ModelCall) => Phase::BeginTurn,
            (Queue::Steering, _) => Phase::Poll(Queue::FollowUp),
            (Queue::FollowUp, Remaining::Nothing(outcome) | Remaining::Final(outcome)) => Phase::EndRun(outcome),
        };
        self.enter_unless_ended(phase)
    }

    fn end_run(&mut self, ending: Outcome) -> Progress {
        if let Some(objection) = self.observer.as_mut().and_then(|observer| observer.objection())
            && !matches!(ending, Outcome::Error | Outcome::Aborted)
        {
            self.run.turn.fail(objection);
        }
        let run = &self.run;
        if let Some(error) = run.emitter.journal.failure().or(run.turn.failure()).cloned() {
            self.run.notify_of_error(&error, 0, false);
        }
        self.enter(Phase::EmitAgentEnd(ending))
    }

    /// An abort may have come while a hook was informed of a failure.
    fn emit_agent_end(&mut self, ending: Outcome) -> Progress {
        let run = &mut self.run;
        let (outcome, error) = run.outcome(ending);
        if outcome == Outcome::Budget {
            run.report_budget();
        }
        run.clock.end();
        let queued = run.inbox.queues().count();
        run.close();
        let result = self.result(outcome, error.clone());
        self.run.record_end(&result);
        self.run.emitter.emit(result.agent_end(queued));
        self.enter(Phase::AfterRun(outcome, error))
    }

    fn after_run(&mut self, outcome: Outcome, error: Option<Error>) -> Progress {
        let result = self.result(outcome, error);
        if (self.run.questions.is_asking() || self.run.setup.latest().hooks.has(HookKind::AfterRun))
            && self.run.ask_of_next_turn(AbortWait::AsListener, || Question::AfterRun(result.clone())).is_none()
        {
            return Blocked;
        }
        self.run.emitter.push(Out::Done(Box::new(result)));
        self.enter(Phase::Over)
    }

    /// The result, with the messages that the run has added so far.
    pub(super) fn result(&self, outcome: Outcome, error: Option<Error>) -> RunResult {
        let (added, turns) = (self.run.transcript.added(), self.run.emitter.turn());
        let mut result = RunResult::new(outcome, added, self.run.spent.usage(), turns, error);
        if !matches!(outcome, Outcome::Error | Outcome::Aborted | Outcome::Suspended) {
            result.output = self.run.answer.value().cloned();
        }
        result.undelivered = self.run.inbox.undelivered().cloned();
        result.pending = self.run.turn.suspended().iter().map(|suspended| suspended.call.clone()).collect();
        result
    }
}
