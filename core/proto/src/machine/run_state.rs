//! What all parts of the loop share, each part in its own component; how a part asks a hook, and what the failure of one means.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::{Config, HookSet};
use super::emitter::Emitter;
use super::inbox::Inbox;
use super::questions::{AbortWait, HookOf, HookReply, NoAnswer, Questions};
use super::repetition::Repetition;
use super::run_answer::FinalAnswer;
use super::run_clock::RunClock;
use super::run_transcript::RunTranscript;
use super::setup::Setup;
use super::tool_demand::ToolDemand;
use super::turn::Turn;
use crate::budget::{Spent, UsedUp};
use crate::error::Error;
use crate::gate::Remembered;
use crate::hook::{Failure, HookAnswer, HookKind, Question};
use crate::message::Message;
use crate::message_ids::NewIds;
use crate::prompt::check_says_something;
use crate::queues::Queue;
use crate::settings::Settings;
use crate::table::codes;
use crate::table::hooks::Effect;
use crate::usage::Outcome;

/// Whether a step got further, waits for an input, or was the last one of its part.
#[derive(Debug)]
pub(super) enum Progress<T = std::convert::Infallible> {
    Made,
    Blocked,
    Ended(T),
}

/// The components that the parts of the loop share.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunState {
    pub(super) emitter: Emitter,
    pub(super) clock: RunClock,
    pub(super) questions: Questions,
    pub(super) setup: Setup,
    pub(super) transcript: RunTranscript,
    pub(super) inbox: Inbox,
    pub(super) turn: Turn,
    pub(super) tool_demand: ToolDemand,
    #[serde(default)]
    pub(super) repetition: Repetition,
    #[serde(default)]
    pub(super) spent: Spent,
    #[serde(default)]
    pub(super) answer: FinalAnswer,
    /// What the conversation remembers of decisions.
    #[serde(default, skip_serializing_if = "Remembered::is_empty")]
    pub(super) remembered: Remembered,
    /// How many levels of subagents may be below this run, where it is one of a subagent.
    #[serde(default)]
    pub(super) subagent_depth: Option<u32>,
    /// Whether the run is to end after this turn.
    #[serde(default)]
    pub(super) is_stopping: bool,
}

impl RunState {
    /// From now on the turn is the next one.
    pub(super) fn begin_turn(&mut self) {
        self.setup.begin_turn();
        self.turn.begin();
        self.emitter.begin_turn();
        if let Some(correction) = self.answer.begin_turn(self.clock.now_ms()) {
            self.emitter.emit_message(correction);
        }
    }

    /// This turn's configuration.
    pub(super) fn config(&self) -> &Config {
        self.setup.current()
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.setup.current().settings
    }

    /// The hooks of this turn.
    pub(super) fn hooks(&self) -> HookSet {
        self.setup.current().hooks
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.clock.is_interrupted()
    }

    /// What leaves nothing for a further model call under these settings, now.
    pub(super) fn used_up(&self, settings: &Settings) -> Option<UsedUp> {
        self.spent.used_up(&settings.budget, self.clock.ran_ms(0))
    }

    /// How the run ends after this turn if that leaves work; `None` when a further turn is allowed.
    pub(super) fn limit_of_turns(&self) -> Option<Outcome> {
        let settings = &self.setup.latest().settings;
        if self.repetition.is_at(settings.max_repeated_calls) {
            return Some(Outcome::Stopped);
        }
        if self.used_up(settings).is_some() {
            return Some(Outcome::Budget);
        }
        let is_last = settings.max_turns != 0 && self.turn.counted(self.emitter.turn()) >= settings.max_turns;
        is_last.then_some(Outcome::MaxTurns)
    }

    /// Reports which limit of the budget ends the run.
    pub(super) fn report_budget(&mut self) {
        if let Some(used_up) = self.used_up(&self.setup.latest().settings) {
            self.emitter.diagnostic(codes::BUDGET, format!("the run ends here: {used_up}"), used_up.to_json());
        }
    }

    /// Asks a hook of this turn, or goes on waiting for its answer: `None` until it is there. A step that asks is called again
    /// then. An abort ends the question.
    pub(super) fn ask(&mut self, question: impl FnOnce() -> Question) -> Option<HookReply> {
        self.ask_hook(HookOf::ThisTurn, AbortWait::None, question)
    }

    /// The same after the turn: the hook is that of the configuration for the next one.
    pub(super) fn ask_of_next_turn(&mut self, abort_wait: AbortWait, question: impl FnOnce() -> Question) -> Option<HookReply> {
        self.ask_hook(HookOf::NextTurn, abort_wait, question)
    }

    fn ask_hook(&mut self, of: HookOf, abort_wait: AbortWait, question: impl FnOnce() -> Question) -> Option<HookReply> {
        if !self.questions.is_asking() {
            self.questions.ask(question(), of, abort_wait, &self.clock, &mut self.emitter);
        }
        self.take_answer()
    }

    /// Asks an observer hook, which decides nothing. The current phase goes on after its answer.
    pub(super) fn notify(&mut self, question: Question) {
        self.questions.notify(question, &self.clock, &mut self.emitter);
    }

    /// Reports a failure to `on_error`.
    pub(super) fn notify_of_error(&mut self, error: &Error, attempt: u32, will_retry: bool) {
        if self.hooks().has(HookKind::OnError) {
            self.notify(Question::OnError(Failure { error: error.clone(), attempt, will_retry }));
        }
    }

