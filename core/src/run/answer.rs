//! Asking the model: its deltas are shown as they come, and its message is whole at the end, for better or worse.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::task::Poll;

use serde_json::json;

use super::Interruption;
use super::driver::Driver;
use super::hooks::Unanswered;
use super::telling::may_block;
use super::watch::Watch;
use crate::error::{Error, ErrorKind, panic_message};
use crate::event::EventData;
use crate::hook::{HookKind, ResponseHead};
use crate::listener::ListenerKind;
use crate::message::{AssistantMessage, Message};
use crate::model::{Delta, DeltaSink, MessageBuilder, Model, ModelRequest};
use crate::retry::Jitter;
use crate::tool::catch_panic;
use crate::usage::{Prices, StopReason, Usage};
use agent_loop_proto::provider_error::shortened;

/// How many events are gathered before they go to the queue.
const BATCH: usize = 256;

/// How many times in a row the model may have nothing new before what it said is told.
const PATIENCE: u32 = 2;

/// An answer while it comes in.
struct Answer {
    builder: MessageBuilder,
    head: AssistantMessage,
    prices: Option<Prices>,
    /// Whether `message_start` was told.
    shown: bool,
    /// Raw frames that wait for it.
    held: Vec<EventData>,
}

impl Answer {
    fn start(&self) -> EventData {
        EventData::MessageStart { message: Arc::new(Message::Assistant(self.head.clone())) }
    }

    /// Nothing was shown of a failed try; another one begins.
    fn begin_again(&mut self, turn: u32, now_ms: u64) {
        self.head.timestamp = now_ms;
        self.builder = MessageBuilder::new(self.head.clone(), turn, self.prices);
        self.held.clear();
    }

