//! The model's answer: its stream becomes events as it comes; a failed call is retried, or another model is asked.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::turn::Phase;
use super::{HookKind, Interruption, Loop, ModelCall, ModelEntry, Out, Progress, Question, Timer};
use crate::delta::{Delta, MessageBuilder};
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::hook::ResponseHead;
use crate::limits::Limits;
use crate::message::{AssistantMessage, Message};
use crate::partial::Partial;
use crate::provider_error::shortened;
use crate::request::Request;
use crate::retry::Jitter;
use crate::usage::{Prices, StopReason, Usage};

use Progress::{Blocked, Made};

/// A request and its body; or the error that kept it from being prepared, `None` when the run was interrupted.
pub(super) type Prepared = Result<(Arc<Request>, Option<Arc<[u8]>>), Option<Error>>;

/// An answer, over all tries of its call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    builder: MessageBuilder,
    head: AssistantMessage,
    prices: Option<Prices>,
    /// Whether `message_start` was emitted.
    is_started: bool,
    /// Raw frames that wait for it.
    held: Vec<EventData>,
    request: Option<(Arc<Request>, Option<Arc<[u8]>>)>,
    stage: Stage,
    /// Of the current try.
    call: Option<Try>,
    attempt: u32,
}

#[derive(Debug, Serialize, Deserialize)]
enum Stage {
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

/// One try of a model call.
#[derive(Debug, Serialize, Deserialize)]
struct Try {
    call: u32,
    deltas: VecDeque<Delta>,
    end: Option<Result<(), Error>>,
    /// When the whole try takes too long.
    deadline_ms: Option<u64>,
    /// When the server has been silent for too long. Set when the first byte comes; later ones only leave their time.
    silence_ms: Option<u64>,
    last_sign_ms: u64,
    has_sign: bool,
    is_alive: bool,
}

impl Answer {
    pub(super) fn partial(&self, position: usize) -> Partial {
        self.builder.partial().at(position)
    }

    /// Whether this is the number of the current try.
    pub(super) fn is(&self, call: u32) -> bool {
        self.call.as_ref().is_some_and(|current| current.call == call)
    }

    pub(super) fn receive(&mut self, deltas: Vec<Delta>) {
        if let Some(call) = &mut self.call {
            call.has_sign |= !deltas.is_empty();
            call.deltas.extend(deltas);
        }
    }

    pub(super) fn is_alive(&mut self) {
        if let Some(call) = &mut self.call {
            call.has_sign = true;
        }
    }

    pub(super) fn end(&mut self, result: Result<(), Error>) {
        if let Some(call) = &mut self.call {
            call.end.get_or_insert(result);
        }
    }

    /// When it has to be looked at.
    pub(super) fn timer(&self) -> Option<Timer> {
        match (&self.stage, &self.call) {
            (Stage::Wait { until_ms }, _) => Some(Timer { at_ms: *until_ms, is_limit: false }),
            (Stage::Stream, Some(call)) => {
                let at_ms = [call.deadline_ms, call.silence_ms].into_iter().flatten().min()?;
                Some(Timer { at_ms, is_limit: true })
            }
            _ => None,
        }
    }

    /// The held `message_start`, and the raw frames that waited for it.
    fn start(&mut self, out: &mut VecDeque<Out>) {
        if !std::mem::replace(&mut self.is_started, true) {
            let message = Arc::new(Message::Assistant(self.head.clone()));
            // Before the first delta, which may be applied already.
            out.push_back(Out::Streamed(EventData::MessageStart { message }, 0));
            let position = self.builder.partial().steps();
            out.extend(std::mem::take(&mut self.held).into_iter().map(|raw| Out::Streamed(raw, position)));
        }
    }

