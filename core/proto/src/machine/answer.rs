//! The model's answer: its stream becomes events as it comes; a failed call is retried, or another model is asked.

use crate::table::codes;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::action::{ModelCall, Timer};
use super::attempt::Attempt;
use super::config::Config;
use super::emitter::{Emitter, Out};
use super::limits::Interruption;
use super::request::{EncodedRequest, PreparedRequest};
use super::run_state::{Progress, RunState};
use crate::delta::{Delta, MessageBuilder};
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::hook::{HookKind, Question, ResponseHead};
use crate::message::{AssistantMessage, Message};
use crate::model_entry::ModelEntry;
use crate::partial::Partial;
use crate::provider_error::shortened;
use crate::retry::Jitter;
use crate::usage::{Prices, StopReason, Usage};

use Progress::{Blocked, Ended, Made};

/// The model calls of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ModelCalls {
    answer: Option<Answer>,
    next: u32,
    /// Where the jitter of the backoff comes from.
    random: u64,
    /// How many of the fallbacks were tried in this turn.
    fallbacks: usize,
    /// Which model failed first in this turn, and with what: it was meant to answer.
    failed_before: Option<String>,
}

/// What a model call has led to.
pub(super) enum CallOutcome {
    /// Another model is to be called.
    Fallback,
    /// The turn's message.
    Message(Arc<Message>),
    /// There is no call.
    Nothing,
}

/// An answer, over all tries of its call.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    builder: MessageBuilder,
    head: AssistantMessage,
    prices: Option<Prices>,
    /// Whether `message_start` was emitted.
    is_started: bool,
    /// Raw frames that wait for it.
    held: Vec<EventData>,
    request: Option<EncodedRequest>,
    stage: CallStage,
    current: Option<Attempt>,
    attempt: u32,
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

impl Answer {
    /// When it has to be looked at.
    fn timer(&self) -> Option<Timer> {
        match (&self.stage, &self.current) {
            (CallStage::Wait { until_ms }, _) => Some(Timer { at_ms: *until_ms, is_limit: false }),
            (CallStage::Stream, Some(attempt)) => attempt.timer(),
            _ => None,
        }
    }

    /// The held `message_start`, and the raw frames that waited for it.
    fn start(&mut self, emitter: &mut Emitter) {
        if !std::mem::replace(&mut self.is_started, true) {
            let message = Arc::new(Message::Assistant(self.head.clone()));
            // Before the first delta, which may be applied already.
            emitter.push(Out::Streamed(EventData::MessageStart { message }, 0));
            let position = self.builder.partial().steps();
            for raw in std::mem::take(&mut self.held) {
                emitter.push(Out::Streamed(raw, position));
            }
        }
    }

    /// Takes in one delta.
    fn apply(&mut self, delta: Delta, emitter: &mut Emitter) -> Result<(), Error> {
        let (odd, update) = self.builder.apply(delta)?;
        for event in odd.into_iter().chain(update) {
            match event {
                EventData::Raw { .. } if !self.is_started => {
                    self.held.push(event);
                    continue;
                }
                EventData::MessageUpdate(_) => self.start(emitter),
                _ => {}
            }
            emitter.push(Out::Streamed(event, self.builder.partial().steps()));
        }
        Ok(())
    }

    /// Nothing of a failed try was emitted; another one begins.
    fn begin_again(&mut self, turn: u32, now_ms: u64) {
        self.head.timestamp = now_ms;
        self.builder = MessageBuilder::new(self.head.clone(), turn, self.prices);
        self.held.clear();
        self.attempt += 1;
    }