    /// An answer that says nothing at all is none: proxies and overloaded services give such, and servers that fill the context
    /// window with the conversation (Xiaomi's MiMo) and then cut the answer before its first token.
    fn check(&self, provider: &str) -> Result<(), Error> {
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

impl Driver {
    /// Asks the model; gives its message, which may have failed.
    pub(super) async fn call_model(&mut self) -> Arc<Message> {
        let (mut answer, mut failure) = self.ask_model().await;
        let (mut fallbacks, mut before) = (0, None);
        while let Some(error) = &failure
            && let Some(failed) = Box::pin(self.fall_back(error, &answer, &mut fallbacks)).await
        {
            // The first one, which was meant to answer.
            before.get_or_insert_with(|| format!("before that, {failed} failed: {}", shortened(error.message(), 200)));
            (answer, failure) = self.ask_model().await;
        }
        if failure.is_none() {
            self.show_start(&mut answer).await;
            while !self.is_aborted()
                && let Some(event) = answer.builder.end_next()
            {
                self.emit_of_message(event, &answer).await;
            }
        }
        self.show_start(&mut answer).await;
        let failure = match (self.run.interruption(), failure) {
            (Some(Interruption { stop_reason, error, .. }), _) => Some((stop_reason, error)),
            (None, Some(error)) => Some((StopReason::Error, before.iter().fold(error, |error, before| error.and(before)))),
            (None, None) => None,
        };
        let message = Arc::new(Message::Assistant(answer.builder.finish(failure)));
        self.emit(EventData::MessageEnd { message: Arc::clone(&message) }).await;
        message
    }

    /// Asks the turn's model; gives its answer, with the error that ended it.
    async fn ask_model(&mut self) -> (Answer, Option<Error>) {
        let prepared = match self.before_call.take() {
            Some(error) => Err(Unanswered::Failed(error)),
            // Boxed: gone before the answer comes.
            None => Box::pin(self.prepare_request()).await,
        };
        let mut answer = self.new_answer();
        let failure = match prepared {
            Ok((model, request)) => self.try_until_answered(&*model, &request, &mut answer).await.err(),
            Err(Unanswered::Failed(error)) => {
                if !self.is_aborted() {
                    Box::pin(self.tell_error(&error, 0, false)).await;
                }
                Some(error)
            }
            Err(Unanswered::Aborted) => None,
        };
        (answer, failure)
    }

    /// Takes the next model for the rest of the turn, if there is one that may help; gives the name of the one that failed.
    async fn fall_back(&mut self, error: &Error, answer: &Answer, tried: &mut usize) -> Option<String> {
        // What a hook of the host has failed with, every model would.
        let hopeless = error.kind() == ErrorKind::Callback || self.is_aborted() || answer.builder.has_blocks();
        let (to, model) = self.agent.fallback(*tried).filter(|_| !hopeless)?;
        *tried += 1;
        let failed = self.offered.model.as_ref().map(|model| format!("{}/{}", model.info().provider, model.info().id));
        let from = failed.unwrap_or_else(|_| self.offered.model_name.clone());
        let message = format!("{from} failed ({error}); {to} is asked instead");
        let data = Box::new(json!({ "from": from, "to": to, "error": error }));
        self.emit(EventData::Diagnostic { code: "fallback".into(), message, data }).await;
        match model {
            Ok(other) => self.offered.take_model(&other),
            Err(error) => self.offered.model = Err(error),
        }
        Some(from)
    }

    fn new_answer(&self) -> Answer {
        let info = self.offered.model.as_ref().map(|model| model.info()).ok();
        // A model that cannot be used still has its name.
        let name = &self.offered.model_name;
        let (provider, id) = name.split_once('/').unwrap_or_default();
        let head = AssistantMessage {
            content: Vec::new(),
            provider: info.map_or(provider, |info| info.provider).to_owned(),
            protocol: info.map_or("", |info| info.protocol).to_owned(),
            model: info.map_or(id, |info| info.id).to_owned(),
            usage: Usage::default(),
            stop_reason: None,
            raw_stop_reason: None,
            response_id: None,
            error: None,
            timestamp: self.clock.now_ms(),
        };
        let prices = info.and_then(|info| info.prices);
        Answer { builder: MessageBuilder::new(head.clone(), self.turn, prices), head, prices, shown: false, held: Vec::new() }
    }

    /// Asks until there is an answer, or an error that ends the call. An abort ends it at once, without an error of its own.
    async fn try_until_answered(&mut self, model: &dyn Model, request: &ModelRequest, answer: &mut Answer) -> Result<(), Error> {
        let mut attempt = 1;
        loop {
            let ended = self.stream(model, request, answer).await;
            if self.is_aborted() {
                return Ok(());
            }
            let Err(error) = ended.and_then(|()| answer.check(model.info().provider)) else {
                answer.builder.treat_full_length_calls_as_cut(request.request.options.max_tokens);
                return Ok(());
            };
            let pause = if answer.builder.has_blocks() {
                Err(error.clone())
            } else {
                // The standard library seeds its hashers at random: enough here, and no dependency.
                let random = || RandomState::new().hash_one(attempt);
                let jitter = if self.clock.is_simulated() { Jitter::None } else { Jitter::Random(random()) };
                self.offered.settings.retry.pause(error.clone(), attempt, jitter)
            };
            match pause {
                Err(error) => {
                    Box::pin(self.tell_error(&error, attempt, false)).await;
                    return Err(error);
                }
                Ok(delay_ms) => {
                    Box::pin(self.tell_error(&error, attempt, true)).await;
                    if self.is_aborted() {
                        return Ok(());
                    }
                    self.emit(EventData::Retry { attempt, delay_ms, error }).await;
                    let (clock, abort) = (self.clock.clone(), self.run.abort.clone());
                    tokio::select! {
                        biased;
                        () = abort.cancelled() => return Ok(()),
                        () = clock.sleep(delay_ms) => {}
                    }
                    attempt += 1;
                    answer.begin_again(self.turn, self.clock.now_ms());
                }
            }
        }
    }

    /// One try: shows the model's deltas as they come. An abort ends it at once, without an error of its own.
    async fn stream(&mut self, model: &dyn Model, request: &ModelRequest, answer: &mut Answer) -> Result<(), Error> {
        let sink = DeltaSink::default();
        // A model of real time that joins a run in virtual time holds that up, as a callback does.
        let real = self.clock.is_simulated() && !model.clock().is_simulated();
        let _busy = real.then(|| self.clock.busy());
        // A model of the host's own is one more callback of it.
        let mut call = std::pin::pin!(self.scope.clone().enter(catch_panic(model.stream(request, &sink))));
        let abort = self.run.abort.clone();
        let mut abort = std::pin::pin!(abort.cancelled());
        let mut watch = Watch::new(self.clock.clone(), &self.offered.settings.limits, model.info().provider);
        let (mut ended, mut expired) = (None, None);
        while !self.is_aborted() {
            let mut held = Vec::new();
            let mut patience = PATIENCE;
            let deltas = std::future::poll_fn(|cx| {
                if abort.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Vec::new());
                }
                if let Poll::Ready(end) = call.as_mut().poll(cx) {
                    ended = Some(end);
                }
                let before = held.len();
                held.append(&mut *sink.lock());
                if ended.is_some() || held.len() >= BATCH {
                    return Poll::Ready(std::mem::take(&mut held));
                }
                if let Poll::Ready(error) = watch.poll(held.len() > before, sink.signs(), cx) {
                    expired = Some(error);
                    return Poll::Ready(std::mem::take(&mut held));
                }
                // HTTP chunks come through hyper one at a time, each on a wakeup of its own. Looking once or twice more
                // before telling anybody gathers what is there already, and costs no time when nothing is.
                patience = if held.len() > before { PATIENCE } else { patience.saturating_sub(1) };
                match (held.is_empty(), patience) {
                    (true, _) => Poll::Pending,
                    (false, 0) => Poll::Ready(std::mem::take(&mut held)),
                    (false, _) => {
                        cx.waker().wake_by_ref();
                        Poll::Pending
                    }
                }
            })
            .await;
            let deltas = if request.wants_response { Box::pin(self.tell_response(deltas, model)).await } else { deltas };
            self.show_deltas(deltas, answer).await?;
            if let Some(error) = expired {
                return Err(error);
            }
            match ended.take() {
                None => {}
                Some(Ok(Ok(()))) if answer.builder.is_stopped() => break,
                Some(Ok(Ok(()))) if self.is_aborted() => break,
                Some(Ok(Ok(()))) => {
                    let provider = model.info().provider;
                    let text = format!("{provider}'s answer ended without its closing event");
                    return Err(Error::new(ErrorKind::StreamTruncated, text).with_provider(provider));
                }
                Some(Ok(Err(error))) => return Err(error),
                Some(Err(payload)) => {
                    let text = format!("the model panicked: {}", panic_message(&*payload));
                    return Err(Error::new(ErrorKind::Provider, text));
                }
            }
        }
        Ok(())
    }

