//! The model calls of a run: a call is placed and its answer streamed; one that fails is retried, or another model is called.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::action::{EncodedRequest, ModelCall, ModelWait, PreparedRequest, Timer};
use super::answer::ModelAnswer;
use super::attempt::Attempt;
use super::context;
use super::emitter::Out;
use super::fallback::Fallbacks;
use super::random::Random;
use super::run_state::{Progress, RunState};
use crate::budget::UsedUp;
use crate::delta::Delta;
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::hook::{HookKind, Question, ResponseHead};
use crate::message::Message;
use crate::model_entry::ModelEntry;
use crate::partial::Partial;
use crate::retry::Jitter;
use crate::session::{JournalRecord, MessageRecord, Retried};
use crate::table::codes;
use crate::usage::StopReason;

use Progress::{Blocked, Ended, Made};

/// The model calls of a run, one at a time.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ModelCalls {
    /// Boxed, as each step takes it out.
    current: Option<Box<CurrentCall>>,
    /// The number of the next attempt.
    next: u32,
    random: Random,
    fallbacks: Fallbacks,
    /// What failed since the last message of the model, and the model was asked again; for the journal of a session.
    #[serde(default)]
    retries: Vec<Retried>,
}

/// What a model call has led to.
pub(super) enum CallOutcome {
    /// Another model is to be called.
    Fallback,
    /// The provider has refused the request as too large: a smaller one is to be made.
    TooLarge,
    /// The turn's message.
    Message(Arc<Message>),
}

/// A call, over all its attempts.
#[derive(Debug, Serialize, Deserialize)]
struct CurrentCall {
    stage: CallStage,
    /// Who is asked, if it is a model that helps the run, and not the turn's.
    #[serde(default)]
    helper: Option<ModelEntry>,
    /// None when it could not be prepared.
    request: Option<EncodedRequest>,
    answer: ModelAnswer,
    attempt: Option<Attempt>,
    /// The number of the attempt, from 1.
    attempt_number: u32,
    /// When the first token of its answer came.
    #[serde(default)]
    first_token_at: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
enum CallStage {
    /// Place the call.
    Call,
    Stream,
    /// Report a retry.
    Retry {
        delay_ms: u64,
        error: Error,
    },
    /// The retry was reported; its backoff begins.
    Backoff {
        delay_ms: u64,
    },
    Wait {
        until_ms: u64,
    },
    /// There is an answer, or the error that ended the call; `None` also when the run was interrupted.
    Answered(Option<Error>),
    /// Open blocks are ended, one at a time.
    EndBlocks,
    Finish(Option<Error>),
}

impl CurrentCall {
    fn new(stage: CallStage, helper: Option<ModelEntry>, request: Option<EncodedRequest>, answer: ModelAnswer) -> CurrentCall {
        CurrentCall { stage, helper, request, answer, attempt: None, attempt_number: 1, first_token_at: None }
    }

    /// What leaves nothing for a further attempt in so many milliseconds. What this one has used is not counted yet.
    fn used_up(&self, run: &RunState, after_ms: u64) -> Option<UsedUp> {
        let budget = &run.settings().budget;
        if run.spent.is_unlimited(budget) {
            return None;
        }
        let mut spent = run.spent.clone();
        spent.count_usage(&self.answer.usage(), self.answer.has_content());
        spent.used_up(budget, run.clock.ran_ms(after_ms))
    }

    /// When it has to be looked at.
    fn timer(&self) -> Option<Timer> {
        match (&self.stage, &self.attempt) {
            (CallStage::Wait { until_ms }, _) => Some(Timer { at_ms: *until_ms, is_limit: false }),
            (CallStage::Stream, Some(attempt)) => attempt.timer(),
            _ => None,
        }
    }
}

impl ModelCalls {
    pub(super) fn new(seed: u64) -> ModelCalls {
        ModelCalls { current: None, next: 0, random: Random::new(seed), fallbacks: Fallbacks::default(), retries: Vec::new() }
    }

    pub(super) fn begin_turn(&mut self) {
        self.fallbacks.begin_turn();
    }

    /// The answer is no longer wanted; what it has used counts.
    pub(super) fn cancel(&mut self, run: &mut RunState) {
        if let Some(call) = self.current.take() {
            run.spent.count_usage(&call.answer.usage(), call.answer.has_content());
            if let Some(attempt) = &call.attempt {
                run.emitter.push(Out::CancelModel(attempt.call()));
            }
        }
    }