    /// An answer without content is none: proxies and overloaded services send such, and servers that fill the context window
    /// with the conversation (Xiaomi's MiMo) and then cut the answer before its first token.
    fn check(&self) -> Result<(), Error> {
        let provider = &self.head.provider;
        let used = self.builder.usage();
        let error = match self.builder.stop_reason().filter(|_| !self.builder.has_blocks()) {
            Some(StopReason::Stop | StopReason::ToolUse) => {
                let text = format!("{provider} answered without any content");
                Error::new(ErrorKind::Protocol, text).with_retryable(true)
            }
            Some(StopReason::Length) if used.output == 0 && used.total > 0 => {
                let text = format!(
                    "{provider} had no room left to answer: the conversation ({} tokens) fills the model's context window",
                    used.total
                );
                Error::new(ErrorKind::ContextOverflow, text)
            }
            _ => return Ok(()),
        };
        Err(error.with_provider(provider))
    }
}

impl ModelCalls {
    pub(super) fn new(seed: u64) -> ModelCalls {
        ModelCalls { answer: None, next: 0, random: seed, fallbacks: 0, failed_before: None }
    }

    pub(super) fn begin_turn(&mut self) {
        (self.fallbacks, self.failed_before) = (0, None);
    }

    /// The current try, if this is its number.
    pub(super) fn attempt(&mut self, call: u32) -> Option<&mut Attempt> {
        self.answer.as_mut()?.current.as_mut().filter(|attempt| attempt.call() == call)
    }

    /// The message at an event of its stream.
    pub(super) fn partial(&self, position: usize) -> Option<Partial> {
        Some(self.answer.as_ref()?.builder.partial().at(position))
    }

    pub(super) fn timer(&self) -> Option<Timer> {
        self.answer.as_ref()?.timer()
    }

    /// The call is prepared, or failed before the model was asked.
    pub(super) fn begin(&mut self, run: &mut RunState, prepared: PreparedRequest) {
        let head = head(run.config(), run.now_ms());
        let prices = run.config().model.as_ref().ok().and_then(|model| model.prices);
        let builder = MessageBuilder::new(head.clone(), run.emitter.turn(), prices);
        let (request, stage) = match prepared {
            Ok(request) => (Some(request), CallStage::Call),
            Err(error) => (None, CallStage::Answered(error)),
        };
        if let CallStage::Answered(Some(error)) = &stage
            && !run.is_interrupted()
        {
            run.inform_of_error(error, 0, false);
        }
        let (is_started, held, current, attempt) = (false, Vec::new(), None, 1);
        self.answer = Some(Answer { builder, head, prices, is_started, held, request, stage, current, attempt });
    }

    pub(super) fn step(&mut self, run: &mut RunState) -> Progress<CallOutcome> {
        let Some(answer) = &mut self.answer else {
            return Ended(CallOutcome::Nothing);
        };
        let next = match &mut answer.stage {
            CallStage::Call => return self.place_call(run),
            CallStage::Stream => return self.stream(run),
            CallStage::Retry { delay_ms, error } => {
                let (delay_ms, error, attempt) = (*delay_ms, error.clone(), answer.attempt);
                if run.is_interrupted() {
                    CallStage::Answered(None)
                } else {
                    answer.stage = CallStage::Backoff { delay_ms };
                    run.emitter.emit(EventData::Retry { attempt, delay_ms, error });
                    return Made;
                }
            }
            CallStage::Backoff { delay_ms } => CallStage::Wait { until_ms: run.now_ms().saturating_add(*delay_ms) },
            CallStage::Wait { .. } if run.is_interrupted() => CallStage::Answered(None),
            CallStage::Wait { until_ms } if run.now_ms() < *until_ms => return Blocked,
            CallStage::Wait { .. } => {
                answer.begin_again(run.emitter.turn(), run.now_ms());
                CallStage::Call
            }
            CallStage::Answered(error) => {
                let error = error.take();
                return self.call_ended(run, error);
            }
            CallStage::EndBlocks => {
                answer.start(&mut run.emitter);
                let event = if run.is_interrupted() { None } else { answer.builder.end_next() };
                match event {
                    Some(event) => {
                        run.emitter.push(Out::Streamed(event, answer.builder.partial().steps()));
                        return Made;
                    }
                    None => CallStage::Finish(None),
                }
            }
            CallStage::Finish(error) => {
                let error = error.take();
                return self.finish(run, error);
            }
        };
        answer.stage = next;
        Made
    }

