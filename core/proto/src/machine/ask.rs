//! Questions to hooks, one at a time. An abort ends a question, at once or after the grace time.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{HookAnswer, HookKind, Loop, Out, Question};
use crate::error::{Error, ErrorKind};
use crate::hook::Failure;
use crate::queues::Queue;

/// A question that waits for its answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    hook: u32,
    kind: Option<HookKind>,
    patience: Patience,
    answer: Option<Result<HookAnswer, String>>,
    /// The run was aborted before: the hook is not asked.
    is_refused: bool,
    /// The hook decides nothing: its failure is reported and otherwise ignored.
    is_observer: bool,
    /// When an abort gives the question up.
    pub(super) deadline_ms: Option<u64>,
    /// Whether the poll that asks has found messages in the queue itself.
    found: bool,
}

impl Asked {
    pub(super) fn is(&self, hook: u32) -> bool {
        self.hook == hook
    }

    pub(super) fn take(&mut self, answer: Result<HookAnswer, String>) {
        self.answer.get_or_insert(answer);
    }
}

/// How long an answer is awaited after an abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Patience {
    /// Not at all.
    None,
    /// For the grace time.
    Grace,
    /// Until it comes.
    Unlimited,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The run was aborted.
    Aborted,
    /// The hook failed with this text.
    Failed(String),
}

impl Unanswered {
    /// The failure as an error; `None` when the run was aborted.
    pub(super) fn error(self, kind: HookKind) -> Option<Error> {
        match self {
            Unanswered::Aborted => None,
            Unanswered::Failed(why) => Some(Error::new(ErrorKind::Callback, format!("the hook {kind} failed: {why}"))),
        }
    }
}

pub(super) type Answered = Result<HookAnswer, Unanswered>;

impl Loop {
    /// Asks a hook, or goes on waiting for its answer: `None` until it is there. A step that asks is called again then.
    pub(super) fn ask(&mut self, patience: Patience, question: impl FnOnce(&mut Loop) -> Question) -> Option<Answered> {
        if self.asked.is_none() {
            let question = question(self);
            self.begin_asking(question, patience, false);
        }
        self.take_answer()
    }

    /// Asks a hook that decides nothing, if it is set. The current phase goes on after its answer.
    pub(super) fn inform(&mut self, question: Question) {
        self.begin_asking(question, Patience::None, true);
    }

    /// Reports a failure to `on_error`.
    pub(super) fn inform_of_error(&mut self, error: &Error, attempt: u32, will_retry: bool) {
        if self.config.hooks.has(HookKind::OnError) {
            self.inform(Question::OnError(Failure { error: error.clone(), attempt, will_retry }));
        }
    }

    fn begin_asking(&mut self, question: Question, patience: Patience, is_observer: bool) {
        let (hook, kind) = (self.next_hook, question.kind());
        self.next_hook += 1;
        let is_refused = self.is_interrupted() && patience != Patience::Unlimited;
        if !is_refused {
            self.out.push_back(Out::AskHook(hook, question));
        }
        let (answer, deadline_ms, found) = (None, None, false);
        self.asked = Some(Asked { hook, kind, patience, answer, is_refused, is_observer, deadline_ms, found });
    }

    /// Waits for an observer hook. False when there is none, or its answer has come.
    pub(super) fn awaits_observer(&mut self) -> bool {
        let Some(Asked { is_observer: true, kind, .. }) = &self.asked else {
            return false;
        };
        let kind = *kind;
        match (self.take_answer(), kind) {
            (None, _) => return true,
            (Some(Err(unanswered)), Some(kind)) => {
                if let Some(error) = unanswered.error(kind) {
                    let data = json!({ "hook": kind.as_str(), "error": error });
                    self.diagnostic("hook_error", error.message().to_owned(), data);
                }
            }
            (Some(_), _) => {}
        }
        false
    }

    /// The answer to the question that was asked, once it is there.
    fn take_answer(&mut self) -> Option<Answered> {
        let (aborted, now_ms, grace_ms) = (self.is_interrupted(), self.now_ms, self.config.settings.abort_grace_ms);
        let asked = self.asked.as_mut()?;
        if asked.is_refused {
            self.asked = None;
            return Some(Err(Unanswered::Aborted));
        }
        let given_up = aborted
            && match asked.patience {
                // Also when it has answered: what the hook's own abort has overtaken does not count.
                Patience::None => true,
                Patience::Grace => {
                    let deadline_ms = *asked.deadline_ms.get_or_insert(now_ms.saturating_add(grace_ms));
                    asked.answer.is_none() && now_ms >= deadline_ms
                }
                Patience::Unlimited => false,
            };
        if given_up {
            self.out.push_back(Out::CancelHook(asked.hook));
            self.asked = None;
            return Some(Err(Unanswered::Aborted));
        }
        let answer = asked.answer.take()?;
        self.asked = None;
        Some(answer.map_err(Unanswered::Failed))
    }

    /// Polls a queue and its hook, and marks what they have for the next turn. `None` until the hook has answered; then whether
    /// there is anything.
    pub(super) fn poll_queue(&mut self, queue: Queue) -> Option<Result<bool, Option<Error>>> {
        let settings = &self.config.settings;
        let (mode, kind, question) = match queue {
            Queue::Steering => (settings.steering_mode, HookKind::GetSteeringMessages, Question::GetSteeringMessages(())),
            Queue::FollowUp => (settings.follow_up_mode, HookKind::GetFollowUpMessages, Question::GetFollowUpMessages(())),
        };
        if self.asked.is_none() {
            let found = self.queues.mark(queue, mode);
            if !self.config.hooks.has(kind) {
                return Some(Ok(found));
            }
            self.begin_asking(question, Patience::Grace, false);
            if let Some(asked) = &mut self.asked {
                asked.found = found;
            }
        }
        let found = self.asked.as_ref().is_some_and(|asked| asked.found);
        match self.take_answer()? {
            Ok(HookAnswer::Queued(messages)) => {
                let found = found || !messages.is_empty();
                self.queues.insert_marked(queue, messages);
                Some(Ok(found))
            }
            Ok(_) => Some(Ok(found)),
            Err(unanswered) => {
                self.queues.unmark();
                Some(Err(unanswered.error(kind)))
            }
        }
    }
}