    /// Whether there is a call that has not ended.
    pub(super) fn is_under_way(&self) -> bool {
        self.current.is_some()
    }

    /// The current attempt, if this is its number.
    pub(super) fn attempt(&mut self, call: u32) -> Option<&mut Attempt> {
        self.current.as_mut()?.attempt.as_mut().filter(|attempt| attempt.call() == call)
    }

    /// An attempt waits for its turn: no limit of it passes until then.
    pub(super) fn wait(&mut self, run: &mut RunState, call: u32, wait: &ModelWait) {
        if let Some(attempt) = self.attempt(call).filter(|_| !run.is_interrupted()) {
            attempt.hold();
            run.clock.mark_timer_stale();
            let ModelWait { reason, ahead } = wait;
            let place = match ahead {
                0 => "it is the next one".to_owned(),
                1 => "1 call is before it".to_owned(),
                _ => format!("{ahead} calls are before it"),
            };
            let message = format!("the model call waits, as the limiter has reached its limit ({reason}); {place}");
            run.emitter.diagnostic(codes::LIMITER_WAIT, message, json!({ "reason": reason, "ahead": ahead }));
        }
    }

    /// The message at an event of its stream.
    pub(super) fn partial(&self, position: usize) -> Option<Partial> {
        Some(self.current.as_ref()?.answer.partial(position))
    }

    pub(super) fn timer(&self) -> Option<Timer> {
        self.current.as_ref()?.timer()
    }

    /// The call is prepared, or failed before the model was asked.
    pub(super) fn begin(&mut self, run: &mut RunState, prepared: PreparedRequest) {
        let answer = ModelAnswer::new(run.config(), run.emitter.turn(), run.now_ms());
        let (request, stage) = match prepared {
            Ok(request) => (Some(request), CallStage::Call),
            Err(error) => (None, CallStage::Answered(error)),
        };
        if let CallStage::Answered(Some(error)) = &stage
            && !run.is_interrupted()
        {
            run.notify_of_error(error, 0, false);
        }
        self.current = Some(Box::new(CurrentCall::new(stage, None, request, answer)));
    }

    /// A call of a model that helps the run. No event is made of its answer, and no other model is asked in its place.
    pub(super) fn begin_helper(&mut self, run: &RunState, helper: ModelEntry, request: EncodedRequest) {
        let answer = ModelAnswer::of_helper(&helper, run.config(), run.emitter.turn(), run.now_ms());
        self.current = Some(Box::new(CurrentCall::new(CallStage::Call, Some(helper), Some(request), answer)));
    }

    pub(super) fn step(&mut self, run: &mut RunState) -> Progress<CallOutcome> {
        // Taken out, as its steps change the rest too; put back unless it is over.
        let Some(mut call) = self.current.take() else {
            debug_assert!(false, "a step without a model call");
            return Blocked;
        };
        if let CallStage::Finish(error) = &mut call.stage
            && call.answer.is_started()
        {
            let error = error.take();
            return Ended(CallOutcome::Message(self.finish(run, *call, error)));
        }
        let progress = self.step_call(run, &mut call);
        if !matches!(progress, Ended(_)) {
            self.current = Some(call);
        }
        progress
    }