    fn place_call(&mut self, run: &mut RunState) -> Progress<CallOutcome> {
        let call = self.next;
        self.next += 1;
        let (Some(answer), Ok(model)) = (&mut self.answer, &run.config().model) else {
            return Ended(CallOutcome::Nothing);
        };
        let Some((request, body)) = answer.request.clone().filter(|_| !run.is_interrupted()) else {
            answer.stage = CallStage::Answered(None);
            return Made;
        };
        let settings = run.settings();
        answer.current = Some(Attempt::new(call, &settings.limits, run.now_ms()));
        answer.stage = CallStage::Stream;
        let (model, raw_events, wants_response) = (model.key, settings.raw_events, run.hooks().has(HookKind::OnResponse));
        run.emitter.push(Out::CallModel(ModelCall { call, model, request, body, raw_events, wants_response }));
        Made
    }

    /// Takes in the next delta. Nothing is cloned here.
    fn stream(&mut self, run: &mut RunState) -> Progress<CallOutcome> {
        if run.is_interrupted() {
            return self.end_attempt(run, true, Ok(()));
        }
        let Some(answer) = &mut self.answer else {
            return Ended(CallOutcome::Nothing);
        };
        let Some(attempt) = &mut answer.current else {
            return self.end_attempt(run, false, Ok(()));
        };
        let (now_ms, limits) = (run.now_ms(), &run.settings().limits);
        attempt.note_sign(limits, now_ms);
        match attempt.next_delta() {
            Some(Delta::Response { status, headers }) => {
                if run.hooks().has(HookKind::OnResponse) {
                    let provider = answer.head.provider.clone();
                    run.inform(Question::OnResponse(ResponseHead { provider, status, headers: *headers }));
                }
                return Made;
            }
            Some(delta) => {
                return match answer.apply(delta, &mut run.emitter) {
                    Ok(()) => Made,
                    Err(error) => self.end_attempt(run, true, Err(error)),
                };
            }
            None => {}
        }
        let provider = answer.head.provider.as_str();
        match attempt.take_end() {
            Some(Ok(())) if answer.builder.is_stopped() => self.end_attempt(run, false, Ok(())),
            Some(Ok(())) => {
                let text = format!("{provider}'s answer ended without its closing event");
                let error = Error::new(ErrorKind::StreamTruncated, text).with_provider(provider);
                self.end_attempt(run, false, Err(error))
            }
            Some(Err(error)) => self.end_attempt(run, false, Err(error)),
            None => match attempt.passed(limits, now_ms) {
                None => Blocked,
                Some((what, name, limit_ms)) => {
                    let text = format!("{provider}: {what} within {name} ({limit_ms})");
                    let error = Error::new(ErrorKind::Timeout, text).with_provider(provider);
                    self.end_attempt(run, true, Err(error))
                }
            },
        }
    }

    /// A try is over: there is an answer, a retry, or an error that ends the call. An interruption is not an error of its own.
    fn end_attempt(&mut self, run: &mut RunState, cancel: bool, result: Result<(), Error>) -> Progress<CallOutcome> {
        run.limits.doubt_timer();
        let Some(answer) = &mut self.answer else {
            return Ended(CallOutcome::Nothing);
        };
        if let Some(attempt) = answer.current.take().filter(|_| cancel) {
            run.emitter.push(Out::CancelModel(attempt.call()));
        }
        if run.is_interrupted() {
            answer.stage = CallStage::Answered(None);
            return Made;
        }
        let Err(error) = result.and_then(|()| answer.check()) else {
            let max_tokens = answer.request.as_ref().and_then(|(request, _)| request.options.max_tokens);
            answer.builder.treat_full_length_calls_as_cut(max_tokens);
            answer.stage = CallStage::Answered(None);
            return Made;
        };
        let attempt = answer.attempt;
        let delay = match answer.builder.has_blocks() {
            true => Err(error.clone()),
            false => {
                let jitter = match run.config().has_jitter {
                    true => Jitter::Random(next_random(&mut self.random)),
                    false => Jitter::None,
                };
                run.settings().retry.pause(error.clone(), attempt, jitter)
            }
        };
        match delay {
            Ok(delay_ms) => {
                run.inform_of_error(&error, attempt, true);
                answer.stage = CallStage::Retry { delay_ms, error };
            }
            Err(error) => {
                run.inform_of_error(&error, attempt, false);
                answer.stage = CallStage::Answered(Some(error));
            }
        }
        Made
    }