    /// Takes the answer's head out of the deltas, for the hook that wants it.
    async fn tell_response(&mut self, deltas: Vec<Delta>, model: &dyn Model) -> Vec<Delta> {
        let mut rest = Vec::with_capacity(deltas.len());
        for delta in deltas {
            match (delta, self.offered.hooks.on_response.clone()) {
                (Delta::Response { status, headers }, Some(hook)) => {
                    let head = ResponseHead { provider: model.info().provider.to_owned(), status, headers: *headers };
                    self.inform(HookKind::OnResponse, &hook, head).await;
                }
                (delta, _) => rest.push(delta),
            }
        }
        rest
    }

    async fn show_deltas(&mut self, deltas: Vec<Delta>, answer: &mut Answer) -> Result<(), Error> {
        let mut deltas = deltas.into_iter();
        while deltas.len() > 0 {
            match self.agent.listeners().kind() {
                // Most runs: no await and no lock per delta.
                ListenerKind::None | ListenerKind::Quick => self.show_now(&mut deltas, answer)?,
                ListenerKind::Blocking => may_block(|| self.show_now(&mut deltas, answer))?,
                ListenerKind::Future => {
                    let Some(delta) = deltas.next().filter(|_| !self.is_aborted()) else {
                        return Ok(());
                    };
                    let (odd, update) = answer.builder.apply(delta)?;
                    for event in odd.into_iter().chain(update) {
                        if matches!(event, EventData::MessageUpdate(_)) {
                            self.show_start(answer).await;
                        } else if matches!(event, EventData::Raw { .. }) && !answer.shown {
                            answer.held.push(event);
                            continue;
                        }
                        self.emit_of_message(event, answer).await;
                    }
                }
            }
            if self.outbox.len() >= BATCH {
                self.flush().await;
            }
        }
        self.flush().await;
        Ok(())
    }

    /// Shows deltas until they are used up, an abort drops the rest, or the outbox is full.
    fn show_now(&mut self, deltas: &mut std::vec::IntoIter<Delta>, answer: &mut Answer) -> Result<(), Error> {
        while self.outbox.len() < BATCH {
            if self.is_aborted() {
                deltas.by_ref().for_each(drop);
            }
            let Some(delta) = deltas.next() else { break };
            let (odd, update) = answer.builder.apply(delta)?;
            for event in odd.into_iter().chain(update) {
                if matches!(event, EventData::Raw { .. }) && !answer.shown {
                    answer.held.push(event);
                    continue;
                }
                if matches!(event, EventData::MessageUpdate(_)) && !answer.shown {
                    answer.shown = true;
                    let start = answer.start();
                    self.emit_now(start, Some(answer.builder.partial().at(0)));
                    for raw in std::mem::take(&mut answer.held) {
                        self.emit_now(raw, Some(answer.builder.partial()));
                    }
                }
                self.emit_now(event, Some(answer.builder.partial()));
            }
        }
        Ok(())
    }

    /// The held `message_start`, once: at the first content or at the end.
    async fn show_start(&mut self, answer: &mut Answer) {
        if !answer.shown {
            answer.shown = true;
            // Before the first delta, which may be applied already.
            self.tell(answer.start(), Some(answer.builder.partial().at(0))).await;
            for raw in std::mem::take(&mut answer.held) {
                self.emit_of_message(raw, answer).await;
            }
        }
    }

    async fn emit_of_message(&mut self, data: EventData, answer: &Answer) {
        let partial = Some(answer.builder.partial());
        self.tell(data, partial).await;
    }
}