    fn step_call(&mut self, run: &mut RunState, call: &mut CurrentCall) -> Progress<CallOutcome> {
        let next = match &mut call.stage {
            CallStage::Call => self.place_call(run, call),
            CallStage::Stream => match self.stream(run, call) {
                Ended(next) => next,
                Made => return Made,
                Blocked => return Blocked,
            },
            CallStage::Retry { .. } if run.is_interrupted() => CallStage::Answered(None),
            CallStage::Retry { delay_ms, error } => {
                let (delay_ms, error) = (*delay_ms, error.clone());
                let attempt = call.attempt_number;
                self.keep_failed(run, attempt, delay_ms, &error);
                run.emitter.emit(EventData::Retry { attempt, delay_ms, error });
                CallStage::Backoff { delay_ms }
            }
            CallStage::Backoff { delay_ms } => CallStage::Wait { until_ms: run.now_ms().saturating_add(*delay_ms) },
            CallStage::Wait { .. } if run.is_interrupted() => CallStage::Answered(None),
            CallStage::Wait { until_ms } if run.now_ms() < *until_ms => return Blocked,
            CallStage::Wait { .. } => {
                run.spent.count_usage(&call.answer.usage(), false);
                call.answer.begin_again(run.emitter.turn(), run.now_ms());
                call.attempt_number = call.attempt_number.saturating_add(1);
                CallStage::Call
            }
            CallStage::Answered(error) => match error.take() {
                None => CallStage::EndBlocks,
                error if call.helper.is_some() => CallStage::Finish(error),
                Some(error) => {
                    // A limit of what is sent holds for every model.
                    let is_unsent = call.request.is_none() && error.kind() == ErrorKind::Limit;
                    let is_over = is_unsent || call.used_up(run, 0).is_some();
                    let is_refused = error.kind() == ErrorKind::ContextOverflow && !call.answer.has_content();
                    if is_refused && !is_over && !run.is_interrupted() && run.turn.may_shrink() {
                        run.spent.count_usage(&call.answer.usage(), false);
                        self.keep_failed(run, call.attempt_number, 0, &error);
                        return Ended(CallOutcome::TooLarge);
                    }
                    let error = if is_refused { context::too_large(error, run) } else { error };
                    if !is_over && self.fallbacks.switch_model(run, &error, call.answer.has_content()) {
                        run.spent.count_usage(&call.answer.usage(), false);
                        // What could not be sent was no attempt.
                        if call.request.is_some() {
                            self.keep_failed(run, call.attempt_number, 0, &error);
                        }
                        return Ended(CallOutcome::Fallback);
                    }
                    CallStage::Finish(Some(error))
                }
            },
            CallStage::EndBlocks => {
                call.answer.start(&mut run.emitter);
                if !run.is_interrupted() && call.answer.end_next_block(&mut run.emitter) {
                    return Made;
                }
                CallStage::Finish(None)
            }
            CallStage::Finish(_) => {
                call.answer.start(&mut run.emitter);
                return Made;
            }
        };
        call.stage = next;
        Made
    }

    fn place_call(&mut self, run: &mut RunState, call: &mut CurrentCall) -> CallStage {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        let Some((request, body)) = call.request.clone().filter(|_| !run.is_interrupted()) else {
            return CallStage::Answered(None);
        };
        let model = match (&call.helper, &run.config().model) {
            (Some(model), _) | (None, Ok(model)) => model.key,
            (None, Err(error)) => return CallStage::Answered(Some(error.clone())),
        };
        let settings = run.settings();
        call.attempt = Some(Attempt::new(number, &settings.limits, run.now_ms()));
        let is_turns = call.helper.is_none();
        let (raw_events, wants_response) = (settings.raw_events && is_turns, run.hooks().has(HookKind::OnResponse) && is_turns);
        run.emitter.push(Out::CallModel(ModelCall { call: number, model, request, body, raw_events, wants_response }));
        CallStage::Stream
    }

    /// Takes in the next delta; at the end of the stream, what follows.
    fn stream(&mut self, run: &mut RunState, call: &mut CurrentCall) -> Progress<CallStage> {
        if run.is_interrupted() {
            return Ended(self.end_attempt(run, call, true, Ok(())));
        }
        let Some(attempt) = &mut call.attempt else {
            return Ended(self.end_attempt(run, call, false, Ok(())));
        };
        let now_ms = run.now_ms();
        if attempt.is_sent() {
            attempt.begin(&run.settings().limits, now_ms);
            call.answer.begin_again(run.emitter.turn(), now_ms);
            run.clock.mark_timer_stale();
        }
        let limits = &run.settings().limits;
        attempt.note_activity(limits, now_ms);
        match attempt.next_delta() {
            Some(Delta::Response { status, headers }) => {
                if run.hooks().has(HookKind::OnResponse) {
                    let provider = call.answer.provider().to_owned();
                    run.notify(Question::OnResponse(ResponseHead { provider, status, headers: *headers }));
                }
                return Made;
            }
            Some(delta) => {
                return match call.answer.apply(delta, &mut run.emitter, &mut run.transcript, &run.setup) {
                    Ok(()) => {
                        if call.answer.has_content() {
                            call.first_token_at.get_or_insert(now_ms);
                        }
                        Made
                    }
                    Err(error) => Ended(self.end_attempt(run, call, true, Err(error))),
                };
            }
            None => {}
        }
        let provider = call.answer.provider();
        let (cancel, result) = match attempt.take_end() {
            Some(Ok(())) if call.answer.is_stopped() => (false, Ok(())),
            Some(Ok(())) => {
                let text = format!("{provider}'s answer ended without its closing event");
                (false, Err(Error::new(ErrorKind::StreamTruncated, text).with_provider(provider)))
            }
            Some(Err(error)) => (false, Err(error)),
            None => match attempt.passed(limits, now_ms) {
                None => return Blocked,
                Some((what, name, limit_ms)) => {
                    let text = format!("{provider}: {what} within {name} ({limit_ms})");
                    (true, Err(Error::new(ErrorKind::Timeout, text).with_provider(provider)))
                }
            },
        };
        Ended(self.end_attempt(run, call, cancel, result))
    }

