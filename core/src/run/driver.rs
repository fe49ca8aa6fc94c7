//! Drives one run: does what the machine says, and tells listeners and reader of it.
//!
//! Order of things for every event: the agent's state first, then the listeners one after the other, then the queue.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use serde_json::json;
use tokio::sync::mpsc;

use super::machine::{Fact, Machine, Step};
use super::{RunShared, aborted, flush};
use crate::agent::Agent;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, panic_message};
use crate::event::{Event, EventData};
use crate::listener::{Listener, ListenerKind};
use crate::message::{AssistantMessage, Message};
use crate::model::{Delta, DeltaSink, MessageBuilder, Model, ModelRequest};
use crate::partial::Partial;
use crate::result::RunResult;
use crate::scope::Scope;
use crate::tool::{Replies, Reply, catch_panic};
use crate::usage::{Outcome, StopReason, Usage};

/// One run at work.
pub(crate) struct Driver {
    pub(super) agent: Agent,
    pub(super) run: Arc<RunShared>,
    pub(super) clock: Clock,
    pub(super) scope: Scope,
    pub(super) replies: (Replies, mpsc::UnboundedReceiver<(usize, Reply)>),
    /// How many calls the run has taken up; numbers their replies.
    pub(super) calls: usize,
    turn: u32,
    seq: u64,
    outbox: Vec<Event>,
    added: Vec<Arc<Message>>,
    ended: bool,
}

/// How many events are gathered before they go to the queue.
const BATCH: usize = 256;

/// How many times in a row the model may have nothing new before what it said is told.
const PATIENCE: u32 = 2;

impl Driver {
    pub(crate) fn new(agent: Agent, run: Arc<RunShared>, clock: Clock) -> Driver {
        let scope = agent.scope();
        let replies = mpsc::unbounded_channel();
        let (outbox, added) = (Vec::new(), Vec::new());
        Driver { agent, run, clock, scope, replies, calls: 0, turn: 0, seq: 0, outbox, added, ended: false }
    }

    /// The run from `agent_start` to `agent_end`. A panic in here is a bug of ours; the run still ends.
    pub(crate) async fn drive(mut self, prompts: Vec<Message>, max_turns: u32) {
        let clock = self.clock.clone();
        let course = catch_panic(clock.working(Box::pin(self.course(prompts, max_turns)))).await;
        let (outcome, error, turns) = match course {
            Ok(end) => end,
            Err(payload) => {
                let text = format!("the engine panicked: {}; please report this", panic_message(&*payload));
                (Outcome::Error, Some(Error::new(ErrorKind::Panic, text)), self.turn)
            }
        };
        let result = RunResult::new(outcome, std::mem::take(&mut self.added), turns, error);
        let clock = self.clock.clone();
        if catch_panic(clock.working(self.tell(agent_end(&result), None))).await.is_err() {
            tracing::error!("a panic while telling the end of a run");
        }
        self.finish(result);
    }

    /// Idle before the reader sees the end, so that its next prompt finds the agent free.
    fn finish(&mut self, result: RunResult) {
        self.ended = true;
        self.agent.run_ended(&self.run, result, &mut self.outbox);
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.run.abort.is_cancelled()
    }

    async fn course(&mut self, prompts: Vec<Message>, max_turns: u32) -> (Outcome, Option<Error>, u32) {
        self.emit(EventData::AgentStart).await;
        let mut machine = Machine::new(max_turns);
        let mut input = prompts;
        let mut answer: Option<Arc<Message>> = None;
        let mut tool_results = Vec::new();
        loop {
            let fact = match machine.next() {
                Step::BeginTurn => {
                    self.turn += 1;
                    self.emit(EventData::TurnStart).await;
                    for message in input.drain(..) {
                        self.show_message(Arc::new(message)).await;
                    }
                    Fact::TurnBegun
                }
                Step::CallModel => {
                    let message = self.call_model().await;
                    let assistant = message.as_assistant();
                    let stop_reason = assistant.and_then(|m| m.stop_reason).unwrap_or(StopReason::Stop);
                    let calls = assistant.map_or(0, |m| m.tool_calls().count());
                    answer = Some(message);
                    Fact::Answered { stop_reason, calls }
                }
                Step::CallTools { execute } => {
                    let calls = answer.iter().filter_map(|m| m.as_assistant()).flat_map(|m| m.tool_calls().cloned()).collect();
                    let (results, terminate) = self.call_tools(calls, execute).await;
                    tool_results = results;
                    Fact::ToolsAnswered { terminate }
                }
                Step::EndTurn => {
                    self.late_replies().await;
                    if let Some(message) = answer.clone() {
                        let tool_results = std::mem::take(&mut tool_results);
                        self.emit(EventData::TurnEnd { message, tool_results }).await;
                    }
                    Fact::TurnEnded { aborted: self.is_aborted() }
                }
                Step::Finish(outcome) => {
                    let error = match outcome {
                        Outcome::Aborted => Some(aborted()),
                        Outcome::Error => answer.as_ref().and_then(|m| m.as_assistant()).and_then(|m| m.error.clone()),
                        Outcome::Completed | Outcome::Stopped | Outcome::MaxTurns => None,
                    };
                    return (outcome, error, machine.turns());
                }
            };
            machine.tell(fact);
        }
    }