    /// Waits for an observer hook. False when there is none, or its answer has come.
    pub(super) fn awaits_observer(&mut self) -> bool {
        let Some(kind) = self.questions.observer() else {
            return false;
        };
        let Some(answer) = self.take_answer() else {
            return true;
        };
        if let Err(unanswered) = answer {
            self.hook_failed(kind, unanswered);
        }
        false
    }

    /// A hook has not answered: what its failure means is in the table of hooks. An abort is no failure.
    pub(super) fn hook_failed(&mut self, kind: HookKind, unanswered: NoAnswer) {
        let Some(error) = unanswered.error(kind) else { return };
        match kind.effect() {
            // Its caller makes it the call's result, or what the call waits for, and the host logs it.
            Effect::Call | Effect::Decision | Effect::Logged | Effect::Server | Effect::Unreachable => {}
            Effect::Message => self.turn.fail_before_call(error),
            Effect::FirstPoll if self.turn.summary().is_none() => self.turn.fail_before_call(error),
            Effect::FirstPoll | Effect::Run => self.turn.fail(error),
            Effect::Reported => {
                let data = json!({ "hook": kind.as_str(), "error": error });
                self.emitter.diagnostic(codes::HOOK_ERROR, error.message().to_owned(), data);
            }
        }
    }

    fn take_answer(&mut self) -> Option<HookReply> {
        self.questions.answer(&self.clock, &self.setup.current().settings, &mut self.emitter)
    }

    /// Polls a queue and its hook, and marks what they have for the next turn. `None` until the hook has answered; then whether
    /// there is anything. When the hook fails, nothing is marked.
    pub(super) fn poll_queue(&mut self, queue: Queue) -> Option<bool> {
        let settings = self.settings();
        let (mode, kind, question) = match queue {
            Queue::Steering => (settings.steering_mode, HookKind::GetSteeringMessages, Question::GetSteeringMessages(())),
            Queue::FollowUp => (settings.follow_up_mode, HookKind::GetFollowUpMessages, Question::GetFollowUpMessages(())),
        };
        if !self.questions.is_asking() {
            let found = self.inbox.mark(queue, mode);
            if !self.hooks().has(kind) {
                return Some(found);
            }
            self.questions.poll(question, found, &self.clock, &mut self.emitter);
        }
        let found = self.questions.has_found();
        match self.take_answer()? {
            Ok(HookAnswer::GetSteeringMessages(messages) | HookAnswer::GetFollowUpMessages(messages)) => {
                if let Err(error) = self.check_new(&messages) {
                    self.inbox.reset_states();
                    self.hook_failed(kind, NoAnswer::Failed(Error::callback(error.message())));
                    return Some(false);
                }
                let found = found || !messages.is_empty();
                self.insert_marked(queue, messages);
                Some(found)
            }
            Ok(_) => Some(found),
            Err(unanswered) => {
                self.inbox.reset_states();
                self.hook_failed(kind, unanswered);
                Some(false)
            }
        }
    }

    /// Refuses a hook's messages that say nothing, and those whose ids are in the run.
    fn check_new(&self, messages: &[Message]) -> Result<(), Error> {
        check_says_something(messages)
            .map_err(|e| e.reworded(|why| format!("{why}; answer an empty list where there is nothing to say")))?;
        let ids = NewIds::of(messages)?;
        ids.check_against(self.transcript.all().iter().map(Arc::as_ref))?;
        ids.check_against(self.inbox.queues().all())
    }

    /// How the run ends, with its error, where its last turn ends it so. Where several apply, the first of:
    ///
    /// | outcome | reason | decided in |
    /// | --- | --- | --- |
    /// | `suspended` | the batch has ended with calls that wait: it does not after one of the next two | `Batch::end` |
    /// | `error` | the journal of the session cannot be written | `record_failed` |
    /// | `aborted`, `error` | an abort, `run_timeout_ms`: the earlier one | `run_clock` |
    /// | `error` | a hook failed after the model's message | `hook_failed` |
    /// | `aborted`, `error`, `completed` | the model's message is aborted, failed, a refusal | `Turn::remaining` |
    /// | `stopped` | a hook or the application asked for it | `Turn::outcome`, `begin_turn` |
    /// | `stopped` | all results of the turn ask for it, and nothing is queued | `Turn::remaining` |
    /// | `stopped` | the model has repeated a call too often | `limit_of_turns` |
    /// | `budget` | nothing is left of it, and there is work | `limit_of_turns`, `ends_before_turn`, `may_call_model` |
    /// | `max_turns` | the last turn has left work | `Turn::outcome` |
    /// | `completed` | no work is left | `Turn::remaining` |
    pub(super) fn outcome(&self, ending: Outcome) -> (Outcome, Option<Error>) {
        if let Some(unwritten) = self.emitter.journal.failure() {
            return (Outcome::Error, Some(unwritten.clone()));
        }
        if !self.turn.suspended().is_empty() {
            // What comes after the batch comes too late: the calls have no result.
            return (Outcome::Suspended, None);
        }
        match (self.clock.interruption(), self.turn.failure(), ending) {
            (Some(interruption), ..) => (interruption.outcome(), Some(interruption.error())),
            (None, Some(failure), _) => (Outcome::Error, Some(failure.clone())),
            (None, None, Outcome::Aborted | Outcome::Error) => (ending, self.turn.message_error()),
            (None, None, Outcome::Completed | Outcome::Stopped | Outcome::Budget | Outcome::MaxTurns | Outcome::Suspended) => {
                (ending, None)
            }
        }
    }

    /// A run without an agent gives its queues back; no message can be queued any more.
    pub(super) fn close(&mut self) {
        if self.config().is_stateless {
            self.inbox.close();
        }
    }
}