    /// The call is over: another model is asked, or this is the turn's answer.
    fn call_ended(&mut self, run: &mut RunState, error: Option<Error>) -> Progress<CallOutcome> {
        if let Some(error) = &error
            && self.fall_back(run, error)
        {
            return Ended(CallOutcome::Fallback);
        }
        if let Some(answer) = &mut self.answer {
            answer.stage = if error.is_none() { CallStage::EndBlocks } else { CallStage::Finish(error) };
        }
        Made
    }

    /// Takes the next model for the rest of the turn, if there is one that may help.
    fn fall_back(&mut self, run: &mut RunState, error: &Error) -> bool {
        let has_blocks = self.answer.as_ref().is_some_and(|answer| answer.builder.has_blocks());
        // When a hook has failed, it would fail with every model.
        if error.kind() == ErrorKind::Callback || run.is_interrupted() || has_blocks {
            return false;
        }
        let config = run.config();
        let Some((to, model)) = config.fallbacks.get(self.fallbacks).cloned() else {
            return false;
        };
        self.fallbacks += 1;
        let from = config.model.as_ref().map_or_else(|_| config.model_name.clone(), ModelEntry::name);
        let message = format!("{from} failed ({error}); {to} is asked instead");
        run.emitter.diagnostic(codes::FALLBACK, message, json!({ "from": from, "to": to, "error": error }));
        let failed = || format!("before that, {from} failed: {}", shortened(error.message(), 200));
        self.failed_before.get_or_insert_with(failed);
        run.setup.set_model(model);
        true
    }

    fn finish(&mut self, run: &mut RunState, error: Option<Error>) -> Progress<CallOutcome> {
        let Some(answer) = &mut self.answer else {
            return Ended(CallOutcome::Nothing);
        };
        if !answer.is_started {
            answer.start(&mut run.emitter);
            answer.stage = CallStage::Finish(error);
            return Made;
        }
        let failure = match (run.limits.interruption(), error) {
            (Some(interruption), _) => Some((Interruption::stop_reason(interruption), interruption.error())),
            (None, Some(error)) => {
                Some((StopReason::Error, self.failed_before.iter().fold(error, |error, before| error.and(before))))
            }
            (None, None) => None,
        };
        let Some(answer) = self.answer.take() else {
            return Ended(CallOutcome::Nothing);
        };
        let message = Arc::new(Message::Assistant(answer.builder.finish(failure)));
        run.emitter.emit(EventData::MessageEnd { message: Arc::clone(&message) });
        Ended(CallOutcome::Message(message))
    }
}

/// The message without content.
fn head(config: &Config, now_ms: u64) -> AssistantMessage {
    // A model that cannot be used still has its name.
    let (provider, id) = config.model_name.split_once('/').unwrap_or_default();
    let (provider, protocol, model) = match &config.model {
        Ok(ModelEntry { provider, protocol, id, .. }) => (provider.as_str(), protocol.as_str(), id.as_str()),
        Err(_) => (provider, "", id),
    };
    AssistantMessage {
        content: Vec::new(),
        provider: provider.to_owned(),
        protocol: protocol.to_owned(),
        model: model.to_owned(),
        usage: Usage::default(),
        stop_reason: None,
        raw_stop_reason: None,
        response_id: None,
        error: None,
        timestamp: now_ms,
    }
}

/// The next number of a sequence that its seed decides (SplitMix64, <https://doi.org/10.1145/2714064.2660195>).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