    /// Takes in one delta.
    fn apply(&mut self, delta: Delta, out: &mut VecDeque<Out>) -> Result<(), Error> {
        let (odd, update) = self.builder.apply(delta)?;
        for event in odd.into_iter().chain(update) {
            match event {
                EventData::Raw { .. } if !self.is_started => {
                    self.held.push(event);
                    continue;
                }
                EventData::MessageUpdate(_) => self.start(out),
                _ => {}
            }
            out.push_back(Out::Streamed(event, self.builder.partial().steps()));
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

impl Try {
    fn new(call: u32, limits: &Limits, now_ms: u64) -> Try {
        let limit = |ms: u64| (ms > 0).then(|| now_ms.saturating_add(ms));
        Try {
            call,
            deltas: VecDeque::new(),
            end: None,
            deadline_ms: limit(limits.request_timeout_ms),
            silence_ms: limit(limits.first_byte_timeout_ms),
            last_sign_ms: now_ms,
            has_sign: false,
            is_alive: false,
        }
    }

    /// Notes that the server has sent something since the last look.
    fn note_sign(&mut self, limits: &Limits, now_ms: u64) {
        if std::mem::take(&mut self.has_sign) {
            self.last_sign_ms = now_ms;
            if !std::mem::replace(&mut self.is_alive, true) {
                let idle_ms = limits.idle_timeout_ms;
                self.silence_ms = (idle_ms > 0).then(|| now_ms.saturating_add(idle_ms));
            }
        }
    }

    /// The limit that has passed: what did not happen, its name and value.
    fn passed(&mut self, limits: &Limits, now_ms: u64) -> Option<(&'static str, &'static str, u64)> {
        if self.deadline_ms.is_some_and(|deadline_ms| now_ms >= deadline_ms) {
            return Some(("the answer was not complete", "request_timeout_ms", limits.request_timeout_ms));
        }
        if self.silence_ms.is_none_or(|silence_ms| now_ms < silence_ms) {
            return None;
        }
        if !self.is_alive {
            return Some(("nothing came", "first_byte_timeout_ms", limits.first_byte_timeout_ms));
        }
        let idle_ms = limits.idle_timeout_ms;
        let silent_until_ms = self.last_sign_ms.saturating_add(idle_ms);
        if now_ms >= silent_until_ms {
            return Some(("nothing more came", "idle_timeout_ms", idle_ms));
        }
        self.silence_ms = Some(silent_until_ms);
        None
    }
}

impl Loop {
    /// The call is prepared, or failed before the model was asked.
    pub(super) fn begin_answer(&mut self, prepared: Prepared) -> Progress {
        let head = self.head();
        let prices = self.config.model.as_ref().ok().and_then(|model| model.prices);
        let builder = MessageBuilder::new(head.clone(), self.turn, prices);
        let (request, stage) = match prepared {
            Ok(request) => (Some(request), Stage::Call),
            Err(error) => (None, Stage::Answered(error)),
        };
        if let Stage::Answered(Some(error)) = &stage
            && !self.is_interrupted()
        {
            let error = error.clone();
            self.inform_of_error(&error, 0, false);
        }
        let (is_started, held, call, attempt) = (false, Vec::new(), None, 1);
        self.answer = Some(Answer { builder, head, prices, is_started, held, request, stage, call, attempt });
        self.go(Phase::Answer)
    }

    /// The message without content.
    fn head(&self) -> AssistantMessage {
        // A model that cannot be used still has its name.
        let (provider, id) = self.config.model_name.split_once('/').unwrap_or_default();
        let (provider, protocol, model) = match &self.config.model {
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
            timestamp: self.now_ms,
        }
    }

    pub(super) fn step_answer(&mut self) -> Progress {
        let Some(answer) = &mut self.answer else {
            return self.go(Phase::EndTurn);
        };
        let next = match &mut answer.stage {
            Stage::Call => return self.place_call(),
            Stage::Stream => return self.stream(),
            Stage::Retry { delay_ms, error } => {
                let (delay_ms, error, attempt) = (*delay_ms, error.clone(), answer.attempt);
                if self.interruption.is_some() {
                    Stage::Answered(None)
                } else {
                    answer.stage = Stage::Backoff { delay_ms };
                    self.emit(EventData::Retry { attempt, delay_ms, error });
                    return Made;
                }
            }
            Stage::Backoff { delay_ms } => Stage::Wait { until_ms: self.now_ms.saturating_add(*delay_ms) },
            Stage::Wait { .. } if self.interruption.is_some() => Stage::Answered(None),
            Stage::Wait { until_ms } if self.now_ms < *until_ms => return Blocked,
            Stage::Wait { .. } => {
                answer.begin_again(self.turn, self.now_ms);
                Stage::Call
            }
            Stage::Answered(error) => {
                let error = error.take();
                return self.call_ended(error);
            }
            Stage::EndBlocks => {
                answer.start(&mut self.out);
                let event = if self.interruption.is_some() { None } else { answer.builder.end_next() };
                match event {
                    Some(event) => {
                        self.out.push_back(Out::Streamed(event, answer.builder.partial().steps()));
                        return Made;
                    }
                    None => Stage::Finish(None),
                }
            }
            Stage::Finish(error) => {
                let error = error.take();
                return self.finish_answer(error);
            }
        };
        answer.stage = next;
        Made
    }

    fn place_call(&mut self) -> Progress {
        let (call, now_ms) = (self.next_call, self.now_ms);
        self.next_call += 1;
        let is_interrupted = self.is_interrupted();
        let (Some(answer), Ok(model)) = (&mut self.answer, &self.config.model) else {
            return self.go(Phase::EndTurn);
        };
        let Some((request, body)) = answer.request.clone().filter(|_| !is_interrupted) else {
            answer.stage = Stage::Answered(None);
            return Made;
        };
        let settings = &self.config.settings;
        answer.call = Some(Try::new(call, &settings.limits, now_ms));
        answer.stage = Stage::Stream;
        self.out.push_back(Out::CallModel(ModelCall {
            call,
            model: model.key,
            request,
            body,
            raw_events: settings.raw_events,
            wants_response: self.config.hooks.has(HookKind::OnResponse),
        }));
        Made
    }

    fn stream(&mut self) -> Progress {
        if self.is_interrupted() {
            return self.end_try(true, Ok(()));
        }
        let (now_ms, config) = (self.now_ms, Arc::clone(&self.config));
        let Some(answer) = &mut self.answer else {
            return self.go(Phase::EndTurn);
        };
        let Some(call) = &mut answer.call else {
            return self.end_try(false, Ok(()));
        };
        let limits = &config.settings.limits;
        call.note_sign(limits, now_ms);
        match call.deltas.pop_front() {
            Some(Delta::Response { status, headers }) => {
                if config.hooks.has(HookKind::OnResponse) {
                    let provider = answer.head.provider.clone();
                    self.inform(Question::OnResponse(ResponseHead { provider, status, headers: *headers }));
                }
                return Made;
            }
            Some(delta) => {
                return match answer.apply(delta, &mut self.out) {
                    Ok(()) => Made,
                    Err(error) => self.end_try(true, Err(error)),
                };
            }
            None => {}
        }
        let provider = answer.head.provider.as_str();
        match call.end.take() {
            Some(Ok(())) if answer.builder.is_stopped() => self.end_try(false, Ok(())),
            Some(Ok(())) => {
                let text = format!("{provider}'s answer ended without its closing event");
                let error = Error::new(ErrorKind::StreamTruncated, text).with_provider(provider);
                self.end_try(false, Err(error))
            }
            Some(Err(error)) => self.end_try(false, Err(error)),
            None => match call.passed(limits, now_ms) {
                None => Blocked,
                Some((what, name, limit_ms)) => {
                    let text = format!("{provider}: {what} within {name} ({limit_ms})");
                    let error = Error::new(ErrorKind::Timeout, text).with_provider(provider);
                    self.end_try(true, Err(error))
                }
            },
        }
    }

    /// A try is over: there is an answer, a retry, or an error that ends the call. An interruption is not an error of its own.
    fn end_try(&mut self, cancel: bool, result: Result<(), Error>) -> Progress {
        let is_interrupted = self.is_interrupted();
        self.is_timer_stale = true;
        let Some(answer) = &mut self.answer else {
            return self.go(Phase::EndTurn);
        };
        if let Some(Try { call, .. }) = answer.call.take().filter(|_| cancel) {
            self.out.push_back(Out::CancelModel(call));
        }
        if is_interrupted {
            answer.stage = Stage::Answered(None);
            return Made;
        }
        let Err(error) = result.and_then(|()| answer.check()) else {
            let max_tokens = answer.request.as_ref().and_then(|(request, _)| request.options.max_tokens);
            answer.builder.treat_full_length_calls_as_cut(max_tokens);
            answer.stage = Stage::Answered(None);
            return Made;
        };
        let attempt = answer.attempt;
        let delay = match answer.builder.has_blocks() {
            true => Err(error.clone()),
            false => {
                let jitter = match self.config.has_jitter {
                    true => Jitter::Random(next_random(&mut self.random)),
                    false => Jitter::None,
                };
                self.config.settings.retry.pause(error.clone(), attempt, jitter)
            }
        };
        match delay {
            Ok(delay_ms) => {
                answer.stage = Stage::Retry { delay_ms, error: error.clone() };
                self.inform_of_error(&error, attempt, true);
            }
            Err(error) => {
                answer.stage = Stage::Answered(Some(error.clone()));
                self.inform_of_error(&error, attempt, false);
            }
        }
        Made
    }

    /// The call is over: another model is asked, or this is the turn's answer.
    fn call_ended(&mut self, error: Option<Error>) -> Progress {
        if let Some(error) = &error
            && self.fall_back(error)
        {
            return self.begin_request_again();
        }
        if let Some(answer) = &mut self.answer {
            answer.stage = if error.is_none() { Stage::EndBlocks } else { Stage::Finish(error) };
        }
        Made
    }

    /// Takes the next model for the rest of the turn, if there is one that may help.
    fn fall_back(&mut self, error: &Error) -> bool {
        let has_blocks = self.answer.as_ref().is_some_and(|answer| answer.builder.has_blocks());
        // When a hook has failed, it would fail with every model.
        if error.kind() == ErrorKind::Callback || self.is_interrupted() || has_blocks {
            return false;
        }
        let Some((to, model)) = self.config.fallbacks.get(self.preparation.fallbacks).cloned() else {
            return false;
        };
        self.preparation.fallbacks += 1;
        let from = self.config.model.as_ref().map_or_else(|_| self.config.model_name.clone(), ModelEntry::name);
        let message = format!("{from} failed ({error}); {to} is asked instead");
        self.diagnostic("fallback", message, json!({ "from": from, "to": to, "error": error }));
        let failed = || format!("before that, {from} failed: {}", shortened(error.message(), 200));
        self.preparation.failed_before.get_or_insert_with(failed);
        Arc::make_mut(&mut self.config).model = model;
        true
    }

    fn finish_answer(&mut self, error: Option<Error>) -> Progress {
        let Some(answer) = &mut self.answer else {
            return self.go(Phase::EndTurn);
        };
        if !answer.is_started {
            answer.start(&mut self.out);
            answer.stage = Stage::Finish(error);
            return Made;
        }
        let failure = match (self.interruption, error) {
            (Some(interruption), _) => Some((Interruption::stop_reason(interruption), interruption.error())),
            (None, Some(error)) => {
                let before = &self.preparation.failed_before;
                Some((StopReason::Error, before.iter().fold(error, |error, before| error.and(before))))
            }
            (None, None) => None,
        };
        let Some(answer) = self.answer.take() else {
            return self.go(Phase::EndTurn);
        };
        let message = Arc::new(Message::Assistant(answer.builder.finish(failure)));
        self.emit(EventData::MessageEnd { message: Arc::clone(&message) });
        self.answered_with(message)
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