    /// Shows a message that is whole from the start, and appends it.
    pub(super) async fn show_message(&mut self, message: Arc<Message>) {
        self.emit(EventData::MessageStart { message: Arc::clone(&message) }).await;
        self.emit(EventData::MessageEnd { message }).await;
    }

    /// Asks the model; gives its message, which may have failed.
    async fn call_model(&mut self) -> Arc<Message> {
        let asked = self.agent.next_request();
        let timestamp = self.clock.now_ms();
        let (head, prices) = {
            let info = asked.as_ref().map(|(model, _)| model.info()).ok();
            let text = |pick: fn(&crate::model::ModelInfo<'_>) -> String| info.as_ref().map(pick).unwrap_or_default();
            let head = AssistantMessage {
                content: Vec::new(),
                provider: text(|info| info.provider.to_owned()),
                protocol: text(|info| info.protocol.to_owned()),
                model: text(|info| info.id.to_owned()),
                usage: Usage::default(),
                stop_reason: None,
                raw_stop_reason: None,
                response_id: None,
                error: None,
                timestamp,
            };
            (head, info.and_then(|info| info.prices))
        };
        let mut answer =
            Answer { builder: MessageBuilder::new(head.clone(), self.turn, prices), head, shown: false, held: Vec::new() };
        let failure = match asked {
            Ok((model, request)) => self.stream(&*model, &request, &mut answer).await.err(),
            Err(error) => Some(error),
        };
        if failure.is_none() {
            self.show_start(&mut answer).await;
            while !self.is_aborted()
                && let Some(event) = answer.builder.end_next()
            {
                self.emit_of_message(event, &answer).await;
            }
        }
        self.show_start(&mut answer).await;
        let failure = match failure {
            _ if self.is_aborted() => Some((StopReason::Aborted, aborted())),
            Some(error) => Some((StopReason::Error, error)),
            None => None,
        };
        let message = Arc::new(Message::Assistant(answer.builder.finish(failure)));
        self.emit(EventData::MessageEnd { message: Arc::clone(&message) }).await;
        message
    }

    /// Shows the model's deltas as they come. An abort ends it at once, without an error of its own.
    async fn stream(&mut self, model: &dyn Model, request: &ModelRequest, answer: &mut Answer) -> Result<(), Error> {
        let sink = DeltaSink::default();
        let mut call = std::pin::pin!(catch_panic(model.stream(request, &sink)));
        let abort = self.run.abort.clone();
        let mut abort = std::pin::pin!(abort.cancelled());
        let mut ended = None;
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
            self.show_deltas(deltas, answer).await?;
            match ended.take() {
                None => {}
                Some(Ok(Ok(()))) if answer.builder.is_stopped() => break,
                Some(Ok(Ok(()))) if self.is_aborted() => break,
                Some(Ok(Ok(()))) => {
                    let text = "the model's answer ended without its closing event";
                    return Err(Error::new(ErrorKind::StreamTruncated, text));
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

    /// Tells an event to everybody, in order.
    pub(super) async fn emit(&mut self, data: EventData) {
        self.tell(data, None).await;
        self.flush().await;
    }

    async fn tell(&mut self, data: EventData, partial: Option<Partial>) {
        match self.agent.listeners().kind() {
            ListenerKind::None | ListenerKind::Quick => self.emit_now(data, partial),
            ListenerKind::Blocking => may_block(|| self.emit_now(data, partial)),
            // Boxed: it would make each place that tells an event, and so each run, larger by kilobytes.
            ListenerKind::Future => Box::pin(self.tell_and_wait(data, partial)).await,
        }
    }

    /// Tells an event where listeners have to be awaited.
    async fn tell_and_wait(&mut self, data: EventData, partial: Option<Partial>) {
        let event = self.next_event(data, partial);
        let mut failed = Vec::new();
        for listener in self.agent.listeners().snapshot() {
            if !listener.is_subscribed() {
                continue;
            }
            let _busy = self.clock.busy();
            let heard = match &listener.listener {
                Listener::Function { function, blocking: false } => self.scope.run(|| call_function(&**function, &event)),
                Listener::Function { function, blocking: true } => {
                    may_block(|| self.scope.run(|| call_function(&**function, &event)))
                }
                Listener::Future(function) => self.scope.clone().enter(call_future(&**function, event.clone())).await,
            };
            failed.extend(heard.err());
        }
        for failure in self.heard(event, failed) {
            // One level deep: a failure on a diagnostic is only counted.
            Box::pin(self.tell(failure, None)).await;
        }
    }

    /// Tells an event when no listener has to be awaited.
    fn emit_now(&mut self, data: EventData, partial: Option<Partial>) {
        let event = self.next_event(data, partial);
        let mut failed = Vec::new();
        if self.agent.listeners().kind() != ListenerKind::None {
            for listener in self.agent.listeners().snapshot() {
                if listener.is_subscribed()
                    && let Listener::Function { function, .. } = &listener.listener
                {
                    failed.extend(self.scope.run(|| call_function(&**function, &event)).err());
                }
            }
        }
        for failure in self.heard(event, failed) {
            self.emit_now(failure, None);
        }
    }

    fn next_event(&mut self, data: EventData, partial: Option<Partial>) -> Event {
        let event = Event { run_id: Arc::clone(&self.run.id), seq: self.seq, turn: self.turn, data, partial };
        self.seq += 1;
        if !matches!(event.data, EventData::MessageUpdate(_)) {
            if let EventData::MessageEnd { message } = &event.data {
                self.added.push(Arc::clone(message));
            }
            self.agent.note(&event);
        }
        event
    }

    /// After the listeners: counts those that failed, and hands the event to the reader.
    fn heard(&mut self, event: Event, failed: Vec<String>) -> Vec<EventData> {
        let silent = matches!(event.data, EventData::Diagnostic { .. } | EventData::AgentEnd { .. });
        let kind = event.kind();
        if self.run.queue.is_some() {
            self.outbox.push(event);
        }
        for why in &failed {
            tracing::warn!(event = kind, error = %why, "a listener failed");
            self.agent.listeners().count_error();
        }
        if silent {
            return Vec::new();
        }
        let told = |why: String| EventData::Diagnostic {
            code: "listener_error",
            message: format!("a listener failed on {kind}: {why}"),
            data: Box::new(json!({ "event": kind, "error": why })),
        };
        failed.into_iter().map(told).collect()
    }

    pub(super) async fn flush(&mut self) {
        if self.outbox.is_empty() {
            return;
        }
        if let Some(queue) = &self.run.queue {
            flush(queue, &mut self.outbox, || self.clock.busy()).await;
        }
    }

    /// What tools said after their end is dropped, with a word.
    async fn late_replies(&mut self) {
        while let Ok((number, reply)) = self.replies.1.try_recv() {
            self.late_reply(number, &reply).await;
        }
    }

    pub(super) async fn late_reply(&mut self, number: usize, reply: &Reply) {
        if let Reply::Update(_) = reply {
            let message = "a tool sent an update after its end; it was dropped".to_owned();
            let data = Box::new(json!({ "call": number }));
            self.emit(EventData::Diagnostic { code: "late_update", message, data }).await;
        }
    }
}

impl Drop for Driver {
    /// The runtime went away under an unfinished run: it ends all the same, so that nobody waits for it for ever.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let error = Error::new(ErrorKind::Aborted, "the runtime was shut down before the run had ended");
        let result = RunResult::new(Outcome::Aborted, std::mem::take(&mut self.added), self.turn, Some(error));
        // The thread may not be one that listeners can be called on; the reader gets the event.
        let end = self.next_event(agent_end(&result), None);
        if self.run.queue.is_some() {
            self.outbox.push(end);
        }
        self.finish(result);
    }
}

fn agent_end(result: &RunResult) -> EventData {
    EventData::AgentEnd {
        messages: result.messages.clone(),
        outcome: result.outcome,
        error: result.error.clone(),
        turns: result.turns,
        usage: Box::new(result.usage.clone()),
    }
}

/// An answer while it comes in.
struct Answer {
    builder: MessageBuilder,
    head: AssistantMessage,
    /// Whether `message_start` was told.
    shown: bool,
    /// Raw frames that wait for it.
    held: Vec<EventData>,
}

impl Answer {
    fn start(&self) -> EventData {
        EventData::MessageStart { message: Arc::new(Message::Assistant(self.head.clone())) }
    }
}

/// Calls what may block this thread; where the runtime has others, they take over its tasks meanwhile.
fn may_block<T>(call: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(call),
        _ => call(),
    }
}

fn call_function(function: &(dyn Fn(&Event) -> Result<(), String> + Send + Sync), event: &Event) -> Result<(), String> {
    let heard = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| function(event)));
    heard.unwrap_or_else(|payload| Err(format!("it panicked: {}", panic_message(&*payload))))
}

async fn call_future(
    function: &(dyn Fn(Event) -> crate::model::BoxFuture<'static, Result<(), String>> + Send + Sync),
    event: Event,
) -> Result<(), String> {
    let heard = catch_panic(async { function(event).await }).await;
    heard.unwrap_or_else(|payload| Err(format!("it panicked: {}", panic_message(&*payload))))
}
