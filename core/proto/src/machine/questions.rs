//! The question to a hook, one at a time. An abort ends a question, immediately or after the grace time; one that nothing
//! follows from ends after a time limit.

use serde::{Deserialize, Serialize};

use super::emitter::{Emitter, Out};
use super::run_clock::RunClock;
use crate::error::{Error, ErrorKind};
use crate::hook::{HookAnswer, HookKind, Question};
use crate::settings::Settings;

/// A question that waits for its answer.
#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    question_id: u32,
    abort_wait: AbortWait,
    asked_ms: u64,
    answer: Option<Result<Box<HookAnswer>, Error>>,
    /// The run was aborted before: the hook is not asked.
    is_refused: bool,
    /// The hook, if it decides nothing: its failure is reported and otherwise ignored.
    observer: Option<HookKind>,
    /// When the question is given up.
    deadline_ms: Option<u64>,
    /// Whether the poll that asks has found messages in the queue itself.
    found: bool,
}

impl Asked {
    fn new(abort_wait: AbortWait) -> Asked {
        Asked {
            question_id: 0,
            abort_wait,
            asked_ms: 0,
            answer: None,
            is_refused: false,
            observer: None,
            deadline_ms: None,
            found: false,
        }
    }
}

/// Whose hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookOf {
    /// That of the turn's configuration.
    ThisTurn,
    /// That of the configuration for the next turn: the turn is over.
    NextTurn,
}

/// How long an answer is awaited: after an abort, else without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AbortWait {
    /// Not at all.
    None,
    /// For the grace time.
    Grace,
    /// As long as a listener is, also without an abort. The hook is then left, and not cancelled.
    AsListener,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The run was aborted, or the hook has taken too long.
    Aborted,
    /// The hook failed with this.
    Failed(Error),
}

impl NoAnswer {
    /// The failure as an error; `None` when the run was aborted.
    pub(super) fn error(self, kind: HookKind) -> Option<Error> {
        match self {
            NoAnswer::Aborted => None,
            NoAnswer::Failed(why) => {
                let text = format!("the hook {kind} failed: {}", why.message());
                Some(Error::new(ErrorKind::Callback, text).with_source_of(&why))
            }
        }
    }
}

/// What a hook has answered, or why there is no answer.
pub(super) type HookReply = Result<HookAnswer, NoAnswer>;

/// The current question, and how many there were.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Questions {
    asked: Option<Asked>,
    next: u32,
}

impl Questions {
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Which observer hook is asked.
    pub(super) fn observer(&self) -> Option<HookKind> {
        self.asked.as_ref().and_then(|asked| asked.observer)
    }

    /// Whether the poll that asks has found messages in the queue itself.
    pub(super) fn has_found(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.found)
    }

    pub(super) fn deadline_ms(&self) -> Option<u64> {
        self.asked.as_ref().and_then(|asked| asked.deadline_ms)
    }

    /// The answer is no longer wanted.
    pub(super) fn cancel(&mut self, emitter: &mut Emitter) {
        if let Some(asked) = self.asked.take().filter(|asked| !asked.is_refused) {
            emitter.push(Out::CancelHook(asked.question_id));
        }
    }

    /// The first answer counts.
    pub(super) fn record_answer(&mut self, question_id: u32, answer: Result<Box<HookAnswer>, Error>) {
        if let Some(asked) = self.asked.as_mut().filter(|asked| asked.question_id == question_id) {
            // A key is the host's alone: a saved loop has none.
            let answer =
                answer.map(|answer| if let HookAnswer::GetApiKey(_) = *answer { Box::new(HookAnswer::Nothing) } else { answer });
            asked.answer.get_or_insert(answer);
        }
    }

    pub(super) fn ask(&mut self, question: Question, of: HookOf, abort_wait: AbortWait, clock: &RunClock, emitter: &mut Emitter) {
        self.begin(question, of, Asked::new(abort_wait), clock, emitter);
    }

    /// Asks an observer hook, which decides nothing.
    pub(super) fn notify(&mut self, question: Question, clock: &RunClock, emitter: &mut Emitter) {
        let asked = Asked { observer: question.kind(), ..Asked::new(AbortWait::None) };
        self.begin(question, HookOf::ThisTurn, asked, clock, emitter);
    }

    /// Asks the hook that belongs to a queue, in which the poll has found something or not.
    pub(super) fn poll(&mut self, question: Question, found: bool, clock: &RunClock, emitter: &mut Emitter) {
        let asked = Asked { found, ..Asked::new(AbortWait::Grace) };
        self.begin(question, HookOf::ThisTurn, asked, clock, emitter);
    }

    fn begin(&mut self, question: Question, of: HookOf, mut asked: Asked, clock: &RunClock, emitter: &mut Emitter) {
        (asked.question_id, asked.asked_ms) = (self.next, clock.now_ms());
        self.next = self.next.saturating_add(1);
        let is_cancellable = asked.abort_wait != AbortWait::AsListener;
        asked.is_refused = clock.is_interrupted() && is_cancellable;
        if !asked.is_refused {
            let of_next_turn = of == HookOf::NextTurn;
            emitter.push(Out::AskHook { question_id: asked.question_id, question, of_next_turn, is_cancellable });
        }
        self.asked = Some(asked);
    }

    /// The answer to the question that was asked, once it is there.
    pub(super) fn answer(&mut self, clock: &RunClock, settings: &Settings, emitter: &mut Emitter) -> Option<HookReply> {
        let asked = self.asked.as_mut()?;
        if asked.is_refused {
            self.asked = None;
            return Some(Err(NoAnswer::Aborted));
        }
        let is_late =
            |asked: &Asked| asked.answer.is_none() && asked.deadline_ms.is_some_and(|deadline_ms| clock.now_ms() >= deadline_ms);
        let given_up = match asked.abort_wait {
            // Also when it has answered: what the hook's own abort has overtaken does not count.
            AbortWait::None => clock.is_interrupted(),
            AbortWait::Grace if clock.is_interrupted() => {
                asked.deadline_ms.get_or_insert(clock.now_ms().saturating_add(settings.abort_grace_ms));
                is_late(asked)
            }
            AbortWait::Grace => false,
            AbortWait::AsListener => {
                asked.deadline_ms = clock.listener_limit(asked.asked_ms, settings).map(|limit| limit.at_ms);
                is_late(asked)
            }
        };
        if given_up {
            let is_left = asked.abort_wait == AbortWait::AsListener;
            emitter.push(if is_left { Out::LeaveHook(asked.question_id) } else { Out::CancelHook(asked.question_id) });
            self.asked = None;
            return Some(Err(NoAnswer::Aborted));
        }
        let answer = asked.answer.take()?;
        self.asked = None;
        Some(answer.map(|answer| *answer).map_err(NoAnswer::Failed))
    }
}