    /// An attempt is over: there is an answer, a retry, or an error that ends the call. An interruption is not an error of its
    /// own.
    fn end_attempt(&mut self, run: &mut RunState, call: &mut CurrentCall, cancel: bool, result: Result<(), Error>) -> CallStage {
        run.clock.mark_timer_stale();
        if let Some(attempt) = call.attempt.take().filter(|_| cancel) {
            run.emitter.push(Out::CancelModel(attempt.call()));
        }
        if run.is_interrupted() {
            return CallStage::Answered(None);
        }
        let Err(error) = result.and_then(|()| call.answer.check()) else {
            let max_tokens = call.request.as_ref().and_then(|(request, _)| request.options.max_tokens);
            call.answer.treat_full_length_calls_as_truncated(max_tokens);
            return CallStage::Answered(None);
        };
        let number = call.attempt_number;
        match self.retry_delay(run, call, error.clone()) {
            Ok(delay_ms) => {
                run.notify_of_error(&error, number, true);
                CallStage::Retry { delay_ms, error }
            }
            Err(error) => {
                run.notify_of_error(&error, number, false);
                CallStage::Answered(Some(error))
            }
        }
    }

    /// The backoff before the next attempt, or the error that ends the call. What was emitted cannot be taken back: there is no
    /// retry after content.
    fn retry_delay(&mut self, run: &RunState, call: &CurrentCall, error: Error) -> Result<u64, Error> {
        if call.answer.has_content() {
            return Err(error);
        }
        let jitter = match run.config().has_jitter {
            true => Jitter::Random(self.random.next()),
            false => Jitter::None,
        };
        let delay_ms = run.settings().retry.pause(error.clone(), call.attempt_number, jitter)?;
        match call.used_up(run, delay_ms) {
            None => Ok(delay_ms),
            Some(used_up) => Err(error.and(&format!("not retried, as by then {used_up}"))),
        }
    }

    /// An attempt has failed, and a model is to be asked again: for the journal, where there is one.
    fn keep_failed(&mut self, run: &RunState, attempt: u32, delay_ms: u64, error: &Error) {
        if run.emitter.journal.is_on() {
            self.retries.push(Retried::new(run.now_ms(), attempt, delay_ms, error.clone()));
        }
    }

    /// The turn's message joins the transcript.
    fn finish(&mut self, run: &mut RunState, call: CurrentCall, error: Option<Error>) -> Arc<Message> {
        let CurrentCall { answer, helper, first_token_at, .. } = call;
        let failure = match (run.clock.interruption(), error) {
            (Some(interruption), _) => Some((interruption.stop_reason(), interruption.error())),
            (None, Some(error)) => Some((StopReason::Error, self.fallbacks.explain(error))),
            (None, None) => None,
        };
        run.spent.count_usage(&answer.usage(), failure.is_none() || answer.has_content());
        let message = answer.finish(failure, &run.turn);
        if helper.is_some() {
            return message;
        }
        let retries = std::mem::take(&mut self.retries);
        run.emitter.record(|| JournalRecord::Message(MessageRecord::answer(Arc::clone(&message), first_token_at, retries)));
        run.emitter.emit(EventData::MessageEnd { message: Arc::clone(&message) });
        message
    }
}
